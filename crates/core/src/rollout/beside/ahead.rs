//! What stands against the workflow of an object, looked for before its first step: where that is so, nothing of it
//! changes.

use super::convert::becoming_question;
use super::names::BECAME;
use super::observation::{deployment_question, recreations, target_question};
use super::obstacles::{obstacle, obstacle_questions, pods_to_come};
use super::progress::Ahead;
use super::room::PodSet;
use super::seen::{SeenOther, annotation, goes, look};
use crate::definition::{BesideAct, WorkflowStep};
use crate::rollout::answers::{Became, RolloutAnswers};
use crate::rollout::questions::RolloutQuestion;
use crate::rollout::traveller::Traveller;

/// What has to be looked up before the first step.
pub(in crate::rollout) fn ahead_questions(traveller: Traveller<'_>) -> Vec<RolloutQuestion> {
    let mut questions = Vec::new();
    for act in traveller.steps().iter().filter_map(WorkflowStep::beside).map(|step| &step.act) {
        match act {
            BesideAct::Convert => {
                questions.extend(target_question(traveller));
                questions.extend(becoming_question(traveller));
            }
            BesideAct::Recreate(recreation) => {
                questions.extend(obstacle_questions(traveller, recreation));
            }
            _ => {}
        }
    }
    questions
}

/// Why an object must not begin with its workflow, or not now. `others` are Pods that are about to come in the same
/// namespace.
pub(in crate::rollout) fn refused_ahead(
    traveller: Traveller<'_>,
    answers: &RolloutAnswers,
    others: &[PodSet],
) -> Option<Ahead> {
    traveller.steps().iter().filter_map(WorkflowStep::beside).find_map(|step| match &step.act {
        BesideAct::Convert => conversion(traveller, answers),
        BesideAct::Recreate(recreation) => obstacle(traveller, recreation, answers, others),
        BesideAct::DeleteSource => made_again(traveller),
        _ => None,
    })
}

/// Pods that are still to come for an object that is under way, or may begin.
pub(in crate::rollout) fn pods_ahead(traveller: Traveller<'_>, answers: &RolloutAnswers) -> Vec<PodSet> {
    recreations(traveller.steps()).filter_map(|recreation| pods_to_come(traveller, recreation, answers)).collect()
}

/// What has to be looked up for [`pods_ahead`] of an object that has begun.
pub(in crate::rollout) fn pods_questions(traveller: Traveller<'_>) -> Vec<RolloutQuestion> {
    // Those of steps that are long done have come.
    let steps = traveller.steps().get(traveller.leg.done.saturating_sub(1)..).unwrap_or_default();
    recreations(steps).map(|recreation| deployment_question(traveller, recreation)).collect()
}

/// Whoever makes the object again once it is gone.
fn made_again(traveller: Traveller<'_>) -> Option<Ahead> {
    let manager = traveller.object.git.as_ref().filter(|_| !traveller.rollout.take_over)?;
    Some(Ahead::Refused(format!(
        "{manager} sets the object, and would make it again once it is deleted: take it out of Git, and leave it in the \
         cluster; where nobody applies it any more, say takeOver: true in the StagedRollout"
    )))
}

fn conversion(traveller: Traveller<'_>, answers: &RolloutAnswers) -> Option<Ahead> {
    let target = target_question(traveller)?;
    match look(answers, &target) {
        SeenOther::Unknown(why) => return Some(Ahead::Waits(why)),
        SeenOther::Going(object) => return Some(Ahead::Waits(goes(&target, object))),
        SeenOther::There(object) if annotation(object, BECAME) != Some(traveller.object.uid()) => {
            return Some(Ahead::Refused(format!("{target} is there, and was not made of this object")));
        }
        SeenOther::There(_) | SeenOther::Absent => {}
    }
    match answers.became_of(&becoming_question(traveller)?) {
        Some(Became::Object(..)) => None,
        Some(Became::Refused(why)) => Some(Ahead::Refused(why.clone())),
        Some(Became::Waits(why)) => Some(Ahead::Waits(why.clone())),
        None => Some(Ahead::Waits(format!("nobody has looked what becomes {target}"))),
    }
}
