//! How a fleet stands in a rollout, in the order in which its objects go.

use super::facts::PlanInput;
use super::fleet_object::FleetObject;
use super::fleet_rollout::Rollout;
use super::moment::ClockReading;
use super::object_state::ObjectState;
use super::patch::ObjectPatch;
use super::plan::plan;
use super::status::RolloutStatus;
use super::step_context::{Completion, StepContext};

/// An object, when it goes, and how it stands.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    /// The object.
    pub object: &'a FleetObject,
    /// The name of its wave.
    pub wave: &'a str,
    /// How it stands.
    pub standing: ObjectState,
    /// The versions that run of each of its parts, in the order of [`Rollout::parts`]: none where it has no such
    /// part. Else why nobody knows.
    pub parts: Vec<Result<Vec<String>, String>>,
    /// The write that moves it, where it is to be moved.
    pub write: Option<ObjectPatch>,
}

/// Says of each object how it stands, the first that goes first. Nothing of it is written.
#[must_use]
pub fn forecast<'a>(
    rollout: &'a Rollout,
    status: &RolloutStatus,
    fleet: &'a [FleetObject],
    facts: PlanInput,
    now: ClockReading,
) -> Vec<Forecast<'a>> {
    let answers = facts.answers.clone();
    let standings = plan(rollout, status, fleet, facts, now).standings.into_iter();
    // Of a rollout that has not begun, nothing is under way.
    let planned = |standing| if standing == ObjectState::Reserved { ObjectState::Old } else { standing };
    let standings = standings.map(|standing| if status.started.is_none() { planned(standing) } else { standing });
    let mut all: Vec<(&FleetObject, ObjectState)> = fleet.iter().zip(standings).collect();
    all.sort_by(|(one, _), (two, _)| {
        (one.wave(false), one.place_forward()).cmp(&(two.wave(false), two.place_forward()))
    });
    let told = all.into_iter().map(|(object, standing)| Forecast {
        object,
        wave: rollout.waves.get(object.wave(false)).map_or("", |wave| wave.name.as_str()),
        write: (standing == ObjectState::Old).then(|| first_write(rollout, object, now)).flatten(),
        parts: rollout.parts().zip(object.runs(rollout, &answers)).map(|(_, versions)| versions).collect(),
        standing,
    });
    told.collect()
}

/// The first write of an object; none where its workflow begins with something else.
fn first_write(rollout: &Rollout, object: &FleetObject, now: ClockReading) -> Option<ObjectPatch> {
    let Some(legs) = &object.legs else { return Some(ObjectPatch::forward(rollout, object, now, None)) };
    let traveller = StepContext { rollout, object, legs, leg: legs.forward()? };
    traveller.writes_next().then(|| traveller.forward(now, Completion::Whole))
}
