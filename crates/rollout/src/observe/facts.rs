//! Planner input outside of the fleet and the status of the StagedRollout.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::moment::ClockReading;
use crate::lookup::results::LookupResults;
use crate::spec::rollout::Rollout;
use crate::spec::window::{LocalTime, closed};

/// Planner input outside of the fleet.
#[derive(Clone, Debug, Default)]
pub struct PlanInput {
    /// Observations of this run.
    pub runner_cache: RunnerCache,
    /// True if the fleet is a complete list from the API server, taken after the last write of this run: no cache or
    /// watch, and no combination of responses. Otherwise the runner reads objects again that a plan releases, fails or
    /// steps, and plans again if they changed.
    pub consistent: bool,
    /// Message about a missing requirement, such as a running controller. No object is moved, and moved objects do not
    /// count as healthy.
    pub closed_gate: Option<String>,
    /// The local time in the time zones of the rollout windows.
    pub local: BTreeMap<String, LocalTime>,
    /// Message about a problem that blocks every write, such as an unreachable webhook.
    pub trouble: Option<String>,
    /// Active rollouts over some of the same objects: names and objects.
    pub others: Vec<(String, Vec<String>)>,
    /// Message about the freeze that cannot be enforced. The rollout does not begin.
    pub unfrozen: Option<String>,
    /// True if preflight lookups of every object are complete: see [`crate::preflight_lookups`].
    pub ahead: bool,
    /// Lookup results from the cluster.
    pub answers: LookupResults,
}

/// Observations of one run, initially empty. Durable state is stored in the objects and the status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunnerCache {
    /// Start of uninterrupted health of in-flight objects, by uid.
    pub(crate) healthy: BTreeMap<String, Duration>,
    /// Current step of each written object, and the time of its first write, by uid: endless writes are no progress.
    trying: BTreeMap<String, (String, Duration)>,
    /// Refusal reason written to object status, by uid.
    recorded_refusals: BTreeMap<String, String>,
    /// Refused writes, by uid.
    answers: BTreeMap<String, RefusedMove>,
    /// Reasons of failed writes that can be retried, by uid.
    failed: BTreeMap<String, String>,
    /// Objects with refused hold or release writes, by uid.
    unheld: BTreeSet<String>,
    /// Consecutive conflicts of a move with writes of another client, by uid.
    overtaken: BTreeMap<String, u32>,
}

/// A refused write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RefusedMove {
    pub(crate) message: String,
    /// The refusal is temporary: no handover at this time.
    pub(crate) passes: bool,
    /// Found by the preflight, before any write.
    is_ahead: bool,
    /// Time of the last request, and pause before the next one.
    retried_at: Duration,
    pause: Duration,
}

impl RefusedMove {
    /// A write was refused now.
    fn new(message: &str, now: ClockReading) -> Self {
        Self { message: message.to_owned(), passes: false, is_ahead: false, retried_at: now.steady, pause: AGAIN }
    }
}

impl PlanInput {
    /// Message if the rollout windows are closed now.
    #[must_use]
    pub fn closed(&self, rollout: &Rollout) -> Option<String> {
        closed(&rollout.windows, |zone| self.local.get(zone).copied())
    }
}

impl RunnerCache {
    /// The API server or an admission webhook refused a move. The planner then repeats it as a dry run from time to
    /// time, and puts the repaired object in flight again.
    pub fn refused(&mut self, uid: &str, message: &str, now: ClockReading) {
        let passes = PASSES.iter().any(|words| message.contains(words));
        self.answers.insert(uid.to_owned(), RefusedMove { passes, ..RefusedMove::new(message, now) });
    }

    /// The API server or a webhook refused to hold or release an object. This run neither retries nor waits for the
    /// object.
    pub fn refused_hold(&mut self, uid: &str) {
        self.unheld.insert(uid.to_owned());
    }

    /// True if such a write was refused.
    pub(crate) fn is_hold_refused(&self, uid: &str) -> bool {
        self.unheld.contains(uid)
    }

    /// A write has not had its effect yet. The retry follows after a second, then after twice the pause each time.
    pub fn not_yet(&mut self, uid: &str, message: &str, now: ClockReading) {
        let before = self.answers.get(uid).filter(|answer| answer.message == message).map(|answer| answer.pause * 2);
        let pause = before.unwrap_or(SOON).min(AGAIN);
        self.answers.insert(uid.to_owned(), RefusedMove { passes: true, pause, ..RefusedMove::new(message, now) });
    }

