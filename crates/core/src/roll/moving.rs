//! The writes of objects: what is reserved is moved, and what was refused is tried again.

use super::fleet_object::FleetObject;
use super::fleet_roll::Direction;
use super::fleet_view::FleetView;
use super::patch::FleetMove;
use super::planner::Planner;
use super::standing::Standing;
use super::status::Reservation;

/// The writes of objects that are reserved, and not to be seen on them yet.
pub(super) fn moves(planner: &Planner<'_>) -> Vec<FleetMove> {
    if planner.rests
        || planner.is_stopped()
        || planner.status.started.is_none()
        || planner.status.direction == Direction::Stop
    {
        return Vec::new();
    }
    let judge = planner.judge();
    let write = |reservation: &Reservation| {
        let object = planner.object(&reservation.uid).filter(|object| object.legs.is_none())?;
        // Whoever is taken back goes to the old controller, and the new one may be dead.
        let waits = planner.facts.shut.is_some() && !reservation.back;
        // It goes back to whoever it was with, who may be the one to let it go.
        let goes = object.is_going && !reservation.back;
        if goes || waits || judge.has_landed(object, reservation) || judge.was_taken(object, reservation) {
            return None;
        }
        match reservation.back {
            true => FleetMove::back(planner.roll, object),
            false => Some(FleetMove::forward(planner.roll, object, planner.now)),
        }
    };
    planner.status.reserved.iter().filter_map(write).collect()
}

/// Dry runs of the moves of objects that were refused some time ago.
pub(super) fn tries(planner: &Planner<'_>, view: &FleetView<'_, '_>) -> Vec<FleetMove> {
    if planner.rests || planner.is_stopped() || planner.status.started.is_none() || planner.facts.trouble.is_some() {
        return Vec::new();
    }
    let back = planner.status.direction == Direction::Back;
    let asks = |(object, standing): &(&FleetObject, &Standing)| {
        let was_refused = matches!(standing, Standing::Waiting(_) | Standing::Refused(_));
        was_refused && object.legs.is_none() && planner.facts.remembered.is_due(&object.uid, planner.now)
    };
    let write = |(object, _): (&FleetObject, &Standing)| match back {
        true => FleetMove::back(planner.roll, object),
        false => Some(FleetMove::forward(planner.roll, object, planner.now)),
    };
    view.all().filter(asks).filter_map(write).collect()
}
