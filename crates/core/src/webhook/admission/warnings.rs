//! Warnings of what a write will lead to, and of what it will not.

use std::borrow::Cow;

use super::field_path::field_in;
use super::subject::{Request, Subject};
use crate::definition::{Path, Rollout, Side};
use crate::{apimachinery::excerpt, json::Json, webhook::convert::tree};

/// What an update will roll out, and why. `subject` is the write in the version that is hashed.
pub(super) fn rollout(rollout: &Rollout, request: &Request<'_, '_>, subject: &Subject<'_, '_>) -> Option<String> {
    let (old, new) = (subject.old_object()?, subject.new_object());
    let (before, after) = (old.preimage(rollout), new.preimage(rollout));
    if before == after {
        return None;
    }
    let [old_hash, new_hash] = [(old, &before), (new, &after)]
        .map(|(object, made_of)| object.known_hash().map_or_else(|| Cow::Owned(made_of.hash()), Cow::Borrowed));
    if old_hash == new_hash {
        return None;
    }
    let hashed = Path::default().join(&rollout.of);
    let mut fields: Vec<String> = Vec::new();
    let mut more = 0_usize;
    for name in before.differing(&after) {
        if fields.len() == NAMED {
            more += 1;
            continue;
        }
        let field = field_in(request.kind, &hashed.join(&name), rollout.at, request.at);
        let field = excerpt(&field.strip(&hashed).unwrap_or(field).to_string());
        if !fields.contains(&field) {
            fields.push(field);
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

/// How many fields a warning names: enough for a person.
const NAMED: usize = 20;

/// Fields that a manifest still has, but the version of the request has not: the API server drops them.
pub(super) fn dropped_fields(request: &mut Request<'_, '_>) -> Vec<String> {
    let Request { kind, at, new, .. } = request;
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
            warnings.push(format!("{} has no effect: {version} does not have it, only {older} does", place.path));
        }
    }
    warnings
}
