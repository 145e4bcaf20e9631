//! Objects on workflows, in a plan: observed Jobs, objects to release, rollbacks, and the next writes.

use std::collections::BTreeMap;

use super::object_steps::{deleted_object_lookups, has_leftovers, is_held_ahead, leftover_write, step_lookups_of};
use super::planner::{Planner, RolloutWrite};
use crate::definition::workflows::{JobSource, StepDirection, WorkflowAct, WorkflowJob};
use crate::evaluate::object_state::ObjectState;
use crate::lookup::request::{LookupRequest, LookupTarget};
use crate::observe::fleet_object::FleetObject;
use crate::observe::progress::ObjectProgress;
use crate::observe::status::{
    ANNOTATION_REMOVED, CHANGED, InFlightObject, ObservedJob, OrphanedJob, RolloutFailure, RolloutStatus, TIMED_OUT,
};
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::context::{StepContext, job_name};
use crate::steps::outcome::{StepChange, StepWrite};
use crate::steps::step_state::open_gap;
use crate::steps::waits::{initial_lookups, initial_wait};
use crate::steps::writes::job_write::SeenJob;
use crate::steps::writes::object_write::ObjectWrite;
use crate::steps::{preflight, revert};

/// Wave runs, each represented as an object.
pub(crate) fn runs(rollout: &Rollout, status: &RolloutStatus) -> Vec<FleetObject> {
    let runs =
        rollout.waves.iter().enumerate().filter_map(|(at, wave)| {
            Some(FleetObject::of_run(&wave.name, at, ObjectProgress::of_run(at, wave, status)?))
        });
    runs.collect()
}

