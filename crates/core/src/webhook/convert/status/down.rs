//! Converts hashes to requests.

use super::fields::{StatusConversion, get, hash_before, is_hash, set};
use super::requests::{is_done, other_than, standing_for};
use crate::definition::Place;
use crate::json::Json;
use crate::webhook::convert::change::{Change, Trace};
use crate::webhook::convert::error::ConvertError;
use crate::webhook::convert::kept::Kept;
use crate::webhook::convert::tree;

/// Writes the requests of the older version.
pub(crate) fn down<'a>(
    status: &StatusConversion<'a>,
    root: &mut Json<'a>,
    kept: &Kept<'a>,
    to_keep: &mut Kept<'a>,
    trace: &mut Trace<'_>,
) -> Result<(), ConvertError> {
    let (request, done) = (&status.fields.requests.requested, &status.fields.requests.completed);
    let mut requested = kept_request(status, root, request, &[], kept);
    if let (None, Some(hash)) = (&requested, status.hash()) {
        let derived = standing_for(hash);
        to_keep.rollout.request = Some(derived.clone());
        requested = Some(derived);
    }
    let completed_hash = get(root, &status.fields.hashes.completed)?;
    let kept_completed = kept_request(status, root, done, std::slice::from_ref(&completed_hash), kept);
    let completed = match status.calculated_for_status(root) {
        Some(hash) => {
            let completed =
                completed_request(hash, requested.as_ref(), completed_hash.as_ref(), kept_completed, kept, to_keep);
            note_absent_hashes(status, root, to_keep)?;
            for place in [&status.fields.hashes.completed, &status.fields.hashes.requested] {
                give_null_back(root, place, kept, to_keep)?;
            }
            Some(completed)
        }
        None => kept_completed,
    };
    let notes = &to_keep.rollout;
    let given_back = [notes.request.is_none(), notes.completed.is_none()];
    for ((place, value), given_back) in [(request, requested), (done, completed)].into_iter().zip(given_back) {
        if let Some(value) = &value {
            trace.record(|| Some(change(place, value, given_back)));
        }
        set(root, place, value)?;
    }
    Ok(())
}

/// The completed request that matches the hashes: the kept request while it matches, or while the hash at which it did
/// not match is unchanged.
fn completed_request<'a>(
    hash: &str,
    requested: Option<&Json<'a>>,
    completed_hash: Option<&Json<'_>>,
    kept_completed: Option<Json<'a>>,
    kept: &Kept<'a>,
    to_keep: &mut Kept<'a>,
) -> Json<'a> {
    let is_complete = is_hash(completed_hash, hash);
    let truthful = is_done(requested, kept_completed.as_ref()) == is_complete;
    let as_found = is_hash(kept.rollout.found_at.as_ref(), hash);
    if let Some(kept) = kept_completed.filter(|_| truthful || as_found) {
        to_keep.rollout.returned = Some(kept.clone());
        to_keep.rollout.found_at = (!truthful).then(|| Json::string(hash));
        return kept;
    }
    let derived = match requested.filter(|_| is_complete) {
        Some(requested) => requested.clone(),
        None => other_than(requested, completed_hash),
    };
    to_keep.rollout.completed = Some(derived.clone());
    derived
}

/// A kept request, if it can be restored: into an existing object, and not as null into a complete object.
fn kept_request<'a>(
    status: &StatusConversion<'a>,
    root: &Json<'_>,
    place: &Place,
    now: &[Option<Json<'_>>],
    kept: &Kept<'a>,
) -> Option<Json<'a>> {
    let given = kept.fields.value(&place.id, 1, (now, &[]))?;
    given.into_iter().next().flatten().filter(|value| {
        place.schema.has_types_of(value)
            && tree::has_top(root, &place.path)
            && !(status.calculated.is_some() && value.is_null())
    })
}

/// Records the absent hashes of the status. A hash that is absent later without a record was dropped by a client.
fn note_absent_hashes<'a>(
    status: &StatusConversion<'a>,
    root: &mut Json<'a>,
    to_keep: &mut Kept<'a>,
) -> Result<(), ConvertError> {
    let mut absent = Vec::new();
    for place in [&status.fields.hashes.completed, &status.fields.hashes.requested] {
        if tree::get(root, "", &place.path)?.is_none() {
            absent.push(Json::string(&place.id));
        }
    }
    if !absent.is_empty() {
        to_keep.rollout.absent_hashes = Some(Json::Array(absent));
    }
    Ok(())
}

/// Restores a null hash that the conversion up had replaced.
fn give_null_back<'a>(
    root: &mut Json<'a>,
    place: &'a Place,
    kept: &Kept<'a>,
    to_keep: &mut Kept<'a>,
) -> Result<(), ConvertError> {
    let now = get(root, place)?;
    if let Some(before) = hash_before(kept, place, &now) {
        to_keep.fields.keep(&place.id, &[now], (std::slice::from_ref(&before), &[]));
        set(root, place, before)?;
    }
    Ok(())
}

fn change(place: &Place, value: &Json<'_>, given_back: bool) -> Change {
    Change {
        operation: "rollout".to_owned(),
        before: Vec::new(),
        after: vec![(place.id.clone(), value.to_text())],
        kept: false,
        given_back,
    }
}
