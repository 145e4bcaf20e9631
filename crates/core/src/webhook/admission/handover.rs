//! Checks for a change of the version label: whether the object may leave one version and enter the other.

use semver::Version;

use super::conditions::unmet;
use super::override_reason::OVERRIDE;
use super::settings::{Enforcement, Settings};
use super::upgrade_path::{not_enforced, opted_out};
use super::{controller::ControllerVersion, findings::Findings, write::Write};
use crate::definition::upgrade::{self, Refused};
use crate::definition::{Kind, admission::UpgradePath};
use crate::{apimachinery::FieldError, json::Json, webhook::convert::tree};

/// Checks whether the object may enter this version.
pub(super) fn enter(kind: &Kind, settings: &Settings, write: &Write<'_>, from: Option<&str>) -> Findings {
    let mut found = Findings::default();
    let (Some(path), Some(own)) = (&kind.admission.version_path, &settings.controller) else {
        return found;
    };
    let Some(refused) = from
        .filter(|from| is_served(settings, from, path))
        .and_then(upgrade::version)
        .and_then(|from| path.path.allow(&from, own.version()).err())
    else {
        return found;
    };
    let field = label_field(kind);
    let object = write.new.object().ok();
    match object.and_then(|object| opted_out(&object, path, &refused)) {
        Some(annotation) => found.warnings.push(not_enforced(&field, &refused, annotation)),
        None => {
            let why = refusal_message(settings, own, from.unwrap_or_default(), &refused);
            found.errors.push(FieldError::invalid(field, &Json::string(own.as_str()), why));
        }
    }
    found
}

/// A refusal with versions as written in the labels, so that the advice works with or without a leading `v`.
fn refusal_message(settings: &Settings, own: &ControllerVersion, from: &str, refused: &Refused) -> String {
    let served = || settings.served.iter().map(ControllerVersion::as_str);
    let labels: Vec<&str> = [from, own.as_str()].into_iter().chain(served()).collect();
    let spelled = |version: &Version| {
        let is_it = |label: &&&str| upgrade::version(label).is_some_and(|label| label.cmp_precedence(version).is_eq());
        labels.iter().find(is_it).map_or_else(|| version.to_string(), |label| (*label).to_owned())
    };
    let mut why = refused.refusal_message(spelled);
    let next = refused.next.as_ref().map(spelled);
    match next.filter(|next| !settings.served.is_empty() && !served().any(|label| label == next)) {
        Some(next) => why.push_str(&format!(" ({next} is not served now)")),
        None if settings.served.is_empty() => why.push_str(&format!(
            "; if no server handles {from} any more, start this server with --served-versions to adopt the object"
        )),
        None => {}
    }
    why
}

/// Returns whether a version is served. Objects of a version that is not served are adopted, like objects without a
/// label.
fn is_served(settings: &Settings, from: &str, path: &UpgradePath) -> bool {
    match settings.served.as_slice() {
        [] => upgrade::version(from).is_some_and(|version| path.path.knows(&version)),
        served => served.iter().any(|version| version.as_str() == from),
    }
}

/// Returns whether the old version will refuse to release an object, by the same definition, so that it never enters
/// this version. A version that is not served holds no object, nor does one that does not enforce its rules. Servers
/// side by side run in one mode.
pub(super) fn is_held(kind: &Kind, settings: &Settings, write: &Write<'_>, from: &str) -> bool {
    let is_served = settings.served.is_empty() || settings.served.iter().any(|version| version.as_str() == from);
    let enforced = settings.enforcement == Enforcement::Enforce;
    is_served && enforced && (is_promoting(kind, write) || !unmet(kind, write).is_empty())
}

/// Rejects the handover of an object during a promotion, because two controllers would act on it. Omits the advice if
/// the write already gives a reason for an override.
pub(super) fn leave(
    kind: &Kind,
    settings: &Settings,
    write: &Write<'_>,
    own: &ControllerVersion,
    to: &str,
    is_overridden: bool,
) -> Findings {
    let field = label_field(kind);
    let mut found = Findings::default();
    let own = own.as_str();
    let promoting = is_promoting(kind, write)
        .then(|| format!("{own} is promoting this object: wait until the rollout is completed"));
    let unmet =
        unmet(kind, write).into_iter().map(|why| format!("{own} has not finished its work on this object: {why}"));
    let advice = match is_overridden {
        true => String::new(),
        false => {
            format!(". To hand the object over anyway, set annotation {OVERRIDE} to a new reason in the same write")
        }
    };
    for why in promoting.into_iter().chain(unmet) {
        let why = format!("{why}{advice}");
        found.errors.push(FieldError::forbidden(&field, why));
    }
    let served: Vec<&str> = settings.served.iter().map(ControllerVersion::as_str).collect();
    if !served.is_empty() && !served.contains(&to) {
        let known = served.join(", ");
        found.warnings.push(format!("{field}: no server serves {to:?}; served versions: {known}"));
    }
    found
}

fn label_field(kind: &Kind) -> String {
    format!("metadata.labels[{}]", kind.admission.version_label)
}

fn is_promoting(kind: &Kind, write: &Write<'_>) -> bool {
    let Some(status) = kind.steps.iter().find_map(|step| step.status.as_ref()) else {
        return false;
    };
    let Some(Ok(mut old)) = write.old.as_ref().map(|old| old.object()) else {
        return false;
    };
    let conditions = tree::get(&mut old.root, "", &status.reasons).ok().flatten();
    conditions.is_some_and(|conditions| {
        conditions.elements().iter().any(|condition| {
            let reason = condition.get("reason");
            reason.as_ref().and_then(Json::as_str).as_deref() == Some(status.promoting.as_str())
        })
    })
}
