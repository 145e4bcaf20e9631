//! Workflow steps that act on other objects, as the planner sees them: the lookups they need, and their progress.

use std::collections::BTreeMap;

use super::fleet_rollout::{Direction, Rollout};
use super::initial_waits::{if_any_question, leading_questions};
use super::lookup_request::LookupRequest;
use super::planner::Planner;
use super::rollout_write::RolloutWrite;
use super::status::InFlightObject;
use super::step_context::StepContext;
use super::step_state::{has_begun_beside, way};
use super::steps::{
    self, ObjectCall, ObjectWrite, PodSet, PreflightFailure, ahead_questions, leftover_questions, leftovers,
    pods_ahead, pods_questions, refused_ahead,
};
use super::wait_recheck::waited_questions;

/// Lookups that an in-flight object needs.
pub(super) fn questions_beside(traveller: StepContext<'_>, reservation: &InFlightObject) -> Vec<LookupRequest> {
    let way = way(reservation.back);
    let mut questions = Vec::new();
    if !reservation.back && !traveller.has_begun(reservation) {
        questions.extend(ahead_questions(traveller));
    } else if !reservation.back {
        questions.extend(pods_questions(traveller));
    }
    if !reservation.back {
        questions.extend(if_any_questions(traveller));
        questions.extend(waited_questions(traveller, reservation));
    } else if let Some((step, _)) = traveller.next_step(reservation) {
        questions.extend(steps::earlier_question(traveller, step));
    }
    for (step, act) in traveller.beside(reservation.back) {
        questions.extend(steps::step_questions(traveller, act, step, way));
    }
    // A rollback needs to know which steps are partially applied.
    for (step, act) in traveller.beside(!reservation.back).filter(|(_, act)| act.is_undone_by_writes()) {
        questions.extend(steps::step_questions(traveller, act, step, way));
    }
    questions
}

/// Lookups that decide whether the current step applies to the object, and for which condition it waits before it
/// begins.
fn if_any_questions(traveller: StepContext<'_>) -> Vec<LookupRequest> {
    if traveller.leg.done == 0 {
        return leading_questions(traveller);
    }
    let at_hand = traveller.steps().get(traveller.leg.done);
    at_hand.and_then(|step| if_any_question(traveller, step)).into_iter().collect()
}

/// Lookups for an in-flight object that is deleted.
pub(super) fn questions_after(rollout: &Rollout, reservation: &InFlightObject) -> Vec<LookupRequest> {
    leftover_questions(rollout, reservation)
}

/// Preflight before an object begins: an object with obstacles against its workflow is skipped. Objects in flight or
/// beginning in the same namespace use quota too.
pub(super) fn note_refused_ahead(planner: &mut Planner<'_>) {
    if planner.status.direction != Direction::Forward {
        return;
    }
    let (mut refused, mut pods) = (Vec::new(), BTreeMap::<Option<&str>, Vec<PodSet>>::new());
    let answers = &planner.facts.answers;
    let under_way = planner.status.in_flight.iter().filter(|one| !one.back);
    let under_way = under_way.filter_map(|one| Some((planner.traveller(one)?, one)));
    let (begun, ahead): (Vec<_>, Vec<_>) =
        under_way.filter(|(traveller, _)| !traveller.object.is_going).partition(|(traveller, reservation)| {
            traveller.has_begun(reservation) || has_begun_beside(*traveller, answers)
        });
    for (traveller, _) in begun {
        pods.entry(traveller.object.namespace()).or_default().extend(pods_ahead(traveller, answers));
    }
    for (traveller, reservation) in ahead.into_iter().filter(|(traveller, _)| !ahead_questions(*traveller).is_empty()) {
        let others = pods.entry(traveller.object.namespace()).or_default();
        let ahead = refused_ahead(traveller, answers, others);
        if ahead.is_none() {
            others.extend(pods_ahead(traveller, answers));
        }
        refused.push((reservation.uid.clone(), ahead));
    }
    let (now, remembered) = (planner.now, &mut planner.facts.remembered);
    for (uid, ahead) in refused {
        match ahead {
            Some(PreflightFailure::Refused(why)) => remembered.refused_ahead(&uid, &why, now),
            Some(PreflightFailure::Waits(why)) => remembered.put_off(&uid, &why, now),
            None => remembered.allowed_ahead(&uid, now),
        }
    }
}

/// True if the preflight of an object is unfinished, or found an obstacle.
pub(super) fn is_held_ahead(planner: &Planner<'_>, traveller: StepContext<'_>) -> bool {
    refused_ahead(traveller, &planner.facts.answers, &[]).is_some()
}

/// True if a deleted object has been replaced by one of the target kind.
pub(super) fn is_replaced(planner: &Planner<'_>, reservation: &InFlightObject) -> bool {
    steps::is_replaced(planner.rollout, reservation, &planner.facts.answers)
}

/// State saved for an object that is deleted and has no replacement.
pub(super) fn kept_of(planner: &Planner<'_>, reservation: &InFlightObject) -> Option<String> {
    steps::kept_of(planner.rollout, reservation, &planner.facts.answers)
}

/// Writes the refusal reason to the status of each object that its own fields exclude, once per run.
pub(super) fn tells(planner: &mut Planner<'_>) -> Vec<RolloutWrite> {
    let Some(pair) = planner.rollout.pair.as_deref().filter(|_| planner.status.started.is_some() && !planner.rests)
    else {
        return Vec::new();
    };
    let mut writes = Vec::new();
    for object in planner.fleet {
        let Some(legs) = object.legs.as_ref().filter(|legs| !legs.has_begun() && !object.is_going) else { continue };
        // Removes an earlier reason that no longer applies.
        let told = legs.told.as_deref().filter(|told| pair.is_refusal(told));
        if legs.refused.as_deref() == told {
            continue;
        }
        let why = legs.refused.as_deref();
        let is_new = planner.facts.remembered.tells(object.uid(), why.unwrap_or_default());
        let Some(patch) = pair.tells(why).filter(|_| is_new) else { continue };
        writes.push(RolloutWrite::Object(Box::new(ObjectWrite {
            plural: pair.source.resource.plural.clone(),
            group: pair.source.resource.group.clone(),
            version: Some(pair.source.version().to_owned()),
            cluster: None,
            namespace: object.namespace().map(str::to_owned),
            name: object.name().to_owned(),
            call: ObjectCall::Tell(patch),
            of: object.title(),
            uid: object.uid().to_owned(),
        })));
    }
    writes
}

/// True if leftovers of a deleted object remain.
pub(super) fn has_leftovers(planner: &Planner<'_>, reservation: &InFlightObject) -> bool {
    !matches!(leftovers(planner.rollout, reservation, &planner.facts.answers), Ok(None))
}

/// The next API call that removes leftovers of a deleted object.
pub(super) fn leftover_write(planner: &Planner<'_>, reservation: &InFlightObject) -> Option<Box<ObjectWrite>> {
    if planner.object(&reservation.uid).is_some() {
        return None;
    }
    leftovers(planner.rollout, reservation, &planner.facts.answers).ok().flatten().map(Box::new)
}
