//! Objects on workflows, in a plan: observed Jobs, objects to release, rollbacks, and the next writes.

use std::collections::BTreeMap;

use super::fleet_object::FleetObject;
use super::fleet_rollout::{Direction, Rollout};
use super::initial_waits::{leading_questions, leading_wait};
use super::job_name::job_name;
use super::job_write::SeenJob;
use super::lookup_request::{LookupRequest, LookupTarget};
use super::object_state::ObjectState;
use super::object_steps::{has_leftovers, is_held_ahead, leftover_write, questions_after, questions_beside};
use super::planner::Planner;
use super::progress::ObjectProgress;
use super::rollout_write::RolloutWrite;
use super::status::{
    ANNOTATION_REMOVED, CHANGED, InFlightObject, ObservedJob, OrphanedJob, RolloutFailure, RolloutStatus, TIMED_OUT,
};
use super::step_context::StepContext;
use super::step_outcome::{StepChange, StepWrite};
use super::step_state::open_gap;
use super::steps::{self, ObjectWrite};
use crate::definition::{JobSource, StepDirection, WorkflowAct, WorkflowJob};

/// Wave runs, each represented as an object.
pub(super) fn runs(rollout: &Rollout, status: &RolloutStatus) -> Vec<FleetObject> {
    let runs =
        rollout.waves.iter().enumerate().filter_map(|(at, wave)| {
            Some(FleetObject::of_run(&wave.name, at, ObjectProgress::of_run(at, wave, status)?))
        });
    runs.collect()
}

