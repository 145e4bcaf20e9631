//! Converts requests to hashes.

use super::fields::{StatusConversion, get, hash_before, is_hash, set};
use super::requests::{self, RolloutRequests, is_done};
use crate::webhook::convert::{error::ConvertError, kept::Kept};
use crate::{definition::Place, json::Json};

/// The validity of the hashes in an older status.
#[derive(Clone, Copy)]
enum Carried {
    /// No client changed the completed request: the hashes are valid, absence included.
    Untouched,
    /// A client completed a request: the hashes are derived again.
    Outdated,
    /// Unknown: existing values are valid.
    Unknown,
}

/// Writes the status of the newer version. Returns whether a change that waits for approval was treated as completed.
pub(crate) fn up<'a>(
    status: &StatusConversion<'a>,
    root: &mut Json<'a>,
    requests: RolloutRequests<'a>,
    kept: &Kept<'a>,
    to_keep: &mut Kept<'a>,
) -> Result<bool, ConvertError> {
    let RolloutRequests { requested, completed } = requests;
    let (request, done) = (&status.fields.requests.requested, &status.fields.requests.completed);
    let derived = kept.rollout.request.as_ref();
    let made_up = status.calculated.is_some() && is_untouched(derived, requested.as_ref());
    if let Some(requested) = requested.as_ref().filter(|_| !made_up) {
        to_keep.fields.keep(&request.id, &[Some(requested.clone())], (&[], &[]));
    }
    let derived = kept.rollout.completed.as_ref();
    let ours = derived.or(kept.rollout.returned.as_ref());
    let untouched = is_untouched(ours, completed.as_ref());
    let settled = is_done(requested.as_ref(), completed.as_ref());
    let Some(hash) = status.calculated_for_status(root) else {
        if completed.is_some() {
            let became = get(root, &status.fields.hashes.completed)?;
            to_keep.fields.keep(&done.id, &[completed], (&[became], &[]));
        }
        return Ok(false);
    };
    let carried = match (untouched, ours) {
        (true, _) => Carried::Untouched,
        (false, Some(_)) => Carried::Outdated,
        (false, None) => Carried::Unknown,
    };
    let staged = write_hashes(status, root, settled, carried, kept, to_keep)?;
    if completed.is_some() && !is_untouched(derived, completed.as_ref()) {
        let became = get(root, &status.fields.hashes.completed)?;
        let truthful = settled == is_hash(became.as_ref(), hash);
        let as_found = !untouched || is_hash(kept.rollout.found_at.as_ref(), hash);
        if truthful || as_found {
            to_keep.fields.keep(&done.id, &[completed], (&[became], &[]));
        }
        if as_found && !truthful {
            // The original status was inconsistent. It is restored while the spec is unchanged.
            to_keep.rollout.found_at = Some(Json::string(hash));
        }
    }
    Ok(staged)
}

/// Writes both hashes, or leaves valid ones. Returns whether a change that waits for approval was treated as completed.
fn write_hashes<'a>(
    status: &StatusConversion<'a>,
    root: &mut Json<'a>,
    settled: bool,
    carried: Carried,
    kept: &Kept<'a>,
    to_keep: &mut Kept<'a>,
) -> Result<bool, ConvertError> {
    let hashes = &status.fields.hashes;
    let reasons = status.reasons(root)?;
    let calculated = |known: bool| status.hash().filter(|_| known && !reasons.promoting).map(Json::string);
    let was_carried = write_hash(root, &hashes.completed, calculated(settled), carried, kept, to_keep)?;
    write_hash(root, &hashes.requested, calculated(true), carried, kept, to_keep)?;
    Ok(settled && !was_carried && reasons.waits)
}

/// Leaves a valid hash, or replaces it. Returns whether it was valid.
fn write_hash<'a>(
    root: &mut Json<'a>,
    place: &'a Place,
    calculated: Option<Json<'a>>,
    carried: Carried,
    kept: &Kept<'a>,
    to_keep: &mut Kept<'a>,
) -> Result<bool, ConvertError> {
    let now = get(root, place)?;
    let mut new = calculated;
    match (carried, &now) {
        (Carried::Untouched, _) => match (hash_before(kept, place, &now), &now) {
            (Some(before), _) => {
                new = before;
                to_keep.fields.keep(&place.id, &[now], (&[new.clone()], &[]));
            }
            (None, Some(_)) => return Ok(true),
            (None, None) if kept.rollout.notes_absence_of(&place.id) => {
                return Ok(true);
            }
            (None, None) => {}
        },
        (Carried::Unknown, Some(value)) if !value.is_null() => return Ok(true),
        // A null that no controller of the newer version wrote has no meaning. The conversion back restores it.
        (Carried::Unknown, Some(_)) => to_keep.fields.keep(&place.id, &[now], (&[new.clone()], &[])),
        (Carried::Outdated | Carried::Unknown, _) => {}
    }
    set(root, place, new)?;
    Ok(false)
}

/// Returns whether a request still has the derived value.
fn is_untouched(ours: Option<&Json<'_>>, now: Option<&Json<'_>>) -> bool {
    matches!((ours, now), (Some(ours), Some(now)) if requests::same(ours, now))
}
