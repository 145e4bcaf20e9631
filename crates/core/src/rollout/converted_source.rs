//! Source objects that were deleted after their conversion, and that an undo can recreate: they belong to its fleet.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::lookup_results::LookupResults;
use serde_json::{Value, json};

use super::fleet_object::FleetObject;
use super::fleet_rollout::{Direction, Rollout};
use super::json_patch::{pointer, test};
use super::kinds::PairedKind;
use super::lookup_request::{LookupRequest, title};
use super::rollout_annotation::RolloutAnnotation;
use super::status::RolloutStatus;
use super::steps::{BECAME, MADE_BY, ON_WHAT_WAS_MADE, ObjectCall, ObjectWrite, annotation, list};

/// Lookup of the metadata of all replacements. `None` if the rollout does not undo beyond the deletion.
pub(super) fn former_question(rollout: &Rollout, status: &RolloutStatus) -> Option<LookupRequest> {
    let wants =
        status.direction_of(rollout) == Direction::Undo || status.in_flight.iter().any(|one| one.target.is_some());
    made_question(rollout).filter(|_| wants && status.started.is_some())
}

/// Lookup of the metadata of all possible replacements. `None` if no source can be recreated.
#[must_use]
pub fn made_question(rollout: &Rollout) -> Option<LookupRequest> {
    let pair = rollout.pair.as_deref().filter(|_| rollout.returns())?;
    Some(LookupRequest::of_metadata(&pair.target.resource, None, ""))
}

/// Writes that remove the rollout annotations from replacements, once no undo needs them. Replacements with an existing
/// source keep them for other rollouts.
///
/// # Errors
/// The replacements are unknown, with the reason.
pub fn unmarked(rollout: &Rollout, fleet: &[FleetObject], answers: &LookupResults) -> Result<Vec<ObjectWrite>, String> {
    let (Some(pair), Some(question)) = (rollout.pair.as_deref(), made_question(rollout)) else { return Ok(Vec::new()) };
    let there: BTreeSet<&str> = fleet.iter().map(FleetObject::uid).collect();
    let is_of_it = |target: &&Value| {
        let is_gone = annotation(target, BECAME).is_none_or(|uid| !there.contains(uid));
        is_gone
            && annotation(target, MADE_BY).and_then(RolloutAnnotation::read).is_some_and(|mark| rollout.has_left(&mark))
    };
    let writes = list(answers, &question)?.iter().filter(is_of_it).map(|target| unmark(&pair.target, target));
    Ok(writes.collect())
}

fn unmark(kind: &PairedKind, target: &Value) -> ObjectWrite {
    let member = |name: &str| target.pointer(&format!("/metadata/{name}")).and_then(Value::as_str).map(str::to_owned);
    let (uid, name) = (member("uid").unwrap_or_default(), member("name").unwrap_or_default());
    let ours = ON_WHAT_WAS_MADE.iter().filter(|name| annotation(target, name).is_some());
    let goes = ours.map(|name| json!({"op": "remove", "path": pointer("annotations", name)}));
    let same = test("/metadata/uid", json!(uid));
    ObjectWrite {
        plural: kind.resource.plural.clone(),
        group: kind.resource.group.clone(),
        version: Some(kind.version().to_owned()),
        cluster: None,
        of: title(target),
        namespace: member("namespace"),
        name,
        call: ObjectCall::Patch(std::iter::once(same).chain(goes).collect()),
        uid,
    }
}

/// The deleted source objects that an undo recreates. `answers` contains their replacements.
#[must_use]
pub fn formers(
    rollout: &Rollout,
    status: &RolloutStatus,
    fleet: &[FleetObject],
    answers: &LookupResults,
) -> Vec<FleetObject> {
    let Some(Ok(all)) = former_question(rollout, status).map(|question| list(answers, &question)) else {
        return Vec::new();
    };
    // An existing object is no deleted source, whatever created it.
    let there: BTreeSet<(Option<&str>, &str)> = fleet.iter().map(|one| (one.namespace(), one.name())).collect();
    // Leftovers of a just deleted object are removed first.
    let is_leaving = |uid: &str| status.reservation(uid).is_some_and(|one| one.target.is_none());
    let former =
        |target| FleetObject::former(target, rollout, (annotation(target, BECAME)?, annotation(target, MADE_BY)?));
    let formers = all.iter().filter_map(former);
    formers.filter(|one| !there.contains(&(one.namespace(), one.name())) && !is_leaving(one.uid())).collect()
}

/// The reason why the deleted sources are unknown; `None` if they are known or not needed.
pub(super) fn formers_unknown(rollout: &Rollout, status: &RolloutStatus, answers: &LookupResults) -> Option<String> {
    list(answers, &former_question(rollout, status)?).err()
}

/// The status with in-flight entries of deleted sources moved to the recreated objects.
pub(super) fn returned<'s>(
    rollout: &Rollout,
    status: &'s RolloutStatus,
    fleet: &[FleetObject],
) -> Cow<'s, RolloutStatus> {
    if status.in_flight.iter().all(|one| one.target.is_none()) {
        return Cow::Borrowed(status);
    }
    let again = fleet.iter().filter_map(|object| {
        let again = object.mark_of(rollout)?.again.as_ref()?;
        Some((again.of.as_str(), object.uid()))
    });
    let again: BTreeMap<&str, &str> = again.collect();
    let mut status = status.clone();
    for reservation in status.in_flight.iter_mut().filter(|one| one.target.is_some()) {
        if let Some(uid) = again.get(reservation.uid.as_str()) {
            reservation.uid = (*uid).to_owned();
            reservation.target = None;
        }
    }
    Cow::Owned(status)
}

/// Entries that were released before recreation count as converted again.
pub(super) fn note_left(status: &mut RolloutStatus, before: &RolloutStatus) {
    for one in before.in_flight.iter().filter(|one| one.target.is_some()) {
        if status.reservation(&one.uid).is_none() {
            *status.converted_counts.entry(one.wave.clone()).or_default() += 1;
        }
    }
}
