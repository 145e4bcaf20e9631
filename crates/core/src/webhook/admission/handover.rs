//! A change of the version label: whether the object may go, and whether it may come.

use super::upgrade_path::{not_enforced, opted_out};
use super::{controller::ControllerVersion, findings::Findings, settings::Settings, write::Write};
use crate::definition::{Kind, admission::UpgradePath};
use crate::{apimachinery::FieldError, json::Json, upgrade, webhook::convert::tree};

/// The way into this version.
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
            let own = Json::string(own.as_str());
            found.errors.push(FieldError::invalid(field, &own, refused.to_string()));
        }
    }
    found
}

/// A version that nobody serves is none to come from: its objects are adopted, like those without a label.
fn is_served(settings: &Settings, from: &str, path: &UpgradePath) -> bool {
    match settings.served.as_slice() {
        [] => upgrade::version(from).is_some_and(|version| path.path.knows(&version)),
        served => served.iter().any(|version| version.as_str() == from),
    }
}

/// An object in the middle of a promotion is not handed over: two controllers would act on it.
pub(super) fn leave(
    kind: &Kind,
    settings: &Settings,
    write: &Write<'_>,
    own: &ControllerVersion,
    to: &str,
) -> Findings {
    let field = label_field(kind);
    let mut found = Findings::default();
    if is_promoting(kind, write) {
        let own = own.as_str();
        let why = format!("{own} is promoting this object: wait until the rollout is completed");
        found.errors.push(FieldError::forbidden(&field, why));
    }
    let served: Vec<&str> = settings.served.iter().map(ControllerVersion::as_str).collect();
    if !served.is_empty() && !served.contains(&to) {
        let known = served.join(", ");
        found.warnings.push(format!("{field}: no server serves {to:?}; served are {known}"));
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
