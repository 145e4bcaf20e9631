//! A step that recreates a Deployment with another selector, without downtime: its Pods continue to run under their
//! ReplicaSets while a new Deployment of its name starts its own Pods.
//!
//! Before the deletion, both manifests are saved in a ControllerRevision. Whether that exists, which Deployment exists
//! and its selector determine the progress of the step, so any process may be killed at any time.

use std::collections::BTreeMap;

use serde_json::json;

use super::deletion_by_label::orphans;
use super::wait::not_rolled_out;
use crate::definition::workflows::{Recreation, StepDirection};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::observed_field::{pointer, test};
use crate::steps::context::StepContext;
use crate::steps::objects::leftovers::revisions;
use crate::steps::objects::observed_object::{
    ObservedObject, RESTORED, annotation, deployment_lookup, list, selector, selector_again, text,
};
use crate::steps::objects::obstacles::{PodSet, is_anothers, obstacle, obstacle_lookups, stands_against};
use crate::steps::objects::recreation_source::{
    SavedDeployment, restored, revision_name, saved, saved_again, selector_of,
};
use crate::steps::outcome::{ObjectStepInput, PreflightFailure, StepOutcome};
use crate::steps::step_action::{Right, RightsInput, StepAction, finalizers, resource};
use crate::steps::writes::object_write::{ObjectCall, Propagation, ReplacementObject};
use pointsman_core::apimachinery::ResourceName;
use serde_json::Value;

/// Recreates a Deployment.
pub(in crate::steps) struct Recreate<'a>(pub(in crate::steps) &'a Recreation);

impl StepAction for Recreate<'_> {
    fn lookups(&self, context: StepContext<'_>, step: usize, _: StepDirection) -> Vec<LookupRequest> {
        let (deployment, revision) = (deployment_lookup(context, self.0), revision_lookup(context, step));
        let mut lookups = vec![deployment, revision, pods_lookup(context, self.0)];
        if is_at_hand(context, step) || context.is_again() {
            lookups.extend(obstacle_lookups(context, self.0));
        }
        lookups
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.0)
    }

    fn back(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        back(step, self.0)
    }

    fn preflight_lookups(&self, context: StepContext<'_>) -> Vec<LookupRequest> {
        obstacle_lookups(context, self.0)
    }

    fn preflight(
        &self,
        context: StepContext<'_>,
        answers: &LookupResults,
        others: &[PodSet],
    ) -> Option<PreflightFailure> {
        obstacle(context, self.0, answers, others)
    }

    fn rights(&self, of: RightsInput<'_>) -> Vec<Right> {
        let mut all: Vec<Right> = vec![
            (self.0.resource.clone(), &["get", "list", "create", "delete", "patch"]),
            (revisions(), &["get", "list", "create", "delete"]),
            // A revert deletes ReplicaSets of the new Deployment.
            (replica_sets(), &["list", "delete"]),
            (resource("resourcequotas", ""), &["list"]),
            (resource("limitranges", ""), &["list"]),
            (resource("horizontalpodautoscalers", "autoscaling"), &["list"]),
        ];
        all.extend(of.source().filter(|_| of.is_guarded()).as_ref().map(finalizers));
        all
    }

    fn description(&self, _: &str) -> String {
        let Recreation { resource, name, .. } = self.0;
        format!(
            "recreates {resource} {name} with another selector: during the step, twice the Pods exist, and the \
             revisions are lost"
        )
    }
}

/// True if the step is the next one in forward direction.
fn is_at_hand(context: StepContext<'_>, step: usize) -> bool {
    context.wave_progress.done == step
}

fn revision_lookup(context: StepContext<'_>, step: usize) -> LookupRequest {
    let name = revision_name(context.object.uid(), context.step_name(step));
    LookupRequest::of_object(&revisions(), context.object.namespace(), &name)
}

