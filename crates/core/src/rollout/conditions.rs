//! The conditions of a status, so that `kubectl wait --for=condition=Complete` works.
//!
//! | type | true | false |
//! |---|---|---|
//! | `Progressing` | objects move, or will with the next write | every other phase |
//! | `Paused` | paused by `spec.paused`, by a failure or by an unreadable document | otherwise |
//! | `Complete` | all objects have the new version | otherwise, also after an undo |
//! | `Failed` | the rollout has ended, and failed objects were moved back | otherwise |
//!
//! A stop for a failure is stored as `Paused` alone: its reason and message are read again from there.
//! Source: `metav1.Condition` in `k8s.io/apimachinery pkg/apis/meta/v1/types.go`.

use serde::{Deserialize, Serialize};

use super::moment::{Moment, rfc3339};
use super::status::{Halt, RolloutPhase, RolloutStatus, UNREADABLE};

/// One condition, as `metav1.Condition`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Progressing`, `Paused`, `Complete` or `Failed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True` or `False`.
    pub status: String,
    /// The `metadata.generation` that the condition was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When `status` changed last, as RFC 3339.
    pub last_transition_time: String,
    /// The cause, as one CamelCase word.
    pub reason: String,
    /// The cause, as a sentence; can be empty.
    pub message: String,
}

impl RolloutStatus {
    /// Computes the conditions from the other fields.
    pub(super) fn observe(&mut self, generation: Option<i64>, now: Moment) {
        self.observed_generation = generation.or(self.observed_generation);
        let phase = format!("{:?}", self.phase);
        let reason = self.reason.clone().unwrap_or_else(|| phase.clone());
        let own = |is_true: bool| match is_true {
            true => (true, reason.clone(), self.message.clone()),
            false => (false, phase.clone(), String::new()),
        };
        let paused = match &self.halted {
            Some(Halt { reason, message }) => (true, reason.clone(), message.clone()),
            None => own(self.phase == RolloutPhase::Paused),
        };
        let progressing = match self.phase {
            RolloutPhase::Rolling => (true, reason.clone(), self.message.clone()),
            _ => (false, reason.clone(), self.message.clone()),
        };
        let all = [
            ("Progressing", progressing),
            ("Paused", paused),
            ("Complete", own(self.phase == RolloutPhase::Complete)),
            ("Failed", own(self.phase == RolloutPhase::Failed)),
        ];
        let conditions = all.map(|(kind, (is_true, reason, message))| {
            let status = if is_true { "True" } else { "False" };
            let before = self.conditions.iter().find(|before| before.kind == kind && before.status == status);
            Condition {
                kind: kind.to_owned(),
                status: status.to_owned(),
                observed_generation: self.observed_generation,
                last_transition_time: before
                    .map_or_else(|| rfc3339(now.wall), |before| before.last_transition_time.clone()),
                reason,
                message,
            }
        });
        self.conditions = conditions.into();
    }

    /// The stop for a failure that the conditions contain.
    pub(super) fn stored_halt(&self) -> Option<Halt> {
        let is_halt = |one: &&Condition| one.kind == "Paused" && one.status == "True";
        let paused = self.conditions.iter().find(is_halt)?;
        let is_other = [REQUESTED, UNREADABLE].contains(&paused.reason.as_str());
        (!is_other).then(|| Halt { reason: paused.reason.clone(), message: paused.message.clone() })
    }
}

/// The reason for `spec.paused`.
pub(super) const REQUESTED: &str = "Requested";
