//! The state of an object in a rollout, derived from observation.

use std::collections::BTreeMap;
use std::time::Duration;

use super::facts::PlanInput;
use super::fleet_object::{Deletion, FleetObject, Membership};
use super::fleet_rollout::{Direction, Rollout};
use super::initial_waits::{StepApplicability, applies, leading_wait};
use super::job_write::{SeenJob, job_write};
use super::moment::{ClockReading, LONGEST_CALL, rfc3339, wall};
use super::progress::ObjectProgress;
use super::status::{
    ANNOTATION_REMOVED, HELD, InFlightObject, JOB_FAILED, MANUAL_ACTION_REQUIRED, ObservedJob, RolloutFailure,
    RolloutStatus, TIMED_OUT,
};
use super::step_context::{Completion, StepContext, WantedJob};
use super::step_outcome::{StepChange, StepWrite};
use super::step_state::{beside_earlier_one, half_done, has_begun_beside, progress_of, stepping_of, way};
use super::steps::{PreflightFailure, StepOutcome, held_by_finalizers, refused_ahead};
use super::wait_recheck::{WaitRecheck, begins_for_good, waited};
use crate::definition::{ObjectAction, StepDirection, WorkflowAct, WorkflowStep};

/// The state of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ObjectState {
    /// At the old version, and not in flight.
    Old,
    /// In flight, before its own write.
    Reserved,
    /// In flight and not healthy yet, with the failing condition.
    Moving(String),
    /// In flight and healthy, for too short a time yet.
    Settling,
    /// At the new version.
    New,
    /// Not healthy in time, or rolled back for that reason.
    Failed(String),
    /// Another client owns its label.
    Held(String),
    /// Temporarily blocked.
    Waiting(String),
    /// Permanently blocked.
    Refused(String),
    /// At a version outside of the rollout.
    Outside,
    /// Terminating.
    Gone,
}

/// Input for the state of all objects of a fleet.
#[derive(Clone, Copy)]
pub(super) struct StateEvaluator<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) status: &'a RolloutStatus,
    pub(super) facts: &'a PlanInput,
    /// For each source version, the refused upgrade to the new one, or `None` if allowed.
    pub(super) hops: &'a BTreeMap<&'a str, Option<String>>,
    pub(super) now: ClockReading,
    /// True during an undo.
    pub(super) back: bool,
}

impl ObjectState {
    /// As one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Old => "Pending",
            Self::Reserved | Self::Moving(_) => "InFlight",
            Self::Settling => "Settling",
            Self::New => "Updated",
            Self::Failed(_) => "Failed",
            Self::Held(_) => "Held",
            Self::Waiting(_) => "Waiting",
            Self::Refused(_) => "Refused",
            Self::Outside => "Outside",
            Self::Gone => "Gone",
        }
    }

    /// The reason; can be empty.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Moving(why) | Self::Failed(why) | Self::Held(why) | Self::Waiting(why) | Self::Refused(why) => why,
            _ => "",
        }
    }
}