/// Lookup of the ReplicaSets of the new Deployment.
fn pods_lookup(context: StepContext<'_>, recreation: &Recreation) -> LookupRequest {
    let labels = label_selector(&selector(context, recreation));
    LookupRequest::of_metadata(&replica_sets(), context.object.namespace(), &labels)
}

fn forward(step: ObjectStepInput<'_>, recreation: &Recreation) -> StepOutcome {
    let deployment = deployment_lookup(step.context, recreation);
    let wanted = selector(step.context, recreation);
    let seen = match step.observed(&deployment) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Terminating(_) => return StepOutcome::Waits(format!("{deployment} is being deleted")),
        ObservedObject::There(object) => Some(object),
        ObservedObject::Absent => None,
    };
    let is_new = seen.is_some_and(|object| selector_of(object).as_ref() == Some(&wanted));
    let revision = match step.observed(&revision_lookup(step.context, step.step)) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Terminating(_) => return StepOutcome::Waits("the saved Deployment is terminating".to_owned()),
        ObservedObject::There(revision) => revision,
        ObservedObject::Absent if is_new => return StepOutcome::ByHand,
        ObservedObject::Absent => return unsaved(step, recreation, seen, &deployment),
    };
    let saved = SavedDeployment::read(revision);
    match seen {
        None => {
            let name = text(saved.made(), "/metadata/name");
            step.next(&recreation.resource, None, name, ObjectCall::Succeed(saved.made().clone()))
        }
        Some(_) if is_new => StepOutcome::Done,
        Some(object) if saved.is_of(object) => {
            in_the_way(step, recreation).unwrap_or_else(|| makes_way(step, recreation, object, saved.made().clone()))
        }
        // It changed since, or was restored: the saved state is stale.
        Some(object) if is_known(object, &saved) => step.delete(&revisions(), None, revision, Propagation::Background),
        Some(_) => StepOutcome::Stuck(format!(
            "another client created {deployment}: stop that client, delete the Deployment with \
                 --cascade=orphan, and resume"
        )),
    }
}

/// True if a Deployment is the saved one, or the one restored in its place.
fn is_known(deployment: &Value, saved: &SavedDeployment<'_>) -> bool {
    saved.uid() == text(deployment, "/metadata/uid") || annotation(deployment, RESTORED) == Some(saved.uid())
}

/// Obstacles may have appeared since the preflight: checked again before the save and before the deletion.
fn in_the_way(step: ObjectStepInput<'_>, recreation: &Recreation) -> Option<StepOutcome> {
    let now = is_at_hand(step.context, step.step).then(|| obstacle(step.context, recreation, step.answers, &[]));
    now.flatten().map(|ahead| StepOutcome::Waits(ahead.into_why()))
}

/// The next action without saved state.
fn unsaved(
    step: ObjectStepInput<'_>,
    recreation: &Recreation,
    old: Option<&Value>,
    deployment: &LookupRequest,
) -> StepOutcome {
    let Some(old) = old else {
        return StepOutcome::Waits(format!("{deployment} does not exist, and was not saved"));
    };
    if let Some(why) = is_anothers(step.context, old) {
        return StepOutcome::Stuck(format!("{deployment} {why}"));
    }
    if let Some(waits) = in_the_way(step, recreation) {
        return waits;
    }
    let wanted = &selector(step.context, recreation);
    let name = revision_name(step.uid(), step.context.step_name(step.step));
    step.next(&revisions(), None, &name, ObjectCall::Create(saved(&name, step.uid(), old, wanted)))
}

