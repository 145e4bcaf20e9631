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

use super::moment::{ClockReading, rfc3339};

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

/// Input of the conditions.
pub(crate) struct Summary<'s> {
    /// The phase, as one word: the reason of a condition that is false.
    pub(crate) phase: &'s str,
    pub(crate) reason: &'s str,
    pub(crate) message: &'s str,
    /// Reason and message of a stop for a failure.
    pub(crate) halted: Option<(&'s str, &'s str)>,
}

/// The four conditions. `before` has the times of the last transitions.
pub(crate) fn conditions(
    summary: &Summary<'_>,
    before: &[Condition],
    observed_generation: Option<i64>,
    now: ClockReading,
) -> Vec<Condition> {
    let Summary { phase, reason, message, halted } = *summary;
    let is = |name: &str| if phase == name { (true, reason, message) } else { (false, phase, "") };
    let progressing = (phase == "Rolling", reason, message);
    let paused = halted.map_or_else(|| is("Paused"), |(reason, message)| (true, reason, message));
    let all = [("Progressing", progressing), (PAUSED, paused), ("Complete", is("Complete")), ("Failed", is("Failed"))];
    let condition = |(kind, (is_true, reason, message)): (&str, (bool, &str, &str))| {
        let status = if is_true { "True" } else { "False" };
        let same = before.iter().find(|before| before.kind == kind && before.status == status);
        Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            observed_generation,
            last_transition_time: same.map_or_else(|| rfc3339(now.wall), |same| same.last_transition_time.clone()),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    };
    all.into_iter().map(condition).collect()
}

/// Reason and message of a stop for a failure, from stored conditions.
pub(crate) fn stored_halt(conditions: &[Condition]) -> Option<(&str, &str)> {
    let is_paused = |one: &&Condition| one.kind == PAUSED && one.status == "True";
    let paused = conditions.iter().find(is_paused)?;
    let is_other = [REQUESTED, UNREADABLE].contains(&paused.reason.as_str());
    (!is_other).then_some((&paused.reason, &paused.message))
}

const PAUSED: &str = "Paused";

/// The reason for `spec.paused`.
pub(crate) const REQUESTED: &str = "Requested";

/// The reason for a StagedRollout that cannot be read.
pub(crate) const UNREADABLE: &str = "Unreadable";