impl StateEvaluator<'_> {
    /// The state of each object, in fleet order.
    pub(super) fn standings(&self, fleet: &[FleetObject]) -> Vec<ObjectState> {
        let reserved = self.status.reservations();
        fleet.iter().map(|object| self.standing(object, reserved.get(object.uid()).copied())).collect()
    }

    /// The state of an object, with its in-flight entry if any.
    pub(super) fn standing(&self, object: &FleetObject, reservation: Option<&InFlightObject>) -> ObjectState {
        if object.is_going {
            return reservation.map_or(ObjectState::Gone, |reservation| self.going(object, reservation));
        }
        let is_of_it = match object.belongs {
            Membership::Chosen => true,
            Membership::Held => false,
            Membership::UnderWay => reservation.is_some(),
        };
        if !is_of_it {
            return ObjectState::Outside;
        }
        if let Some(why) = self.contested(object) {
            return ObjectState::Failed(why);
        }
        if let Some(legs) = &object.legs {
            let traveller = reservation.and_then(|one| Some((StepContext::of(self.rollout, object, one)?, one)));
            return match traveller {
                Some((traveller, reservation)) => self.on_the_way(traveller, reservation),
                None => self.at_rest(object, legs),
            };
        }
        if let Some(reservation) = reservation
            && !self.was_turned_back(object, reservation)
        {
            return self.under_way(object, reservation);
        }
        let marked = object.mark_of(self.rollout);
        if object.is_at(&self.rollout.to) {
            let to_go = self.back && marked.is_some();
            let answer = to_go.then(|| self.answered(object)).flatten();
            // Unknown whether the rollout moved the object.
            let lost = self.back.then(|| object.has_lost_mark(self.rollout)).flatten().map(ObjectState::Refused);
            return answer.or(lost).unwrap_or(ObjectState::New);
        }
        if marked.is_some() {
            // The annotation exists, and the label contradicts.
            return ObjectState::Held(
                object.owner.clone().unwrap_or_else(|| "somebody who turned the label back".to_owned()),
            );
        }
        self.of_old(object)
    }

    /// The state of an object that is not at the new version and was never moved.
    fn of_old(&self, object: &FleetObject) -> ObjectState {
        if self.rollout.from.is_some() && object.version != self.rollout.from {
            return ObjectState::Outside;
        }
        if let Some(failure) = self.status.failure(&object.uid) {
            return ObjectState::Failed(failure.message.clone());
        }
        if self.back {
            return ObjectState::Old;
        }
        // Another client that requests the new version of a held object causes no conflict.
        let is_asked = object.hold().is_some() && object.wanted() == Some(&self.rollout.to);
        let is_in_the_way = !self.rollout.take_over && !is_asked;
        if let Some(owner) = object.owner.as_ref().filter(|_| is_in_the_way) {
            return ObjectState::Held(owner.clone());
        }
        if let Some(standing) = self.in_the_way(object) {
            return standing;
        }
        let hop = object.version.as_deref().filter(|_| !object.opts_out);
        if let Some(why) = hop.and_then(|version| self.hops.get(version)?.as_ref()) {
            return ObjectState::Refused(why.clone());
        }
        self.answered(object).unwrap_or(ObjectState::Old)
    }

    pub(super) fn answered(&self, object: &FleetObject) -> Option<ObjectState> {
        let answer = self.facts.remembered.answer(&object.uid)?;
        let why = answer.message.clone();
        Some(if answer.passes { ObjectState::Waiting(why) } else { ObjectState::Refused(why) })
    }

    /// True if another client has reset the move of an in-flight object.
    pub(super) fn was_turned_back(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        object.legs.is_none()
            && !reservation.back
            && object.mark_of(self.rollout).is_some()
            && !object.is_at(&self.rollout.to)
    }

    /// True if, before its move, another client set an object to a version outside of the rollout.
    fn was_taken_elsewhere(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        let is_of_it = self.rollout.from.is_none() || object.version == self.rollout.from;
        object.legs.is_none() && !reservation.back && !is_of_it && !object.is_at(&self.rollout.to)
    }

    /// True if another client or rollout took the object before its move.
    pub(super) fn was_taken(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        self.was_taken_elsewhere(object, reservation) || self.was_taken_meanwhile(object, reservation)
    }

    /// True if a rollback has no move to revert: the rollout holds the object, and no annotation records a move,
    /// whichever client set its label.
    pub(super) fn was_never_moved(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        let is_held = object.hold_of(self.rollout).is_some();
        object.legs.is_none() && reservation.back && is_held && object.mark_of(self.rollout).is_none()
    }

    /// The obstacle on an object: another client's text in the rollout annotation, or the annotation of another active
    /// rollout.
    pub(super) fn in_the_way(&self, object: &FleetObject) -> Option<ObjectState> {
        if object.mark_of(self.rollout).is_some() {
            return None;
        }
        let other = || object.taken_by(self.rollout, self.status.started.as_deref()?).map(ObjectState::Held);
        object.has_no_room(self.rollout).map(ObjectState::Refused).or_else(other)
    }

    /// True if the obstacle appeared before the move.
    fn was_taken_meanwhile(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        let is_moved = object.is_at(&self.rollout.to);
        object.legs.is_none() && !reservation.back && !is_moved && self.in_the_way(object).is_some()
    }

    /// True if the move of an in-flight object is observed.
    pub(super) fn has_landed(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        if let Some(traveller) = StepContext::of(self.rollout, object, reservation) {
            return self.has_arrived(traveller, reservation);
        }
        let is_moved = object.is_at(&self.rollout.to);
        // An object held by the rollout is not moved yet, whatever its label.
        let is_held = object.hold_of(self.rollout).is_some();
        if reservation.back { !(is_held || is_moved && object.mark_of(self.rollout).is_some()) } else { is_moved }
    }

    /// The state of an in-flight object.
    pub(super) fn under_way(&self, object: &FleetObject, reservation: &InFlightObject) -> ObjectState {
        if !self.has_landed(object, reservation) {
            return match self.status.failure(&object.uid) {
                Some(failure) => ObjectState::Failed(failure.message.clone()),
                None => ObjectState::Reserved,
            };
        }
        let moved = self.moved(object).or_else(|| wall(&reservation.since));
        self.after_landing(object, reservation, moved.unwrap_or(self.now.wall).max(self.status.resumed_at()))
    }

    /// The time of the move in the annotation. A time beyond the timeout from now is invalid; then the start of the
    /// in-flight entry counts.
    fn moved(&self, object: &FleetObject) -> Option<u64> {
        let latest = self.now.wall.saturating_add(self.rollout.timeout.as_secs());
        object.mark_of(self.rollout)?.moved().filter(|moved| *moved <= latest)
    }

    /// The state of an object after its last write at `since`: it must be healthy for long enough.
    pub(super) fn after_landing(&self, object: &FleetObject, reservation: &InFlightObject, since: u64) -> ObjectState {
        let Some(gate) = self.shut(object, reservation) else {
            let healthy = self.facts.remembered.healthy.get(&object.uid);
            let lasted = healthy.map_or(Duration::ZERO, |since| self.now.steady.saturating_sub(*since));
            if lasted < self.settle(object, reservation) {
                return ObjectState::Settling;
            }
            let is_new = if object.legs.is_some() { !reservation.back } else { object.is_at(&self.rollout.to) };
            return if is_new { ObjectState::New } else { ObjectState::Old };
        };
        let lasted = self.now.wall.saturating_sub(since);
        if lasted > self.rollout.timeout.as_secs() {
            return ObjectState::Failed(format!("not healthy within {}: {gate}", shown(self.rollout.timeout)));
        }
        ObjectState::Moving(gate)
    }

    /// The required time of health. If no status reply to the last step is awaited, earlier health may still be
    /// reported.
    fn settle(&self, object: &FleetObject, reservation: &InFlightObject) -> Duration {
        let settle = self.rollout.health.settle;
        let Some(traveller) = StepContext::of(self.rollout, object, reservation) else { return settle };
        if traveller.is_answered() && !reservation.back { settle } else { settle.max(UNANSWERED) }
    }

    /// The message about an old controller that wrote the object after the move and after the last resume.
    pub(super) fn contested(&self, object: &FleetObject) -> Option<String> {
        if self.back || !object.is_at(&self.rollout.to) {
            return None;
        }
        let (manager, at) = object.contested.as_ref().filter(|(_, at)| *at > self.status.resumed_at())?;
        Some(format!(
            "two controllers: {manager} wrote to it at {}, after it was moved to {}",
            rfc3339(*at),
            self.rollout.to
        ))
    }

    /// The failing condition of a moved object. Health from before the move does not count.
    pub(super) fn shut(&self, object: &FleetObject, reservation: &InFlightObject) -> Option<String> {
        if let Some(shut) = &self.facts.shut {
            return Some(shut.clone());
        }
        match self.awaited_manager(object, reservation) {
            Some(manager) => Some(format!("{manager} has not written to it since the move")),
            None => object.unhealthy.clone(),
        }
    }

    /// The field manager whose write after the move is missing. Compares with a record if the recorded write also set
    /// the label, otherwise compares times.
    fn awaited_manager(&self, object: &FleetObject, reservation: &InFlightObject) -> Option<&str> {
        let manager = self.manager_ahead(object, reservation)?;
        let Some(managers) = &object.managers else { return Some(manager) };
        let mark = object.mark_of(self.rollout);
        let record = match reservation.back {
            true => reservation.writes.as_ref().filter(|_| mark.is_none()),
            false => mark.and_then(|mark| mark.writes.as_ref()).filter(|_| managers.is_label_of_rollout()),
        };
        let has_written = match record.filter(|record| record.is_of(manager)) {
            Some(record) => managers.has_written_since(record),
            None => managers.wrote_after_label(manager),
        };
        (!has_written).then_some(manager)
    }

    /// The field manager of the object's target version, if a write is awaited. An object set to another version by
    /// another client belongs to the controller of that version.
    pub(super) fn manager_ahead(&self, object: &FleetObject, reservation: &InFlightObject) -> Option<&str> {
        if object.legs.is_some() {
            return None;
        }
        let mark = object.mark_of(self.rollout).filter(|_| object.is_at(&self.rollout.to));
        let home = || mark.map_or(object.version.as_deref(), |mark| mark.was.as_deref());
        self.rollout.seen_manager(if reservation.back { home() } else { Some(&self.rollout.to) })
    }
}

