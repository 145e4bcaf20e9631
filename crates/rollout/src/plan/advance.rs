//! Advances from wave to wave, or back: the next objects to move, and the end of the rollout.

use super::planner::Planner;
use super::start::unmet_checks;
use super::workflow_plan::{is_anywhere, job_under_way};
use crate::evaluate::message::PendingGate;
use crate::evaluate::object_state::ObjectState;
use crate::observe::fleet_object::{FleetObject, Membership};
use crate::observe::moment::{rfc3339, wall};
use crate::observe::status::{APPROVAL, InFlightObject, JOB, ROLLED_BACK, RolloutPhase};
use crate::spec::checks::CheckTime;
use crate::spec::waves::{Wave, WaveGate, WaveSide};
use crate::steps::objects::converted_source::sources_unknown;
use crate::steps::writes::job_write::SeenJob;
use crate::steps::writes::patch::ObjectPatch;
use std::time::Duration;

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

/// Records that the rollout reached a wave, and whether its gate is closed. No object begins before the gate opens,
/// whichever process runs the rollout. An open gate is not evaluated again.
pub(crate) fn enter_wave(planner: &mut Planner<'_>, wave: &Wave) {
    planner.status.wave = Some(wave.name.clone());
    planner.status.wave_since = Some(planner.now());
    planner.status.wave_done = None;
    planner.status.before = !wave.before.is_open();
}

/// True if no object of a wave has begun because its gate is closed.
pub(crate) fn waits_before(planner: &mut Planner<'_>, wave: &Wave) -> bool {
    if !planner.status.before {
        return false;
    }
    let since = wave.before.wait.map(|_| since(&mut planner.status.wave_since, planner.now.wall));
    let closed_gate = closed_gate(planner, wave, WaveSide::Before, since).or_else(|| {
        // Checks that run right before a wave are repeated after a failure.
        planner.facts.closed(planner.rollout).map(|what| PendingGate { reason: None, what })
    });
    let is_held_up = planner.facts.trouble.is_some() || planner.facts.closed_gate.is_some();
    planner.status.before = closed_gate.is_some() || is_held_up;
    // Objects in flight finish.
    if planner.status.in_flight.is_empty() {
        planner.in_the_way.waits = closed_gate;
    }
    planner.status.before
}

/// The pending gate after a wave that was complete when the whole fleet was listed.
pub(crate) fn waits_then(planner: &mut Planner<'_>, wave: &Wave) -> Option<PendingGate> {
    planner.status.wave_done.as_ref()?;
    let since = wave.after.wait.map(|_| since(&mut planner.status.wave_done, planner.now.wall));
    closed_gate(planner, wave, WaveSide::After, since)
}

/// Start of the waiting time. A recorded time in the future (written by a fast clock) is reset to now, so no wait
/// exceeds the duration in the StagedRollout.
fn since(written: &mut Option<String>, now: u64) -> u64 {
    let since = written.as_deref().and_then(wall).filter(|since| *since <= now);
    since.unwrap_or_else(|| {
        *written = Some(rfc3339(now));
        now
    })
}

/// All pending conditions on one side of a wave: the operator sees the rest along with the approval.
fn closed_gate(planner: &Planner<'_>, wave: &Wave, side: WaveSide, since: Option<u64>) -> Option<PendingGate> {
    let gate = wave.gate(side);
    let approved = match side {
        WaveSide::Before => &planner.status.approved_before,
        WaveSide::After => &planner.status.approved,
    };
    let time = gate.wait.zip(since).and_then(|(wait, since)| time(planner, wait, since)).map(|what| (WAIT, what));
    let is_approved = !gate.approval || approved.contains(&wave.name);
    let approval = (!is_approved).then(|| (APPROVAL, "waiting for approval".to_owned()));
    let checks = unmet(planner, gate).map(|what| (CHECKS, what));
    let all: Vec<(&str, String)> = [time, approval, checks].into_iter().flatten().collect();
    // Conditions that need an operator have priority.
    let reason = [APPROVAL, CHECKS, WAIT].into_iter().find(|reason| all.iter().any(|(of, _)| of == reason))?;
    let what = all.into_iter().map(|(_, what)| what).collect::<Vec<_>>().join("; ");
    let what = match side {
        WaveSide::Before => format!("before it: {what}"),
        WaveSide::After => what,
    };
    Some(PendingGate { reason: Some(reason), what })
}

