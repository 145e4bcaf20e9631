//! Advances from wave to wave, or back: the next objects to move, and the end of the rollout.

use super::gates::{enter_wave, waits_before, waits_then};
use super::hold::{holds_first, release_first};
use super::planner::Planner;
use super::workflow_plan::{is_anywhere, job_under_way};
use crate::evaluate::message::PendingGate;
use crate::evaluate::object_state::ObjectState;
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::rfc3339;
use crate::observe::status::{InFlightObject, JOB, ROLLED_BACK, RolloutPhase};
use crate::spec::wave::Wave;
use crate::steps::converted_source::sources_unknown;
use crate::steps::job_write::SeenJob;

/// Advances over complete waves, then takes the next objects of the current wave.
pub(crate) fn advance(planner: &mut Planner<'_>, object_states: &[ObjectState]) {
    if holds_first(planner, object_states) {
        return;
    }
    let mut at = planner.status.wave_of(planner.rollout);
    while let Some(wave) = planner.rollout.waves.get(at) {
        if planner.status.wave.as_ref() != Some(&wave.name) {
            enter_wave(planner, wave);
        }
        if waits_before(planner, wave) {
            return;
        }
        if !is_through(planner, object_states, at) {
            planner.status.wave_done = None;
            match planner.facts.closed(planner.rollout) {
                // Objects in flight finish.
                Some(what) if planner.status.in_flight.is_empty() => {
                    planner.in_the_way.waits = Some(PendingGate { reason: None, what });
                }
                Some(_) => {}
                None => reserve_forward(planner, object_states, wave, at),
            }
            return;
        }
        // A stale cache may miss an object that must be moved.
        if planner.facts.consistent {
            planner.status.wave_done.get_or_insert_with(|| rfc3339(planner.now.wall));
        }
        planner.in_the_way.waits = waits_then(planner, wave);
        if planner.in_the_way.waits.is_some() {
            return;
        }
        if !planner.facts.consistent {
            planner.request_list();
            return;
        }
        if planner.rollout.writes_state_labels && planner.status.state.as_ref() != Some(&wave.states.done) {
            planner.pending_state = Some(wave.states.done.clone());
            return;
        }
        planner.status.wave_done = None;
        at += 1;
    }
    if release_first(planner) {
        return;
    }
    let has_failed = object_states.iter().any(|object_state| matches!(object_state, ObjectState::Failed(_)));
    planner.end(if has_failed { RolloutPhase::Failed } else { RolloutPhase::Complete }, None);
}

/// Undoes in reverse order, without gates: an undo has a reason.
pub(crate) fn undo_next(planner: &mut Planner<'_>, object_states: &[ObjectState]) {
    let view = planner.view(object_states);
    let is_moved = |object: &FleetObject| match &object.object_progress {
        Some(object_progress) => object_progress.back().is_some(),
        None => object.annotation_of(planner.rollout).is_some() && object.is_at(&planner.rollout.to),
    };
    let moved = view.all().filter(|(object, _)| is_moved(object));
    let (to_revert, stuck): (Vec<_>, Vec<_>) = moved.partition(|(_, object_state)| **object_state == ObjectState::New);
    let is_stuck = stuck.iter().any(|(_, object_state)| **object_state != ObjectState::Deleted);
    let mut next: Vec<&FleetObject> = to_revert.into_iter().map(|(object, _)| object).collect();
    next.sort_by(|one, two| (two.wave(true), two.place()).cmp(&(one.wave(true), one.place())));
    let Some(first) = next.first() else {
        let unknown = sources_unknown(planner.rollout, &planner.status, &planner.facts.answers);
        if let Some(what) = unknown.filter(|_| planner.status.in_flight.is_empty()) {
            planner.in_the_way.waits = Some(PendingGate { reason: None, what });
            return;
        }
        if planner.is_replaced {
            return;
        }
        if !is_stuck && planner.status.in_flight.is_empty() && planner.facts.consistent {
            if !release_first(planner) {
                planner.end(RolloutPhase::Aborted, Some(ROLLED_BACK));
            }
        } else if !is_stuck && planner.status.in_flight.is_empty() {
            planner.request_list();
        }
        return;
    };
    let at = first.wave(true);
    // Undoes a wave only after later waves that build on its steps.
    let is_later = |one: &InFlightObject| planner.object(&one.uid).is_some_and(|object| view.wave_of(object) > at);
    let has_steps = planner.rollout.waves.iter().any(|wave| wave.workflow.is_some());
    if has_steps && planner.status.in_flight.iter().any(is_later) {
        return;
    }
    let Some(wave) = planner.rollout.waves.get(at) else { return };
    let is_of = |object: &FleetObject| match &object.object_progress {
        Some(object_progress) => object_progress.of_wave(at).is_some(),
        None => object.wave == at,
    };
    let objects = planner.fleet.iter().filter(|object| is_of(object)).count();
    next.retain(|object| object.wave(true) == at);
    planner.reserve(&next, wave.max_in_flight.of(objects), true);
}

pub(crate) fn stop(planner: &mut Planner<'_>) {
    if !planner.status.in_flight.is_empty() {
        report_job(planner);
        return;
    }
    // Releases all held objects: also those missing from the cache, and those held before `hold` was turned off.
    if !planner.facts.consistent {
        planner.request_list();
    } else if !release_first(planner) {
        planner.end(RolloutPhase::Aborted, Some("Stopped"));
    }
}

/// Reports the Job that delays the release of objects in an abort, with the command to end it.
fn report_job(planner: &mut Planner<'_>) {
    let ends = |one: &&InFlightObject| planner.fails(&one.uid) || is_anywhere(planner, one);
    let mut under_way = planner.status.in_flight.iter().filter(ends);
    let Some(job) = under_way.find_map(|one| job_under_way(planner, one)) else { return };
    let why = SeenJob::under_way(&job, &planner.facts.answers).unwrap_or_default();
    let (namespace, name) = job.split_once('/').unwrap_or(("", &job));
    let deletes = format!("kubectl delete job --namespace={namespace} {name}");
    let what = format!("{why}: the rollout completes after the Job ends or is deleted: {deletes}");
    planner.in_the_way.waits = Some(PendingGate { reason: Some(JOB), what });
}

fn is_through(planner: &Planner<'_>, object_states: &[ObjectState], wave: usize) -> bool {
    let is_through = |object_state: &ObjectState| {
        matches!(object_state, ObjectState::New | ObjectState::Held(_) | ObjectState::Failed(_) | ObjectState::Deleted)
    };
    let view = planner.view(object_states);
    planner.status.in_flight.is_empty() && view.in_wave(wave, wave).all(|(_, object_state)| is_through(object_state))
}

/// Puts as many objects of a wave in flight as allowed.
fn reserve_forward(planner: &mut Planner<'_>, object_states: &[ObjectState], wave: &Wave, at: usize) {
    let view = planner.view(object_states);
    // Converted objects count too, so a percentage of the wave stays constant.
    let objects = view.in_wave(at, at).count() + planner.status.conversion_of(&wave.name);
    let old = view.in_wave(at, at).filter(|(_, object_state)| **object_state == ObjectState::Old);
    let mut next: Vec<&FleetObject> = old.map(|(object, _)| object).collect();
    next.sort_by(|one, two| one.place_forward().cmp(&two.place_forward()));
    planner.reserve(&next, wave.max_in_flight.of(objects), false);
}
