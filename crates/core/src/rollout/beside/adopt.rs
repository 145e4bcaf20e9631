//! A step by which what belongs to an object belongs to what it has become.

use serde_json::Value;

use super::convert::not_ours;
use super::names::BECAME;
use super::object_write::ObjectCall;
use super::observation::target_question;
use super::owner::{hand_over, place};
use super::progress::{Beside, StepProgress};
use super::revert::linked;
use super::seen::{SeenOther, annotation, is_going, list, text};
use crate::apimachinery::ResourceName;
use crate::rollout::kind_pair::PairedKind;
use crate::rollout::questions::RolloutQuestion;
use crate::rollout::traveller::Traveller;

pub(super) fn questions(traveller: Traveller<'_>, resources: &[ResourceName]) -> Vec<RolloutQuestion> {
    let owned = resources.iter().map(|resource| owned(traveller, resource));
    target_question(traveller).into_iter().chain(owned).collect()
}

/// What the object has become is called as the object is.
fn owned(traveller: Traveller<'_>, resource: &ResourceName) -> RolloutQuestion {
    RolloutQuestion::of_owned(resource, traveller.object.namespace(), traveller.object.name())
}

pub(super) fn forward(step: Beside<'_>, resources: &[ResourceName]) -> StepProgress {
    let (Some(pair), Some(target)) = (step.pair(), target_question(step.traveller)) else {
        return StepProgress::Stuck("nobody knows what the object becomes".to_owned());
    };
    match linked(step, &target) {
        Ok(object) => {
            let to = (&pair.target, text(object, "/metadata/name"), text(object, "/metadata/uid"));
            hand_all_over(step, resources, step.uid(), to)
        }
        Err(not_yet) => not_yet,
    }
}

pub(super) fn back(step: Beside<'_>, resources: &[ResourceName]) -> StepProgress {
    let (Some(pair), Some(target)) = (step.pair(), target_question(step.traveller)) else { return StepProgress::Done };
    match step.look(&target) {
        // One that goes would take along what belongs to it.
        SeenOther::There(object) | SeenOther::Going(object) if annotation(object, BECAME) == Some(step.uid()) => {
            let to = (&pair.source, step.traveller.object.name(), step.uid());
            hand_all_over(step, resources, text(object, "/metadata/uid"), to)
        }
        SeenOther::Unknown(why) => StepProgress::Waits(why),
        SeenOther::There(object) => not_ours(step, &target, object),
        // Nothing can belong to it.
        SeenOther::Going(_) | SeenOther::Absent => StepProgress::Done,
    }
}

/// The first object that still belongs to whom it did is handed over.
fn hand_all_over(
    step: Beside<'_>,
    resources: &[ResourceName],
    from: &str,
    to: (&PairedKind, &str, &str),
) -> StepProgress {
    for resource in resources {
        let all = match list(step.answers, &owned(step.traveller, resource)) {
            Ok(all) => all,
            Err(why) => return StepProgress::Waits(why),
        };
        let is_its = |object: &&Value| !is_going(object) && place(object, from).is_some();
        let Some(object) = all.iter().find(is_its) else { continue };
        if let Some(patch) = hand_over(object, from, to) {
            return step.next(resource, None, text(object, "/metadata/name"), ObjectCall::Patch(patch));
        }
    }
    StepProgress::Done
}
