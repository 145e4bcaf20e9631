//! The status of a StagedRollout: all that a rollout remembers beside what stands on the objects themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bad_rollout::BadRollout;
use super::conditions::{Condition, Summary, UNREADABLE, conditions, stored_halt};
use super::field_managers::ManagerRecord;
use super::fleet_rollout::{Direction, Rollout};
use super::moment::{ClockReading, rfc3339, wall};
use super::ordered_version::OrderedVersion;
use super::version_range::VersionRange;
use super::wave_gate::WaveSide;

/// What a rollout has come to, and what it has under way.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStatus {
    /// In a word.
    pub phase: RolloutPhase,
    /// Why, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence: what it waits for, or what somebody has to do.
    pub message: String,
    /// Where the fleet goes.
    pub direction: Direction,
    /// How far it is, in the words of the StagedRollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The wave that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<String>,
    /// Since when the rollout is at that wave: when the one before was over, what is waited for after it included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave_since: Option<String>,
    /// Nothing of that wave is begun yet: something is waited for before it.
    #[serde(skip_serializing_if = "is_false")]
    pub before: bool,
    /// When the last object of that wave was through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave_done: Option<String>,
    /// Waves after which somebody has let the rollout go on, since it went another way last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<String>,
    /// Waves before which somebody has done so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved_before: Vec<String>,
    /// Waves that have run what they run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completed_run_waves: Vec<String>,
    /// Those of them of which nobody knows how far it came, and which only can be undone, or run anew.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_run_waves: Vec<String>,
    /// How often the rollout was resumed, or went another way: what is run of workflows is run anew after that.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// A hash of what its waves do, where they go workflows: it does not change under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<String>,
    /// The CRD by which objects are stored anew, where that is what the rollout does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<CrdSnapshot>,
    /// Objects that are under way: those that will be moved by the next write, those that were moved and are not
    /// through, and those that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlightObject>,
    /// Objects that were deleted at the end of their workflow, since they have become others: how many, by wave.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub converted_counts: BTreeMap<String, usize>,
    /// Objects that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<RolloutFailure>,
    /// Objects that could not be moved, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedObject>,
    /// The `metadata.generation` that the status was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Progressing`, `Paused`, `Complete` and `Failed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Why nothing more is moved until somebody resumes. It is stored as the condition `Paused`.
    #[serde(skip)]
    pub halted: Option<PauseReason>,
    /// An object failed, and so everything goes back.
    #[serde(skip_serializing_if = "is_false")]
    pub undo_all: bool,
    /// Objects of the whole rollout.
    pub counts: RolloutCounts,
    /// Objects of each wave.
    pub waves: Vec<WaveCounts>,
    /// The lowest version that may be running, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<OrderedVersion>,
    /// The highest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<OrderedVersion>,
    /// The same of each part that the definition names, by that name, where it is known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, VersionRange>,
    /// When the first object could have been moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Somebody has resumed it after it was taken back: whoever runs it looks once more at what it has left.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recheck_requested: bool,
    /// When it went on last, since somebody resumed it, or since nothing could come any more that was not answered:
    /// objects have their whole time again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<String>,
    /// How it ended, each time, the last one last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
}

/// What a rollout has come to, in a word.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum RolloutPhase {
    /// Nothing was moved yet.
    #[default]
    Pending,
    /// It must not begin.
    Refused,
    /// Objects are under way, or about to be.
    Rolling,
    /// Nothing is under way: it waits for somebody or something.
    Waiting,
    /// Nothing more is moved until somebody resumes it.
    Paused,
    /// Every object is through.
    Complete,
    /// It is through, and objects that failed were taken back.
    Failed,
    /// Somebody stopped it, or everything was taken back.
    Aborted,
}

impl RolloutPhase {
    /// Those in which a StagedRollout is not to be deleted, and what it freezes is frozen: objects are under way, or
    /// failed and nobody has looked at them.
    pub const UNSETTLED: [Self; 4] = [Self::Rolling, Self::Waiting, Self::Paused, Self::Failed];
}

/// An object that is under way.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InFlightObject {
    /// `namespace/name`.
    pub object: String,
    /// Its uid.
    pub uid: String,
    /// Since when.
    pub since: String,
    /// To what it was before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub back: bool,
    /// The wave whose workflow it goes; none where its version label is changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wave: String,
    /// Which attempt at its next steps this is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// The object had said by then what the rollout had done with it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marked: bool,
    /// It turned at this step, as something was to be made: who was to make it may have been frozen since, and what was
    /// asked for comes late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_come: Option<usize>,
    /// The Job of the step that it is at, once that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<ObservedJob>,
    /// The one that was seen before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<ObservedJob>,
    /// The uid of what it has become, where it is there no more and is to be made anew of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The entries of the field manager that has to write after the object has gone back, as they are at that: the
    /// write that takes it back takes the mark off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<ManagerRecord>,
}

