//! What stands against the journey of an object, looked for before its first step: where that is so, nothing of it
//! changes.

use super::converting::becoming_question;
use super::looking::target_question;
use super::names::BECAME;
use super::owner::place;
use super::progress::Ahead;
use super::recreated::selector_of;
use super::recreating::{deployment_question, selector};
use super::room::{needs, quota_refuses};
use super::seen::{SeenOther, annotation, list, look, text};
use crate::apimachinery::ResourceName;
use crate::definition::{BesideAct, JourneyStep, Recreation};
use crate::roll::answers::{Became, RollAnswers};
use crate::roll::managed::git_manager;
use crate::roll::questions::RollQuestion;
use crate::roll::traveller::Traveller;
use serde_json::Value;

/// What has to be looked up before the first step.
pub(in crate::roll) fn ahead_questions(traveller: Traveller<'_>) -> Vec<RollQuestion> {
    let mut questions = Vec::new();
    for act in traveller.steps().iter().filter_map(JourneyStep::beside).map(|step| &step.act) {
        match act {
            BesideAct::Convert => {
                questions.extend(target_question(traveller));
                questions.extend(becoming_question(traveller));
            }
            BesideAct::Recreate(recreation) => {
                questions.push(deployment_question(traveller, recreation));
                questions.push(quotas(traveller));
                questions.push(autoscalers(traveller));
            }
            _ => {}
        }
    }
    questions
}

/// Why an object must not begin with its journey, or not now.
pub(in crate::roll) fn refused_ahead(traveller: Traveller<'_>, answers: &RollAnswers) -> Option<Ahead> {
    traveller.steps().iter().filter_map(JourneyStep::beside).find_map(|step| match &step.act {
        BesideAct::Convert => conversion(traveller, answers),
        BesideAct::Recreate(recreation) => deployment(traveller, recreation, answers),
        _ => None,
    })
}

fn conversion(traveller: Traveller<'_>, answers: &RollAnswers) -> Option<Ahead> {
    let target = target_question(traveller)?;
    match look(answers, &target) {
        SeenOther::Unknown(why) => return Some(Ahead::Waits(why)),
        SeenOther::Going(_) => return Some(Ahead::Waits(format!("{target} is being deleted"))),
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

fn deployment(traveller: Traveller<'_>, recreation: &Recreation, answers: &RollAnswers) -> Option<Ahead> {
    let question = deployment_question(traveller, recreation);
    let object = match look(answers, &question) {
        SeenOther::Unknown(why) => return Some(Ahead::Waits(why)),
        SeenOther::Absent => return Some(Ahead::Waits(format!("{question} is not there"))),
        SeenOther::Going(_) => return Some(Ahead::Waits(format!("{question} is being deleted"))),
        SeenOther::There(object) => object,
    };
    if selector_of(object).as_ref() == Some(&selector(traveller, recreation)) {
        return None;
    }
    if place(object, traveller.object.uid()).is_none() {
        return Some(Ahead::Refused(format!(
            "{question} does not belong to the object: it has no owner reference to it"
        )));
    }
    if selector_of(object).is_none() {
        return Some(Ahead::Refused(format!("{question} selects its Pods by more than labels: matchExpressions")));
    }
    if let Some(manager) = git_manager(object) {
        return Some(Ahead::Refused(format!(
            "{question} is set by {manager}, which would make it again: take it out of Git"
        )));
    }
    let scaled = match list(answers, &autoscalers(traveller)) {
        Ok(all) => all.iter().find(|one| scales(one, text(object, "/metadata/name"))),
        Err(why) => return Some(Ahead::Waits(why)),
    };
    if let Some(one) = scaled {
        let name = text(one, "/metadata/name");
        return Some(Ahead::Refused(format!(
            "horizontalpodautoscalers.autoscaling {name} scales {question}: delete it for so long, and make it again \
             afterwards"
        )));
    }
    match list(answers, &quotas(traveller)) {
        Ok(all) => quota_refuses(all, &needs(object)).map(|why| Ahead::Refused(format!("{question}: {why}"))),
        Err(why) => Some(Ahead::Waits(why)),
    }
}

fn scales(autoscaler: &Value, name: &str) -> bool {
    let target = |member: &str| text(autoscaler, &format!("/spec/scaleTargetRef/{member}"));
    (target("kind"), target("name")) == ("Deployment", name)
}

fn quotas(traveller: Traveller<'_>) -> RollQuestion {
    RollQuestion::of_all(&resource("resourcequotas", ""), traveller.object.namespace())
}

fn autoscalers(traveller: Traveller<'_>) -> RollQuestion {
    RollQuestion::of_all(&resource("horizontalpodautoscalers", "autoscaling"), traveller.object.namespace())
}

fn resource(plural: &str, group: &str) -> ResourceName {
    ResourceName { plural: plural.to_owned(), group: group.to_owned() }
}
