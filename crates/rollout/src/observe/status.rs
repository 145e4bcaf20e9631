//! The status of a StagedRollout: all durable state apart from annotations on objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conditions::{Condition, Summary, UNREADABLE, conditions, stored_halt};
use super::field_managers::ManagerRecord;
use super::moment::{ClockReading, rfc3339, wall};
use crate::spec::document::BadRollout;
use crate::spec::rollout::{Direction, Rollout};
use crate::spec::versions::{OrderedVersion, VersionRange};
use crate::spec::waves::WaveSide;

/// The state of a rollout, and its objects in flight.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStatus {
    /// As one word.
    pub phase: RolloutPhase,
    /// Reason, as one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Message: the pending condition, or the required action.
    pub message: String,
    /// The direction of the fleet.
    pub direction: Direction,
    /// The state, in words of the StagedRollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The current wave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<String>,
    /// When the rollout reached that wave: the previous wave and its gate were complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave_since: Option<String>,
    /// The wave has not begun: its gate is closed.
    #[serde(skip_serializing_if = "is_false")]
    pub before: bool,
    /// When the last object of the wave was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave_done: Option<String>,
    /// Waves approved on the side `after`, since the last change of direction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<String>,
    /// Waves approved on the side `before`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved_before: Vec<String>,
    /// Completed wave runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completed_run_waves: Vec<String>,
    /// Wave runs with unknown effect, which can only be reverted or repeated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_run_waves: Vec<String>,
    /// The number of resumes and changes of direction. Each begins new attempts of workflow Jobs.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// A hash of the wave workflows, which must stay the same during the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<String>,
    /// The CRD of a storage migration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<CrdSnapshot>,
    /// Objects in flight: objects whose move is the next write, moved and incomplete objects, and failed objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlightObject>,
    /// Numbers of source objects deleted after conversion, by wave.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub converted_counts: BTreeMap<String, usize>,
    /// Failed objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<RolloutFailure>,
    /// The first objects that cannot be moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedObject>,
    /// The `metadata.generation` that the status was computed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Progressing`, `Paused`, `Complete` and `Failed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The reason of a pause until a resume. Stored as the condition `Paused`.
    #[serde(skip)]
    pub halted: Option<PauseReason>,
    /// A failure undoes all moves.
    #[serde(skip_serializing_if = "is_false")]
    pub undo_all: bool,
    /// Objects of the rollout.
    pub counts: RolloutCounts,
    /// Objects of each wave.
    pub waves: Vec<WaveCounts>,
    /// The lowest version that may run, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<OrderedVersion>,
    /// The highest version that may run, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<OrderedVersion>,
    /// The known version range of each part, by name in the definition.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, VersionRange>,
    /// The earliest time of a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// A finished undo was resumed: the runner checks skipped objects again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recheck_requested: bool,
    /// The last resume, or the end of an unacknowledged request: timeouts restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<String>,
    /// The ends of the rollout, latest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
}

/// The phase of a rollout.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum RolloutPhase {
    /// Not begun.
    #[default]
    Pending,
    /// Start conditions are unmet.
    Refused,
    /// Objects are in flight, or about to be.
    Rolling,
    /// No object is in flight: waits for an operator or a condition.
    Waiting,
    /// No object moves until a resume.
    Paused,
    /// All objects are complete.
    Complete,
    /// Complete, and failed objects were rolled back.
    Failed,
    /// Aborted, or completely undone.
    Aborted,
}

impl RolloutPhase {
    /// Phases in which a StagedRollout must not be deleted and its freeze is in force: objects are in flight, or failed
    /// without review.
    pub const UNSETTLED: [Self; 4] = [Self::Rolling, Self::Waiting, Self::Paused, Self::Failed];
}

