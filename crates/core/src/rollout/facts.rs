//! What whoever runs a rollout knows beside the fleet and the StagedRollout's status.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::lookup_results::LookupResults;
use super::fleet_rollout::Rollout;
use super::moment::ClockReading;
use super::window::{LocalTime, closed};

/// What is known beside the fleet.
#[derive(Clone, Debug, Default)]
pub struct PlanInput {
    /// What this run has seen so far.
    pub remembered: RunnerCache,
    /// Whether the fleet is all of what the API server has stored, listed after the last write of this run: not from a
    /// cache or a watch, and not put together from several answers. Where it is not, whoever runs the rollout looks
    /// again at objects that a plan lets go, fails or takes a step of, and plans anew where they have changed.
    pub consistent: bool,
    /// What a rollout is not to go on without, such as a controller that runs; in words. Nothing more is moved, and
    /// what was moved does not count as healthy.
    pub shut: Option<String>,
    /// What time it is in the zones that the windows of the rollout are told in.
    pub local: BTreeMap<String, LocalTime>,
    /// What is in the way of every write, such as a webhook that does not answer; in words.
    pub trouble: Option<String>,
    /// Other rollouts that are under way over some of the same objects: their names, and these objects.
    pub others: Vec<(String, Vec<String>)>,
    /// Why what the rollout freezes would not be frozen; in words. It does not begin.
    pub unfrozen: Option<String>,
    /// What stands against the workflow of each object was looked up as well: see [`super::ahead_questions`].
    pub ahead: bool,
    /// What was found in the cluster of what the rollout has to know.
    pub answers: LookupResults,
}

/// What a run has seen. It begins with nothing: what counts for longer stands on the objects and in the status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunnerCache {
    /// Since when objects that are under way were seen healthy, without a break, by uid.
    pub(super) healthy: BTreeMap<String, Duration>,
    /// Which step of an object something is written for, and since when, by uid: what goes on for ever is no progress.
    trying: BTreeMap<String, (String, Duration)>,
    /// What owners of objects were told in their status, by uid.
    told: BTreeMap<String, String>,
    /// Who said no to which object, by uid.
    answers: BTreeMap<String, RefusedMove>,
    /// Why writes for objects failed that might have succeeded, by uid.
    failed: BTreeMap<String, String>,
    /// Objects that somebody refused to have held, or let go, by uid.
    unheld: BTreeSet<String>,
    /// How often in a row the move of an object failed since another client had written the object, by uid.
    overtaken: BTreeMap<String, u32>,
}

/// A write that was refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RefusedMove {
    pub(super) message: String,
    /// It is about time: the object is not to be handed over now.
    pub(super) passes: bool,
    /// It was found out before anything was written.
    is_ahead: bool,
    /// When somebody was asked last, and how long nobody is asked again.
    asked: Duration,
    pause: Duration,
}

impl RefusedMove {
    /// Somebody says no to a write, as of now.
    fn new(message: &str, now: ClockReading) -> Self {
        Self { message: message.to_owned(), passes: false, is_ahead: false, asked: now.steady, pause: AGAIN }
    }
}

impl PlanInput {
    /// Why no object of a rollout may be begun with now, by the time of the day.
    #[must_use]
    pub fn closed(&self, rollout: &Rollout) -> Option<String> {
        closed(&rollout.windows, |zone| self.local.get(zone).copied())
    }
}

impl RunnerCache {
    /// Somebody refused to have an object moved: the API server, or an admission webhook. From then on it is asked now
    /// and then by a dry run, since objects are mended, and is under way again once nobody minds.
    pub fn refused(&mut self, uid: &str, message: &str, now: ClockReading) {
        let passes = PASSES.iter().any(|words| message.contains(words));
        self.answers.insert(uid.to_owned(), RefusedMove { passes, ..RefusedMove::new(message, now) });
    }

    /// Somebody refused to have an object held, or let go. It is not tried again by this run, and nothing waits for it.
    pub fn refused_hold(&mut self, uid: &str) {
        self.unheld.insert(uid.to_owned());
    }

    /// Whether somebody did.
    pub(super) fn is_hold_refused(&self, uid: &str) -> bool {
        self.unheld.contains(uid)
    }