/// Lookups for everything in flight on workflows: Jobs, templates of Jobs to create, and other objects that steps act
/// on. Pass the results to [`super::LookupResults`] before the next plan.
#[must_use]
pub fn step_questions(rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> Vec<LookupRequest> {
    let runs = runs(rollout, status);
    let all = || fleet.iter().chain(&runs);
    let mut questions = Vec::new();
    for reservation in &status.in_flight {
        let object = all().find(|object| object.uid == reservation.uid && !object.is_going);
        questions.extend(reservation.job.as_ref().map(|seen| LookupRequest::of_job(&seen.name)));
        let Some(traveller) = object.and_then(|object| StepContext::of(rollout, object, reservation)) else {
            questions.extend(all_jobs_of(rollout, reservation).map(|job| LookupRequest::of_job(&job.name)));
            questions.extend(questions_after(rollout, reservation));
            questions.extend(steps::questions_again(rollout, reservation));
            continue;
        };
        questions.extend(questions_beside(traveller, reservation));
        let lost = lost_jobs(rollout, status, traveller, reservation);
        questions.extend(lost.iter().map(|job| LookupRequest::of_job(&job.name)));
        // During a rollback, this Job is of another step than the current one.
        let may_come = traveller.job_ahead(reservation).filter(|job| reservation.may_come == Some(job.step));
        questions.extend(may_come.map(|job| LookupRequest::of_job(&job.name)));
        if traveller.seen_job(reservation).is_some() {
            continue;
        }
        let Some(wanted) = traveller.wanted_job(reservation) else { continue };
        questions.push(LookupRequest::of_job(&wanted.title));
        if let JobSource::Template { namespace, name } = &wanted.job.source {
            questions.push(LookupRequest::of_template(namespace, name));
        }
    }
    let mut asked: Vec<LookupRequest> = Vec::new();
    for question in questions {
        // A duplicate request would return every object twice.
        if !asked.iter().any(|one| one.is_same(&question)) {
            asked.push(question);
        }
    }
    // Slow lookups run before lookups that need current data.
    asked.sort_by_key(|question| !matches!(question.wanted, LookupTarget::Referring(_)));
    asked
}

/// Lookups for the preflight of every object. A caller that has all results sets `ahead` of [`super::PlanInput`].
#[must_use]
pub fn ahead_questions(rollout: &Rollout, fleet: &[FleetObject]) -> Vec<LookupRequest> {
    let mut asked: Vec<LookupRequest> = Vec::new();
    for object in fleet {
        let Some(legs) = object.legs.as_deref().filter(|legs| !legs.has_begun()) else { continue };
        let Some(leg) = legs.forward() else { continue };
        let traveller = StepContext { rollout, object, legs, leg };
        for question in steps::ahead_questions(traveller).into_iter().chain(leading_questions(traveller)) {
            if !asked.iter().any(|one| one.is_same(&question)) {
                asked.push(question);
            }
        }
    }
    asked
}

/// Lookups for objects of the current wave that have not begun and whose workflows begin with waits. The results may be
/// stale: the condition is checked again before such an object is written.
#[must_use]
pub fn waiting_questions(rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> Vec<LookupRequest> {
    if status.direction_of(rollout) != Direction::Forward || status.is_over() {
        return Vec::new();
    }
    let (at, reserved) = (status.wave_of(rollout), status.reservations());
    let mut asked: BTreeMap<String, LookupRequest> = BTreeMap::new();
    for object in fleet.iter().filter(|object| !object.is_going && !reserved.contains_key(object.uid())) {
        let Some(legs) = object.legs.as_deref() else { continue };
        let Some(leg) = legs.forward().filter(|leg| leg.wave <= at) else { continue };
        for question in leading_questions(StepContext { rollout, object, legs, leg }) {
            asked.entry(question.id()).or_insert(question);
        }
    }
    asked.into_values().collect()
}

/// All Job names that an in-flight object of unknown progress may have.
fn jobs_of(rollout: &Rollout, reservation: &InFlightObject) -> Vec<ObservedJob> {
    let workflow =
        rollout.waves.iter().find(|wave| wave.name == reservation.wave).and_then(|wave| wave.workflow.as_ref());
    let mut jobs = Vec::new();
    for (at, step) in workflow.into_iter().flat_map(|workflow| &workflow.steps).enumerate() {
        let WorkflowAct::Job { job, undo } = &step.act else { continue };
        let named = |job: &WorkflowJob, way| ObservedJob {
            name: format!("{}/{}", job.namespace(), job_name(rollout, reservation, &step.name, way)),
            step: at,
            back: way == StepDirection::Undone,
            lost: false,
        };
        jobs.push(named(job, StepDirection::Done));
        jobs.extend(undo.as_ref().map(|undo| named(undo, StepDirection::Undone)));
    }
    jobs
}

/// Those, and the Jobs observed earlier.
fn all_jobs_of(rollout: &Rollout, reservation: &InFlightObject) -> impl Iterator<Item = ObservedJob> {
    let seen = [&reservation.job, &reservation.tried].into_iter().flatten().cloned();
    seen.chain(jobs_of(rollout, reservation))
}

/// Jobs that may run although the object's annotation does not list them: one observed earlier and, if the rollout
/// changes direction, any Job it may have created just before.
fn lost_jobs(
    rollout: &Rollout,
    status: &RolloutStatus,
    traveller: StepContext<'_>,
    reservation: &InFlightObject,
) -> Vec<ObservedJob> {
    let (object, wanted) = (traveller.object, status.direction_of(rollout));
    // An object in rollback has created no Job since it turned, and its annotation is removed as part of the rollback.
    let has_turned = wanted == status.direction && reservation.back;
    let may_be_new = !has_turned || object.has_lost_mark(rollout).is_some();
    if is_unmarked(rollout, object) && wanted != Direction::Forward && may_be_new {
        return all_jobs_of(rollout, reservation).collect();
    }
    traveller.lost_job(reservation).into_iter().cloned().collect()
}

/// True if an object has no progress annotation: no step is applied, or another client removed or overwrote the
/// annotation.
fn is_unmarked(rollout: &Rollout, object: &FleetObject) -> bool {
    object.mark_of(rollout).is_none() && object.legs.as_ref().is_some_and(|legs| !legs.is_run)
}

/// True if the current workflow step of an in-flight object is unknown: the object is deleted, terminating, or lacks
/// the annotation.
pub(super) fn is_anywhere(planner: &Planner<'_>, reservation: &InFlightObject) -> bool {
    let object = planner.object(&reservation.uid);
    object.is_none_or(|object| object.is_going || is_unmarked(planner.rollout, object))
}

/// True if a deleted object still has a possibly running Job or leftovers. It stays in flight until both are done.
pub(super) fn may_run(planner: &Planner<'_>, reservation: &InFlightObject) -> bool {
    if has_leftovers(planner, reservation) {
        return true;
    }
    all_jobs_of(planner.rollout, reservation).any(|job| under_way(planner, &job).is_some())
}

fn under_way(planner: &Planner<'_>, job: &ObservedJob) -> Option<String> {
    SeenJob::under_way(&job.name, &planner.facts.answers)
}

/// The title of the Job that may still change an object that must stop: the Job of the current step, or any Job if that
/// step is unknown.
pub(super) fn job_under_way(planner: &Planner<'_>, reservation: &InFlightObject) -> Option<String> {
    let may_run = |job: &ObservedJob| under_way(planner, job).is_some();
    let Some(traveller) = planner.traveller(reservation).filter(|one| !one.object.is_going) else {
        return all_jobs_of(planner.rollout, reservation).find(may_run).map(|job| job.name);
    };
    let lost = lost_jobs(planner.rollout, &planner.status, traveller, reservation);
    let at_hand = match traveller.seen_job(reservation) {
        Some(seen) => Some(seen.name.clone()),
        None => traveller.wanted_job(reservation).map(|wanted| wanted.title),
    };
    let mut titles = lost.into_iter().map(|job| job.name).chain(at_hand);
    titles.find(|title| SeenJob::under_way(title, &planner.facts.answers).is_some())
}

/// Records observed Jobs: one that disappears later existed, and may have had effects.
pub(super) fn note_jobs(planner: &mut Planner<'_>) {
    let (mut reserved, mut forgotten) = (planner.status.in_flight.clone(), Vec::new());
    for reservation in &mut reserved {
        let Some(traveller) = planner.traveller(reservation) else { continue };
        let (before, wanted) = (reservation.job.clone(), traveller.wanted_job(reservation));
        reservation.job = match (before.as_ref().filter(|job| traveller.is_at(reservation, job)), wanted) {
            (Some(seen), _) => Some(seen.clone()),
            (None, Some(wanted)) => {
                let seen = SeenJob::of(&wanted.title, &planner.facts.answers);
                let step = traveller.next_step(reservation).map_or(0, |(step, _)| step);
                let is_there = !matches!(seen, SeenJob::Unknown(_) | SeenJob::Absent);
                let job = ObservedJob { name: wanted.title, step, back: reservation.back, lost: false };
                Some(job).filter(|job| is_there && traveller.is_at(reservation, job))
            }
            (None, None) => None,
        };
        if reservation.job.is_none() && reservation.may_come == Some(traveller.leg.done) {
            let came = |job: &ObservedJob| {
                !matches!(SeenJob::of(&job.name, &planner.facts.answers), SeenJob::Unknown(_) | SeenJob::Absent)
            };
            reservation.job = traveller.job_ahead(reservation).filter(came);
            // A reverted Job is no longer outstanding.
            reservation.may_come = reservation.may_come.filter(|_| reservation.job.is_none());
        }
        if before != reservation.job {
            forgotten.extend(before.as_ref().and_then(|_| lost_failure(planner, reservation)));
            let noted = before.map(|job| ObservedJob { lost: is_uncounted(planner, traveller, &job), ..job });
            reservation.tried = noted.or_else(|| reservation.tried.take());
        }
        note_lost_job(planner, traveller, reservation);
    }
    planner.status.failures.extend(forgotten);
    let mut failures = std::mem::take(&mut planner.status.failures);
    failures.retain(|lost| {
        let Some(job) = &lost.job else { return true };
        !reserved.iter().any(|reservation| reservation.uid == lost.uid && is_found(planner, job, reservation))
    });
    (planner.status.failures, planner.status.in_flight) = (failures, reserved);
}

/// True if a lost Job is accounted for: the object again names its step, and that step is reverted or final.
fn is_found(planner: &Planner<'_>, job: &OrphanedJob, reservation: &InFlightObject) -> bool {
    let Some(traveller) = planner.traveller(reservation).filter(|_| job.wave == reservation.wave) else { return false };
    let is_step = |known: &ObservedJob| known.back && known.step == job.seen.step;
    let was_counted = reservation.tried.as_ref().is_some_and(|known| known.name == job.seen.name && !known.lost);
    let is_over = traveller.leg.done <= job.seen.step || traveller.leg.floor > job.seen.step;
    let says = !is_unmarked(planner.rollout, traveller.object);
    reservation.job.as_ref().is_some_and(is_step) || (was_counted && is_over && says)
}

/// Records a Job that may run and is missing from the object's annotation. If the object is at that step again, the Job
/// belongs to the step.
fn note_lost_job(planner: &Planner<'_>, traveller: StepContext<'_>, reservation: &mut InFlightObject) {
    let known = reservation.job.as_ref().map(|job| job.name.clone());
    let lost = lost_jobs(planner.rollout, &planner.status, traveller, reservation);
    let mut others = lost.into_iter().filter(|job| known.as_ref() != Some(&job.name));
    if let Some(job) = others.find(|job| under_way(planner, job).is_some()) {
        reservation.tried = Some(ObservedJob { lost: true, ..job });
    }
    if reservation.job.is_none()
        && let Some(job) = traveller.lost_job(reservation).filter(|job| traveller.is_at(reservation, job)).cloned()
        && traveller.object.mark_of(planner.rollout).is_some()
    {
        (reservation.job, reservation.tried) = (Some(ObservedJob { lost: false, ..job }), None);
    }
}

/// True if a Job of an earlier step was never counted, so another client has changed the annotation. Counting the
/// revert of the first step removes the annotation.
fn is_uncounted(planner: &Planner<'_>, traveller: StepContext<'_>, job: &ObservedJob) -> bool {
    if traveller.legs.is_run {
        return false;
    }
    let seen = SeenJob::of(&job.name, &planner.facts.answers);
    let is_complete = || seen == SeenJob::Complete;
    match job.back {
        // A running Job is never counted: the annotation was copied from another object, or added by hand.
        false => traveller.leg.done <= job.step || seen == SeenJob::Runs,
        true => is_unmarked(planner.rollout, traveller.object) && (job.step > 0 || !is_complete()),
    }
}

/// The failure of an object whose annotation was lost: the effects of its Job are not reverted.
pub(super) fn lost_failure(planner: &Planner<'_>, reservation: &InFlightObject) -> Option<RolloutFailure> {
    let job = reservation.tried.as_ref().filter(|job| job.lost)?;
    let is_same = |known: &OrphanedJob| known.wave == reservation.wave && known.seen.name == job.name;
    let mut known = planner.status.lost().filter(|known| known.uid == reservation.uid);
    let is_known = known.any(|known| known.job.as_ref().is_none_or(is_same));
    // At its first step, an object without annotation also lacks the record of earlier waves.
    let before = if reservation.marked && job.step == 0 { ", nor what it had gone through before" } else { "" };
    let message = format!(
        "somebody has taken off, or written over, what the rollout had noted on it: what job {} has done is not taken \
         back{before}",
        job.name
    );
    let of = (reservation.object.as_str(), reservation.uid.as_str());
    let has_room = planner.status.failures.len() < MOST_LOST;
    let lost = || OrphanedJob { wave: reservation.wave.clone(), seen: job.clone() };
    let failure =
        || RolloutFailure { job: Some(lost()), ..RolloutFailure::of(of, ANNOTATION_REMOVED, message, planner.now()) };
    (!is_known && has_room).then(failure)
}

/// Limit for failures of this kind in a status: 400 bytes each, together a quarter of the 1.5 MB limit of etcd.
const MOST_LOST: usize = 1_000;

/// Records the completed wave runs.
pub(super) fn note_runs(planner: &mut Planner<'_>) {
    if planner.status.halted.as_ref().is_some_and(|halt| halt.reason == CHANGED) {
        return;
    }
    let judge = planner.judge();
    let mut changes = Vec::new();
    for reservation in &planner.status.in_flight {
        let Some(traveller) = planner.traveller(reservation) else { continue };
        if let StepChange::Next(StepWrite::Ran { done, half }) = judge.stepping(traveller, reservation) {
            changes.push((reservation.wave.clone(), done, half));
        }
    }
    for (wave, done, half) in changes {
        planner.status.completed_run_waves.retain(|ran| *ran != wave);
        planner.status.unknown_run_waves.retain(|ran| *ran != wave);
        planner.status.unknown_run_waves.extend(half.then(|| wave.clone()));
        if done > 0 {
            planner.status.completed_run_waves.push(wave);
        }
    }
}

/// The in-flight entry of an object on a workflow after the rollout changes direction. `None` releases the object.
pub(super) fn turned(
    planner: &Planner<'_>,
    traveller: StepContext<'_>,
    mut reservation: InFlightObject,
    wanted: Direction,
) -> Option<InFlightObject> {
    let judge = planner.judge();
    let runs = judge.lost_job_under_way(traveller, &reservation).is_some();
    let has_begun = runs || judge.has_begun(traveller, &reservation);
    let may_come = judge.may_have_asked(traveller, &reservation, reservation.back);
    let back = match wanted {
        // An earlier request may still take effect.
        Direction::Undo | Direction::Abort if may_come => reservation.back || wanted == Direction::Undo,
        Direction::Undo if !reservation.back && !has_begun => return None,
        Direction::Undo => true,
        // A partially applied step finishes in its own direction.
        Direction::Abort if !has_begun => return None,
        Direction::Abort => reservation.back,
        Direction::Forward => false,
    };
    match (reservation.back, back) {
        (false, true) => turn_back(planner, &mut reservation),
        (true, false) => (reservation.back, reservation.since) = (false, planner.now()),
        (false, false) | (true, true) if may_come => reservation.since = planner.now(),
        (false, false) | (true, true) => {}
    }
    reservation.may_come = match (wanted, traveller.object.former.is_some()) {
        (Direction::Forward, false) => None,
        _ => may_come.then_some(traveller.leg.done).or(reservation.may_come),
    };
    // Later Jobs belong to a new attempt. Outstanding requests belong to the previous one.
    if reservation.may_come.is_none() {
        reservation.attempt = planner.status.attempt;
    }
    Some(reservation)
}

/// Rolls an in-flight object back from its current step, including the effects of a Job from an earlier attempt.
pub(super) fn turn_back(planner: &Planner<'_>, reservation: &mut InFlightObject) {
    let traveller = planner.traveller(reservation);
    let judge = planner.judge();
    let asked = traveller.filter(|traveller| judge.may_have_asked(*traveller, reservation, false));
    reservation.may_come = asked.map(|traveller| traveller.leg.done).or(reservation.may_come);
    let tried = traveller.and_then(|traveller| traveller.half_tried(reservation).cloned());
    if tried.is_some() {
        reservation.job = tried;
    }
    (reservation.back, reservation.since) = (true, planner.now());
}

/// True if an object on a workflow stays in flight, given its observed state.
pub(super) fn stays(planner: &Planner<'_>, traveller: StepContext<'_>, reservation: &InFlightObject) -> bool {
    if traveller.object.is_going {
        // A terminating object is released once deleted: its leftovers are known only then.
        let is_kept = planner.judge().going(traveller.object, reservation) != ObjectState::Gone;
        return is_kept || planner.rollout.pair.is_some() || may_run(planner, reservation);
    }
    let judge = planner.judge();
    if judge.lost_job_under_way(traveller, reservation).is_some() {
        return true;
    }
    if planner.status.direction == Direction::Undo && traveller.object.has_lost_mark(planner.rollout).is_some() {
        // The state to restore is unknown. The other objects wait only for the Job of this one.
        return job_under_way(planner, reservation).is_some();
    }
    if judge.may_come(traveller, reservation).is_some() {
        return true;
    }
    if judge.has_arrived(traveller, reservation) {
        let standing = judge.on_the_way(traveller, reservation);
        return !matches!(standing, ObjectState::New | ObjectState::Old);
    }
    if planner.status.direction == Direction::Abort && !judge.has_begun(traveller, reservation) {
        return false;
    }
    if !reservation.back && !judge.has_begun(traveller, reservation) && traveller.leg.is_outside() {
        // The workflow no longer selects the object.
        return false;
    }
    let is_refused = planner.facts.remembered.answer(&traveller.object.uid).is_some()
        || leading_wait(traveller, &planner.facts.answers).is_some();
    reservation.back || judge.has_begun(traveller, reservation) || !is_refused
}

/// Recreating an object that was deleted for another has priority over gates, time limits, refusals and unknown state,
/// so that no pause leaves an object missing.
pub(super) fn gap_writes(planner: &Planner<'_>) -> Vec<RolloutWrite> {
    if planner.status.started.is_none() || planner.status.is_over() {
        return Vec::new();
    }
    planner.status.in_flight.iter().filter_map(|one| gap(planner, one)).map(RolloutWrite::Object).collect()
}

/// The write that recreates an object in place of one deleted for it, if it is missing now.
pub(super) fn gap(planner: &Planner<'_>, reservation: &InFlightObject) -> Option<Box<ObjectWrite>> {
    open_gap(planner.traveller(reservation)?, reservation, &planner.facts.answers)
}

/// The first in-flight object that is blocked by a refused write or an outstanding request, with the reason.
pub(super) fn refused_on_the_way(planner: &Planner<'_>) -> Option<String> {
    let judge = planner.judge();
    planner.status.in_flight.iter().find_map(|reservation| {
        let traveller = planner.traveller(reservation)?;
        if let Some(why) = judge.may_come(traveller, reservation) {
            return Some(format!("{}: {why}", reservation.object));
        }
        planner.facts.remembered.answer(&reservation.uid)?;
        let is_begun = reservation.back || judge.has_begun(traveller, reservation);
        is_begun.then(|| format!("{}: {}", reservation.object, judge.waits(traveller, reservation)))
    })
}

/// Records the steps whose writes are due now.
pub(super) fn note_tried(planner: &mut Planner<'_>) {
    if planner.rests {
        return;
    }
    let judge = planner.judge();
    let step = |reservation: &InFlightObject| {
        let traveller = planner.traveller(reservation)?;
        let waits = planner.facts.shut.is_some() && !reservation.back;
        let is_next = matches!(judge.stepping(traveller, reservation), StepChange::Next(StepWrite::Object(_)));
        (is_next && !waits).then(|| (reservation.uid.clone(), judge.step_tried(traveller, reservation)))
    };
    let all = planner.status.in_flight.iter().filter_map(step).collect();
    planner.facts.remembered.tries(all, planner.now);
}

/// The next writes of objects on their workflows. Begun objects finish even while no other object is moved.
pub(super) fn step_writes(planner: &Planner<'_>) -> Vec<RolloutWrite> {
    if planner.rests || planner.status.started.is_none() {
        return Vec::new();
    }
    if planner.status.halted.as_ref().is_some_and(|halt| halt.reason == CHANGED) {
        // The steps are unknown.
        return Vec::new();
    }
    let judge = planner.judge();
    let only_begun = planner.is_stopped() || planner.status.direction == Direction::Abort;
    let write = |reservation: &InFlightObject| {
        let Some(traveller) = planner.traveller(reservation) else {
            return leftover_write(planner, reservation).map(RolloutWrite::Object);
        };
        if gap(planner, reservation).is_some() {
            // Part of the first writes.
            return None;
        }
        if traveller.object.is_going && planner.rollout.pair.is_none() {
            // A terminating object gets no further writes.
            return None;
        }
        let waits = planner.facts.shut.is_some() && !reservation.back;
        let asked = &planner.facts.remembered;
        let was_refused = asked.answer(&reservation.uid).is_some() && !asked.is_due(&reservation.uid, planner.now);
        let is_idle = only_begun && !judge.has_begun(traveller, reservation);
        let is_held =
            !reservation.back && !judge.has_begun(traveller, reservation) && is_held_ahead(planner, traveller);
        // An abort cannot be resumed, and the effects of a Job must be recorded.
        let is_unnoted = planner.status.direction == Direction::Abort
            && reservation.back
            && traveller.seen_job(reservation).is_some_and(|job| !job.back);
        let trouble = judge.trouble(traveller, reservation).filter(|(reason, _)| !is_unnoted || *reason != TIMED_OUT);
        if waits || was_refused || is_idle || is_held || trouble.is_some() {
            return None;
        }
        match judge.stepping(traveller, reservation) {
            StepChange::Next(StepWrite::Move(write)) => Some(RolloutWrite::Move(write)),
            StepChange::Next(StepWrite::Job(write)) => Some(RolloutWrite::Job(write)),
            StepChange::Next(StepWrite::Object(write)) => Some(RolloutWrite::Object(write)),
            _ => None,
        }
    };
    planner.status.in_flight.iter().filter_map(write).collect()
}
