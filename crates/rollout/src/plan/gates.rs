//! Gates: a wave waits before its first object and after its last one. Undo and abort skip all gates.

use std::time::Duration;

use super::planner::Planner;
use super::start::unmet_checks;
use crate::evaluate::message::PendingGate;
use crate::observe::moment::{rfc3339, wall};
use crate::observe::status::APPROVAL;
use crate::spec::checks::CheckTime;
use crate::spec::wave::Wave;
use crate::spec::wave_gate::{WaveGate, WaveSide};

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