    /// A write of an object has not done yet what it is for. It is done again after a second, then after twice as long
    /// each time.
    pub fn not_yet(&mut self, uid: &str, message: &str, now: ClockReading) {
        let before = self.answers.get(uid).filter(|answer| answer.message == message).map(|answer| answer.pause * 2);
        let pause = before.unwrap_or(SOON).min(AGAIN);
        self.answers.insert(uid.to_owned(), RefusedMove { passes: true, pause, ..RefusedMove::new(message, now) });
    }

    /// A write for an object failed that may succeed in a moment. It is written again; this is said where it never is.
    pub fn failed(&mut self, uid: &str, message: &str) {
        self.failed.insert(uid.to_owned(), message.to_owned());
    }

    /// Why the last write for an object failed, where it did.
    pub(super) fn failure(&self, uid: &str) -> Option<&str> {
        self.failed.get(uid).map(String::as_str)
    }

    /// Something stands against the workflow of an object, which is not begun with.
    pub(super) fn refused_ahead(&mut self, uid: &str, message: &str, now: ClockReading) {
        self.ahead(uid, message, false, now);
    }

    /// The same, where it is about time.
    pub(super) fn put_off(&mut self, uid: &str, message: &str, now: ClockReading) {
        self.ahead(uid, message, true, now);
    }

    fn ahead(&mut self, uid: &str, message: &str, passes: bool, now: ClockReading) {
        self.answers.insert(uid.to_owned(), RefusedMove { passes, is_ahead: true, ..RefusedMove::new(message, now) });
    }

    /// Nothing stands against the workflow of an object any more: it is tried.
    pub(super) fn allowed_ahead(&mut self, uid: &str, now: ClockReading) {
        if self.is_due(uid, now) || self.answers.get(uid).is_some_and(|answer| answer.is_ahead) {
            self.answers.remove(uid);
        }
    }

    /// Nobody minds any more.
    pub fn allowed(&mut self, uid: &str) {
        self.failed.remove(uid);
        self.overtaken.remove(uid);
        self.answers.remove(uid);
    }

    /// The move of an object failed: another client has written the object since it was read.
    pub fn overtaken(&mut self, uid: &str) {
        *self.overtaken.entry(uid.to_owned()).or_default() += 1;
    }

    /// Whether an object is written so often that a move which tests its field managers may never land.
    pub(super) fn is_often_overtaken(&self, uid: &str) -> bool {
        self.overtaken.get(uid).is_some_and(|times| *times >= OFTEN)
    }

    /// Whether somebody has said just that no to an object before.
    #[must_use]
    pub fn is_refused(&self, uid: &str, message: &str) -> bool {
        self.answer(uid).is_some_and(|answer| answer.message == message)
    }

    /// Something is to be written for these objects, each at a step: by uid.
    pub(super) fn tries(&mut self, all: BTreeMap<String, String>, now: ClockReading) {
        let before = std::mem::take(&mut self.trying);
        self.trying = all
            .into_iter()
            .map(|(uid, step)| {
                let known = before.get(&uid).filter(|(known, _)| *known == step).map(|(_, since)| *since);
                (uid, (step, known.unwrap_or(now.steady)))
            })
            .collect();
    }

    /// Since when something has been written for the step that an object is at.
    pub(super) fn trying_since(&self, uid: &str, step: &str) -> Option<Duration> {
        self.trying.get(uid).filter(|(known, _)| known == step).map(|(_, since)| *since)
    }

    /// The owner of an object is told why it is refused. Whether that is new.
    pub(super) fn tells(&mut self, uid: &str, why: &str) -> bool {
        self.told.insert(uid.to_owned(), why.to_owned()).as_deref() != Some(why)
    }

    /// Who has said no to an object.
    pub(super) fn answer(&self, uid: &str) -> Option<&RefusedMove> {
        self.answers.get(uid)
    }

    /// Whether it is time to ask again about an object that was refused.
    pub(super) fn is_due(&self, uid: &str, now: ClockReading) -> bool {
        self.answers.get(uid).is_some_and(|answer| now.steady >= answer.asked + answer.pause)
    }
}

/// What /validate says of an object that must not be handed over yet (`crates/core/src/webhook/admission/handover.rs`).
const PASSES: [&str; 2] = [" is promoting this object", " is not done with this object"];

/// Moves in a row that other writes were faster than.
const OFTEN: u32 = 6;

/// Long enough for whoever has just missed something.
const SOON: Duration = Duration::from_secs(1);

/// How long a refusal is taken for what would be said again: an object that was mended waits no longer than that.
const AGAIN: Duration = Duration::from_secs(15);
