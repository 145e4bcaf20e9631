//! Removes kept values that are no longer valid after a change of the object.
//!
//! A kept value is pending until a client reads the version that can represent it. If a value that it depends on has
//! changed, the kept value must not become valid again after a later change. A conversion there and back leaves exactly
//! the valid entries:
//!
//! ```text
//! as it was at v2   policy: Always   kept-v1: {"spec.policy":{"value":"Forever","became":"Always"}}
//! a write at v2     policy: Never    at v1 that is policy: Never, of which nothing has to be kept
//! ```

use std::collections::BTreeSet;

use super::error::ConvertError;
use super::kept::Kept;
use super::object::Object;
use super::tree;
use crate::definition::{Kind, Place, VersionIndex};
use crate::json::Json;

/// A kept annotation that must change.
pub(crate) struct Pruned {
    pub(crate) name: String,
    /// The new content. `None` removes the annotation.
    pub(crate) text: Option<String>,
}

/// Returns the kept annotations whose content differs from that after a conversion there and back.
///
/// Entries of a rollout stay, because they depend on the status, which is written separately. If an object does not
/// return unchanged, all its annotations stay.
pub(crate) fn pruned<'a>(kind: &'a Kind, object: &Object<'a>) -> Result<Vec<Pruned>, ConvertError> {
    let at = object.version(kind)?;
    let others = kind.versions.indices().filter(|version| *version != at);
    let mut held: Vec<(VersionIndex, &str)> =
        others.filter_map(|version| Some((version, kind.kept_annotation(version)?))).collect();
    held.retain(|(_, name)| object.annotations.text(name).is_some_and(|text| Kept::parse(&text).is_some()));
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let oldest = held.iter().map(|(version, _)| *version).find(|version| *version < at);
    let newest = held.iter().map(|(version, _)| *version).rfind(|version| *version > at);
    let mut back = object.clone();
    for end in oldest.into_iter().chain(newest) {
        back.convert(kind, end)?;
        back.convert(kind, at)?;
    }
    // An annotation that is too large to be written does not count as removed.
    if back.annotations.overflow().is_some() || !contents(kind, object)?.same(&contents(kind, &back)?) {
        return Ok(Vec::new());
    }
    let changed = held.into_iter().filter_map(|(_, name)| {
        let before = object.annotations.text(name)?;
        let now = back.annotations.text(name);
        let text = still_holds(kind, &before, now.as_deref())?;
        Some(Pruned { name: name.to_owned(), text })
    });
    Ok(changed.collect())
}

/// Restores the status entries of kept annotations from the old object. They belong to writers of the status, as does
/// the status itself.
pub(crate) fn status_as_before(kind: &Kind, new: &Object<'_>, old: Option<&Object<'_>>) -> Vec<Pruned> {
    let names = kind.versions.indices().filter_map(|version| kind.kept_annotation(version));
    let reset = names.filter_map(|name| {
        let now = new.annotations.text(name)?;
        let before = old.and_then(|old| old.annotations.text(name));
        if before.as_ref() == Some(&now) {
            return None;
        }
        let mut kept = Kept::parse(&now)?;
        let mut was = before.as_deref().and_then(Kept::parse).unwrap_or_default();
        let both = kept.fields.all().chain(was.fields.all()).map(|(id, _)| id).filter(|id| is_of_status(id));
        let ids: BTreeSet<String> = both.map(str::to_owned).collect();
        ids.iter().for_each(|id| kept.fields.take_from(&mut was.fields, id));
        let text = (!kept.is_empty()).then(|| kept.to_text());
        (text.as_deref() != Some(&*Kept::parse(&now)?.to_text())).then(|| Pruned { name: name.to_owned(), text })
    });
    reset.collect()
}

/// Returns whether the place of a kept entry is in the status.
pub(crate) fn is_of_status(id: &str) -> bool {
    id.strip_prefix("status").is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns whether a write sets a kept annotation itself: it has content, and is neither the previous content nor the
/// rest of it after the write.
pub(crate) fn is_brought(kind: &Kind, [old, new]: [&Object<'_>; 2], name: &str) -> bool {
    let (before, now) = (old.annotations.text(name), new.annotations.text(name));
    let Some(now) = now.filter(|now| before.as_deref() != Some(now)) else {
        return false;
    };
    let is_same = |one: &str, other: &str| match (Json::parse(one), Json::parse(other)) {
        (Ok(one), Ok(other)) => one.same(&other),
        _ => one == other,
    };
    if Kept::parse(&now).is_none() || before.as_deref().is_some_and(|before| is_same(before, &now)) {
        return false;
    }
    let Some(before) = before else { return true };
    let mut unbrought = new.clone();
    unbrought.annotations.set(name, &before);
    let left = pruned(kind, &unbrought).unwrap_or_default();
    let left = left.into_iter().find(|pruned| pruned.name == name).and_then(|pruned| pruned.text);
    !left.is_some_and(|left| is_same(&left, &now))
}

/// The required content of an annotation, if it differs.
fn still_holds(kind: &Kind, before: &str, now: Option<&str>) -> Option<Option<String>> {
    let mut kept = now.and_then(Kept::parse).unwrap_or_default();
    let mut was = Kept::parse(before)?;
    for place in rollout_places(kind) {
        kept.fields.take_from(&mut was.fields, &place.id);
    }
    (kept.rollout, kept.annotations) = (was.rollout, was.annotations);
    let text = |kept: Kept<'_>| (!kept.is_empty()).then(|| kept.to_text());
    let now = text(kept);
    (text(Kept::parse(before)?) != now).then_some(now)
}

/// The content of an object without its rollout fields.
fn contents<'a>(kind: &Kind, object: &Object<'a>) -> Result<Json<'a>, ConvertError> {
    let mut root = object.root.clone();
    for place in rollout_places(kind) {
        tree::take(&mut root, "", &place.path)?;
    }
    Ok(root)
}

/// The rollout fields of either version.
fn rollout_places(kind: &Kind) -> impl Iterator<Item = &Place> {
    let status = kind.steps.iter().filter_map(|step| step.status.as_ref());
    let requested = status.flat_map(|status| [&status.requests, &status.hashes]);
    requested.flat_map(|requested| [&requested.requested, &requested.completed])
}
