//! The state of a fleet, in the order of moves.

use super::next_writes::plan;
use crate::evaluate::object_state::ObjectState;
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::ClockReading;
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::Rollout;
use crate::steps::context::{Completion, StepContext};
use crate::steps::patch::ObjectPatch;

/// An object with its wave and state.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    /// The object.
    pub object: &'a FleetObject,
    /// The name of its wave.
    pub wave: &'a str,
    /// The state.
    pub object_state: ObjectState,
    /// The running versions of each part, in the order of [`Rollout::parts`]; empty for a missing part. Otherwise the
    /// error.
    pub parts: Vec<Result<Vec<String>, String>>,
    /// The move, if pending.
    pub write: Option<ObjectPatch>,
}

/// The state of each object, first move first. Read-only.
#[must_use]
pub fn forecast<'a>(
    rollout: &'a Rollout,
    status: &RolloutStatus,
    fleet: &'a [FleetObject],
    facts: PlanInput,
    now: ClockReading,
) -> Vec<Forecast<'a>> {
    let answers = facts.answers.clone();
    let object_states = plan(rollout, status, fleet, facts, now).object_states.into_iter();
    // Before the start, no object is in flight.
    let planned = |object_state| if object_state == ObjectState::Reserved { ObjectState::Old } else { object_state };
    let object_states =
        object_states.map(|object_state| if status.started.is_none() { planned(object_state) } else { object_state });
    let mut all: Vec<(&FleetObject, ObjectState)> = fleet.iter().zip(object_states).collect();
    all.sort_by(|(one, _), (two, _)| {
        (one.wave(false), one.place_forward()).cmp(&(two.wave(false), two.place_forward()))
    });
    let forecasts = all.into_iter().map(|(object, object_state)| Forecast {
        object,
        wave: rollout.waves.get(object.wave(false)).map_or("", |wave| wave.name.as_str()),
        write: (object_state == ObjectState::Old).then(|| first_write(rollout, object, now)).flatten(),
        parts: rollout.parts().zip(object.runs(rollout, &answers)).map(|(_, versions)| versions).collect(),
        object_state,
    });
    forecasts.collect()
}

/// The first write of an object; `None` if its workflow begins with another action.
fn first_write(rollout: &Rollout, object: &FleetObject, now: ClockReading) -> Option<ObjectPatch> {
    let Some(object_progress) = &object.object_progress else {
        return Some(ObjectPatch::forward(rollout, object, now, None));
    };
    let context = StepContext { rollout, object, object_progress, wave_progress: object_progress.forward()? };
    context.writes_next().then(|| context.forward(now, Completion::Whole))
}
