//! How far a roll is, in a word that its user may choose.

use super::fleet_roll::{Direction, FleetRoll};
use super::status::{RollPhase, RollStatus, TAKEN_BACK};

/// The word for how far a roll is, which has begun and is at a wave. `told` is the one that is told before it goes on.
pub(super) fn state(roll: &FleetRoll, status: &RollStatus, at: usize, told: Option<&str>) -> Option<String> {
    if let Some(told) = told {
        return Some(told.to_owned());
    }
    let wave = roll.waves.get(at)?;
    let word = match (status.phase, status.direction) {
        (RollPhase::Complete, _) => &roll.waves.last()?.states.done,
        (RollPhase::Aborted, _) if status.reason.as_deref() == Some(TAKEN_BACK) => {
            return Some("taken-back".to_owned());
        }
        (RollPhase::Aborted, _) => return Some("aborted".to_owned()),
        (RollPhase::Failed, _) => &wave.states.failed,
        _ if status.halted.is_some() => &wave.states.failed,
        (_, Direction::Back) => return Some("taking-back".to_owned()),
        (_, Direction::Stop) => return Some("stopping".to_owned()),
        _ if status.wave.is_none() => return Some(roll.started.clone()),
        _ if status.before => match at.checked_sub(1).and_then(|before| roll.waves.get(before)) {
            Some(before) => &before.states.done,
            None => return Some(roll.started.clone()),
        },
        _ if status.wave_done.is_some() => &wave.states.done,
        _ => &wave.states.running,
    };
    Some(word.clone())
}