fn back(step: ObjectStepInput<'_>, recreation: &Recreation) -> StepOutcome {
    let deployment = deployment_lookup(step.context, recreation);
    let seen = match step.observed(&deployment) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Terminating(_) => return StepOutcome::Waits(format!("{deployment} is being deleted")),
        ObservedObject::There(object) => Some(object),
        ObservedObject::Absent => None,
    };
    let revision = match step.observed(&revision_lookup(step.context, step.step)) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Terminating(_) => return StepOutcome::Waits("the saved Deployment is terminating".to_owned()),
        ObservedObject::There(revision) => revision,
        // The step has not begun, or everything is restored; or the saved state is missing.
        ObservedObject::Absent => {
            return seen.and_then(|object| unsaved_again(step, recreation, object)).unwrap_or(StepOutcome::Done);
        }
    };
    let saved = SavedDeployment::read(revision);
    let Some(object) = seen else {
        let name = text(saved.before(), "/metadata/name");
        return step.next(&recreation.resource, None, name, ObjectCall::Succeed(restored(&saved)));
    };
    if selector_of(object) == selector_of(saved.made()) {
        if step.context.is_again() && !saved.is_made(object) {
            // It changed since: the saved state is stale.
            return step.delete(&revisions(), None, revision, Propagation::Background);
        }
        let was = selector_again(step.context, recreation);
        let ahead = was.and_then(|was| stands_against(step.context, recreation, &was, step.answers, &[]));
        if let Some(ahead) = ahead {
            return StepOutcome::Waits(ahead.into_why());
        }
        return makes_way(step, recreation, object, restored(&saved));
    }
    if selector_of(object) != selector_of(saved.before()) {
        return StepOutcome::Stuck(format!("another client created {deployment}: check it, and rename or delete it"));
    }
    if let Some(why) = not_rolled_out(object) {
        return StepOutcome::Waits(format!("{deployment}: {why}"));
    }
    let pods = match list(step.answers, &pods_lookup(step.context, recreation)) {
        Ok(all) => orphans(step, &replica_sets(), all),
        Err(why) => return StepOutcome::Waits(why),
    };
    match pods {
        StepOutcome::Done => step.delete(&revisions(), None, revision, Propagation::Background),
        other => other,
    }
}

/// The next action of a revert without saved state of the Deployment.
fn unsaved_again(step: ObjectStepInput<'_>, recreation: &Recreation, deployment: &Value) -> Option<StepOutcome> {
    let is_new = selector_of(deployment) == Some(selector(step.context, recreation));
    let Some(was) = selector_again(step.context, recreation).filter(|_| is_new) else {
        return unmark(step, recreation, deployment);
    };
    if let Some(ahead) = stands_against(step.context, recreation, &was, step.answers, &[]) {
        return Some(StepOutcome::Waits(ahead.into_why()));
    }
    let name = revision_name(step.uid(), step.context.step_name(step.step));
    let saved = saved_again(&name, step.uid(), deployment, &was);
    Some(step.next(&revisions(), None, &name, ObjectCall::Create(saved)))
}

/// Removes the annotation of a restored Deployment.
fn unmark(step: ObjectStepInput<'_>, recreation: &Recreation, deployment: &Value) -> Option<StepOutcome> {
    let from = annotation(deployment, RESTORED)?;
    let path = pointer("annotations", RESTORED);
    let patch = json!([
        test("/metadata/uid", json!(text(deployment, "/metadata/uid"))),
        test(&path, json!(from)),
        {"op": "remove", "path": path},
    ]);
    Some(step.next(&recreation.resource, None, text(deployment, "/metadata/name"), ObjectCall::Patch(patch)))
}

/// Deletes a Deployment to recreate it. Its Pods and ReplicaSets remain.
fn makes_way(step: ObjectStepInput<'_>, recreation: &Recreation, deployment: &Value, object: Value) -> StepOutcome {
    let ResourceName { plural, group } = replica_sets();
    let labels = label_selector(&selector_of(deployment).unwrap_or_default());
    step.makes_way(&recreation.resource, deployment, ReplacementObject { object, owned: (plural, group), labels })
}

/// Labels in the syntax of `kubectl -l`.
fn label_selector(labels: &BTreeMap<String, String>) -> String {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
    labels.join(",")
}

fn replica_sets() -> ResourceName {
    resource("replicasets", "apps")
}
