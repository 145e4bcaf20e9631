//! Warnings about the consequences of a write.

use std::borrow::Cow;

use super::field_path::field_in;
use super::subject::OpenedWrite;
use crate::definition::{HashedFields, Path, Side};
use crate::webhook::convert::{Object, tree};
use crate::webhook::rollout_hash::{HASH_SCHEMA, Preimage};
use crate::{apimachinery::excerpt, json::Json};

/// A warning if the hash annotation differs from the hash: the object was changed after `/mutate`, or `/mutate` was not
/// called. `now` is the object in the version that is hashed, and its preimage.
pub(super) fn stale_hash(opened: &OpenedWrite<'_, '_>, now: (&Object<'_>, &Preimage)) -> Option<String> {
    let group = &opened.kind.group;
    let [stamp, recipe] = ["rollout-hash", "rollout-hash-version"].map(|name| format!("{group}/{name}"));
    let stamped = opened.new.annotations.text(&stamp)?;
    // The hash of another recipe is not comparable.
    if opened.new.annotations.text(&recipe).is_some_and(|recipe| recipe != HASH_SCHEMA) {
        return None;
    }
    let hash = hash(now);
    (stamped != hash).then(|| {
        let stamped: String = stamped.chars().take(8).collect();
        format!(
            "annotation {stamp} is {stamped}, but the hash is {hash:.8}: the object was changed after /mutate, \
                 or bypassed /mutate"
        )
    })
}

/// The hash of an object. The conversion may have calculated it already.
fn hash<'o>((object, preimage): (&'o Object<'_>, &Preimage)) -> Cow<'o, str> {
    object.known_hash().map_or_else(|| Cow::Owned(preimage.hash()), Cow::Borrowed)
}

/// Describes the rollout that an update starts, and its reason. The objects are old and new, in the version that is
/// hashed, with their preimages.
pub(super) fn rollout(
    rollout: &HashedFields,
    opened: &OpenedWrite<'_, '_>,
    [old, new]: [(&Object<'_>, &Preimage); 2],
) -> Option<String> {
    let (before, after) = (old.1, new.1);
    if before == after {
        return None;
    }
    let [old_hash, new_hash] = [old, new].map(hash);
    if old_hash == new_hash {
        return None;
    }
    let hashed = Path::default().join(&rollout.of);
    let mut fields: Vec<String> = Vec::new();
    let mut more = 0_usize;
    for name in before.differing(after) {
        if fields.len() == NAMED {
            more += 1;
            continue;
        }
        for field in written(opened, rollout, &hashed.join(&name)) {
            let field = excerpt(&field.strip(&hashed).unwrap_or(field).to_string());
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
    }
    let force = rollout.force.iter().filter(|_| before.force != after.force);
    fields.extend(force.map(|force| format!("annotation {force}")));
    if more > 0 {
        fields.push(format!("and {more} more"));
    }
    let fields = fields.join(", ");
    Some(format!("this change starts a rollout: {fields} ({old_hash:.8} to {new_hash:.8})"))
}

/// The changed fields in the version of the request that correspond to a changed field of the hashed version.
fn written(opened: &OpenedWrite<'_, '_>, rollout: &HashedFields, field: &Path) -> Vec<Path> {
    let (kind, at) = (opened.kind, opened.at);
    let there = |path: &Path| field_in(kind, path, rollout.at, at);
    let first = kind.steps_between(rollout.at, at).next();
    let operations = first.iter().flat_map(|(to, step)| step.level.operations.iter().map(|one| (one, to.other())));
    let parts = operations.flat_map(|(operation, side)| operation.places.of(side).iter().map(|place| &place.path));
    let parts = parts.filter(|path| path.len() > field.len() && path.starts_with(field));
    let own = kind.version_at(at).schema.at(field).map(|_| field.clone());
    let is_changed = |path: &Path| {
        let before = opened.old.as_ref().and_then(|old| value(old, path));
        match (before, value(&opened.new, path)) {
            (Some(before), Some(now)) => !before.same(&now),
            (before, now) => before.is_some() != now.is_some(),
        }
    };
    let mut changed: Vec<Path> = parts.map(there).chain(own).filter(is_changed).collect();
    if changed.is_empty() {
        changed.push(there(field));
    }
    changed
}

/// The value at a path. Null counts as absent.
fn value<'o>(object: &'o Object<'_>, path: &Path) -> Option<Json<'o>> {
    let names: Vec<&str> = path.names().iter().map(AsRef::as_ref).collect();
    object.root.get_path(&names).filter(|value| !value.is_null())
}

/// The maximum number of fields in a warning.
const NAMED: usize = 20;

/// Warnings about fields of the manifest that the version of the request lacks. The API server drops them.
pub(super) fn dropped_fields(opened: &mut OpenedWrite<'_, '_>) -> Vec<String> {
    let OpenedWrite { kind, at, new, .. } = opened;
    let Some(step) = kind.step_to(*at) else {
        return Vec::new();
    };
    let applied = new.annotations.text("kubectl.kubernetes.io/last-applied-configuration");
    let mut applied = applied.as_deref().and_then(|text| Json::parse(text).ok()).filter(|applied| {
        let version = applied.get("apiVersion");
        version.as_ref().and_then(Json::as_str).as_deref() == Some(&*new.api_version)
    });
    let operations = step.level.operations.iter().filter(|operation| operation.drops());
    let dropped = operations.filter_map(|operation| operation.places.of(Side::Older).first());
    let requests = step.status.iter().flat_map(|status| [&status.requests.requested, &status.requests.completed]);
    let mut warnings = Vec::new();
    for place in dropped.chain(requests) {
        let has = |json: &mut Json<'_>| tree::get(json, "", &place.path).ok().flatten().is_some();
        if has(&mut new.root) || applied.as_mut().is_some_and(has) {
            let [older, version] = [Side::Older, Side::Newer].map(|side| step.versions.of(side));
            warnings
                .push(format!("{} has no effect: {version} does not have the field, only {older} does", place.path));
        }
    }
    warnings
}
