//! The state of a rollout, as a word that the user can define.

use crate::observe::status::{ROLLED_BACK, RolloutPhase, RolloutStatus};
use crate::spec::rollout::{Direction, Rollout};

/// The state word of a rollout that has begun and is at a wave. The second word, if given, must be written before the
/// rollout continues.
pub(crate) fn state(
    rollout: &Rollout,
    status: &RolloutStatus,
    at: usize,
    pending_state: Option<&str>,
) -> Option<String> {
    if let Some(pending_state) = pending_state {
        return Some(pending_state.to_owned());
    }
    let wave = rollout.waves.get(at)?;
    let word = match (status.phase, status.direction) {
        (RolloutPhase::Complete, _) => &rollout.waves.last()?.states.done,
        (RolloutPhase::Aborted, _) if status.reason.as_deref() == Some(ROLLED_BACK) => {
            return Some("undone".to_owned());
        }
        (RolloutPhase::Aborted, _) => return Some("aborted".to_owned()),
        (RolloutPhase::Failed, _) => &wave.states.failed,
        _ if status.halted.is_some() => &wave.states.failed,
        (_, Direction::Undo) => return Some("undoing".to_owned()),
        (_, Direction::Abort) => return Some("stopping".to_owned()),
        _ if status.wave.is_none() => return Some(rollout.started.clone()),
        _ if status.before => match at.checked_sub(1).and_then(|before| rollout.waves.get(before)) {
            Some(before) => &before.states.done,
            None => return Some(rollout.started.clone()),
        },
        _ if status.wave_done.is_some() => &wave.states.done,
        _ => &wave.states.running,
    };
    Some(word.clone())
}