fn time(planner: &Planner<'_>, wait: Duration, since: u64) -> Option<String> {
    let until = since.saturating_add(wait.as_secs());
    (planner.now.wall < until).then(|| format!("soaking until {}", rfc3339(until)))
}

/// Start checks that passed before and fail now. An unevaluated check counts as closed.
fn unmet(planner: &Planner<'_>, gate: &WaveGate) -> Option<String> {
    if !gate.checks {
        return None;
    }
    if !planner.checks_repeated {
        return Some("the start checks run again".to_owned());
    }
    let unmet = unmet_checks(planner.rollout, planner.fleet, &planner.facts, CheckTime::Again);
    (!unmet.is_empty()).then(|| unmet.join("; "))
}

/// Reason: the rollout waits for the start checks.
const CHECKS: &str = "Checks";
/// Reason: the rollout waits for a duration.
const WAIT: &str = "Wait";

/// Holds pending objects before anything else. Returns true if there were any.
pub(crate) fn holds_first(planner: &mut Planner<'_>, object_states: &[ObjectState]) -> bool {
    let (rollout, now) = (planner.rollout, planner.now);
    if !rollout.hold {
        return release_first(planner);
    }
    let fleet = planner.fleet.iter().zip(object_states);
    let fleet = fleet.filter(|(object, object_state)| is_to_be_held(planner, object, object_state));
    let all: Vec<&FleetObject> = fleet.map(|(object, _)| object).collect();
    if all.is_empty() {
        return release_some(planner, |object| object.belongs == Membership::Held);
    }
    let what = format!("holding {} more", all.len());
    planner.holds = all.into_iter().take(AT_ONCE).map(|object| ObjectPatch::hold(rollout, object, now)).collect();
    planner.in_the_way.waits = Some(PendingGate { reason: Some(HOLDS), what });
    true
}

fn is_to_be_held(planner: &Planner<'_>, object: &FleetObject, object_state: &ObjectState) -> bool {
    // Skipped objects are released at the end, and not held again.
    let stays = matches!(object_state, ObjectState::Held(_)) && !object.is_released_by(planner.rollout);
    let is_pending =
        stays || matches!(object_state, ObjectState::Old | ObjectState::Waiting(_) | ObjectState::Refused(_));
    let is_new = object.annotation_of(planner.rollout).is_none() && !object.is_at(&planner.rollout.to);
    let is_refused = planner.facts.runner_cache.is_hold_refused(object.uid());
    is_pending && is_new && !is_refused && object.hold().is_none() && !object.is_released()
}

/// Releases held objects that do not move, before the end of the rollout or after `hold` is turned off. Returns true if
/// there were any.
pub(crate) fn release_first(planner: &mut Planner<'_>) -> bool {
    release_some(planner, |_| true)
}

/// Releases some of them.
fn release_some(planner: &mut Planner<'_>, which: impl Fn(&FleetObject) -> bool) -> bool {
    let is_refused = |object: &FleetObject| planner.facts.runner_cache.is_hold_refused(object.uid());
    let held = planner.fleet.iter().filter(|object| !object.is_terminating && !is_refused(object) && which(object));
    let all: Vec<ObjectPatch> =
        held.filter_map(|object| ObjectPatch::release(planner.rollout, object)).take(AT_ONCE).collect();
    if all.is_empty() {
        return false;
    }
    planner.holds = all;
    let what = "releasing pending objects".to_owned();
    planner.in_the_way.waits = Some(PendingGate { reason: Some(HOLDS), what });
    true
}

/// Writes of one plan: more than the runner can make before the next plan.
const AT_ONCE: usize = 64;

/// Reason: the rollout holds or releases objects.
const HOLDS: &str = "Holds";
