//! Requests of an operator to a rollout, and the check that a request has an effect.

use serde_json::Value;

use crate::observe::status::{ANNOTATION_REMOVED, RolloutPhase, RolloutStatus};
use crate::spec::rollout::Direction;

/// A request to a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RolloutRequest {
    /// Stop moving objects for now.
    Pause,
    /// Continue.
    Resume,
    /// Roll moved objects back.
    Undo,
    /// End after the objects in flight.
    Abort,
}

/// The reason why a request would have no effect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NoEffect {
    /// One sentence that contains the state of the rollout.
    pub why: String,
    /// The command to use instead.
    pub hint: String,
}

/// A StagedRollout in a cluster, reduced to the members that requests use.
struct RolloutView<'d> {
    name: &'d str,
    status: RolloutStatus,
    direction: Direction,
    paused: bool,
    /// Flags for each command in a hint, with a leading blank.
    flags: &'d str,
}

impl RolloutRequest {
    fn verb(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Undo => "undo",
            Self::Abort => "abort",
        }
    }

    /// Checks that a request has an effect on a StagedRollout in a cluster. `flags`, such as ` --kinds DIR`, are
    /// appended to each command in the hint.
    ///
    /// # Errors
    /// The request would have no effect: the reason, and the command to use instead.
    pub fn check(self, document: &Value, flags: &str) -> Result<(), NoEffect> {
        let rollout = RolloutView::of(document, flags);
        let Some((cause, hint)) = rollout.no_effect(self) else { return Ok(()) };
        Err(NoEffect { why: format!("cannot {} rollout {}: {cause}", self.verb(), rollout.name), hint })
    }
}

/// Checks that applying a document to a begun StagedRollout has an effect. Returns true if the rollout changes
/// direction to forward. `flags`, such as ` --kinds DIR`, are appended to each command in the hint.
///
/// # Errors
/// Applying would have no effect: the reason, and the command to use instead.
pub fn restarts_forward(document: &Value, applied: &Value, flags: &str) -> Result<bool, NoEffect> {
    let (rollout, wanted) = (RolloutView::of(document, flags), RolloutView::of(applied, flags));
    if rollout.status.started.is_none() {
        return Ok(false);
    }
    let changes_direction = rollout.direction != Direction::Forward || rollout.status.direction != Direction::Forward;
    if wanted.direction == Direction::Forward && (changes_direction || rollout.status.undo_all) {
        return Ok(true);
    }
    let spec = |document: &Value| document.get("spec").cloned().unwrap_or_default();
    if !contains_all(&spec(document), &spec(applied)) {
        return Ok(false);
    }
    let cause = format!("the rollout {}, and has this setting already", rollout.state());
    Err(NoEffect { why: format!("cannot start rollout {}: {cause}", rollout.name), hint: rollout.hint() })
}

impl<'d> RolloutView<'d> {
    fn of(document: &'d Value, flags: &'d str) -> Self {
        let member = |path: &str| document.pointer(path).cloned().unwrap_or_default();
        Self {
            name: document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default(),
            status: RolloutStatus::of(document),
            direction: serde_json::from_value(member("/spec/direction")).unwrap_or_default(),
            paused: member("/spec/paused") == Value::Bool(true),
            flags,
        }
    }

    /// A command for this rollout.
    fn command(&self, verb: &str) -> String {
        format!("pointsman rollout {verb} {}{}", self.name, self.flags)
    }

    /// Cause and hint of a request without effect.
    fn no_effect(&self, request: RolloutRequest) -> Option<(String, String)> {
        let (name, status) = (self.name, &self.status);
        let as_is = || Some((format!("it {}", self.state()), self.hint()));
        let is_over = status.is_over() && !status.turns_after_end(self.direction);
        let resume = || self.command("resume");
        match request {
            RolloutRequest::Pause if is_over => as_is(),
            RolloutRequest::Pause if self.paused || status.halted.is_some() => {
                Some(("the rollout is paused already".to_owned(), resume()))
            }
            RolloutRequest::Resume if self.can_resume() => None,
            RolloutRequest::Resume => as_is(),
            RolloutRequest::Undo if status.started.is_none() => {
                Some(("the rollout has moved no object".to_owned(), format!("kubectl delete stagedrollouts {name}")))
            }
            RolloutRequest::Undo if is_over && status.direction == Direction::Undo => as_is(),
            RolloutRequest::Undo if self.direction == Direction::Undo && !self.paused => match &status.halted {
                Some(halt) => {
                    let cause = format!(
                        "the rollout is being undone already, and is paused ({}): {}",
                        halt.reason, halt.message
                    );
                    Some((cause, resume()))
                }
                None => Some(("the rollout is being undone already".to_owned(), self.command("run"))),
            },
            RolloutRequest::Abort if is_over && status.phase != RolloutPhase::Failed => as_is(),
            RolloutRequest::Abort if self.direction == Direction::Abort && !self.paused => {
                Some(("the rollout is ending already".to_owned(), self.command("run")))
            }
            _ => None,
        }
    }

    /// True if the rollout waits for an operator to resume it.
    fn can_resume(&self) -> bool {
        let status = &self.status;
        let was_lost = || status.failures.iter().any(|failure| failure.reason == ANNOTATION_REMOVED);
        if status.is_over() {
            return status.phase == RolloutPhase::Failed || status.leaves_objects() || was_lost();
        }
        let failed = || status.failures.iter().any(|failure| !failure.cleared);
        self.paused
            || status.halted.is_some()
            || status.phase == RolloutPhase::Paused && !status.is_unreadable()
            || failed()
    }

    /// The state as text, after "it".
    fn state(&self) -> String {
        let reason = self.status.reason.iter().map(|reason| format!(" ({reason})")).collect::<String>();
        if self.status.started.is_none() && !self.status.is_over() {
            return "has not started".to_owned();
        }
        format!("is {:?}{reason}", self.status.phase)
    }

    /// The command that has an effect.
    fn hint(&self) -> String {
        let (name, status) = (self.name, &self.status);
        let (back, forward) = (
            format!("{} moves its objects back", self.command("undo")),
            format!(
                "pointsman rollout start -f FILE{}, with the same document, moves its objects forward again",
                self.flags
            ),
        );
        match status.phase {
            RolloutPhase::Complete if status.direction == Direction::Forward => back,
            RolloutPhase::Aborted if status.direction == Direction::Undo => forward,
            RolloutPhase::Aborted | RolloutPhase::Complete => format!("{forward}; {back}"),
            RolloutPhase::Failed => format!("{} moves the failed objects again", self.command("resume")),
            RolloutPhase::Paused if status.is_unreadable() => {
                format!("kubectl edit stagedrollouts {name}: the rollout continues automatically")
            }
            RolloutPhase::Paused => self.command("resume"),
            _ if self.paused => self.command("resume"),
            RolloutPhase::Waiting if status.waits_for_approval() => {
                format!("{} prints the command for the approval", self.command("status"))
            }
            RolloutPhase::Pending | RolloutPhase::Refused | RolloutPhase::Rolling | RolloutPhase::Waiting => {
                self.command("run")
            }
        }
    }
}

/// True if a document contains everything in another one.
fn contains_all(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| match there.get(name) {
            Some(there) => contains_all(there, wanted),
            None => wanted.is_null(),
        }),
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len() && there.iter().zip(wanted).all(|(there, wanted)| contains_all(there, wanted))
        }
        (there, wanted) => there == wanted,
    }
}
