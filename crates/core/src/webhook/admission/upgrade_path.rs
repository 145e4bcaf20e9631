//! Checks of upgrade paths of a version field.

use semver::Version;

use super::{findings::Findings, subject::Subject};
use crate::definition::admission::{Check, Reading, UpgradePath};
use crate::definition::upgrade::{self, Refused};
use crate::{apimachinery::FieldError, definition::Path, json::Json, webhook::convert::Object};

/// Checks a change of version. Without an old object, no version is running. The running version is read from the
/// status before the write.
pub(super) fn check_upgrade(
    subject: &mut Subject<'_, '_>,
    field: &Path,
    check: &Check,
    new: &Json<'_>,
    found: &mut Findings,
) {
    let Check::Upgrade { running, or_wanted, reading, path, no_downgrade } = check else {
        return;
    };
    let version = |value: &Json<'_>| read(&value.as_str()?, *reading);
    let Some(wanted) = version(new) else {
        return;
    };
    let before = subject.old_value(field).as_ref().and_then(version);
    let runs = running.as_ref().and_then(|running| subject.old_value(running));
    let runs = runs.as_ref().and_then(version).or_else(|| before.clone().filter(|_| *or_wanted));
    let before = before.filter(|before| *no_downgrade && wanted.cmp_precedence(before).is_lt());
    for from in [runs, before].into_iter().flatten() {
        let Err(refused) = path.path.allow(&from, &wanted) else {
            continue;
        };
        let name = subject.name(field);
        let Some(annotation) = opted_out(subject.new_object(), path, &refused) else {
            found.errors.push(FieldError::invalid(name, new, refused.to_string()));
            return;
        };
        if !subject.is_untouched(field) {
            found.warnings.push(not_enforced(&name, &refused, annotation));
        }
    }
}

/// The annotation of an object that disables a check of an upgrade path.
pub(super) fn opted_out<'p>(object: &Object<'_>, path: &'p UpgradePath, refused: &Refused) -> Option<&'p str> {
    let downgrade = refused.wanted.cmp_precedence(&refused.running).is_lt();
    let names = [path.opt_out.as_deref(), path.downgrade_opt_out.as_deref().filter(|_| downgrade)];
    let mut names = names.into_iter().flatten();
    names.find(|name| object.annotations.text(name).is_some_and(|value| value != "false"))
}

/// The warning in place of a refusal.
pub(super) fn not_enforced(field: &impl std::fmt::Display, refused: &Refused, annotation: &str) -> String {
    format!("{field}: {refused}; not enforced because of annotation {annotation}")
}

fn read(text: &str, reading: Reading) -> Option<Version> {
    match reading {
        Reading::ImageTag => upgrade::image_tag(text),
        Reading::Version => upgrade::version(text),
    }
}
