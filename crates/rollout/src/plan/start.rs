//! Start conditions of a rollout.

use crate::definition::checks::StartCheck;
use crate::evaluate::message::some;
use crate::evaluate::rewrite::{crd_lookup, not_stored};
use crate::lookup::http::HttpProbe;
use crate::lookup::request::LookupRequest;
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::{FleetObject, Membership};
use crate::observe::status::RolloutStatus;
use crate::spec::checks::CheckTime;
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::objects::converted_source::source_lookup;
use crate::steps::writes::job_write::bad_template;

/// Lookups in the cluster: before a rollout begins, while it moves forward, and until it ends.
#[must_use]
pub fn rollout_lookups(rollout: &Rollout, status: &RolloutStatus) -> Vec<LookupRequest> {
    let is_forward = status.direction_of(rollout) == Direction::Forward;
    let mut before = if needs_start_checks(rollout, status) { rollout.checks.at_start() } else { Vec::new() };
    if status.started.is_none() {
        before.extend(rollout.templates().into_iter().filter_map(|job| LookupRequest::of_template_of(&job.source)));
    }
    let on_the_way = rollout.checks.on_the_way().into_iter().chain(crd_lookup(rollout));
    let versions = rollout.others().map(LookupRequest::of_versions);
    let all = before.into_iter().chain(on_the_way.filter(|_| is_forward)).chain(source_lookup(rollout, status));
    all.chain(versions).collect()
}

/// HTTP probes, at the same times.
#[must_use]
pub fn http_probes(rollout: &Rollout, status: &RolloutStatus) -> Vec<HttpProbe> {
    let is_forward = status.direction_of(rollout) == Direction::Forward;
    let before = if needs_start_checks(rollout, status) { rollout.checks.web_at_start() } else { Vec::new() };
    before.into_iter().chain(rollout.checks.web_on_the_way().into_iter().filter(|_| is_forward)).collect()
}

/// True if the results of start checks are needed.
fn needs_start_checks(rollout: &Rollout, status: &RolloutStatus) -> bool {
    status.started.is_none() || recheck_requested(rollout, status)
}

/// True if start checks are repeated because the current wave waits for them.
pub(crate) fn recheck_requested(rollout: &Rollout, status: &RolloutStatus) -> bool {
    let is_forward = !status.is_over() && status.direction_of(rollout) == Direction::Forward;
    let wave = rollout.waves.iter().find(|wave| Some(&wave.name) == status.wave.as_ref()).filter(|_| is_forward);
    wave.is_some_and(|wave| (status.before && wave.before.checks) || (status.wave_done.is_some() && wave.after.checks))
}

/// True if the planner needs the active rollouts over the same objects: before the start, before a finished rollout
/// changes direction, and before a recheck of skipped objects.
#[must_use]
pub fn needs_other_rollouts(rollout: &Rollout, status: &RolloutStatus) -> bool {
    status.started.is_none() || status.turns_after_end(rollout.direction) || status.rechecks_skipped()
}

/// The reason why a finished rollout cannot change direction now: other rollouts move its objects.
#[must_use]
pub fn stays_over(rollout: &Rollout, status: &RolloutStatus, facts: &PlanInput) -> Option<String> {
    let (other, _) =
        facts.others.first().filter(|_| status.started.is_some() && needs_other_rollouts(rollout, status))?;
    let wanted = match status.turns_after_end(rollout.direction) {
        true => format!("does not have direction {:?}", status.direction_of(rollout)),
        false => "does not check its leftovers again".to_owned(),
    };
    Some(format!(
        "rollout {} has ended, and {wanted}: {}: wait until the other rollout ends, or run pointsman rollout abort {other}",
        rollout.name(),
        overlaps(facts).join("; "),
    ))
}

/// Active rollouts over the same objects, one sentence each.
pub(crate) fn overlaps(facts: &PlanInput) -> Vec<String> {
    let others = facts.others.iter();
    let messages = others.map(|(name, objects)| {
        format!("rollout {name} has {} of the same objects in flight: {}", objects.len(), some(objects))
    });
    messages.collect()
}