/// Time during which reported health may predate the last step.
const UNANSWERED: Duration = Duration::from_secs(60);

/// Objects on workflows.
impl StateEvaluator<'_> {
    /// The state of an object on a workflow that is not in flight.
    pub(super) fn at_rest(&self, object: &FleetObject, legs: &ObjectProgress) -> ObjectState {
        // An object with restored annotation continues.
        let goes_on =
            |known: &RolloutFailure| known.reason == ANNOTATION_REMOVED && object.mark_of(self.rollout).is_some();
        if let Some(failure) = self.status.failure(&object.uid).filter(|known| !goes_on(known)) {
            return ObjectState::Failed(failure.message.clone());
        }
        if let Some(why) = self.made_again(object) {
            return ObjectState::Refused(why);
        }
        if self.back {
            return match (legs.back(), legs.has_begun()) {
                (Some(_), _) => self.answered_step(object).unwrap_or(ObjectState::New),
                (None, true) => ObjectState::New,
                // An operator has checked its current state.
                (None, false) if self.status.is_left(&object.uid) => ObjectState::Old,
                (None, false) => object.has_lost_mark(self.rollout).map_or(ObjectState::Old, ObjectState::Refused),
            };
        }
        if let Some(why) = legs.refused.as_ref().filter(|_| !legs.has_begun()) {
            return ObjectState::Refused(why.clone());
        }
        if let Some(standing) = self.ahead(object, legs).or_else(|| self.leading(object, legs)) {
            return standing;
        }
        match legs.forward() {
            Some(_) => {
                let in_the_way = || self.in_the_way(object);
                self.held(legs).or_else(in_the_way).or_else(|| self.answered_step(object)).unwrap_or(ObjectState::Old)
            }
            None if legs.has_begun() => ObjectState::New,
            None => ObjectState::Outside,
        }
    }

    /// The manager that would create the replacement again after its deletion.
    fn made_again(&self, object: &FleetObject) -> Option<String> {
        let manager = object.git.as_ref().filter(|_| object.former.is_some() && !self.rollout.take_over)?;
        let target = &self.rollout.pair.as_ref()?.target.resource;
        Some(format!(
            "{manager} sets its {target}, and would make it again once it is deleted: take it out of Git, and leave it in \
             the cluster; where nobody applies it any more, say takeOver: true in the StagedRollout"
        ))
    }

    /// The preflight result, if preflight lookups cover every object.
    fn ahead(&self, object: &FleetObject, legs: &ObjectProgress) -> Option<ObjectState> {
        if !self.facts.ahead || legs.has_begun() {
            return None;
        }
        let traveller = StepContext { rollout: self.rollout, object, legs, leg: legs.forward()? };
        Some(match refused_ahead(traveller, &self.facts.answers, &[])? {
            PreflightFailure::Refused(why) => ObjectState::Refused(why),
            PreflightFailure::Waits(why) => ObjectState::Waiting(why),
        })
    }

    /// The condition for which it waits at the start of its workflow: it has not begun, and uses no budget.
    fn leading(&self, object: &FleetObject, legs: &ObjectProgress) -> Option<ObjectState> {
        // Later waves have no lookups.
        let leg = legs.forward().filter(|leg| self.facts.ahead || leg.wave <= self.status.wave_of(self.rollout))?;
        let traveller = StepContext { rollout: self.rollout, object, legs, leg };
        leading_wait(traveller, &self.facts.answers).map(ObjectState::Waiting)
    }

    /// The earlier workflow that must be applied first.
    fn held(&self, legs: &ObjectProgress) -> Option<ObjectState> {
        let (leg, why) = legs.held()?;
        let wave = self.rollout.waves.get(leg.wave).map_or("", |wave| wave.name.as_str());
        let why = format!("it goes with wave {wave} first, and the workflow of that is not about it now: {why}");
        Some(ObjectState::Waiting(why))
    }

    /// A refusal that is not due for a retry.
    fn answered_step(&self, object: &FleetObject) -> Option<ObjectState> {
        if self.facts.remembered.is_due(&object.uid, self.now) {
            return None;
        }
        self.answered(object)
    }

    /// The failure of an object in flight on its workflow: reason and message.
    pub(super) fn failed(
        &self,
        traveller: StepContext<'_>,
        reservation: &InFlightObject,
    ) -> Option<(&'static str, String)> {
        if traveller.object.is_going {
            let late = self.goes_for_ever(traveller.object, reservation);
            return late.map(|why| (TIMED_OUT, why));
        }
        let late = || match self.on_the_way(traveller, reservation) {
            ObjectState::Failed(why) if self.has_landed(traveller.object, reservation) => Some((TIMED_OUT, why)),
            _ => None,
        };
        self.trouble(traveller, reservation).or_else(late)
    }

    /// The timeout of the current step.
    fn timeout(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> Duration {
        let own = traveller.at_hand(reservation).and_then(|(step, way)| step.timeout(way));
        own.unwrap_or(self.rollout.timeout)
    }

    /// The state of an object in flight on its workflow.
    pub(super) fn on_the_way(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> ObjectState {
        let object = traveller.object;
        if let Some((_, why)) = self.trouble(traveller, reservation) {
            return ObjectState::Failed(why);
        }
        if self.has_arrived(traveller, reservation) {
            if !traveller.legs.is_run {
                return self.after_landing(object, reservation, self.since(object, reservation));
            }
            return if reservation.back { ObjectState::Old } else { ObjectState::New };
        }
        match self.status.failure(&object.uid).filter(|_| reservation.back) {
            Some(failure) => ObjectState::Failed(failure.message.clone()),
            None if self.has_begun(traveller, reservation) => ObjectState::Moving(self.waits(traveller, reservation)),
            None => ObjectState::Reserved,
        }
    }

    /// True if an object is at its end without partial steps.
    pub(super) fn has_arrived(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> bool {
        traveller.leg.has_landed(reservation.back)
            && traveller.seen_job(reservation).is_none()
            && half_done(traveller, reservation, &self.facts.answers).is_none()
            && self.may_come(traveller, reservation).is_none()
    }

    /// True if a missing object may have been requested in this direction: the replacement, a Job, or the recreated
    /// object. A runner that was suspended during the request cannot know whether the API server received it.
    pub(super) fn may_have_asked(&self, traveller: StepContext<'_>, reservation: &InFlightObject, back: bool) -> bool {
        let is_former = traveller.object.former.is_some();
        match traveller.job_ahead(reservation) {
            _ if back || is_former => back && is_former,
            Some(job) => SeenJob::of(&job.name, &self.facts.answers) == SeenJob::Absent,
            None => traveller.may_be_made() && !has_begun_beside(traveller, &self.facts.answers),
        }
    }

    /// The message about a request sent before a change of direction that may still take effect. Releases and reverts
    /// wait until its outcome is certain: a later object would remain unmonitored.
    pub(super) fn may_come(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> Option<String> {
        let is_stopped = self.status.direction == Direction::Abort;
        let went_back = traveller.object.former.is_some() && (is_stopped || !reservation.back);
        let is_at = reservation.may_come == Some(traveller.leg.done);
        let may_come = is_at && self.may_have_asked(traveller, reservation, went_back);
        let sure = wall(&reservation.since).unwrap_or(self.now.wall).saturating_add(LONGEST_CALL);
        let what = match traveller.job_ahead(reservation) {
            _ if went_back => "it".to_owned(),
            Some(job) => format!("job {}", job.name),
            None => "what it was to become".to_owned(),
        };
        // Contains the end time instead of the remaining time, so the message is stable.
        let told = || format!("{what} is not there, and may have been asked for: that is sure at {}", rfc3339(sure));
        // A later time is from another clock, and invalid.
        let left = sure.saturating_sub(self.now.wall);
        (may_come && (1..=2 * LONGEST_CALL).contains(&left)).then(told)
    }

    /// True if the workflow of an object has begun.
    pub(super) fn has_begun(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> bool {
        traveller.has_begun(reservation) || has_begun_beside(traveller, &self.facts.answers)
    }

    /// The next change of an in-flight object.
    pub(super) fn stepping(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> StepChange {
        let leg = traveller.leg;
        if let Some(why) = self.lost_job_under_way(traveller, reservation) {
            return StepChange::Waits { why, spent: false };
        }
        if let Some(in_the_way) = self.in_the_way(traveller.object) {
            let runs = |job: &ObservedJob| SeenJob::under_way(&job.name, &self.facts.answers);
            // A rollback skips the object once its Job has ended.
            return match traveller.seen_job(reservation).filter(|_| self.back).and_then(runs) {
                Some(why) => StepChange::Waits { why, spent: false },
                None => StepChange::Held(in_the_way.why().to_owned()),
            };
        }
        if let Some(other) = traveller.seen_job(reservation).filter(|seen| seen.back != reservation.back) {
            return self.of_other_way(traveller, other);
        }
        if leg.open && reservation.back {
            return self.counts(traveller, StepDirection::Done, Completion::Unknown);
        }
        if leg.half && !reservation.back {
            return self.counts(traveller, StepDirection::Undone, Completion::Unknown);
        }
        if let Some(stepping) = beside_earlier_one(traveller, reservation, &self.facts.answers) {
            return stepping;
        }
        if let Some(half) = half_done(traveller, reservation, &self.facts.answers) {
            return half;
        }
        if let Some(why) = self.may_come(traveller, reservation) {
            return StepChange::Away(why);
        }
        let landed = leg.has_landed(reservation.back);
        let Some((at, step)) = traveller.next_step(reservation).filter(|_| !landed) else { return StepChange::Landed };
        let way = way(reservation.back);
        let is_begun = traveller.seen_job(reservation).is_some();
        if let Some(why) = self.rollout.not_accepted(step).filter(|_| !reservation.back && !is_begun) {
            return StepChange::Waits { why, spent: false };
        }
        if !reservation.back
            && let Some(stepping) = self.before(traveller, reservation, step)
        {
            return stepping;
        }
        match (&step.act, traveller.wanted_job(reservation)) {
            (WorkflowAct::Wait { .. }, _) => match leg.unmet(at, way) {
                Some(why) => StepChange::Waits { why: why.to_owned(), spent: false },
                None => self.counts(traveller, way, Completion::Whole),
            },
            (WorkflowAct::Job { .. }, Some(wanted)) => self.of_job(traveller, reservation, &wanted, step),
            (WorkflowAct::Set(_), _) if reservation.back => {
                match traveller.not_left().filter(|_| !self.is_known(traveller)) {
                    Some(why) => StepChange::Held(why),
                    None => self.counts(traveller, way, Completion::Whole),
                }
            }
            (WorkflowAct::Beside(beside), _) => self.of_others(traveller, reservation, (at, &beside.act)),
            _ => self.counts(traveller, way, Completion::Whole),
        }
    }

    /// The message about a Job that may run although the object's annotation does not list it.
    pub(super) fn lost_job_under_way(
        &self,
        traveller: StepContext<'_>,
        reservation: &InFlightObject,
    ) -> Option<String> {
        SeenJob::under_way(&traveller.lost_job(reservation)?.name, &self.facts.answers)
    }

    /// The change for a Job that started before the direction changed: its partial effects are unknown.
    fn of_other_way(&self, traveller: StepContext<'_>, other: &ObservedJob) -> StepChange {
        let seen = SeenJob::of(&other.name, &self.facts.answers);
        let is_whole = seen == SeenJob::Complete && traveller.leg.unmet(other.step, StepDirection::Done).is_none();
        match seen {
            SeenJob::Unknown(why) => StepChange::Waits { why, spent: false },
            SeenJob::Runs => {
                StepChange::Waits { why: format!("job {} still runs, and ends first", other.name), spent: false }
            }
            SeenJob::Complete if other.back => self.counts(traveller, StepDirection::Undone, Completion::Whole),
            // The extent of its revert is unknown.
            SeenJob::Absent | SeenJob::Failed(_) if other.back => {
                self.counts(traveller, StepDirection::Undone, Completion::Unknown)
            }
            SeenJob::Absent | SeenJob::Complete | SeenJob::Failed(_) => self.counts(
                traveller,
                StepDirection::Done,
                if is_whole { Completion::Whole } else { Completion::Unknown },
            ),
        }
    }

    /// The change before a step: the step does not apply, a wait condition fails, earlier written fields changed before
    /// an irreversible step, or the state is unknown.
    fn before(
        &self,
        traveller: StepContext<'_>,
        reservation: &InFlightObject,
        step: &WorkflowStep,
    ) -> Option<StepChange> {
        if traveller.leg.open {
            // A begun step applies, whatever a list contains since.
            return None;
        }
        match applies(traveller, step, &self.facts.answers) {
            StepApplicability::Yes => {}
            StepApplicability::No => return Some(self.counts(traveller, StepDirection::Done, Completion::ByHand)),
            StepApplicability::Unknown(why) => return Some(StepChange::Waits { why, spent: false }),
        }
        if let Some(why) = traveller.changed().filter(|_| begins_for_good(traveller, reservation)) {
            return Some(StepChange::Held(why));
        }
        match waited(traveller, reservation, &self.facts.answers) {
            WaitRecheck::Holds => None,
            WaitRecheck::Unknown(why) => Some(StepChange::Waits { why, spent: false }),
            WaitRecheck::Lost(done) => Some(StepChange::Next(StepWrite::Move(traveller.waits_again(self.now, done)))),
        }
    }

    /// The next change of a step on other objects. The start of an irreversible step is recorded before its first call.
    fn of_others(
        &self,
        traveller: StepContext<'_>,
        reservation: &InFlightObject,
        (at, act): (usize, &ObjectAction),
    ) -> StepChange {
        let progress = progress_of(traveller, (at, act), reservation.back, &self.facts.answers);
        if matches!(progress, StepOutcome::Next(_)) && begins_for_good(traveller, reservation) {
            return StepChange::Next(StepWrite::Move(traveller.begins(self.now)));
        }
        let half = if progress == StepOutcome::ByHand { Completion::ByHand } else { Completion::Whole };
        stepping_of(progress).unwrap_or_else(|| self.counts(traveller, way(reservation.back), half))
    }

    /// The next change of a Job step.
    fn of_job(
        &self,
        traveller: StepContext<'_>,
        reservation: &InFlightObject,
        wanted: &WantedJob<'_>,
        step: &WorkflowStep,
    ) -> StepChange {
        let (title, way) = (&wanted.title, way(reservation.back));
        let is_ours = reservation.back || traveller.was_tried(reservation, wanted.step);
        let unmet = traveller.leg.unmet(wanted.step, way);
        // The condition of a Job can also be met by hand.
        let is_done = wanted.job.until.is_some() && unmet.is_none();
        match (SeenJob::of(title, &self.facts.answers), unmet) {
            (SeenJob::Unknown(why), _) => StepChange::Waits { why, spent: false },
            (SeenJob::Runs, _) => StepChange::Waits { why: format!("job {title} runs"), spent: false },
            (SeenJob::Complete, Some(why)) => {
                StepChange::Waits { why: format!("job {title} is complete, and {why}"), spent: true }
            }
            (SeenJob::Complete, None) => self.counts(traveller, way, Completion::Whole),
            (SeenJob::Absent, _) if is_done && !is_ours => self.counts(traveller, way, Completion::ByHand),
            _ if is_done => self.counts(traveller, way, Completion::Whole),
            (SeenJob::Failed(why), _) => StepChange::Fails(format!("job {title} failed: {why}")),
            (SeenJob::Absent, _) if wanted.is_known => {
                StepChange::Fails(format!("job {title} is gone, and nobody knows what it has done"))
            }
            (SeenJob::Absent, _) => {
                let is_known = reservation.back && self.is_known(traveller);
                if let Some(why) = traveller.changed().filter(|_| !is_known) {
                    return StepChange::Held(why);
                }
                match job_write(traveller, &step.name, wanted.job, &wanted.name, &self.facts.answers) {
                    Ok(write) => StepChange::Next(StepWrite::Job(Box::new(write))),
                    Err(why) => StepChange::Waits { why, spent: false },
                }
            }
        }
    }

    /// True if a resume accepted that a field of the object differs from the written value.
    fn is_known(&self, traveller: StepContext<'_>) -> bool {
        let mut held = self.status.failures.iter().filter(|one| one.reason == HELD && one.cleared);
        held.any(|one| one.uid == traveller.object.uid)
    }

    /// The write that counts a step as applied or reverted. A partial step that counts as reverted leaves its effects.
    fn counts(&self, traveller: StepContext<'_>, way: StepDirection, half: Completion) -> StepChange {
        let done = traveller.leg.done;
        let is_half = half == Completion::Unknown;
        StepChange::Next(match way {
            StepDirection::Done if traveller.legs.is_run => StepWrite::Ran { done: done + 1, half: is_half },
            StepDirection::Undone if traveller.legs.is_run => {
                StepWrite::Ran { done: done.saturating_sub(1), half: false }
            }
            StepDirection::Done => StepWrite::Move(traveller.forward(self.now, half)),
            StepDirection::Undone if is_half => StepWrite::Move(traveller.again(self.now)),
            StepDirection::Undone => StepWrite::Move(traveller.back(self.now)),
        })
    }

    /// The problem of an in-flight object: reason and message.
    pub(super) fn trouble(
        &self,
        traveller: StepContext<'_>,
        reservation: &InFlightObject,
    ) -> Option<(&'static str, String)> {
        let place = traveller.told(reservation);
        let remembered = &self.facts.remembered;
        let timeout = self.timeout(traveller, reservation);
        let not_done = |why: &str| format!("{place}: not done within {}: {why}", shown(timeout));
        let (why, reason) = match self.stepping(traveller, reservation) {
            StepChange::Fails(why) => return Some((JOB_FAILED, format!("{place}: {why}"))),
            StepChange::Held(why) => return Some((HELD, format!("{place}: {why}"))),
            StepChange::Stuck(why) => return Some((MANUAL_ACTION_REQUIRED, format!("{place}: {why}"))),
            StepChange::Landed | StepChange::Away(_) => return None,
            StepChange::Waits { why, spent } => (why, if spent { JOB_FAILED } else { TIMED_OUT }),
            StepChange::Next(write) => match remembered.answer(&traveller.object.uid) {
                Some(answer) => (answer.message.clone(), TIMED_OUT),
                None => {
                    let step = self.step_tried(traveller, reservation);
                    let since = remembered.trying_since(&traveller.object.uid, &step)?;
                    let is_late = self.now.steady.saturating_sub(since) > timeout;
                    let failure = remembered.failure(&traveller.object.uid);
                    let why = || failure.map_or_else(|| never_lands(&write), str::to_owned);
                    return is_late.then(|| (TIMED_OUT, not_done(&why())));
                }
            },
        };
        let is_begun = self.has_begun(traveller, reservation) || reservation.back;
        let since = self.since(traveller.object, reservation);
        let lasted = Duration::from_secs(self.now.wall.saturating_sub(since));
        let is_refused = !is_begun && remembered.answer(&traveller.object.uid).is_some();
        (lasted > timeout && !is_refused).then(|| (reason, not_done(&why)))
    }

    /// The key of a write attempt: changes when the object advances, changes direction, or the rollout is resumed.
    pub(super) fn step_tried(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> String {
        let (place, resumed) = (traveller.place(traveller.leg.done), self.status.resumed_at());
        format!("{place} {} {resumed}", reservation.back)
    }

    /// The start time of the current step.
    pub(super) fn since(&self, object: &FleetObject, reservation: &InFlightObject) -> u64 {
        let marked = self.moved(object);
        let reserved = wall(&reservation.since).or(marked).unwrap_or(self.now.wall);
        marked.unwrap_or(reserved).max(reserved).max(self.status.resumed_at())
    }

    /// The message about an object on a step.
    pub(super) fn waits(&self, traveller: StepContext<'_>, reservation: &InFlightObject) -> String {
        let place = traveller.told(reservation);
        let refused = self.facts.remembered.answer(&traveller.object.uid).map(|answer| answer.message.clone());
        match (self.stepping(traveller, reservation), refused) {
            (
                StepChange::Waits { why, .. }
                | StepChange::Away(why)
                | StepChange::Fails(why)
                | StepChange::Held(why)
                | StepChange::Stuck(why),
                _,
            ) => format!("{place}: {why}"),
            (StepChange::Next(_), Some(refused)) => format!("{place}: {refused}"),
            (StepChange::Next(_) | StepChange::Landed, _) => place,
        }
    }
}

/// Objects deleted by another client while in flight, and kept by a finalizer: they remain written, and use the budget
/// until they are deleted.
impl StateEvaluator<'_> {
    /// The state of a terminating in-flight object. Without writes, or once complete, it counts as deleted.
    pub(super) fn going(&self, object: &FleetObject, reservation: &InFlightObject) -> ObjectState {
        // A converted object is deleted by its last step, which reports about it.
        if self.rollout.pair.is_some() || !self.was_written(object, reservation) {
            return ObjectState::Gone;
        }
        let standing = match StepContext::of(self.rollout, object, reservation) {
            Some(traveller) if self.has_arrived(traveller, reservation) => self.on_the_way(traveller, reservation),
            None if object.legs.is_none() => self.under_way(object, reservation),
            _ => ObjectState::Reserved,
        };
        match standing {
            ObjectState::New | ObjectState::Old => ObjectState::Gone,
            ObjectState::Settling => ObjectState::Settling,
            _ => match self.goes_for_ever(object, reservation) {
                Some(why) => ObjectState::Failed(why),
                None => ObjectState::Moving(format!("it is being deleted, and not gone yet: {}", held_by(object))),
            },
        }
    }

    /// True if a terminating object was changed, or may be, by the rollout.
    fn was_written(&self, object: &FleetObject, reservation: &InFlightObject) -> bool {
        if object.legs.is_some() {
            let traveller = StepContext::of(self.rollout, object, reservation);
            return traveller.is_some_and(|traveller| reservation.back || self.has_begun(traveller, reservation));
        }
        let goes_back = reservation.back && !self.was_never_moved(object, reservation);
        goes_back || self.has_landed(object, reservation)
    }

    /// The failure of an object that is terminating for too long.
    fn goes_for_ever(&self, object: &FleetObject, reservation: &InFlightObject) -> Option<String> {
        let since = object.going.as_ref()?.since.max(wall(&reservation.since).unwrap_or_default());
        let traveller = StepContext::of(self.rollout, object, reservation);
        let timeout = traveller.map_or(self.rollout.timeout, |traveller| self.timeout(traveller, reservation));
        let lasted = Duration::from_secs(self.now.wall.saturating_sub(since.max(self.status.resumed_at())));
        let late = || format!("it is being deleted, and not gone within {}: {}", shown(timeout), held_by(object));
        (lasted > timeout).then(late)
    }
}

/// The finalizers of a terminating object.
fn held_by(object: &FleetObject) -> String {
    match object.going.as_deref() {
        Some(Deletion { finalizers, .. }) if !finalizers.is_empty() => held_by_finalizers(&finalizers.join(", ")),
        _ => "nobody says what holds it".to_owned(),
    }
}

/// The message about a write that conflicts continuously.
fn never_lands(write: &StepWrite) -> String {
    let what = match write {
        StepWrite::Object(one) => one.title(),
        _ => "it".to_owned(),
    };
    format!("another client writes {what} continuously: stop that client, then resume the rollout")
}

/// A duration as text.
pub(super) fn shown(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds > 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}