impl InFlightObject {
    /// Its namespace, where it has one, and its name.
    pub(super) fn place(&self) -> (Option<&str>, &str) {
        match self.object.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, &self.object),
        }
    }
}

/// A Job of a step that was seen.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedJob {
    /// `namespace/name`.
    pub name: String,
    /// The index of the step.
    pub step: usize,
    /// It undoes the step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub back: bool,
    /// Its object says nothing of it any more: somebody has taken off, or written over, what the rollout had noted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
}

/// The CRD by which objects are stored anew, as it was before the first of them was written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CrdSnapshot {
    /// Its uid.
    pub uid: String,
    /// The generation of its spec: after any change nobody knows in which version others have written meanwhile.
    pub generation: i64,
    /// When that was seen first.
    pub since: String,
}

/// An object that failed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutFailure {
    /// `namespace/name`.
    pub object: String,
    /// Its uid.
    pub uid: String,
    /// In a word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// When that was seen.
    pub at: String,
    /// It is taken back, or was.
    #[serde(default, skip_serializing_if = "is_false")]
    pub back: bool,
    /// Somebody has looked at it: they have resumed the rollout since, and where it is about a Job that nobody undoes,
    /// after the end that named it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cleared: bool,
    /// The Job that has done what nobody takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<OrphanedJob>,
}

/// A Job of which its object says nothing any more.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OrphanedJob {
    /// The wave whose workflow it was of.
    pub wave: String,
    /// The Job.
    #[serde(flatten)]
    pub seen: ObservedJob,
}

impl RolloutFailure {
    /// What is said of an object, by its title and its uid, that is not taken back for it.
    pub(super) fn of((object, uid): (&str, &str), reason: &str, message: String, at: String) -> Self {
        let (object, uid, reason) = (object.to_owned(), uid.to_owned(), reason.to_owned());
        Self { object, uid, reason, message, at, back: false, cleared: false, job: None }
    }
}

/// An object that could not be moved.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct BlockedObject {
    /// `namespace/name`.
    pub object: String,
    /// The reason: `Held`, `Refused` or `Waiting`.
    pub state: String,
    /// Why, in a sentence.
    pub message: String,
}

/// Why nothing more is moved.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PauseReason {
    /// In a word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

/// Objects by how they stand.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutCounts {
    /// At the old version.
    pub pending: usize,
    /// Under way.
    pub in_flight: usize,
    /// At the new version.
    pub updated: usize,
    /// Failed.
    pub failed: usize,
    /// Somebody else sets their label.
    pub held: usize,
    /// They cannot be moved, now or ever.
    pub refused: usize,
    /// At another version than the one that objects come from.
    pub outside: usize,
    /// Not healthy, and not under way.
    pub unhealthy: usize,
}

/// How far a wave is.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct WaveCounts {
    /// Its name.
    pub name: String,
    /// Its objects that are through.
    pub done: usize,
    /// All its objects.
    pub total: usize,
}

/// How a rollout ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// `Complete` or `Partial`.
    pub state: String,
    /// Where it went.
    pub direction: Direction,
    /// When it began.
    pub started: Option<String>,
    /// When it ended.
    pub ended: String,
    /// Risks that were accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
}

