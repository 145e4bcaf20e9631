//! A step that waits for another object.

use serde_json::Value;

use crate::definition::workflows::{StepDirection, StepObject, WaitedFor};
use crate::lookup::request::LookupRequest;
use crate::steps::context::StepContext;
use crate::steps::objects::observed_object::{ObservedObject, object_lookup, terminating_message};
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::step_action::{Right, RightsInput, StepAction};
use pointsman_core::definition::unmet_of;

/// Waits for a condition of another object.
pub(in crate::steps) struct Wait<'a> {
    pub(in crate::steps) on: &'a StepObject,
    pub(in crate::steps) until: &'a WaitedFor,
}

impl StepAction for Wait<'_> {
    fn lookups(&self, context: StepContext<'_>, _: usize, _: StepDirection) -> Vec<LookupRequest> {
        object_lookup(context, self.on).into_iter().collect()
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.on, self.until)
    }

    fn rights(&self, of: RightsInput<'_>) -> Vec<Right> {
        let resource = match self.on {
            StepObject::Named { resource, .. } => Some(resource.clone()),
            StepObject::Source => of.source(),
            StepObject::Target => of.target(),
        };
        resource.map(|resource| (resource, &["get"][..])).into_iter().collect()
    }

    fn description(&self, target: &str) -> String {
        let on = match self.on {
            StepObject::Source => "the object".to_owned(),
            StepObject::Target => format!("its {target}"),
            StepObject::Named { resource, name } => format!("{resource} {name}"),
        };
        match self.until {
            WaitedFor::RolledOut => format!("waits until {on} is rolled out"),
            WaitedFor::Gate(_) => format!("waits for {on}"),
        }
    }
}

fn forward(step: ObjectStepInput<'_>, on: &StepObject, until: &WaitedFor) -> StepOutcome {
    let Some(lookup) = object_lookup(step.context, on) else {
        return StepOutcome::Stuck("the replacement of the object is unknown".to_owned());
    };
    let object = match step.observed(&lookup) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Absent => return StepOutcome::Waits(format!("{lookup} does not exist")),
        ObservedObject::Terminating(object) => return StepOutcome::Waits(terminating_message(&lookup, object)),
        ObservedObject::There(object) => object,
    };
    let unmet = match until {
        WaitedFor::Gate(gate) => unmet_of(gate, object),
        WaitedFor::RolledOut => not_rolled_out(object),
    };
    unmet.map_or(StepOutcome::Done, |why| StepOutcome::Waits(format!("{lookup}: {why}")))
}

/// The reason why a Deployment is not rolled out, by the rules of `kubectl rollout status`. Source: `kubectl
/// pkg/polymorphichelpers/rollout_status.go`, `DeploymentStatusViewer`.
pub(in crate::steps) fn not_rolled_out(deployment: &Value) -> Option<String> {
    let number = |path: &str| deployment.pointer(path).and_then(Value::as_i64);
    let seen = number("/status/observedGeneration").unwrap_or_default();
    if seen < number("/metadata/generation").unwrap_or(1) {
        return Some("the last change is not observed yet".to_owned());
    }
    let wanted = number("/spec/replicas").unwrap_or(1);
    let count = |name: &str| number(&format!("/status/{name}")).unwrap_or_default();
    let (updated, all, available) = (count("updatedReplicas"), count("replicas"), count("availableReplicas"));
    if updated < wanted {
        return Some(format!("{updated} of {wanted} Pods are of the last template"));
    }
    if all > updated {
        return Some(format!("{} Pods of an older template still exist", all - updated));
    }
    (available < wanted).then(|| format!("{available} of {wanted} Pods are available"))
}
