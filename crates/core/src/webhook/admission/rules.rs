//! Applies the rules of a definition to an object and its old version.

use std::cmp::Ordering;

use semver::Version;

use super::compare::{compare, is_empty, same_uuid, same_value};
use super::{findings::Findings, ratchet::Ratchet, subject::Subject, upgrade_path::check_upgrade};
use crate::apimachinery::{FieldError, is_duration};
use crate::definition::admission::{Check, Rule};
use crate::{definition::Path, json::Json};

/// Returns whether a rule applies to a controller version. All rules apply to a server without one.
pub(super) fn applies(rule: &Rule, controller: Option<&Version>) -> bool {
    match (&rule.controllers, controller) {
        (Some(range), Some(version)) => range.contains(version),
        _ => true,
    }
}

/// Applies a rule. Errors that existed before and are unchanged become warnings, so that a new rule does not block
/// existing objects.
pub(super) fn apply(subject: &mut Subject<'_, '_>, rule: &Rule, ratchet: Ratchet) -> Findings {
    let mut found = Findings::default();
    check(subject, rule, ratchet, &mut found);
    let excused = match ratchet {
        Ratchet::Everything => true,
        Ratchet::Nothing => false,
        Ratchet::Untouched => !found.errors.is_empty() && subject.is_untouched(&rule.field),
    };
    if excused {
        found.excuse();
    }
    if ratchet == Ratchet::Everything {
        // Warnings about the spec are for clients that change it.
        found.warnings.clear();
    }
    found
}

fn check(subject: &mut Subject<'_, '_>, rule: &Rule, ratchet: Ratchet, found: &mut Findings) {
    let new = subject.new_value(&rule.field);
    if let Check::Immutable { unset, uuid } = &rule.check {
        let old = subject.old_value(&rule.field);
        found.errors.extend(immutable(|| subject.name(&rule.field), unset, *uuid, old, new));
        return;
    }
    let Some(new) = new else {
        return;
    };
    match &rule.check {
        Check::Deprecated { successor, unless } => {
            if !unless.iter().any(|value| value.same(&new)) {
                found.warnings.push(format!("{} is deprecated: use {successor}", subject.name(&rule.field)));
            }
        }
        Check::Duration => {
            if new.as_str().is_none_or(|text| !is_duration(&text)) {
                let what = "must be a duration such as 2160h or 1h30m";
                found.errors.push(FieldError::invalid(subject.name(&rule.field), &new, what));
            }
        }
        Check::Immutable { .. } => {}
        Check::Range { min, max } => found.errors.extend(range(|| subject.name(&rule.field), *min, *max, &new)),
        Check::Requires { needs } => requires(subject, &rule.field, needs, ratchet, found),
        Check::Upgrade { .. } => check_upgrade(subject, &rule.field, &rule.check, &new, found),
        Check::Warn { is, unless, unlike, message } => {
            let is = is.as_ref().is_none_or(|value| value.same(&new));
            let none = unless.iter().any(|value| same_value(value, &new));
            let mut others = unlike.iter().filter_map(|other| subject.new_value(other));
            let alone = unlike.is_empty() || !is_empty(&new) && !others.any(|other| same_value(&other, &new));
            if is && !none && alone {
                found.warnings.push(format!("{}: {message}", subject.name(&rule.field)));
            }
        }
    }
}

/// A field that was set to anything but `unset` must not change.
fn immutable(
    name: impl Fn() -> Path,
    unset: &[Json<'_>],
    uuid: bool,
    old: Option<Json<'_>>,
    new: Option<Json<'_>>,
) -> Option<FieldError> {
    let same = |one: &Json<'_>, two: &Json<'_>| if uuid { same_uuid(one, two) } else { one.same(two) };
    let old = old.filter(|old| !unset.iter().any(|unset| same(unset, old)))?;
    match new {
        Some(new) if same(&new, &old) => None,
        Some(new) => Some(FieldError::invalid(name(), &new, "field is immutable")),
        None => Some(FieldError::required(name(), "field is immutable and cannot be removed")),
    }
}

pub(super) fn range(name: impl Fn() -> Path, min: Option<i64>, max: Option<i64>, new: &Json<'_>) -> Vec<FieldError> {
    let low = min
        .filter(|min| compare(new, *min) == Some(Ordering::Less))
        .map(|min| format!("must be greater than or equal to {min}"));
    let high = max
        .filter(|max| compare(new, *max) == Some(Ordering::Greater))
        .map(|max| format!("must be less than or equal to {max}"));
    low.into_iter().chain(high).map(|what| FieldError::invalid(name(), new, what)).collect()
}

/// Checks each required member separately, so that missing members can be added one at a time.
fn requires(subject: &mut Subject<'_, '_>, field: &Path, needs: &[Path], ratchet: Ratchet, found: &mut Findings) {
    let is_missing = |value: Option<Json<'_>>| value.is_none_or(|value| is_empty(&value));
    for need in needs {
        if !is_missing(subject.new_value(need)) {
            continue;
        }
        let why = format!("must be set where {} is", subject.name(field));
        let error = FieldError::required(subject.name(need), why);
        if ratchet != Ratchet::Nothing && subject.was(field).is_some() && is_missing(subject.was(need)) {
            found.known.push(error);
        } else {
            found.errors.push(error);
        }
    }
}