impl RolloutStatus {
    /// The status of a StagedRollout as an API server answered it. One that is not to be understood is none.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let status = document.get("status").cloned();
        let mut status: Self = status.and_then(|status| serde_json::from_value(status).ok()).unwrap_or_default();
        let halt = stored_halt(&status.conditions);
        status.halted = halt.map(|(reason, message)| PauseReason { reason: reason.to_owned(), message: message.to_owned() });
        status
    }

    /// Computes the conditions from the other fields.
    pub(super) fn observe(&mut self, generation: Option<i64>, now: ClockReading) {
        self.observed_generation = generation.or(self.observed_generation);
        let phase = format!("{:?}", self.phase);
        let summary = Summary {
            phase: &phase,
            reason: self.reason.as_deref().unwrap_or(&phase),
            message: &self.message,
            halted: self.halted.as_ref().map(|halt| (halt.reason.as_str(), halt.message.as_str())),
        };
        self.conditions = conditions(&summary, &self.conditions, self.observed_generation, now);
    }

    fn observed(mut self, now: ClockReading) -> Self {
        self.observe(None, now);
        self
    }

    /// All that runs, where that is known.
    pub(super) fn whole_range(&self) -> Option<VersionRange> {
        let (lowest, highest) = self.lowest.clone().zip(self.highest.clone())?;
        Some(VersionRange { lowest, highest })
    }

    /// As it is written.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Whether there is nothing left to do, unless somebody asks for something else.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, RolloutPhase::Complete | RolloutPhase::Failed | RolloutPhase::Aborted)
    }

    /// Whether objects may be under way.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.phase, RolloutPhase::Rolling | RolloutPhase::Waiting | RolloutPhase::Paused)
    }

    /// Whether it takes back what was moved.
    #[must_use]
    pub fn goes_back(&self) -> bool {
        self.direction == Direction::Undo
    }

    /// Whether everything was taken back but objects of which nobody knows any more whether they were moved.
    #[must_use]
    pub fn leaves_objects(&self) -> bool {
        self.is_taken_back() && (self.counts.refused > 0 || self.lost().next().is_some())
    }

    fn is_taken_back(&self) -> bool {
        self.phase == RolloutPhase::Aborted && self.reason.as_deref() == Some(ROLLED_BACK)
    }

    /// Whether whoever runs it looks again for what it has left at its end: somebody may have mended that since.
    #[must_use]
    pub fn looks_for_left(&self) -> bool {
        self.leaves_objects() || (self.is_taken_back() && self.recheck_requested)
    }

    /// The Job of a wave that has done something to an object, which said nothing of that any more when it was let go;
    /// also where somebody has looked at that since.
    pub(super) fn lost_job(&self, uid: &str, wave: &str) -> Option<&ObservedJob> {
        let of_it = self.failures.iter().filter(|lost| lost.uid == uid);
        of_it.filter_map(|lost| lost.job.as_ref()).find(|job| job.wave == wave).map(|job| &job.seen)
    }

    /// Whether a Job has done something to an object that nobody undoes, whether or not somebody has looked at that.
    pub(super) fn is_left(&self, uid: &str) -> bool {
        self.failures.iter().any(|lost| lost.reason == ANNOTATION_REMOVED && lost.uid == uid)
    }

    /// What a Job has done something to, and that said nothing of that any more when it was let go.
    pub(super) fn lost(&self) -> impl Iterator<Item = &RolloutFailure> {
        self.failures.iter().filter(|failure| failure.reason == ANNOTATION_REMOVED && !failure.cleared)
    }

    /// Whether it waits for somebody's approval: before its wave where [`Self::before`] says so, else after it.
    #[must_use]
    pub fn waits_for_approval(&self) -> bool {
        self.phase == RolloutPhase::Waiting && self.reason.as_deref() == Some(APPROVAL)
    }

    /// Whether it ends once a Job has ended, or is deleted.
    #[must_use]
    pub fn waits_for_job(&self) -> bool {
        self.phase == RolloutPhase::Waiting && self.reason.as_deref() == Some(JOB)
    }

    /// The same after somebody let it go on before a wave, or behind one: on which side may be left out where the wave
    /// asks for one approval alone. Returns on which side that was.
    ///
    /// # Errors
    /// Nothing asks for that, in words.
    pub fn approve(&mut self, rollout: &Rollout, wave: &str, side: Option<WaveSide>) -> Result<WaveSide, String> {
        let name = rollout.name();
        if self.is_over() {
            return Err(format!("{name} is {:?}: nothing waits for an approval", self.phase));
        }
        let ways = [self.direction_of(rollout), self.direction];
        if let Some(way) = ways.into_iter().find(|way| *way != Direction::Forward) {
            return Err(format!("{name} goes {way:?}: that waits for no approval"));
        }
        let asked: Vec<WaveSide> = SIDES.into_iter().filter(|side| rollout.asks_approval(wave, *side)).collect();
        let side = match (asked.as_slice(), side) {
            (asked, Some(side)) if asked.contains(&side) => side,
            ([one], None) => *one,
            ([_, _, ..], None) => {
                return Err(format!(
                    "wave {wave} of {name} asks for an approval before it and for one after it: say which, by --before or \
                     --after"
                ));
            }
            _ => return Err(not_asked(rollout, wave, side)),
        };
        let approved = match side {
            WaveSide::Before => &mut self.approved_before,
            WaveSide::After => &mut self.approved,
        };
        if !approved.iter().any(|name| name == wave) {
            approved.push(wave.to_owned());
        }
        Ok(side)
    }

    /// The same after somebody has looked at what failed: nothing is known of failures any more, but that those whose
    /// label was turned back are not moved again.
    pub fn resume(&mut self, now: ClockReading) {
        if self.halted.as_ref().is_some_and(|halt| halt.reason == CHANGED) {
            self.stored = None;
        }
        // Whoever has looked knows what its workflows are by now.
        (self.halted, self.steps) = (None, None);
        self.undo_all = false;
        self.attempt += 1;
        // What is taken back, or was mended since, may have another Job by now.
        let is_spent = |one: &RolloutFailure| one.reason == JOB_FAILED && !one.cleared && !one.back;
        let is_spent = |uid: &str| self.failures.iter().any(|one| one.uid == uid && is_spent(one));
        for reservation in self.in_flight.iter_mut().filter(|one| is_spent(&one.uid)) {
            reservation.attempt = self.attempt;
            reservation.tried = reservation.job.take().or_else(|| reservation.tried.take());
        }
        // What is left at an end has been looked at by whoever resumes the rollout then, who ends with other words. On
        // the way there it is something else that they have looked at.
        let (is_over, goes_back) = (self.is_over(), self.direction != Direction::Forward);
        let is_lost = |failure: &RolloutFailure| failure.reason == ANNOTATION_REMOVED && goes_back;
        self.failures.retain(|failure| failure.reason == HELD || is_lost(failure));
        let looked_at = self.failures.iter_mut().filter(|failure| is_over || !is_lost(failure));
        looked_at.for_each(|failure| failure.cleared = true);
        self.resumed = Some(rfc3339(now.wall));
        self.recheck_requested = self.is_taken_back();
        if matches!(self.phase, RolloutPhase::Paused | RolloutPhase::Failed) {
            (self.phase, self.reason) = (RolloutPhase::Rolling, None);
        }
        self.observe(None, now);
    }

    /// Namespace and name of each Lease that has to be held for a rollout to go on, with its controller version.
    /// Forward it takes both controllers, since there has to be a way back; whoever goes back may do so because the new
    /// one is dead.
    #[must_use]
    pub fn leases<'r>(&self, rollout: &'r Rollout) -> Vec<(&'r str, String, String)> {
        let (from, to) = (rollout.from(), Some(rollout.to()));
        let versions = match self.direction_of(rollout) {
            Direction::Forward => [from, to],
            Direction::Undo => [from, None],
            Direction::Abort => [None, to],
        };
        let named = versions.into_iter().flatten().filter_map(|version| {
            let (namespace, name) = rollout.lease.as_ref()?.of(version);
            Some((version, namespace, name))
        });
        named.collect()
    }

    /// The same where nobody can read any more what the StagedRollout says, and why; nothing where nothing of it is
    /// under way. The next plan that is made of it says something else again.
    #[must_use]
    pub fn unreadable(&self, bad: &BadRollout, now: ClockReading) -> Option<Self> {
        let is_under_way = self.started.is_some() && !self.is_over();
        is_under_way.then(|| {
            Self {
            phase: RolloutPhase::Paused,
            reason: Some(UNREADABLE.to_owned()),
            message: format!(
                "it says what nobody can read, and nobody looks after what is under way: {}. Mend the StagedRollout: it goes on by \
                 itself",
                bad.to_string().replace('\n', "; ")
            ),
            ..self.clone()
        }
        .observed(now)
        })
    }

    /// The same of a rollout that goes on after a time in which nobody could do anything: objects have their whole time
    /// again.
    #[must_use]
    pub fn going_on(&self, now: ClockReading) -> Self {
        Self { resumed: Some(rfc3339(now.wall)), ..self.clone() }
    }

    /// The same of a rollout of which nothing is written before it is known what has become of a call, in words.
    #[must_use]
    pub fn awaiting(&self, what: &str, now: ClockReading) -> Self {
        let (phase, reason, message) = (RolloutPhase::Waiting, Some(API_ERROR.to_owned()), what.to_owned());
        Self { phase, reason, message, ..self.clone() }.observed(now)
    }

    /// Whether nobody could read what the StagedRollout says, when it was looked at last.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.phase == RolloutPhase::Paused && self.reason.as_deref() == Some(UNREADABLE)
    }

    /// Where the fleet is to go.
    pub(super) fn direction_of(&self, rollout: &Rollout) -> Direction {
        self.heading(rollout.direction)
    }

    fn heading(&self, asked: Direction) -> Direction {
        match asked {
            Direction::Forward if self.undo_all => Direction::Undo,
            direction => direction,
        }
    }

    /// Whether it is over, and is to turn, where its StagedRollout asks for this direction.
    #[must_use]
    pub fn turns_after_end(&self, asked: Direction) -> bool {
        self.started.is_some() && self.is_over() && self.heading(asked) != self.direction
    }

    /// The wave that the rollout has come to.
    pub(super) fn wave_of(&self, rollout: &Rollout) -> usize {
        let name = self.wave.as_deref();
        rollout.waves.iter().position(|wave| Some(wave.name.as_str()) == name).unwrap_or_default()
    }

    /// How many objects of a wave have become others.
    pub(super) fn conversion_of(&self, wave: &str) -> usize {
        self.converted_counts.get(wave).copied().unwrap_or_default()
    }

    /// What is under way back, by uid: it is looked at until it is healthy, whatever the rollout is about by then.
    #[must_use]
    pub fn under_way_back(&self) -> BTreeSet<String> {
        self.in_flight
            .iter()
            .filter(|reservation| reservation.back)
            .map(|reservation| reservation.uid.clone())
            .collect()
    }

    /// What is under way, by uid.
    pub(super) fn reservations(&self) -> HashMap<&str, &InFlightObject> {
        self.in_flight.iter().map(|reservation| (reservation.uid.as_str(), reservation)).collect()
    }

    pub(super) fn reservation(&self, uid: &str) -> Option<&InFlightObject> {
        self.in_flight.iter().find(|reservation| reservation.uid == uid)
    }

    /// What is known against an object, and nobody has looked at: what it fails by now before what was lost.
    pub(super) fn failure(&self, uid: &str) -> Option<&RolloutFailure> {
        let known = self.failures.iter().filter(|failure| failure.uid == uid && !failure.cleared);
        known.max_by_key(|failure| failure.reason != ANNOTATION_REMOVED)
    }

    /// The same where somebody sends it forward again after a failure had taken everything back.
    pub fn forget_back_all(&mut self) {
        self.undo_all = false;
    }

    /// When somebody resumed it, in seconds since 1970.
    pub(super) fn resumed_at(&self) -> u64 {
        self.resumed.as_deref().and_then(wall).unwrap_or_default()
    }
}