/// An object in flight.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InFlightObject {
    /// `namespace/name`.
    pub object: String,
    /// Its uid.
    pub uid: String,
    /// Start time.
    pub since: String,
    /// True for a rollback.
    #[serde(default, skip_serializing_if = "is_false")]
    pub back: bool,
    /// Its workflow wave; empty if only the version label changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wave: String,
    /// The number of the attempt at its next steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// True if the object had the rollout annotation at the start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marked: bool,
    /// The step of a change of direction during a creation: a suspended runner may have sent a request that still takes
    /// effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_come: Option<usize>,
    /// The Job of the current step, once observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<ObservedJob>,
    /// The Job observed earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<ObservedJob>,
    /// The uid of the replacement from which the deleted object is recreated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The entries of the awaited field manager at the rollback, whose write removes the annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<ManagerRecord>,
}

impl InFlightObject {
    /// Namespace, if namespaced, and name.
    pub(crate) fn place(&self) -> (Option<&str>, &str) {
        match self.object.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, &self.object),
        }
    }
}

/// An observed Job of a step.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedJob {
    /// `namespace/name`.
    pub name: String,
    /// The index of the step.
    pub step: usize,
    /// True if it reverts the step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub back: bool,
    /// True if the object's annotation does not list it: another client removed or overwrote the annotation.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
}

/// The CRD of a storage migration, as of before the first write.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CrdSnapshot {
    /// The uid.
    pub uid: String,
    /// The generation of its spec: after a change, versions stored by other clients are unknown.
    pub generation: i64,
    /// First observation.
    pub since: String,
}

/// A failed object.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutFailure {
    /// `namespace/name`.
    pub object: String,
    /// Its uid.
    pub uid: String,
    /// Reason, as one word.
    pub reason: String,
    /// Message.
    pub message: String,
    /// Time of observation.
    pub at: String,
    /// True if it is or was rolled back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub back: bool,
    /// True after a resume by an operator; for irreversible Job effects, after a resume of the finished rollout.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cleared: bool,
    /// The Job with effects that are not reverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<OrphanedJob>,
}

/// A Job missing from its object's annotation.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OrphanedJob {
    /// Its workflow wave.
    pub wave: String,
    /// The Job.
    #[serde(flatten)]
    pub seen: ObservedJob,
}

impl RolloutFailure {
    /// A failure of an object, given title and uid, without rollback.
    pub(crate) fn of((object, uid): (&str, &str), reason: &str, message: String, at: String) -> Self {
        let (object, uid, reason) = (object.to_owned(), uid.to_owned(), reason.to_owned());
        Self { object, uid, reason, message, at, back: false, cleared: false, job: None }
    }
}

/// An object that cannot be moved.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct BlockedObject {
    /// `namespace/name`.
    pub object: String,
    /// The reason: `Held`, `Refused` or `Waiting`.
    pub state: String,
    /// Message.
    pub message: String,
}

/// The reason of a pause.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PauseReason {
    /// Reason, as one word.
    pub reason: String,
    /// Message.
    pub message: String,
}

/// Objects by state.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutCounts {
    /// At the old version.
    pub pending: usize,
    /// In flight.
    pub in_flight: usize,
    /// At the new version.
    pub updated: usize,
    /// Failed.
    pub failed: usize,
    /// Another client owns their label.
    pub held: usize,
    /// Blocked, temporarily or permanently.
    pub refused: usize,
    /// At a version outside of the rollout.
    pub outside: usize,
    /// Not healthy, and not in flight.
    pub unhealthy: usize,
}

/// The progress of a wave.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct WaveCounts {
    /// Its name.
    pub name: String,
    /// Complete objects.
    pub done: usize,
    /// All objects.
    pub total: usize,
}

/// An end of a rollout.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// `Complete` or `Partial`.
    pub state: String,
    /// Direction.
    pub direction: Direction,
    /// Start time.
    pub started: Option<String>,
    /// End time.
    pub ended: String,
    /// Accepted risks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
}

