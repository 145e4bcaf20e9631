//! One object is told to go next.

use super::fleet_rollout::{Direction, Rollout};
use super::forecast::Forecast;
use super::object_state::ObjectState;
use super::status::RolloutStatus;

/// What becomes of it that an object is told to go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PriorityDecision {
    /// It goes before the others of its wave, once the StagedRollout says so.
    Told {
        /// What `spec.prioritizedObjects` is to be: those that were told before and are still to go, and this one.
        next: Vec<String>,
        /// When it goes, in words.
        when: String,
    },
    /// There is nothing to tell it, and why.
    Needless(String),
}

/// Says what becomes of it that somebody tells an object to go, by how all of them stand. It goes as any other does:
/// within the budget of its wave, behind what that waits for, and only where it may be moved.
///
/// # Errors
/// It will not go, and why.
pub fn next_move(
    rollout: &Rollout,
    status: &RolloutStatus,
    all: &[Forecast<'_>],
    title: &str,
) -> Result<PriorityDecision, String> {
    let name = rollout.name();
    if status.is_over() {
        return Err(format!("rollout {name} is {:?}: nothing more is moved", status.phase));
    }
    if status.direction_of(rollout) != Direction::Forward {
        return Err(format!("rollout {name} does not go forward: nothing more is moved to {}", rollout.to));
    }
    let Some(one) = all.iter().find(|one| one.object.title() == title) else {
        return Err(format!("rollout {name} is about no object {title}: pointsman rollout objects {name} lists them"));
    };
    match &one.standing {
        ObjectState::New => return Ok(PriorityDecision::Needless(format!("{title} is at {} already", rollout.to))),
        ObjectState::Reserved | ObjectState::Moving(_) | ObjectState::Settling => {
            return Ok(PriorityDecision::Needless(format!("{title} is under way already")));
        }
        ObjectState::Old | ObjectState::Waiting(_) => {}
        other => {
            let why = if other.why().is_empty() { String::new() } else { format!(": {}", other.why()) };
            return Err(format!("{title} does not go with rollout {name}: it is {}{why}", other.word()));
        }
    }
    let is_to_go = |title: &&String| {
        let still = |one: &&Forecast<'_>| matches!(one.standing, ObjectState::Old | ObjectState::Waiting(_));
        all.iter().filter(still).any(|one| one.object.title() == **title)
    };
    let mut next: Vec<String> = rollout.prioritized.iter().filter(is_to_go).cloned().collect();
    let before = next.iter().position(|told| told == title).unwrap_or(next.len());
    if before == next.len() {
        next.push(title.to_owned());
    }
    if next.len() > MOST {
        return Err(format!("{MOST} objects were told to go next, and none of them has gone: let them go first"));
    }
    Ok(PriorityDecision::Told { next, when: when(rollout, status, one, before) })
}

fn when(rollout: &Rollout, status: &RolloutStatus, one: &Forecast<'_>, before: usize) -> String {
    let behind = match before {
        0 => String::new(),
        1 => ", behind one that was told so before".to_owned(),
        more => format!(", behind {more} that were told so before"),
    };
    let at = rollout.waves().position(|wave| Some(wave) == status.wave.as_deref());
    let waits = match (&status.wave, at) {
        (Some(now), Some(at)) if one.object.wave(false) > at => {
            format!("; that wave comes after {now}: {}", status.message)
        }
        (Some(_), _) if status.before => format!("; that wave has not begun: {}", status.message),
        (Some(_), _) => String::new(),
        (None, _) => "; the rollout has not begun".to_owned(),
    };
    format!("{} goes next in wave {}{behind}{waits}", one.object.title(), one.wave)
}

/// As the CRD has it.
const MOST: usize = 64;