/// Lookups for everything in flight on workflows: Jobs, templates of Jobs to create, and other objects that steps act
/// on. Pass the results to [`crate::LookupResults`] before the next plan.
#[must_use]
pub fn step_lookups(rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> Vec<LookupRequest> {
    let runs = runs(rollout, status);
    let all = || fleet.iter().chain(&runs);
    let mut lookups = Vec::new();
    for in_flight_object in &status.in_flight {
        let object = all().find(|object| object.uid == in_flight_object.uid && !object.is_terminating);
        lookups.extend(in_flight_object.job.as_ref().map(|seen| LookupRequest::of_job(&seen.name)));
        let Some(context) = object.and_then(|object| StepContext::of(rollout, object, in_flight_object)) else {
            lookups.extend(all_jobs_of(rollout, in_flight_object).map(|job| LookupRequest::of_job(&job.name)));
            lookups.extend(deleted_object_lookups(rollout, in_flight_object));
            lookups.extend(revert::recreation_lookups(rollout, in_flight_object));
            continue;
        };
        lookups.extend(step_lookups_of(context, in_flight_object));
        let lost = lost_jobs(rollout, status, context, in_flight_object);
        lookups.extend(lost.iter().map(|job| LookupRequest::of_job(&job.name)));
        // During a rollback, this Job is of another step than the current one.
        let job_ahead = context.job_ahead(in_flight_object).filter(|job| in_flight_object.may_come == Some(job.step));
        lookups.extend(job_ahead.map(|job| LookupRequest::of_job(&job.name)));
        if context.seen_job(in_flight_object).is_some() {
            continue;
        }
        let Some(wanted) = context.wanted_job(in_flight_object) else { continue };
        lookups.push(LookupRequest::of_job(&wanted.title));
        if let JobSource::Template { namespace, name } = &wanted.job.source {
            lookups.push(LookupRequest::of_template(namespace, name));
        }
    }
    let mut distinct: Vec<LookupRequest> = Vec::new();
    for lookup in lookups {
        // A duplicate request would return every object twice.
        if !distinct.iter().any(|one| one.is_same(&lookup)) {
            distinct.push(lookup);
        }
    }
    // Slow lookups run before lookups that need current data.
    distinct.sort_by_key(|lookup| !matches!(lookup.wanted, LookupTarget::Referring(_)));
    distinct
}

/// Lookups for the preflight of every object. A caller that has all results sets `ahead` of [`crate::PlanInput`].
#[must_use]
pub fn preflight_lookups(rollout: &Rollout, fleet: &[FleetObject]) -> Vec<LookupRequest> {
    let mut lookups: Vec<LookupRequest> = Vec::new();
    for object in fleet {
        let Some(object_progress) =
            object.object_progress.as_deref().filter(|object_progress| !object_progress.has_begun())
        else {
            continue;
        };
        let Some(wave_progress) = object_progress.forward() else { continue };
        let context = StepContext { rollout, object, object_progress, wave_progress };
        for lookup in preflight::preflight_lookups(context).into_iter().chain(initial_lookups(context)) {
            if !lookups.iter().any(|one| one.is_same(&lookup)) {
                lookups.push(lookup);
            }
        }
    }
    lookups
}

/// Lookups for objects of the current wave that have not begun and whose workflows begin with waits. The results may be
/// stale: the condition is checked again before such an object is written.
#[must_use]
pub fn initial_wait_lookups(rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> Vec<LookupRequest> {
    if status.direction_of(rollout) != Direction::Forward || status.is_over() {
        return Vec::new();
    }
    let (at, reserved) = (status.wave_of(rollout), status.in_flight_objects());
    let mut lookups: BTreeMap<String, LookupRequest> = BTreeMap::new();
    for object in fleet.iter().filter(|object| !object.is_terminating && !reserved.contains_key(object.uid())) {
        let Some(object_progress) = object.object_progress.as_deref() else { continue };
        let Some(wave_progress) = object_progress.forward().filter(|wave_progress| wave_progress.wave <= at) else {
            continue;
        };
        for lookup in initial_lookups(StepContext { rollout, object, object_progress, wave_progress }) {
            lookups.entry(lookup.id()).or_insert(lookup);
        }
    }
    lookups.into_values().collect()
}

/// All Job names that an in-flight object of unknown progress may have.
fn jobs_of(rollout: &Rollout, in_flight_object: &InFlightObject) -> Vec<ObservedJob> {
    let workflow =
        rollout.waves.iter().find(|wave| wave.name == in_flight_object.wave).and_then(|wave| wave.workflow.as_ref());
    let mut jobs = Vec::new();
    for (at, step) in workflow.into_iter().flat_map(|workflow| &workflow.steps).enumerate() {
        let WorkflowAct::Job { job, undo } = &step.act else { continue };
        let named = |job: &WorkflowJob, way| ObservedJob {
            name: format!("{}/{}", job.namespace(), job_name(rollout, in_flight_object, &step.name, way)),
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
fn all_jobs_of(rollout: &Rollout, in_flight_object: &InFlightObject) -> impl Iterator<Item = ObservedJob> {
    let seen = [&in_flight_object.job, &in_flight_object.tried].into_iter().flatten().cloned();
    seen.chain(jobs_of(rollout, in_flight_object))
}

/// Jobs that may run although the object's annotation does not list them: one observed earlier and, if the object has
/// no annotation, any Job it may have created just before the annotation was removed.
fn lost_jobs(
    rollout: &Rollout,
    status: &RolloutStatus,
    context: StepContext<'_>,
    in_flight_object: &InFlightObject,
) -> Vec<ObservedJob> {
    let (object, wanted) = (context.object, status.direction_of(rollout));
    // An object in rollback has created no Job since it turned, and its annotation is removed as part of the rollback.
    let has_turned = wanted == status.direction && in_flight_object.back;
    let may_be_new = !has_turned || object.lost_annotation(rollout).is_some();
    if lacks_annotation(rollout, object) && may_be_new {
        return all_jobs_of(rollout, in_flight_object).collect();
    }
    context.lost_job(in_flight_object).into_iter().cloned().collect()
}

/// True if an object has no progress annotation: no step is applied, or another client removed or overwrote the
/// annotation.
fn lacks_annotation(rollout: &Rollout, object: &FleetObject) -> bool {
    object.annotation_of(rollout).is_none()
        && object.object_progress.as_ref().is_some_and(|object_progress| !object_progress.is_run)
}

/// True if the current workflow step of an in-flight object is unknown: the object is deleted, terminating, or lacks
/// the annotation.
pub(crate) fn is_anywhere(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> bool {
    let object = planner.object(&in_flight_object.uid);
    object.is_none_or(|object| object.is_terminating || lacks_annotation(planner.rollout, object))
}

/// True if a deleted object still has a possibly running Job or leftovers. It stays in flight until both are done.
pub(crate) fn may_run(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> bool {
    if has_leftovers(planner, in_flight_object) {
        return true;
    }
    all_jobs_of(planner.rollout, in_flight_object).any(|job| under_way(planner, &job).is_some())
}

fn under_way(planner: &Planner<'_>, job: &ObservedJob) -> Option<String> {
    SeenJob::under_way(&job.name, &planner.facts.answers)
}

/// The title of the Job that may still change an object that must stop: the Job of the current step, or any Job if that
/// step is unknown.
pub(crate) fn job_under_way(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Option<String> {
    let may_run = |job: &ObservedJob| under_way(planner, job).is_some();
    let Some(context) = planner.context(in_flight_object).filter(|one| !one.object.is_terminating) else {
        return all_jobs_of(planner.rollout, in_flight_object).find(may_run).map(|job| job.name);
    };
    let lost = lost_jobs(planner.rollout, &planner.status, context, in_flight_object);
    let at_hand = match context.seen_job(in_flight_object) {
        Some(seen) => Some(seen.name.clone()),
        None => context.wanted_job(in_flight_object).map(|wanted| wanted.title),
    };
    let mut titles = lost.into_iter().map(|job| job.name).chain(at_hand);
    titles.find(|title| SeenJob::under_way(title, &planner.facts.answers).is_some())
}

/// Records observed Jobs: one that disappears later existed, and may have had effects.
pub(crate) fn note_jobs(planner: &mut Planner<'_>) {
    let (mut reserved, mut forgotten) = (planner.status.in_flight.clone(), Vec::new());
    for in_flight_object in &mut reserved {
        let Some(context) = planner.context(in_flight_object) else { continue };
        let (before, wanted) = (in_flight_object.job.clone(), context.wanted_job(in_flight_object));
        in_flight_object.job = match (before.as_ref().filter(|job| context.is_at(in_flight_object, job)), wanted) {
            (Some(seen), _) => Some(seen.clone()),
            (None, Some(wanted)) => {
                let seen = SeenJob::of(&wanted.title, &planner.facts.answers);
                let step = context.next_step(in_flight_object).map_or(0, |(step, _)| step);
                let is_there = !matches!(seen, SeenJob::Unknown(_) | SeenJob::Absent);
                let job = ObservedJob { name: wanted.title, step, back: in_flight_object.back, lost: false };
                Some(job).filter(|job| is_there && context.is_at(in_flight_object, job))
            }
            (None, None) => None,
        };
        if in_flight_object.job.is_none() && in_flight_object.may_come == Some(context.wave_progress.done) {
            let is_observed = |job: &ObservedJob| {
                !matches!(SeenJob::of(&job.name, &planner.facts.answers), SeenJob::Unknown(_) | SeenJob::Absent)
            };
            in_flight_object.job = context.job_ahead(in_flight_object).filter(is_observed);
        }
        // An observed Job is no longer outstanding: after its revert, it must not count again.
        let is_ahead =
            |job: &ObservedJob| context.job_ahead(in_flight_object).is_some_and(|ahead| ahead.name == job.name);
        if in_flight_object.job.as_ref().is_some_and(is_ahead) {
            in_flight_object.may_come = None;
        }
        if before != in_flight_object.job {
            forgotten.extend(before.as_ref().and_then(|_| lost_failure(planner, in_flight_object)));
            let annotation_content =
                before.map(|job| ObservedJob { lost: is_uncounted(planner, context, &job), ..job });
            in_flight_object.tried = annotation_content.or_else(|| in_flight_object.tried.take());
        }
        note_lost_job(planner, context, in_flight_object);
    }
    planner.status.failures.extend(forgotten);
    let mut failures = std::mem::take(&mut planner.status.failures);
    failures.retain(|lost| {
        let Some(job) = &lost.job else { return true };
        !reserved
            .iter()
            .any(|in_flight_object| in_flight_object.uid == lost.uid && is_found(planner, job, in_flight_object))
    });
    (planner.status.failures, planner.status.in_flight) = (failures, reserved);
}

/// True if a lost Job is accounted for: the object again names its step, and that step is reverted or final.
fn is_found(planner: &Planner<'_>, job: &OrphanedJob, in_flight_object: &InFlightObject) -> bool {
    let Some(context) = planner.context(in_flight_object).filter(|_| job.wave == in_flight_object.wave) else {
        return false;
    };
    let is_step = |known: &ObservedJob| known.back && known.step == job.seen.step;
    let was_counted = in_flight_object.tried.as_ref().is_some_and(|known| known.name == job.seen.name && !known.lost);
    let is_over = context.wave_progress.done <= job.seen.step || context.wave_progress.floor > job.seen.step;
    let has_annotation = !lacks_annotation(planner.rollout, context.object);
    in_flight_object.job.as_ref().is_some_and(is_step) || (was_counted && is_over && has_annotation)
}

/// Records a Job that may run and is missing from the object's annotation. If the object is at that step again, the Job
/// belongs to the step.
fn note_lost_job(planner: &Planner<'_>, context: StepContext<'_>, in_flight_object: &mut InFlightObject) {
    let known = in_flight_object.job.as_ref().map(|job| job.name.clone());
    let lost = lost_jobs(planner.rollout, &planner.status, context, in_flight_object);
    let mut others = lost.into_iter().filter(|job| known.as_ref() != Some(&job.name));
    let is_forward = planner.status.direction == Direction::Forward && !in_flight_object.back;
    // An object without annotation is usually new in flight: unreadable Jobs do not block its first step.
    let may_run = |job: &ObservedJob| match is_forward {
        true => SeenJob::of(&job.name, &planner.facts.answers) == SeenJob::Runs,
        false => under_way(planner, job).is_some(),
    };
    if let Some(job) = others.find(may_run) {
        in_flight_object.tried = Some(ObservedJob { lost: true, ..job });
    }
    if in_flight_object.job.is_none()
        && let Some(job) =
            context.lost_job(in_flight_object).filter(|job| context.is_at(in_flight_object, job)).cloned()
        && context.object.annotation_of(planner.rollout).is_some()
    {
        (in_flight_object.job, in_flight_object.tried) = (Some(ObservedJob { lost: false, ..job }), None);
    }
}

/// True if a Job of an earlier step was never counted, so another client has changed the annotation. Counting the
/// revert of the first step removes the annotation.
fn is_uncounted(planner: &Planner<'_>, context: StepContext<'_>, job: &ObservedJob) -> bool {
    if context.object_progress.is_run {
        return false;
    }
    let seen = SeenJob::of(&job.name, &planner.facts.answers);
    let is_complete = || seen == SeenJob::Complete;
    match job.back {
        // A running Job is never counted: the annotation was copied from another object, or added by hand.
        false => context.wave_progress.done <= job.step || seen == SeenJob::Runs,
        true => lacks_annotation(planner.rollout, context.object) && (job.step > 0 || !is_complete()),
    }
}

/// The failure of an object whose annotation was lost: the effects of its Job are not reverted.
pub(crate) fn lost_failure(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Option<RolloutFailure> {
    let job = in_flight_object.tried.as_ref().filter(|job| job.lost)?;
    let is_same = |known: &OrphanedJob| known.wave == in_flight_object.wave && known.seen.name == job.name;
    let mut known = planner.status.lost().filter(|known| known.uid == in_flight_object.uid);
    let is_known = known.any(|known| known.job.as_ref().is_none_or(is_same));
    // At its first step, an object without annotation also lacks the record of earlier waves.
    let before = if in_flight_object.marked && job.step == 0 { ", nor its earlier progress" } else { "" };
    let message = format!(
        "another client removed or overwrote the rollout annotation: the work of job {} is not undone{before}",
        job.name
    );
    let of = (in_flight_object.object.as_str(), in_flight_object.uid.as_str());
    let has_room = planner.status.failures.len() < MOST_LOST;
    let lost = || OrphanedJob { wave: in_flight_object.wave.clone(), seen: job.clone() };
    let failure =
        || RolloutFailure { job: Some(lost()), ..RolloutFailure::of(of, ANNOTATION_REMOVED, message, planner.now()) };
    (!is_known && has_room).then(failure)
}

/// Limit for failures of this kind in a status: 400 bytes each, together a quarter of the 1.5 MB limit of etcd.
const MOST_LOST: usize = 1_000;

/// Records the completed wave runs.
pub(crate) fn note_runs(planner: &mut Planner<'_>) {
    if planner.status.halted.as_ref().is_some_and(|halt| halt.reason == CHANGED) {
        return;
    }
    let evaluator = planner.evaluator();
    let mut changes = Vec::new();
    for in_flight_object in &planner.status.in_flight {
        let Some(context) = planner.context(in_flight_object) else { continue };
        if let StepChange::Next(StepWrite::Ran { done, half }) = evaluator.steps().stepping(context, in_flight_object) {
            changes.push((in_flight_object.wave.clone(), done, half));
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
pub(crate) fn redirected(
    planner: &Planner<'_>,
    context: StepContext<'_>,
    mut in_flight_object: InFlightObject,
    wanted: Direction,
) -> Option<InFlightObject> {
    let evaluator = planner.evaluator();
    let runs = evaluator.steps().lost_job_under_way(context, &in_flight_object).is_some();
    let has_begun = runs || evaluator.steps().has_begun(context, &in_flight_object);
    let is_outstanding = evaluator.steps().may_have_requested(context, &in_flight_object, in_flight_object.back);
    let back = match wanted {
        // An earlier request may still take effect.
        Direction::Undo | Direction::Abort if is_outstanding => in_flight_object.back || wanted == Direction::Undo,
        Direction::Undo if !in_flight_object.back && !has_begun => return None,
        Direction::Undo => true,
        // A partially applied step finishes in its own direction.
        Direction::Abort if !has_begun => return None,
        Direction::Abort => in_flight_object.back,
        Direction::Forward => false,
    };
    match (in_flight_object.back, back) {
        (false, true) => turn_back(planner, &mut in_flight_object),
        (true, false) => {
            (in_flight_object.back, in_flight_object.since) = (false, planner.now());
            // The rollback of the first wave removes the annotation, and this loses no record of earlier waves.
            let is_first = context.object_progress.forward().is_none_or(|next| next.wave >= context.wave_progress.wave);
            in_flight_object.marked &= !is_first || context.object.annotation_of(planner.rollout).is_some();
        }
        (false, false) | (true, true) if is_outstanding => in_flight_object.since = planner.now(),
        (false, false) | (true, true) => {}
    }
    in_flight_object.may_come = match (wanted, context.object.replacement_uid.is_some()) {
        (Direction::Forward, false) => None,
        _ => is_outstanding.then_some(context.wave_progress.done).or(in_flight_object.may_come),
    };
    // Later Jobs belong to a new attempt. Outstanding requests belong to the previous one.
    if in_flight_object.may_come.is_none() {
        in_flight_object.attempt = planner.status.attempt;
    }
    Some(in_flight_object)
}

/// Rolls an in-flight object back from its current step, including the effects of a Job from an earlier attempt.
pub(crate) fn turn_back(planner: &Planner<'_>, in_flight_object: &mut InFlightObject) {
    let context = planner.context(in_flight_object);
    let evaluator = planner.evaluator();
    let requesting = context.filter(|context| evaluator.steps().may_have_requested(*context, in_flight_object, false));
    in_flight_object.may_come = requesting.map(|context| context.wave_progress.done).or(in_flight_object.may_come);
    let tried = context.and_then(|context| context.half_tried(in_flight_object).cloned());
    if tried.is_some() {
        in_flight_object.job = tried;
    }
    (in_flight_object.back, in_flight_object.since) = (true, planner.now());
}

/// True if an object on a workflow stays in flight, given its observed state.
pub(crate) fn stays(planner: &Planner<'_>, context: StepContext<'_>, in_flight_object: &InFlightObject) -> bool {
    if context.object.is_terminating {
        // A terminating object is released once deleted: its leftovers are known only then.
        let is_kept = planner.evaluator().terminating_state(context.object, in_flight_object) != ObjectState::Deleted;
        return is_kept || planner.rollout.pair.is_some() || may_run(planner, in_flight_object);
    }
    let evaluator = planner.evaluator();
    if evaluator.steps().lost_job_under_way(context, in_flight_object).is_some() {
        return true;
    }
    if planner.status.direction == Direction::Undo && context.object.lost_annotation(planner.rollout).is_some() {
        // The state to restore is unknown. The other objects wait only for the Job of this one.
        return job_under_way(planner, in_flight_object).is_some();
    }
    if evaluator.steps().outstanding_request(context, in_flight_object).is_some() {
        return true;
    }
    if evaluator.steps().has_arrived(context, in_flight_object) {
        let object_state = evaluator.on_the_way(context, in_flight_object);
        return !matches!(object_state, ObjectState::New | ObjectState::Old);
    }
    if planner.status.direction == Direction::Abort && !evaluator.steps().has_begun(context, in_flight_object) {
        return false;
    }
    if in_flight_object.back || evaluator.steps().has_begun(context, in_flight_object) {
        return true;
    }
    let is_refused = planner.facts.runner_cache.answer(&context.object.uid).is_some()
        || initial_wait(context, &planner.facts.answers).is_some();
    // The workflow may no longer select the object. Another client may have removed its annotation during a Job.
    let is_released = is_refused || context.wave_progress.is_outside();
    !is_released || job_under_way(planner, in_flight_object).is_some()
}

/// Recreating an object that was deleted for another has priority over gates, time limits, refusals and unknown state,
/// so that no pause leaves an object missing.
pub(crate) fn gap_writes(planner: &Planner<'_>) -> Vec<RolloutWrite> {
    if planner.status.started.is_none() || planner.status.is_over() {
        return Vec::new();
    }
    planner.status.in_flight.iter().filter_map(|one| gap(planner, one)).map(RolloutWrite::Object).collect()
}

/// The write that recreates an object in place of one deleted for it, if it is missing now.
pub(crate) fn gap(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Option<Box<ObjectWrite>> {
    open_gap(planner.context(in_flight_object)?, in_flight_object, &planner.facts.answers)
}

/// The first in-flight object that is blocked by a refused write or an outstanding request, with the reason.
pub(crate) fn refused_on_the_way(planner: &Planner<'_>) -> Option<String> {
    let evaluator = planner.evaluator();
    planner.status.in_flight.iter().find_map(|in_flight_object| {
        let context = planner.context(in_flight_object)?;
        if let Some(why) = evaluator.steps().outstanding_request(context, in_flight_object) {
            return Some(format!("{}: {why}", in_flight_object.object));
        }
        planner.facts.runner_cache.answer(&in_flight_object.uid)?;
        let is_begun = in_flight_object.back || evaluator.steps().has_begun(context, in_flight_object);
        is_begun.then(|| format!("{}: {}", in_flight_object.object, evaluator.waits(context, in_flight_object)))
    })
}

/// Records the steps whose writes are due now.
pub(crate) fn note_tried(planner: &mut Planner<'_>) {
    if planner.is_inactive {
        return;
    }
    let evaluator = planner.evaluator();
    let step = |in_flight_object: &InFlightObject| {
        let context = planner.context(in_flight_object)?;
        let waits = planner.facts.closed_gate.is_some() && !in_flight_object.back;
        let is_next =
            matches!(evaluator.steps().stepping(context, in_flight_object), StepChange::Next(StepWrite::Object(_)));
        (is_next && !waits).then(|| (in_flight_object.uid.clone(), evaluator.step_tried(context, in_flight_object)))
    };
    let all = planner.status.in_flight.iter().filter_map(step).collect();
    planner.facts.runner_cache.tries(all, planner.now);
}

/// The next writes of objects on their workflows. Begun objects finish even while no other object is moved.
pub(crate) fn step_writes(planner: &Planner<'_>) -> Vec<RolloutWrite> {
    if planner.is_inactive || planner.status.started.is_none() {
        return Vec::new();
    }
    if planner.status.halted.as_ref().is_some_and(|halt| halt.reason == CHANGED) {
        // The steps are unknown.
        return Vec::new();
    }
    let evaluator = planner.evaluator();
    let only_begun = planner.is_stopped() || planner.status.direction == Direction::Abort;
    let write = |in_flight_object: &InFlightObject| {
        let Some(context) = planner.context(in_flight_object) else {
            return leftover_write(planner, in_flight_object).map(RolloutWrite::Object);
        };
        if gap(planner, in_flight_object).is_some() {
            // Part of the first writes.
            return None;
        }
        if context.object.is_terminating && planner.rollout.pair.is_none() {
            // A terminating object gets no further writes.
            return None;
        }
        let waits = planner.facts.closed_gate.is_some() && !in_flight_object.back;
        let cache = &planner.facts.runner_cache;
        let was_refused =
            cache.answer(&in_flight_object.uid).is_some() && !cache.is_due(&in_flight_object.uid, planner.now);
        let is_idle = only_begun && !evaluator.steps().has_begun(context, in_flight_object);
        let is_held = !in_flight_object.back
            && !evaluator.steps().has_begun(context, in_flight_object)
            && is_held_ahead(planner, context);
        // An abort cannot be resumed, and the effects of a Job must be recorded.
        let is_unnoted = planner.status.direction == Direction::Abort
            && in_flight_object.back
            && context.seen_job(in_flight_object).is_some_and(|job| !job.back);
        let trouble =
            evaluator.trouble(context, in_flight_object).filter(|(reason, _)| !is_unnoted || *reason != TIMED_OUT);
        if waits || was_refused || is_idle || is_held || trouble.is_some() {
            return None;
        }
        match evaluator.steps().stepping(context, in_flight_object) {
            StepChange::Next(StepWrite::Move(write)) => Some(RolloutWrite::Move(write)),
            StepChange::Next(StepWrite::Job(write)) => Some(RolloutWrite::Job(write)),
            StepChange::Next(StepWrite::Object(write)) => Some(RolloutWrite::Object(write)),
            _ => None,
        }
    };
    planner.status.in_flight.iter().filter_map(write).collect()
}