/// Message about the condition a rollout waits for now: a controller that is down, or a failing check.
#[must_use]
pub fn shut_now(rollout: &Rollout, status: &RolloutStatus, facts: &PlanInput) -> Option<String> {
    let is_forward = status.direction_of(rollout) == Direction::Forward;
    facts.closed_gate.clone().or_else(|| rollout.checks.closed_gate(&facts.answers).filter(|_| is_forward))
}

/// True if the planner needs the parts of the definition that the CRD in the cluster lacks.
#[must_use]
pub fn needs_crd(rollout: &Rollout, status: &RolloutStatus) -> bool {
    needs_start_checks(rollout, status) && rollout.checks.start().iter().any(|check| matches!(check, StartCheck::Crd))
}

/// All reasons that prevent a rollout from beginning, one sentence each.
#[must_use]
pub fn start_refusals(rollout: &Rollout, fleet: &[FleetObject], facts: &PlanInput) -> Vec<String> {
    let mut refusals: Vec<String> = rollout.way_back().err().into_iter().chain(rollout.unaccepted()).collect();
    refusals.extend(overlaps(facts));
    refusals.extend(rollout.templates().into_iter().filter_map(|job| bad_template(job, &facts.answers)));
    refusals.extend(not_stored(rollout, &facts.answers));
    refusals.extend(unmet_checks(rollout, fleet, facts, CheckTime::AtStart));
    refusals
}

/// Unmet start checks of the definition, one sentence each.
pub(crate) fn unmet_checks(
    rollout: &Rollout,
    fleet: &[FleetObject],
    facts: &PlanInput,
    when: CheckTime,
) -> Vec<String> {
    let mut unmet = Vec::new();
    for check in rollout.checks.start() {
        match check {
            StartCheck::Controllers => unmet.extend(facts.closed_gate.iter().map(|why| format!("controllers: {why}"))),
            StartCheck::Crd => unmet.extend(lacks(&rollout.checks.crd, facts.answers.crd())),
            StartCheck::Named(check) => unmet.extend(rollout.checks.faults(check, &facts.answers)),
            StartCheck::Needs => unmet.extend(rollout.checks.missing(&facts.answers, when)),
            StartCheck::Paths => unmet.extend(off_the_path(rollout, fleet)),
        }
    }
    unmet
}

/// Refused upgrade paths, one per source version. Objects that opt out need none.
fn off_the_path(rollout: &Rollout, fleet: &[FleetObject]) -> Vec<String> {
    let is_pending = |object: &&FleetObject| {
        let is_of_it = rollout.from.is_none() || object.version == rollout.from;
        let is_chosen = object.belongs == Membership::Chosen;
        is_of_it
            && is_chosen
            && object.object_progress.is_none()
            && !object.is_terminating
            && !object.is_at(&rollout.to)
    };
    let (out, on): (Vec<_>, Vec<_>) = fleet.iter().filter(is_pending).partition(|object| object.opts_out);
    let mut versions: Vec<&str> = on.iter().filter_map(|object| object.version()).collect();
    // Without objects, uses `from` of the StagedRollout.
    versions.extend(rollout.from.as_deref().filter(|_| out.is_empty()));
    versions.sort_unstable();
    versions.dedup();
    versions.iter().filter_map(|from| Some(format!("paths: {}", rollout.hop_refused(from, &rollout.to)?))).collect()
}

fn lacks(crd: &str, answer: Option<&Result<Vec<String>, String>>) -> Option<String> {
    match answer {
        None => Some(format!("crd: the CRD {crd} was not read yet")),
        Some(Err(why)) => Some(format!("crd: the CRD {crd} cannot be read: {why}")),
        Some(Ok(lacks)) if lacks.is_empty() => None,
        Some(Ok(lacks)) => Some(format!(
            "crd: the CRD {crd} lacks parts of the definition: {}; first install the newest CRD",
            some(lacks)
        )),
    }
}
