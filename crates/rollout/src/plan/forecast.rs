//! The state of a fleet in the order of moves, and the position of one object after its prioritization.

use super::next_writes::plan;
use crate::evaluate::object_state::ObjectState;
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::ClockReading;
use crate::observe::status::RolloutStatus;
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::context::{Completion, StepContext};
use crate::steps::writes::patch::ObjectPatch;

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

/// The decision about a prioritized object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PriorityDecision {
    /// The object moves first in its wave, after an update of the StagedRollout.
    Prioritized {
        /// The new value of `spec.prioritizedObjects`: pending earlier entries, and this object.
        next: Vec<String>,
        /// The expected time, as text.
        when: String,
    },
    /// No update is needed, with the reason.
    Needless(String),
}

/// Decides about a prioritized object, given the state of all objects. The object remains subject to the budget and
/// gates of its wave, and to refusals.
///
/// # Errors
/// The object will not move, with the reason.
pub fn decide_priority(
    rollout: &Rollout,
    status: &RolloutStatus,
    all: &[Forecast<'_>],
    title: &str,
) -> Result<PriorityDecision, String> {
    let name = rollout.name();
    if status.is_over() {
        return Err(format!("rollout {name} is {:?}: no more objects move", status.phase));
    }
    if status.direction_of(rollout) != Direction::Forward {
        return Err(format!("rollout {name} does not move objects forward: no more objects move to {}", rollout.to));
    }
    let Some(one) = all.iter().find(|one| one.object.title() == title) else {
        return Err(format!(
            "rollout {name} has no object {title}: list its objects with pointsman rollout objects {name}"
        ));
    };
    match &one.object_state {
        ObjectState::New => return Ok(PriorityDecision::Needless(format!("{title} is at {} already", rollout.to))),
        ObjectState::Reserved | ObjectState::Moving(_) | ObjectState::Settling => {
            return Ok(PriorityDecision::Needless(format!("{title} is in flight already")));
        }
        ObjectState::Old | ObjectState::Waiting(_) => {}
        other => {
            let why = if other.why().is_empty() { String::new() } else { format!(": {}", other.why()) };
            return Err(format!("{title} is not pending in rollout {name}: its state is {}{why}", other.word()));
        }
    }
    let is_pending = |title: &&String| {
        let still = |one: &&Forecast<'_>| matches!(one.object_state, ObjectState::Old | ObjectState::Waiting(_));
        all.iter().filter(still).any(|one| one.object.title() == **title)
    };
    let mut next: Vec<String> = rollout.prioritized.iter().filter(is_pending).cloned().collect();
    let before = next.iter().position(|title_before| title_before == title).unwrap_or(next.len());
    if before == next.len() {
        next.push(title.to_owned());
    }
    if next.len() > MOST {
        return Err(format!("{MOST} objects are prioritized already, and none has moved: wait for these"));
    }
    Ok(PriorityDecision::Prioritized { next, when: when(rollout, status, one, before) })
}

fn when(rollout: &Rollout, status: &RolloutStatus, one: &Forecast<'_>, before: usize) -> String {
    let behind = match before {
        0 => String::new(),
        1 => ", after an object with an earlier priority".to_owned(),
        more => format!(", after {more} prioritized earlier"),
    };
    let at = rollout.waves().position(|wave| Some(wave) == status.wave.as_deref());
    let waits = match (&status.wave, at) {
        (Some(now), Some(at)) if one.object.wave(false) > at => {
            format!("; that wave follows {now}: {}", status.message)
        }
        (Some(_), _) if status.before => format!("; that wave has not started: {}", status.message),
        (Some(_), _) => String::new(),
        (None, _) => "; the rollout has not started".to_owned(),
    };
    format!("{} moves next in wave {}{behind}{waits}", one.object.title(), one.wave)
}

/// The limit in the CRD.
const MOST: usize = 64;
