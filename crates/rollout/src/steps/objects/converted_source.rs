//! Source objects that were deleted after their conversion, and that an undo can recreate: they belong to its fleet.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::lookup::results::LookupResults;
use serde_json::{Value, json};

use super::observed_object::{BECAME, MADE_BY, ON_WHAT_WAS_MADE, annotation, list};
use crate::lookup::request::{LookupRequest, PairedKind, title};
use crate::observe::fleet_object::FleetObject;
use crate::observe::observed_field::{pointer, test};
use crate::observe::rollout_annotation::RolloutAnnotation;
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::writes::object_write::{ObjectCall, ObjectWrite};

/// Lookup of the metadata of all replacements. `None` if the rollout does not undo beyond the deletion.
pub(crate) fn source_lookup(rollout: &Rollout, status: &RolloutStatus) -> Option<LookupRequest> {
    let wants =
        status.direction_of(rollout) == Direction::Undo || status.in_flight.iter().any(|one| one.target.is_some());
    replacements_lookup(rollout).filter(|_| wants && status.started.is_some())
}

/// Lookup of the metadata of all possible replacements. `None` if no source can be recreated.
#[must_use]
pub fn replacements_lookup(rollout: &Rollout) -> Option<LookupRequest> {
    let pair = rollout.pair.as_deref().filter(|_| rollout.returns())?;
    Some(LookupRequest::of_metadata(&pair.target.resource, None, ""))
}

/// Writes that remove the rollout annotations from replacements, once no undo needs them. Replacements with an existing
/// source keep them for other rollouts.
///
/// # Errors
/// The replacements are unknown, with the reason.
pub fn annotation_removals(
    rollout: &Rollout,
    fleet: &[FleetObject],
    answers: &LookupResults,
) -> Result<Vec<ObjectWrite>, String> {
    let (Some(pair), Some(lookup)) = (rollout.pair.as_deref(), replacements_lookup(rollout)) else {
        return Ok(Vec::new());
    };
    let there: BTreeSet<&str> = fleet.iter().map(FleetObject::uid).collect();
    let is_of_it = |target: &&Value| {
        let is_deleted = annotation(target, BECAME).is_none_or(|uid| !there.contains(uid));
        is_deleted
            && annotation(target, MADE_BY).and_then(RolloutAnnotation::read).is_some_and(|mark| mark.is_of(rollout))
    };
    let writes = list(answers, &lookup)?.iter().filter(is_of_it).map(|target| unmark(&pair.target, target));
    Ok(writes.collect())
}

fn unmark(kind: &PairedKind, target: &Value) -> ObjectWrite {
    let member = |name: &str| target.pointer(&format!("/metadata/{name}")).and_then(Value::as_str).map(str::to_owned);
    let (uid, name) = (member("uid").unwrap_or_default(), member("name").unwrap_or_default());
    let ours = ON_WHAT_WAS_MADE.iter().filter(|name| annotation(target, name).is_some());
    let removals = ours.map(|name| json!({"op": "remove", "path": pointer("annotations", name)}));
    let same = test("/metadata/uid", json!(uid));
    ObjectWrite {
        plural: kind.resource.plural.clone(),
        group: kind.resource.group.clone(),
        version: Some(kind.version().to_owned()),
        cluster: None,
        of: title(target),
        namespace: member("namespace"),
        name,
        call: ObjectCall::Patch(std::iter::once(same).chain(removals).collect()),
        uid,
    }
}

/// The deleted source objects that an undo recreates. `answers` contains their replacements.
#[must_use]
pub fn converted_sources(
    rollout: &Rollout,
    status: &RolloutStatus,
    fleet: &[FleetObject],
    answers: &LookupResults,
) -> Vec<FleetObject> {
    let Some(Ok(all)) = source_lookup(rollout, status).map(|lookup| list(answers, &lookup)) else {
        return Vec::new();
    };
    // An existing object is no deleted source, whatever created it.
    let there: BTreeSet<(Option<&str>, &str)> = fleet.iter().map(|one| (one.namespace(), one.name())).collect();
    // Leftovers of a just deleted object are removed first.
    let is_leaving = |uid: &str| status.in_flight_object(uid).is_some_and(|one| one.target.is_none());
    let source = |target| {
        FleetObject::converted_source(target, rollout, (annotation(target, BECAME)?, annotation(target, MADE_BY)?))
    };
    let converted_sources = all.iter().filter_map(source);
    converted_sources.filter(|one| !there.contains(&(one.namespace(), one.name())) && !is_leaving(one.uid())).collect()
}

/// The reason why the deleted sources are unknown; `None` if they are known or not needed.
pub(crate) fn sources_unknown(rollout: &Rollout, status: &RolloutStatus, answers: &LookupResults) -> Option<String> {
    list(answers, &source_lookup(rollout, status)?).err()
}

/// The status with in-flight entries of deleted sources moved to the recreated objects.
pub(crate) fn returned<'s>(
    rollout: &Rollout,
    status: &'s RolloutStatus,
    fleet: &[FleetObject],
) -> Cow<'s, RolloutStatus> {
    if status.in_flight.iter().all(|one| one.target.is_none()) {
        return Cow::Borrowed(status);
    }
    let again = fleet.iter().filter_map(|object| {
        let again = object.annotation_of(rollout)?.again.as_ref()?;
        Some((again.of.as_str(), object.uid()))
    });
    let again: BTreeMap<&str, &str> = again.collect();
    let mut status = status.clone();
    for in_flight_object in status.in_flight.iter_mut().filter(|one| one.target.is_some()) {
        if let Some(uid) = again.get(in_flight_object.uid.as_str()) {
            in_flight_object.uid = (*uid).to_owned();
            in_flight_object.target = None;
        }
    }
    Cow::Owned(status)
}

/// Entries that were released before recreation count as converted again.
pub(crate) fn note_left(status: &mut RolloutStatus, before: &RolloutStatus) {
    for one in before.in_flight.iter().filter(|one| one.target.is_some()) {
        if status.in_flight_object(&one.uid).is_none() {
            *status.converted_counts.entry(one.wave.clone()).or_default() += 1;
        }
    }
}