    /// A write failed with a temporary error. The planner retries it, and reports this message if no retry succeeds.
    pub fn failed(&mut self, uid: &str, message: &str) {
        self.failed.insert(uid.to_owned(), message.to_owned());
    }

    /// The error of the last write for an object, if it failed.
    pub(crate) fn failure(&self, uid: &str) -> Option<&str> {
        self.failed.get(uid).map(String::as_str)
    }

    /// The preflight found an obstacle: the object does not begin.
    pub(crate) fn refused_ahead(&mut self, uid: &str, message: &str, now: ClockReading) {
        self.ahead(uid, message, false, now);
    }

    /// The preflight found a temporary obstacle.
    pub(crate) fn put_off(&mut self, uid: &str, message: &str, now: ClockReading) {
        self.ahead(uid, message, true, now);
    }

    fn ahead(&mut self, uid: &str, message: &str, passes: bool, now: ClockReading) {
        self.answers.insert(uid.to_owned(), RefusedMove { passes, is_ahead: true, ..RefusedMove::new(message, now) });
    }

    /// The preflight found no more obstacles: the object is tried.
    pub(crate) fn allowed_ahead(&mut self, uid: &str, now: ClockReading) {
        if self.is_due(uid, now) || self.answers.get(uid).is_some_and(|answer| answer.is_ahead) {
            self.answers.remove(uid);
        }
    }

    /// A write was accepted.
    pub fn allowed(&mut self, uid: &str) {
        self.failed.remove(uid);
        self.overtaken.remove(uid);
        self.answers.remove(uid);
    }

    /// A move conflicted with a write of another client.
    pub fn overtaken(&mut self, uid: &str) {
        *self.overtaken.entry(uid.to_owned()).or_default() += 1;
    }

    /// True if the object is written so often that a move with preconditions on field managers may never succeed.
    pub(crate) fn is_often_overtaken(&self, uid: &str) -> bool {
        self.overtaken.get(uid).is_some_and(|times| *times >= OFTEN)
    }

    /// True if a write of the object was refused with this message before.
    #[must_use]
    pub fn is_refused(&self, uid: &str, message: &str) -> bool {
        self.answer(uid).is_some_and(|answer| answer.message == message)
    }

    /// Records objects with due writes and their steps, by uid.
    pub(crate) fn tries(&mut self, all: BTreeMap<String, String>, now: ClockReading) {
        let before = std::mem::take(&mut self.trying);
        self.trying = all
            .into_iter()
            .map(|(uid, step)| {
                let known = before.get(&uid).filter(|(known, _)| *known == step).map(|(_, since)| *since);
                (uid, (step, known.unwrap_or(now.steady)))
            })
            .collect();
    }

    /// The time of the first write for the current step of an object.
    pub(crate) fn trying_since(&self, uid: &str, step: &str) -> Option<Duration> {
        self.trying.get(uid).filter(|(known, _)| known == step).map(|(_, since)| *since)
    }

    /// Records the refusal reason for an object's status. Returns true if new.
    pub(crate) fn records_refusal(&mut self, uid: &str, why: &str) -> bool {
        self.recorded_refusals.insert(uid.to_owned(), why.to_owned()).as_deref() != Some(why)
    }

    /// The refusal for an object.
    pub(crate) fn answer(&self, uid: &str) -> Option<&RefusedMove> {
        self.answers.get(uid)
    }

    /// True if a refused object is due for a retry.
    pub(crate) fn is_due(&self, uid: &str, now: ClockReading) -> bool {
        self.answers.get(uid).is_some_and(|answer| now.steady >= answer.retried_at + answer.pause)
    }
}

/// Messages of /validate about objects that must not be handed over yet
/// (`crates/core/src/webhook/admission/handover.rs`).
const PASSES: [&str; 2] = [" is promoting this object", " has not finished its work on this object"];

/// Consecutive conflicts of a move that count as often.
const OFTEN: u32 = 6;

/// First retry interval.
const SOON: Duration = Duration::from_secs(1);

/// Longest time before a refused write is retried: the longest delay for a repaired object.
const AGAIN: Duration = Duration::from_secs(15);
