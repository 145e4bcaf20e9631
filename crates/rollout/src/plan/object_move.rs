//! Move writes: moves objects in flight, and retries refused ones.

use std::collections::BTreeMap;

use super::planner::Planner;
use crate::evaluate::fleet_view::FleetView;
use crate::evaluate::object_state::ObjectState;
use crate::observe::field_managers::ManagerRecord;
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::{ClockReading, wall};
use crate::observe::status::InFlightObject;
use crate::spec::rollout::Direction;
use crate::steps::writes::patch::ObjectPatch;

/// Writes of in-flight objects.
#[derive(Default)]
pub(crate) struct Moves {
    pub(crate) writes: Vec<ObjectPatch>,
    /// Records of objects that are rolled back, by uid.
    pub(crate) records: BTreeMap<String, Option<ManagerRecord>>,
    /// True if other writes are due shortly: see [`is_just_written`].
    pub(crate) defers: bool,
}

/// Writes of in-flight objects whose move is not observed yet.
pub(crate) fn moves(planner: &Planner<'_>) -> Moves {
    let mut moves = Moves::default();
    if planner.is_inactive
        || planner.is_stopped()
        || planner.status.started.is_none()
        || planner.status.direction == Direction::Abort
    {
        return moves;
    }
    let evaluator = planner.evaluator();
    for in_flight_object in &planner.status.in_flight {
        let Some(object) = planner.object(&in_flight_object.uid).filter(|object| object.object_progress.is_none())
        else {
            continue;
        };
        // A rollback returns objects to the old controller: the new one may be down.
        let waits = planner.facts.closed_gate.is_some() && !in_flight_object.back;
        // A rollback may return the object to the controller that removes its finalizer.
        let is_terminating_forward = object.is_terminating && !in_flight_object.back;
        if is_terminating_forward
            || waits
            || evaluator.is_move_observed(object, in_flight_object)
            || evaluator.was_taken(object, in_flight_object)
        {
            continue;
        }
        // A controller that is always faster will also write in a later second.
        let is_busy = planner.facts.runner_cache.is_often_overtaken(&object.uid);
        let awaited = evaluator.manager_ahead(object, in_flight_object).filter(|_| !is_busy);
        let write = match in_flight_object.back {
            true => ObjectPatch::back(planner.rollout, object, awaited),
            false => Some(ObjectPatch::forward(planner.rollout, object, planner.now, awaited)),
        };
        let Some(write) = write else { continue };
        if awaited.is_some_and(|manager| is_just_written(object, manager, in_flight_object, planner.now)) {
            moves.defers = true;
            continue;
        }
        if in_flight_object.back {
            moves.records.insert(object.uid.clone(), object.record_of(awaited));
        }
        moves.writes.push(write);
    }
    moves
}

/// True if the receiving controller wrote the object in this second, as far as clocks agree. Its response to a move in
/// the same second would leave its entry unchanged, so the move waits for the next second. A controller that writes
/// continuously is not awaited: it writes again.
fn is_just_written(object: &FleetObject, manager: &str, in_flight_object: &InFlightObject, now: ClockReading) -> bool {
    let last = object.managers.as_ref().and_then(|all| all.last_write(manager));
    let since = wall(&in_flight_object.since).filter(|since| *since <= now.wall);
    let waits = since.is_some_and(|since| now.wall < since.saturating_add(LONGEST_DEFERRAL));
    waits && last.is_some_and(|last| now.wall <= last.saturating_add(1))
}

/// Records the field manager entries of objects that are rolled back: the rollback removes their annotations.
pub(crate) fn note_records(planner: &mut Planner<'_>, mut records: BTreeMap<String, Option<ManagerRecord>>) {
    for in_flight_object in &mut planner.status.in_flight {
        if let Some(record) = records.remove(&in_flight_object.uid) {
            in_flight_object.writes = record;
        }
    }
}

/// Seconds: one for an API server clock that is behind, and one for times without fractions.
const LONGEST_DEFERRAL: u64 = 3;

/// Dry runs of moves that were refused some time ago.
pub(crate) fn tries(planner: &Planner<'_>, view: &FleetView<'_, '_>) -> Vec<ObjectPatch> {
    if planner.is_inactive
        || planner.is_stopped()
        || planner.status.started.is_none()
        || planner.facts.trouble.is_some()
    {
        return Vec::new();
    }
    let back = planner.status.direction == Direction::Undo;
    let is_due = |(object, object_state): &(&FleetObject, &ObjectState)| {
        let was_refused = matches!(object_state, ObjectState::Waiting(_) | ObjectState::Refused(_));
        was_refused && object.object_progress.is_none() && planner.facts.runner_cache.is_due(&object.uid, planner.now)
    };
    let write = |(object, _): (&FleetObject, &ObjectState)| match back {
        true => ObjectPatch::back(planner.rollout, object, None),
        false => Some(ObjectPatch::forward(planner.rollout, object, planner.now, None)),
    };
    view.all().filter(is_due).filter_map(write).collect()
}
