//! What a person asks of a rollout by a command, and why it would change nothing.

use serde_json::Value;

use super::fleet_rollout::Direction;
use super::status::{ANNOTATION_REMOVED, RolloutPhase, RolloutStatus};

/// What is asked of a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RolloutRequest {
    /// Nothing more is moved for now.
    Pause,
    /// It goes on.
    Resume,
    /// What was moved is taken back.
    Undo,
    /// What is under way ends.
    Abort,
}

/// Why a request would change nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NoEffect {
    /// In a sentence, which names the state of the rollout.
    pub why: String,
    /// The command to use instead.
    pub hint: String,
}

/// A StagedRollout as it is in a cluster, as far as requests are about it.
struct AskedRollout<'d> {
    name: &'d str,
    status: RolloutStatus,
    direction: Direction,
    paused: bool,
    /// Of each command that a hint names, with a blank before it.
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

    /// Checks that a request changes something of a StagedRollout, as it is in a cluster. Each command of the hint has
    /// these flags, such as ` --kinds DIR`.
    ///
    /// # Errors
    /// It would change nothing: why, and what to do instead.
    pub fn check(self, document: &Value, flags: &str) -> Result<(), NoEffect> {
        let rollout = AskedRollout::of(document, flags);
        let Some((cause, hint)) = rollout.no_effect(self) else { return Ok(()) };
        Err(NoEffect { why: format!("cannot {} rollout {}: {cause}", self.verb(), rollout.name), hint })
    }
}

/// Checks that applying a document to a StagedRollout changes something, where the rollout has begun. Returns whether
/// the rollout goes forward again by that. Each command of the hint has these flags, such as ` --kinds DIR`.
///
/// # Errors
/// It would change nothing: why, and what to do instead.
pub fn goes_forward_again(document: &Value, applied: &Value, flags: &str) -> Result<bool, NoEffect> {
    let (rollout, wanted) = (AskedRollout::of(document, flags), AskedRollout::of(applied, flags));
    if rollout.status.started.is_none() {
        return Ok(false);
    }
    let goes_elsewhere = rollout.direction != Direction::Forward || rollout.status.direction != Direction::Forward;
    if wanted.direction == Direction::Forward && (goes_elsewhere || rollout.status.undo_all) {
        return Ok(true);
    }
    let spec = |document: &Value| document.get("spec").cloned().unwrap_or_default();
    if !says(&spec(document), &spec(applied)) {
        return Ok(false);
    }
    let cause = format!("it {}, and says the same already", rollout.state());
    Err(NoEffect { why: format!("cannot start rollout {}: {cause}", rollout.name), hint: rollout.hint() })
}

impl<'d> AskedRollout<'d> {
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

    /// A command about this rollout.
    fn command(&self, verb: &str) -> String {
        format!("pointsman rollout {verb} {}{}", self.name, self.flags)
    }

    /// Cause and hint of a request that changes nothing.
    fn no_effect(&self, request: RolloutRequest) -> Option<(String, String)> {
        let (name, status) = (self.name, &self.status);
        let as_is = || Some((format!("it {}", self.state()), self.hint()));
        let is_over = status.is_over() && !status.turns_after_end(self.direction);
        let resume = || self.command("resume");
        match request {
            RolloutRequest::Pause if is_over => as_is(),
            RolloutRequest::Pause if self.paused || status.halted.is_some() => {
                Some(("it is paused already".to_owned(), resume()))
            }
            RolloutRequest::Resume if self.can_resume() => None,
            RolloutRequest::Resume => as_is(),
            RolloutRequest::Undo if status.started.is_none() => {
                Some(("it has moved nothing".to_owned(), format!("kubectl delete stagedrollouts {name}")))
            }
            RolloutRequest::Undo if is_over && status.direction == Direction::Undo => as_is(),
            RolloutRequest::Undo if self.direction == Direction::Undo && !self.paused => match &status.halted {
                Some(halt) => {
                    let cause = format!("it goes back already, and is paused ({}): {}", halt.reason, halt.message);
                    Some((cause, resume()))
                }
                None => Some(("it goes back already".to_owned(), self.command("run"))),
            },
            RolloutRequest::Abort if is_over && status.phase != RolloutPhase::Failed => as_is(),
            RolloutRequest::Abort if self.direction == Direction::Abort && !self.paused => {
                Some(("it ends already".to_owned(), self.command("run")))
            }
            _ => None,
        }
    }

    /// Whether something waits for a person who resumes the rollout.
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

    /// What it has come to, behind "it".
    fn state(&self) -> String {
        let reason = self.status.reason.iter().map(|reason| format!(" ({reason})")).collect::<String>();
        if self.status.started.is_none() && !self.status.is_over() {
            return "has not begun".to_owned();
        }
        format!("is {:?}{reason}", self.status.phase)
    }

    /// The command that changes something.
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
            RolloutPhase::Failed => format!("{} moves the objects that failed again", self.command("resume")),
            RolloutPhase::Paused if status.is_unreadable() => {
                format!("kubectl edit stagedrollouts {name}: it goes on by itself")
            }
            RolloutPhase::Paused => self.command("resume"),
            _ if self.paused => self.command("resume"),
            RolloutPhase::Waiting if status.waits_for_approval() => {
                format!("{} names the approval", self.command("show"))
            }
            RolloutPhase::Pending | RolloutPhase::Refused | RolloutPhase::Rolling | RolloutPhase::Waiting => {
                self.command("run")
            }
        }
    }
}

/// Whether all that a document says stands in another one.
fn says(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| match there.get(name) {
            Some(there) => says(there, wanted),
            None => wanted.is_null(),
        }),
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len() && there.iter().zip(wanted).all(|(there, wanted)| says(there, wanted))
        }
        (there, wanted) => there == wanted,
    }
}
