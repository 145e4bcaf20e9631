//! Workflow steps that act on other objects, as the planner sees them: the lookups they need, and their progress.

use std::collections::BTreeMap;

use super::planner::{Planner, RolloutWrite};
use crate::lookup::request::LookupRequest;
use crate::observe::status::InFlightObject;
use crate::spec::rollout::{Direction, Rollout};
use crate::steps::actions::{self, convert};
use crate::steps::context::StepContext;
use crate::steps::objects::leftovers;
use crate::steps::objects::leftovers::{leftover_lookups, leftovers};
use crate::steps::objects::obstacles::PodSet;
use crate::steps::outcome::PreflightFailure;
use crate::steps::preflight::{pods_ahead, pods_lookups, preflight_lookups, refused_ahead};
use crate::steps::step_state::{has_uncounted_changes, way};
use crate::steps::waits::{condition_lookup, initial_lookups, recheck_lookups};
use crate::steps::writes::object_write::{ObjectCall, ObjectWrite};

/// Lookups that an in-flight object needs.
pub(crate) fn step_lookups_of(context: StepContext<'_>, in_flight_object: &InFlightObject) -> Vec<LookupRequest> {
    let way = way(in_flight_object.back);
    let mut lookups = Vec::new();
    if !in_flight_object.back && !context.has_begun(in_flight_object) {
        lookups.extend(preflight_lookups(context));
    } else if !in_flight_object.back {
        lookups.extend(pods_lookups(context));
    }
    if !in_flight_object.back {
        lookups.extend(condition_lookups(context));
        lookups.extend(recheck_lookups(context, in_flight_object));
    } else if let Some((step, _)) = context.next_step(in_flight_object) {
        lookups.extend(convert::name_reuse_lookup(context, step));
    }
    for (step, act) in context.object_actions(in_flight_object.back) {
        lookups.extend(actions::step_lookups(context, act, step, way));
    }
    // A rollback needs to know which steps are partially applied.
    for (step, act) in context.object_actions(!in_flight_object.back).filter(|(_, act)| act.is_undone_by_writes()) {
        lookups.extend(actions::step_lookups(context, act, step, way));
    }
    lookups
}

/// Lookups that decide whether the current step applies to the object, and for which condition it waits before it
/// begins.
fn condition_lookups(context: StepContext<'_>) -> Vec<LookupRequest> {
    if context.wave_progress.done == 0 {
        return initial_lookups(context);
    }
    let at_hand = context.steps().get(context.wave_progress.done);
    at_hand.and_then(|step| condition_lookup(context, step)).into_iter().collect()
}

/// Lookups for an in-flight object that is deleted.
pub(crate) fn deleted_object_lookups(rollout: &Rollout, in_flight_object: &InFlightObject) -> Vec<LookupRequest> {
    leftover_lookups(rollout, in_flight_object)
}

/// Preflight before an object begins: an object with obstacles against its workflow is skipped. Objects in flight or
/// beginning in the same namespace use quota too.
pub(crate) fn note_refused_ahead(planner: &mut Planner<'_>) {
    if planner.status.direction != Direction::Forward {
        return;
    }
    let (mut refused, mut pods) = (Vec::new(), BTreeMap::<Option<&str>, Vec<PodSet>>::new());
    let answers = &planner.facts.answers;
    let under_way = planner.status.in_flight.iter().filter(|one| !one.back);
    let under_way = under_way.filter_map(|one| Some((planner.context(one)?, one)));
    let (begun, ahead): (Vec<_>, Vec<_>) =
        under_way.filter(|(context, _)| !context.object.is_terminating).partition(|(context, in_flight_object)| {
            context.has_begun(in_flight_object) || has_uncounted_changes(*context, answers)
        });
    for (context, _) in begun {
        pods.entry(context.object.namespace()).or_default().extend(pods_ahead(context, answers));
    }
    for (context, in_flight_object) in ahead.into_iter().filter(|(context, _)| !preflight_lookups(*context).is_empty())
    {
        let others = pods.entry(context.object.namespace()).or_default();
        let ahead = refused_ahead(context, answers, others);
        if ahead.is_none() {
            others.extend(pods_ahead(context, answers));
        }
        refused.push((in_flight_object.uid.clone(), ahead));
    }
    let (now, runner_cache) = (planner.now, &mut planner.facts.runner_cache);
    for (uid, ahead) in refused {
        match ahead {
            Some(PreflightFailure::Refused(why)) => runner_cache.refused_ahead(&uid, &why, now),
            Some(PreflightFailure::Waits(why)) => runner_cache.put_off(&uid, &why, now),
            None => runner_cache.allowed_ahead(&uid, now),
        }
    }
}

/// True if the preflight of an object is unfinished, or found an obstacle.
pub(crate) fn is_held_ahead(planner: &Planner<'_>, context: StepContext<'_>) -> bool {
    refused_ahead(context, &planner.facts.answers, &[]).is_some()
}

/// True if a deleted object has been replaced by one of the target kind.
pub(crate) fn is_replaced(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> bool {
    leftovers::is_replaced(planner.rollout, in_flight_object, &planner.facts.answers)
}

/// State saved for an object that is deleted and has no replacement.
pub(crate) fn kept_of(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Option<String> {
    leftovers::kept_of(planner.rollout, in_flight_object, &planner.facts.answers)
}

/// Writes the refusal reason to the status of each object that its own fields exclude, once per run.
pub(crate) fn refusal_writes(planner: &mut Planner<'_>) -> Vec<RolloutWrite> {
    let Some(pair) =
        planner.rollout.pair.as_deref().filter(|_| planner.status.started.is_some() && !planner.is_inactive)
    else {
        return Vec::new();
    };
    let mut writes = Vec::new();
    for object in planner.fleet {
        let Some(object_progress) = object
            .object_progress
            .as_ref()
            .filter(|object_progress| !object_progress.has_begun() && !object.is_terminating)
        else {
            continue;
        };
        // Removes an earlier reason that no longer applies.
        let recorded = object_progress.recorded_refusal.as_deref().filter(|recorded| pair.is_refusal(recorded));
        if object_progress.refused.as_deref() == recorded {
            continue;
        }
        let why = object_progress.refused.as_deref();
        let is_new = planner.facts.runner_cache.records_refusal(object.uid(), why.unwrap_or_default());
        let Some(patch) = pair.refusal_patch(why).filter(|_| is_new) else { continue };
        writes.push(RolloutWrite::Object(Box::new(ObjectWrite {
            plural: pair.source.resource.plural.clone(),
            group: pair.source.resource.group.clone(),
            version: Some(pair.source.version().to_owned()),
            cluster: None,
            namespace: object.namespace().map(str::to_owned),
            name: object.name().to_owned(),
            call: ObjectCall::ReportRefusal(patch),
            of: object.title(),
            uid: object.uid().to_owned(),
        })));
    }
    writes
}

/// True if leftovers of a deleted object remain.
pub(crate) fn has_leftovers(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> bool {
    !matches!(leftovers(planner.rollout, in_flight_object, &planner.facts.answers), Ok(None))
}

/// The next API call that removes leftovers of a deleted object.
pub(crate) fn leftover_write(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Option<Box<ObjectWrite>> {
    if planner.object(&in_flight_object.uid).is_some() {
        return None;
    }
    leftovers(planner.rollout, in_flight_object, &planner.facts.answers).ok().flatten().map(Box::new)
}
