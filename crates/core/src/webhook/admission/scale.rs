//! Writes of the scale subresource, which change a number of the spec.
//!
//! The request contains a `Scale` without labels and without the rest of the object, and no patch can change the
//! object. So the rules for all controller versions apply, and the reply contains warnings about skipped checks.

use super::field_path::{field_in, same_field};
use super::findings::Findings;
use super::judgement::{Judgement, Judging};
use super::{rules::range, settings::Settings};
use crate::definition::admission::{Check, Rule};
use crate::definition::{Kind, Path, VersionIndex};
use crate::json::Json;

/// Judges a `Scale` of an object in a version against the old `Scale`. The controller version is unknown, so the rules
/// for all of them apply.
pub(crate) fn judge_scale(
    kind: &Kind,
    settings: &Settings,
    at: VersionIndex,
    new: &Json<'_>,
    old: Option<&Json<'_>>,
) -> Judgement {
    let mut judging = Judging::new(kind, settings.enforcement);
    judging.add("scale", found(kind, at, new, old));
    judging.finish([None, None])
}

fn found(kind: &Kind, at: VersionIndex, new: &Json<'_>, old: Option<&Json<'_>>) -> Findings {
    let mut found = Findings::default();
    let replicas = |scale: &Json<'_>| Some(scale.get("spec")?.get("replicas")?.into_owned());
    let (Some(path), Some(wanted)) = (&kind.version_at(at).replicas, replicas(new)) else {
        return found;
    };
    if old.and_then(replicas).is_some_and(|before| before.same(&wanted)) {
        return found;
    }
    for rule in rules_of(kind, at, path).filter(|rule| rule.controllers.is_none()) {
        if let Check::Range { min, max } = &rule.check {
            found.errors.extend(range(|| path.clone(), *min, *max, &wanted));
        }
    }
    if is_hashed(kind, at, path) {
        found.warnings.push(format!(
            "{path} is part of the rollout hash, and scale bypasses /mutate: annotation {}/rollout-hash is \
                 stale until the next write of the object",
            kind.group
        ));
    }
    found
}

/// Describes the checks that scale writes of a kind bypass.
#[must_use]
pub fn unseen_by_scale(kind: &Kind) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let served = kind.versions.indices().filter(|at| kind.version_at(*at).served);
    for at in served {
        let version = kind.version_at(at);
        let Some(path) = &version.replicas else { continue };
        let name = &version.name;
        if is_hashed(kind, at, path) {
            notes.push(format!(
                "scale at {name} writes {path}, which is part of the rollout hash, and bypasses /mutate: the \
                     stamped hash is stale until the next write of the object (`pointsman hash --stale` lists such \
                     objects)"
            ));
        }
        let seen = |rule: &&Rule| matches!(rule.check, Check::Range { .. }) && rule.controllers.is_none();
        for rule in rules_of(kind, at, path).filter(|rule| !seen(rule)) {
            notes.push(format!("scale at {name} writes {path} without checking the rule {}", rule.id));
        }
    }
    notes
}

/// The rules for the field that scale writes in a version.
fn rules_of<'k>(kind: &'k Kind, at: VersionIndex, path: &Path) -> impl Iterator<Item = &'k Rule> {
    let is_same = move |rule: &&Rule| same_field(kind, &rule.field, rule.at, at).is_some_and(|field| field == *path);
    kind.admission.rules.iter().filter(is_same)
}

fn is_hashed(kind: &Kind, at: VersionIndex, path: &Path) -> bool {
    let Some(rollout) = &kind.rollout_hash else {
        return false;
    };
    let there = field_in(kind, path, at, rollout.at);
    let mut names = there.names().iter();
    if names.next().is_none_or(|name| **name != *rollout.of) {
        return false;
    }
    let mut place = Some(&rollout.canonical);
    for name in names {
        place = place.and_then(|place| place.members.get(name.as_ref()));
        if place.is_some_and(|place| place.skip) {
            return false;
        }
    }
    true
}
