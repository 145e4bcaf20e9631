//! The next change of an object in flight on its workflow.

use super::object_state::ObjectState;
use crate::definition::workflows::{ObjectAction, StepDirection, WorkflowAct, WorkflowStep};
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::{ClockReading, LONGEST_CALL, rfc3339, wall};
use crate::observe::status::{HELD, InFlightObject, ObservedJob, RolloutStatus};
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::context::{Completion, StepContext, WantedJob};
use crate::steps::outcome::{StepChange, StepOutcome, StepWrite};
use crate::steps::step_state::{
    conflicting_replacement, half_done, has_uncounted_changes, progress_of, stepping_of, way,
};
use crate::steps::waits::{StepApplicability, WaitRecheck, applies, begins_for_good, waited};
use crate::steps::writes::job_write::{SeenJob, job_write};

/// Input for the next change of objects on workflows.
#[derive(Clone, Copy)]
pub(crate) struct StepEvaluator<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) status: &'a RolloutStatus,
    pub(super) facts: &'a PlanInput,
    pub(super) now: ClockReading,
    /// True during an undo.
    pub(super) back: bool,
}

impl StepEvaluator<'_> {
    /// True if an object is at its end without partial steps.
    pub(crate) fn has_arrived(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> bool {
        context.wave_progress.is_move_observed(in_flight_object.back)
            && context.seen_job(in_flight_object).is_none()
            && half_done(context, in_flight_object, &self.facts.answers).is_none()
            && self.outstanding_request(context, in_flight_object).is_none()
    }

    /// True if a missing object may have been requested in this direction: the replacement, a Job, or the recreated
    /// object. A runner that was suspended during the request cannot know whether the API server received it.
    pub(crate) fn may_have_requested(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
        back: bool,
    ) -> bool {
        let is_former = context.object.replacement_uid.is_some();
        match context.job_ahead(in_flight_object) {
            _ if back || is_former => back && is_former,
            Some(job) => SeenJob::of(&job.name, &self.facts.answers) == SeenJob::Absent,
            None => context.may_be_made() && !has_uncounted_changes(context, &self.facts.answers),
        }
    }

    /// The message about a request sent before a change of direction that may still take effect. Releases and reverts
    /// wait until its outcome is certain: a later object would remain unmonitored.
    pub(crate) fn outstanding_request(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
    ) -> Option<String> {
        let is_stopped = self.status.direction == Direction::Abort;
        let is_rollback = context.object.replacement_uid.is_some() && (is_stopped || !in_flight_object.back);
        let is_at = in_flight_object.may_come == Some(context.wave_progress.done);
        let is_outstanding = is_at && self.may_have_requested(context, in_flight_object, is_rollback);
        let sure = wall(&in_flight_object.since).unwrap_or(self.now.wall).saturating_add(LONGEST_CALL);
        let what = match context.job_ahead(in_flight_object) {
            _ if is_rollback => "it".to_owned(),
            Some(job) => format!("job {}", job.name),
            None => "its replacement".to_owned(),
        };
        // Contains the end time instead of the remaining time, so the message is stable.
        let message = || {
            format!(
                "{what} does not exist, but an earlier request may still create the object: waiting until {}",
                rfc3339(sure)
            )
        };
        // A later time is from another clock, and invalid.
        let left = sure.saturating_sub(self.now.wall);
        (is_outstanding && (1..=2 * LONGEST_CALL).contains(&left)).then(message)
    }

    /// True if the workflow of an object has begun.
    pub(crate) fn has_begun(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> bool {
        context.has_begun(in_flight_object) || has_uncounted_changes(context, &self.facts.answers)
    }

    /// The next change of an in-flight object.
    pub(crate) fn stepping(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> StepChange {
        let wave_progress = context.wave_progress;
        if let Some(why) = self.lost_job_under_way(context, in_flight_object) {
            return StepChange::Waits { why, spent: false };
        }
        if let Some(in_the_way) = self.in_the_way(context.object) {
            let runs = |job: &ObservedJob| SeenJob::under_way(&job.name, &self.facts.answers);
            // A rollback skips the object once its Job has ended.
            return match context.seen_job(in_flight_object).filter(|_| self.back).and_then(runs) {
                Some(why) => StepChange::Waits { why, spent: false },
                None => StepChange::Held(in_the_way.why().to_owned()),
            };
        }
        if let Some(other) = context.seen_job(in_flight_object).filter(|seen| seen.back != in_flight_object.back) {
            return self.of_other_way(context, other);
        }
        if wave_progress.open && in_flight_object.back {
            return self.counts(context, StepDirection::Done, Completion::Unknown);
        }
        if wave_progress.half && !in_flight_object.back {
            return self.counts(context, StepDirection::Undone, Completion::Unknown);
        }
        if let Some(stepping) = conflicting_replacement(context, in_flight_object, &self.facts.answers) {
            return stepping;
        }
        if let Some(half) = half_done(context, in_flight_object, &self.facts.answers) {
            return half;
        }
        if let Some(why) = self.outstanding_request(context, in_flight_object) {
            return StepChange::Away(why);
        }
        let landed = wave_progress.is_move_observed(in_flight_object.back);
        let Some((at, step)) = context.next_step(in_flight_object).filter(|_| !landed) else {
            return StepChange::Landed;
        };
        let way = way(in_flight_object.back);
        let is_begun = context.seen_job(in_flight_object).is_some();
        if let Some(why) = self.rollout.not_accepted(step).filter(|_| !in_flight_object.back && !is_begun) {
            return StepChange::Waits { why, spent: false };
        }
        if !in_flight_object.back
            && let Some(stepping) = self.before(context, in_flight_object, step)
        {
            return stepping;
        }
        match (&step.act, context.wanted_job(in_flight_object)) {
            (WorkflowAct::Wait { .. }, _) => match wave_progress.unmet(at, way) {
                Some(why) => StepChange::Waits { why: why.to_owned(), spent: false },
                None => self.counts(context, way, Completion::Whole),
            },
            (WorkflowAct::Job { .. }, Some(wanted)) => self.of_job(context, in_flight_object, &wanted, step),
            (WorkflowAct::Set(_), _) if in_flight_object.back => {
                match context.not_left().filter(|_| !self.is_known(context)) {
                    Some(why) => StepChange::Held(why),
                    None => self.counts(context, way, Completion::Whole),
                }
            }
            (WorkflowAct::OnObjects(object_step), _) => {
                self.of_others(context, in_flight_object, (at, &object_step.act))
            }
            _ => self.counts(context, way, Completion::Whole),
        }
    }

    /// The message about a Job that may run although the object's annotation does not list it.
    pub(crate) fn lost_job_under_way(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
    ) -> Option<String> {
        SeenJob::under_way(&context.lost_job(in_flight_object)?.name, &self.facts.answers)
    }

    /// The change for a Job that started before the direction changed: its partial effects are unknown.
    fn of_other_way(&self, context: StepContext<'_>, other: &ObservedJob) -> StepChange {
        let seen = SeenJob::of(&other.name, &self.facts.answers);
        let is_whole =
            seen == SeenJob::Complete && context.wave_progress.unmet(other.step, StepDirection::Done).is_none();
        match seen {
            SeenJob::Unknown(why) => StepChange::Waits { why, spent: false },
            SeenJob::Runs => {
                StepChange::Waits { why: format!("job {} still runs, and ends first", other.name), spent: false }
            }
            SeenJob::Complete if other.back => self.counts(context, StepDirection::Undone, Completion::Whole),
            // The extent of its revert is unknown.
            SeenJob::Absent | SeenJob::Failed(_) if other.back => {
                self.counts(context, StepDirection::Undone, Completion::Unknown)
            }
            SeenJob::Absent | SeenJob::Complete | SeenJob::Failed(_) => self.counts(
                context,
                StepDirection::Done,
                if is_whole { Completion::Whole } else { Completion::Unknown },
            ),
        }
    }

    /// The change before a step: the step does not apply, a wait condition fails, earlier written fields changed before
    /// an irreversible step, or the state is unknown.
    fn before(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
        step: &WorkflowStep,
    ) -> Option<StepChange> {
        if context.wave_progress.open {
            // A begun step applies, even if a list has changed since.
            return None;
        }
        match applies(context, step, &self.facts.answers) {
            StepApplicability::Yes => {}
            StepApplicability::No => return Some(self.counts(context, StepDirection::Done, Completion::ByHand)),
            StepApplicability::Unknown(why) => return Some(StepChange::Waits { why, spent: false }),
        }
        if let Some(why) = context.changed().filter(|_| begins_for_good(context, in_flight_object)) {
            return Some(StepChange::Held(why));
        }
        match waited(context, in_flight_object, &self.facts.answers) {
            WaitRecheck::Holds => None,
            WaitRecheck::Unknown(why) => Some(StepChange::Waits { why, spent: false }),
            WaitRecheck::Lost(done) => Some(StepChange::Next(StepWrite::Move(context.waits_again(self.now, done)))),
        }
    }

    /// The next change of a step on other objects. The start of an irreversible step is recorded before its first call.
    fn of_others(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
        (at, act): (usize, &ObjectAction),
    ) -> StepChange {
        let progress = progress_of(context, (at, act), in_flight_object.back, &self.facts.answers);
        if matches!(progress, StepOutcome::Next(_)) && begins_for_good(context, in_flight_object) {
            return StepChange::Next(StepWrite::Move(context.begins(self.now)));
        }
        let half = if progress == StepOutcome::ByHand { Completion::ByHand } else { Completion::Whole };
        stepping_of(progress).unwrap_or_else(|| self.counts(context, way(in_flight_object.back), half))
    }

    /// The next change of a Job step.
    fn of_job(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
        wanted: &WantedJob<'_>,
        step: &WorkflowStep,
    ) -> StepChange {
        let (title, way) = (&wanted.title, way(in_flight_object.back));
        let is_ours = in_flight_object.back || context.was_tried(in_flight_object, wanted.step);
        let unmet = context.wave_progress.unmet(wanted.step, way);
        // The condition of a Job can also be met by hand.
        let is_done = wanted.job.until.is_some() && unmet.is_none();
        match (SeenJob::of(title, &self.facts.answers), unmet) {
            (SeenJob::Unknown(why), _) => StepChange::Waits { why, spent: false },
            (SeenJob::Runs, _) => StepChange::Waits { why: format!("job {title} runs"), spent: false },
            (SeenJob::Complete, Some(why)) => {
                StepChange::Waits { why: format!("job {title} is complete, and {why}"), spent: true }
            }
            (SeenJob::Complete, None) => self.counts(context, way, Completion::Whole),
            (SeenJob::Absent, _) if is_done && !is_ours => self.counts(context, way, Completion::ByHand),
            _ if is_done => self.counts(context, way, Completion::Whole),
            (SeenJob::Failed(why), _) => StepChange::Fails(format!("job {title} failed: {why}")),
            (SeenJob::Absent, _) if wanted.is_known => {
                StepChange::Fails(format!("job {title} was deleted, and its result is unknown"))
            }
            (SeenJob::Absent, _) => {
                let is_known = in_flight_object.back && self.is_known(context);
                if let Some(why) = context.changed().filter(|_| !is_known) {
                    return StepChange::Held(why);
                }
                match job_write(context, &step.name, wanted.job, &wanted.name, &self.facts.answers) {
                    Ok(write) => StepChange::Next(StepWrite::Job(Box::new(write))),
                    Err(why) => StepChange::Waits { why, spent: false },
                }
            }
        }
    }

    /// True if a resume accepted that a field of the object differs from the written value.
    fn is_known(&self, context: StepContext<'_>) -> bool {
        let mut held = self.status.failures.iter().filter(|one| one.reason == HELD && one.cleared);
        held.any(|one| one.uid == context.object.uid)
    }

    /// The write that counts a step as applied or reverted. A partial step that counts as reverted leaves its effects.
    fn counts(&self, context: StepContext<'_>, way: StepDirection, half: Completion) -> StepChange {
        let done = context.wave_progress.done;
        let is_half = half == Completion::Unknown;
        StepChange::Next(match way {
            StepDirection::Done if context.object_progress.is_run => StepWrite::Ran { done: done + 1, half: is_half },
            StepDirection::Undone if context.object_progress.is_run => {
                StepWrite::Ran { done: done.saturating_sub(1), half: false }
            }
            StepDirection::Done => StepWrite::Move(context.forward(self.now, half)),
            StepDirection::Undone if is_half => StepWrite::Move(context.again(self.now)),
            StepDirection::Undone => StepWrite::Move(context.back(self.now)),
        })
    }

    /// The obstacle on an object: another client's text in the rollout annotation, or the annotation of another active
    /// rollout.
    pub(crate) fn in_the_way(&self, object: &FleetObject) -> Option<ObjectState> {
        if object.annotation_of(self.rollout).is_some() {
            return None;
        }
        let other = || object.taken_by(self.rollout, self.status.started.as_deref()?).map(ObjectState::Held);
        object.has_no_room(self.rollout).map(ObjectState::Refused).or_else(other)
    }
}
