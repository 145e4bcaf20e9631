//! The writes of objects: what is reserved is moved, and what was refused is tried again.

use std::collections::BTreeMap;

use super::field_managers::ManagerRecord;
use super::fleet_object::FleetObject;
use super::fleet_rollout::Direction;
use super::fleet_view::FleetView;
use super::moment::{ClockReading, wall};
use super::object_state::ObjectState;
use super::patch::ObjectPatch;
use super::planner::Planner;
use super::status::InFlightObject;

/// Writes of objects that are reserved.
#[derive(Default)]
pub(super) struct Moves {
    pub(super) writes: Vec<ObjectPatch>,
    /// What is recorded of those that are taken back, by uid.
    pub(super) records: BTreeMap<String, Option<ManagerRecord>>,
    /// Whether others of them come in a moment: see [`is_just_written`].
    pub(super) defers: bool,
}

/// The writes of objects that are reserved, and not to be seen on them yet.
pub(super) fn moves(planner: &Planner<'_>) -> Moves {
    let mut moves = Moves::default();
    if planner.rests
        || planner.is_stopped()
        || planner.status.started.is_none()
        || planner.status.direction == Direction::Abort
    {
        return moves;
    }
    let judge = planner.judge();
    for reservation in &planner.status.in_flight {
        let Some(object) = planner.object(&reservation.uid).filter(|object| object.legs.is_none()) else { continue };
        // Whoever is taken back goes to the old controller, and the new one may be dead.
        let waits = planner.facts.shut.is_some() && !reservation.back;
        // It goes back to whoever it was with, who may be the one to let it go.
        let goes = object.is_going && !reservation.back;
        if goes || waits || judge.has_landed(object, reservation) || judge.was_taken(object, reservation) {
            continue;
        }
        // Where the controller is always faster, it will have written in a later second as well.
        let is_busy = planner.facts.remembered.is_often_overtaken(&object.uid);
        let awaited = judge.manager_ahead(object, reservation).filter(|_| !is_busy);
        let write = match reservation.back {
            true => ObjectPatch::back(planner.rollout, object, awaited),
            false => Some(ObjectPatch::forward(planner.rollout, object, planner.now, awaited)),
        };
        let Some(write) = write else { continue };
        if awaited.is_some_and(|manager| is_just_written(object, manager, reservation, planner.now)) {
            moves.defers = true;
            continue;
        }
        if reservation.back {
            moves.records.insert(object.uid.clone(), object.record_of(awaited));
        }
        moves.writes.push(write);
    }
    moves
}

/// Whether the controller that an object goes to has written to it in this second, as far as clocks agree. Its answer
/// to the move, within the same second, would leave its entry as it is, so that the move waits for the next second. It
/// does not wait for a controller that writes all the time: that one writes again.
fn is_just_written(object: &FleetObject, manager: &str, reservation: &InFlightObject, now: ClockReading) -> bool {
    let last = object.managers.as_ref().and_then(|all| all.last_write(manager));
    let since = wall(&reservation.since).filter(|since| *since <= now.wall);
    let waits = since.is_some_and(|since| now.wall < since.saturating_add(LONGEST_DEFERRAL));
    waits && last.is_some_and(|last| now.wall <= last.saturating_add(1))
}

/// Notes which entries of field managers there are as objects are taken back: their marks go with that.
pub(super) fn note_records(planner: &mut Planner<'_>, mut records: BTreeMap<String, Option<ManagerRecord>>) {
    for reservation in &mut planner.status.in_flight {
        if let Some(record) = records.remove(&reservation.uid) {
            reservation.writes = record;
        }
    }
}

/// Seconds: one for the clock of an API server that is behind, and one for times that have no fractions.
const LONGEST_DEFERRAL: u64 = 3;

/// Dry runs of the moves of objects that were refused some time ago.
pub(super) fn tries(planner: &Planner<'_>, view: &FleetView<'_, '_>) -> Vec<ObjectPatch> {
    if planner.rests || planner.is_stopped() || planner.status.started.is_none() || planner.facts.trouble.is_some() {
        return Vec::new();
    }
    let back = planner.status.direction == Direction::Undo;
    let asks = |(object, standing): &(&FleetObject, &ObjectState)| {
        let was_refused = matches!(standing, ObjectState::Waiting(_) | ObjectState::Refused(_));
        was_refused && object.legs.is_none() && planner.facts.remembered.is_due(&object.uid, planner.now)
    };
    let write = |(object, _): (&FleetObject, &ObjectState)| match back {
        true => ObjectPatch::back(planner.rollout, object, None),
        false => Some(ObjectPatch::forward(planner.rollout, object, planner.now, None)),
    };
    view.all().filter(asks).filter_map(write).collect()
}
