//! A step that waits for another object.

use serde_json::Value;

use super::observed_object::object_lookup;
use super::observed_object::{ObservedObject, terminating_message};
use super::outcome::{ObjectStepInput, StepOutcome};
use pointsman_core::definition::{StepObject, WaitedFor, unmet_of};

pub(super) fn forward(step: ObjectStepInput<'_>, on: &StepObject, until: &WaitedFor) -> StepOutcome {
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
pub(super) fn not_rolled_out(deployment: &Value) -> Option<String> {
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