impl RolloutStatus {
    /// Reads the status of a StagedRollout from the API server. An invalid status counts as empty.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let status = document.get("status").cloned();
        let mut status: Self = status.and_then(|status| serde_json::from_value(status).ok()).unwrap_or_default();
        let halt = stored_halt(&status.conditions);
        status.halted =
            halt.map(|(reason, message)| PauseReason { reason: reason.to_owned(), message: message.to_owned() });
        status
    }

    /// Computes the conditions from the other fields.
    pub(crate) fn observe(&mut self, generation: Option<i64>, now: ClockReading) {
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

    /// The known version range.
    pub(crate) fn whole_range(&self) -> Option<VersionRange> {
        let (lowest, highest) = self.lowest.clone().zip(self.highest.clone())?;
        Some(VersionRange { lowest, highest })
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// True if the rollout has finished, unless its direction changes.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, RolloutPhase::Complete | RolloutPhase::Failed | RolloutPhase::Aborted)
    }

    /// True if objects may be in flight.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.phase, RolloutPhase::Rolling | RolloutPhase::Waiting | RolloutPhase::Paused)
    }

    /// True during an undo.
    #[must_use]
    pub fn is_undo(&self) -> bool {
        self.direction == Direction::Undo
    }

    /// True if a finished undo skipped objects with unknown move state.
    #[must_use]
    pub fn leaves_objects(&self) -> bool {
        self.is_taken_back() && (self.counts.refused > 0 || self.lost().next().is_some())
    }

    fn is_taken_back(&self) -> bool {
        self.phase == RolloutPhase::Aborted && self.reason.as_deref() == Some(ROLLED_BACK)
    }

    /// True if the runner must check objects skipped by a finished undo again: they may have been repaired.
    #[must_use]
    pub fn rechecks_skipped(&self) -> bool {
        self.leaves_objects() || (self.is_taken_back() && self.recheck_requested)
    }

    /// The Job of a wave with effects on an object that lost its annotation, including failures cleared by a resume.
    pub(crate) fn lost_job(&self, uid: &str, wave: &str) -> Option<&ObservedJob> {
        let of_it = self.failures.iter().filter(|lost| lost.uid == uid);
        of_it.filter_map(|lost| lost.job.as_ref()).find(|job| job.wave == wave).map(|job| &job.seen)
    }

    /// True if a Job has effects on an object that are not reverted, including failures cleared by a resume.
    pub(crate) fn is_left(&self, uid: &str) -> bool {
        self.failures.iter().any(|lost| lost.reason == ANNOTATION_REMOVED && lost.uid == uid)
    }

    /// Objects with Job effects that lost their annotation.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &RolloutFailure> {
        self.failures.iter().filter(|failure| failure.reason == ANNOTATION_REMOVED && !failure.cleared)
    }

    /// True if the rollout waits for an approval: before its wave if [`Self::before`] is set, otherwise after it.
    #[must_use]
    pub fn waits_for_approval(&self) -> bool {
        self.phase == RolloutPhase::Waiting && self.reason.as_deref() == Some(APPROVAL)
    }

    /// True if the rollout ends after the end or deletion of a Job.
    #[must_use]
    pub fn waits_for_job(&self) -> bool {
        self.phase == RolloutPhase::Waiting && self.reason.as_deref() == Some(JOB)
    }

    /// Approves a wave. `side` is optional if only one side requires approval. Returns the approved side.
    ///
    /// # Errors
    /// The wave requires no such approval.
    pub fn approve(&mut self, rollout: &Rollout, wave: &str, side: Option<WaveSide>) -> Result<WaveSide, String> {
        let name = rollout.name();
        if self.is_over() {
            return Err(format!("{name} is {:?}: no approval is pending", self.phase));
        }
        let ways = [self.direction_of(rollout), self.direction];
        if let Some(way) = ways.into_iter().find(|way| *way != Direction::Forward) {
            return Err(format!("{name} has direction {way:?}, which waits for no approval"));
        }
        let required: Vec<WaveSide> = SIDES.into_iter().filter(|side| rollout.requires_approval(wave, *side)).collect();
        let side = match (required.as_slice(), side) {
            (required, Some(side)) if required.contains(&side) => side,
            ([one], None) => *one,
            ([_, _, ..], None) => {
                return Err(format!(
                    "wave {wave} of {name} waits for an approval before and after: use --before or --after"
                ));
            }
            _ => return Err(not_required(rollout, wave, side)),
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

    /// Resumes the rollout after a review: clears failures. Objects with a reset label are not moved again.
    pub fn resume(&mut self, now: ClockReading) {
        if self.halted.as_ref().is_some_and(|halt| halt.reason == CHANGED) {
            self.stored = None;
        }
        // The operator has accepted the current workflows.
        (self.halted, self.steps) = (None, None);
        self.undo_all = false;
        self.attempt += 1;
        // Objects in rollback, or repaired ones, may have another Job by now.
        let is_spent = |one: &RolloutFailure| one.reason == JOB_FAILED && !one.cleared && !one.back;
        let is_spent = |uid: &str| self.failures.iter().any(|one| one.uid == uid && is_spent(one));
        for in_flight_object in self.in_flight.iter_mut().filter(|one| is_spent(&one.uid)) {
            in_flight_object.attempt = self.attempt;
            in_flight_object.tried = in_flight_object.job.take().or_else(|| in_flight_object.tried.take());
        }
        // A resume of a finished rollout clears its skipped objects. A resume during an undo is about other failures.
        let (is_over, is_undo) = (self.is_over(), self.direction != Direction::Forward);
        let is_lost = |failure: &RolloutFailure| failure.reason == ANNOTATION_REMOVED && is_undo;
        self.failures.retain(|failure| failure.reason == HELD || is_lost(failure));
        let reviewed = self.failures.iter_mut().filter(|failure| is_over || !is_lost(failure));
        reviewed.for_each(|failure| failure.cleared = true);
        self.resumed = Some(rfc3339(now.wall));
        self.recheck_requested = self.is_taken_back();
        if matches!(self.phase, RolloutPhase::Paused | RolloutPhase::Failed) {
            (self.phase, self.reason) = (RolloutPhase::Rolling, None);
        }
        self.observe(None, now);
    }

    /// Namespace and name of each Lease that must be held, with its controller version. Moving forward requires both
    /// controllers, so that a rollback is possible. An undo requires only the old one: the new one may be down.
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

    /// The status for an unreadable StagedRollout, with the error; `None` if no object is in flight. The next
    /// successful plan replaces it.
    #[must_use]
    pub fn unreadable(&self, bad: &BadRollout, now: ClockReading) -> Option<Self> {
        let is_under_way = self.started.is_some() && !self.is_over();
        is_under_way.then(|| {
            Self {
                phase: RolloutPhase::Paused,
                reason: Some(UNREADABLE.to_owned()),
                message: format!(
                    "the StagedRollout is invalid, and the runner ignores its objects in flight: {}. Correct \
                         the StagedRollout: the rollout continues automatically",
                    bad.to_string().replace('\n', "; ")
                ),
                ..self.clone()
            }
            .observed(now)
        })
    }

    /// The status after a forced wait: timeouts restart.
    #[must_use]
    pub fn continuing(&self, now: ClockReading) -> Self {
        Self { resumed: Some(rfc3339(now.wall)), ..self.clone() }
    }

    /// The status during an unacknowledged request, with a message.
    #[must_use]
    pub fn awaiting(&self, what: &str, now: ClockReading) -> Self {
        let (phase, reason, message) = (RolloutPhase::Waiting, Some(API_ERROR.to_owned()), what.to_owned());
        Self { phase, reason, message, ..self.clone() }.observed(now)
    }

    /// True if the StagedRollout was unreadable at the last pass.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.phase == RolloutPhase::Paused && self.reason.as_deref() == Some(UNREADABLE)
    }

    /// The direction of the fleet.
    pub(crate) fn direction_of(&self, rollout: &Rollout) -> Direction {
        self.heading(rollout.direction)
    }

    fn heading(&self, requested: Direction) -> Direction {
        match requested {
            Direction::Forward if self.undo_all => Direction::Undo,
            direction => direction,
        }
    }

    /// True if the rollout has finished, and must change direction for the given one in its StagedRollout.
    #[must_use]
    pub fn turns_after_end(&self, requested: Direction) -> bool {
        self.started.is_some() && self.is_over() && self.heading(requested) != self.direction
    }

    /// The current wave.
    pub(crate) fn wave_of(&self, rollout: &Rollout) -> usize {
        let name = self.wave.as_deref();
        rollout.waves.iter().position(|wave| Some(wave.name.as_str()) == name).unwrap_or_default()
    }

    /// The number of converted objects of a wave.
    pub(crate) fn conversion_of(&self, wave: &str) -> usize {
        self.converted_counts.get(wave).copied().unwrap_or_default()
    }

    /// Objects in rollback, by uid: observed until healthy, even if no longer selected.
    #[must_use]
    pub fn under_way_back(&self) -> BTreeSet<String> {
        self.in_flight
            .iter()
            .filter(|in_flight_object| in_flight_object.back)
            .map(|in_flight_object| in_flight_object.uid.clone())
            .collect()
    }

    /// Objects in flight, by uid.
    pub(crate) fn in_flight_objects(&self) -> HashMap<&str, &InFlightObject> {
        self.in_flight.iter().map(|in_flight_object| (in_flight_object.uid.as_str(), in_flight_object)).collect()
    }

    pub(crate) fn in_flight_object(&self, uid: &str) -> Option<&InFlightObject> {
        self.in_flight.iter().find(|in_flight_object| in_flight_object.uid == uid)
    }

    /// The uncleared failure of an object; lost annotations have the lowest priority.
    pub(crate) fn failure(&self, uid: &str) -> Option<&RolloutFailure> {
        let known = self.failures.iter().filter(|failure| failure.uid == uid && !failure.cleared);
        known.max_by_key(|failure| failure.reason != ANNOTATION_REMOVED)
    }

    /// Allows forward moves again after a failure undid everything.
    pub fn forget_back_all(&mut self) {
        self.undo_all = false;
    }

    /// The last resume, in seconds since 1970.
    pub(crate) fn resumed_at(&self) -> u64 {
        self.resumed.as_deref().and_then(wall).unwrap_or_default()
    }
}