/// That nobody waits for an approval there, and who does.
fn not_asked(rollout: &Rollout, wave: &str, side: Option<WaveSide>) -> String {
    let name = rollout.name();
    let of = |wave: &str| {
        SIDES.into_iter().filter(|side| rollout.asks_approval(wave, *side)).map(|side| side.of(wave)).collect()
    };
    let known: Vec<String> = rollout.waves().flat_map::<Vec<String>, _>(of).collect();
    if known.is_empty() {
        return format!("no wave of {name} asks for an approval");
    }
    let known = known.join(", ");
    match side {
        Some(side) => format!("{name} asks for no approval {}; known: {known}", side.of(&format!("{wave:?}"))),
        None => format!("no wave {wave:?} of {name} asks for an approval; known: {known}"),
    }
}

/// In the order in which they come.
const SIDES: [WaveSide; 2] = [WaveSide::Before, WaveSide::After];

/// The reason of a failure where somebody turned a moved label back.
pub(super) const HELD: &str = "Held";

/// The reason of a failure where a Job has ended and did not do what it is for: the next attempt is another Job.
pub(super) const JOB_FAILED: &str = "JobFailed";

/// Why a rollout waits that waits for somebody's approval.
pub(super) const APPROVAL: &str = "Approval";

/// The reason of a failure where something took too long.
pub(super) const TIMED_OUT: &str = "TimedOut";

/// Why it is not known any more what a rollout has done to an object.
pub(super) const ANNOTATION_REMOVED: &str = "AnnotationRemoved";

/// Why a rollout waits that ends once a Job has ended.
pub(super) const JOB: &str = "Job";

/// Why a rollout is over that was taken back.
pub(super) const ROLLED_BACK: &str = "RolledBack";

/// Why a rollout halts whose workflows have changed.
pub(super) const CHANGED: &str = "Changed";

/// A call failed, and is tried again.
pub(super) const API_ERROR: &str = "APIError";

/// The reason of a failure where somebody has to look before anything can be done.
pub(super) const MANUAL_ACTION_REQUIRED: &str = "ManualActionRequired";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
