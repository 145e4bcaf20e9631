//! A step that deletes objects with some labels, once their successors are ready.

use serde_json::Value;

use super::wait::not_rolled_out;
use crate::definition::workflows::{Recreation, StepDirection};
use crate::lookup::request::LookupRequest;
use crate::steps::context::StepContext;
use crate::steps::objects::observed_object::{
    ObservedObject, controller, deployment_lookup, is_terminating, list, recreations, selector, text,
};
use crate::steps::objects::recreation_source::selector_of;
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::step_action::{Right, RightsInput, StepAction};
use crate::steps::writes::object_write::Propagation;
use pointsman_core::apimachinery::ResourceName;

/// Deletes objects with labels. The labels may contain placeholders such as `{name}`.
pub(in crate::steps) struct DeleteLabelled<'a> {
    pub(in crate::steps) resource: &'a ResourceName,
    pub(in crate::steps) labels: &'a str,
}

impl StepAction for DeleteLabelled<'_> {
    fn lookups(&self, context: StepContext<'_>, step: usize, _: StepDirection) -> Vec<LookupRequest> {
        let made = made_before(context, step).map(|recreation| deployment_lookup(context, recreation));
        made.chain([labelled_lookup(context, self.resource, self.labels)]).collect()
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.resource, self.labels)
    }

    fn rights(&self, _: RightsInput<'_>) -> Vec<Right> {
        vec![(self.resource.clone(), &["list", "delete"])]
    }

    fn description(&self, _: &str) -> String {
        format!("deletes {} with {}", self.resource, self.labels)
    }
}

/// Deployments recreated by earlier steps.
fn made_before(context: StepContext<'_>, step: usize) -> impl Iterator<Item = &Recreation> {
    recreations(context.steps().get(..step).unwrap_or_default())
}

/// The reason why a recreated Deployment is not ready now, regardless of an earlier wait.
fn serves_not(step: ObjectStepInput<'_>, recreation: &Recreation) -> Option<String> {
    let lookup = deployment_lookup(step.context, recreation);
    let why = match step.observed(&lookup) {
        ObservedObject::Unknown(why) => return Some(why),
        ObservedObject::Absent => Some("does not exist".to_owned()),
        ObservedObject::Terminating(_) => Some("is being deleted".to_owned()),
        ObservedObject::There(object) if selector_of(object) != Some(selector(step.context, recreation)) => {
            Some("does not select its new Pods".to_owned())
        }
        ObservedObject::There(object) => not_rolled_out(object),
    };
    why.map(|why| format!("{lookup}: {why}, and the previous step then deletes the old one"))
}

fn labelled_lookup(context: StepContext<'_>, resource: &ResourceName, labels: &str) -> LookupRequest {
    // Not metadata alone: the result for a missing resource would be ambiguous.
    LookupRequest::of_labelled(resource, context.object.namespace(), &context.filled_text(labels))
}

/// Deletes objects with labels one by one, once their successors are ready.
fn forward(step: ObjectStepInput<'_>, resource: &ResourceName, labels: &str) -> StepOutcome {
    let mut made = made_before(step.context, step.step);
    if let Some(why) = made.find_map(|recreation| serves_not(step, recreation)) {
        return StepOutcome::Waits(why);
    }
    let all = match list(step.answers, &labelled_lookup(step.context, resource, labels)) {
        Ok(all) => all,
        Err(why) => return StepOutcome::Waits(why),
    };
    orphans(step, resource, all)
}

/// Deletes objects without controller. Objects of another controller are skipped: it would recreate them, or they are
/// unrelated.
pub(in crate::steps) fn orphans(step: ObjectStepInput<'_>, resource: &ResourceName, all: &[Value]) -> StepOutcome {
    let is_others = |object: &&Value| controller(object).is_some_and(|(_, uid)| uid != step.uid());
    if let Some(object) = all.iter().find(|object| !is_terminating(object) && !is_others(object)) {
        return step.delete(resource, None, object, Propagation::Background);
    }
    match all.first() {
        None => StepOutcome::Done,
        Some(object) => {
            let name = text(object, "/metadata/name");
            let by = controller(object).filter(|_| is_others(&object)).map(|(by, _)| by);
            StepOutcome::Waits(match by {
                Some(by) => format!("{resource} {name} is controlled by {by}, and is not deleted"),
                None => format!("{resource} {name} is being deleted"),
            })
        }
    }
}