/// The error of an approval that is not required, with the required ones.
fn not_required(rollout: &Rollout, wave: &str, side: Option<WaveSide>) -> String {
    let name = rollout.name();
    let of = |wave: &str| {
        SIDES.into_iter().filter(|side| rollout.requires_approval(wave, *side)).map(|side| side.of(wave)).collect()
    };
    let known: Vec<String> = rollout.waves().flat_map::<Vec<String>, _>(of).collect();
    if known.is_empty() {
        return format!("no wave of {name} waits for an approval");
    }
    let known = known.join(", ");
    match side {
        Some(side) => format!("{name} waits for no approval {}; known: {known}", side.of(&format!("{wave:?}"))),
        None => format!("no wave {wave:?} of {name} waits for an approval; known: {known}"),
    }
}

/// In chronological order.
const SIDES: [WaveSide; 2] = [WaveSide::Before, WaveSide::After];

/// Failure reason: another client reset a moved label.
pub(crate) const HELD: &str = "Held";

/// Failure reason: a Job ended without success; the next attempt is another Job.
pub(crate) const JOB_FAILED: &str = "JobFailed";

/// Wait reason: the rollout waits for an approval.
pub(crate) const APPROVAL: &str = "Approval";

/// Failure reason: a timeout.
pub(crate) const TIMED_OUT: &str = "TimedOut";

/// Failure reason: the effects of the rollout on an object are unknown.
pub(crate) const ANNOTATION_REMOVED: &str = "AnnotationRemoved";

/// Wait reason: the rollout ends after a Job.
pub(crate) const JOB: &str = "Job";

/// End reason: undone.
pub(crate) const ROLLED_BACK: &str = "RolledBack";

/// Pause reason: the workflows changed.
pub(crate) const CHANGED: &str = "Changed";

/// Wait reason: an API call failed and is retried.
pub(crate) const API_ERROR: &str = "APIError";

/// Failure reason: an operator must act first.
pub(crate) const MANUAL_ACTION_REQUIRED: &str = "ManualActionRequired";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_false(value: &bool) -> bool {
    !value
}
