//! Obstacles to the recreation of a Deployment: checked before the first step of its object, and again right before the
//! deletion.

use std::collections::BTreeMap;

use serde_json::Value;

use super::context::StepContext;
use super::controller_reference::place;
use super::observation::{deployment_lookup, selector};
use super::observed_object::{ObservedObject, list, observed, text};
use super::quota::{PodSet, no_room};
use super::recreation_source::{new, selector_of};
use super::step_outcome::PreflightFailure;
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::managed_fields::git_manager;
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::Recreation;

/// Lookups for this check.
pub(super) fn obstacle_lookups(context: StepContext<'_>, recreation: &Recreation) -> Vec<LookupRequest> {
    vec![
        deployment_lookup(context, recreation),
        all(context, &recreation.resource),
        quotas(context),
        limit_ranges(context),
        autoscalers(context),
    ]
}

/// The reason not to recreate a Deployment, or to wait. `others` are Pods about to start in the same namespace.
pub(super) fn obstacle(
    context: StepContext<'_>,
    recreation: &Recreation,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    stands_against(context, recreation, &selector(context, recreation), answers, others)
}

/// The same for a given Pod selector.
pub(super) fn stands_against(
    context: StepContext<'_>,
    recreation: &Recreation,
    wanted: &BTreeMap<String, String>,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    let lookup = deployment_lookup(context, recreation);
    let object = match observed(answers, &lookup) {
        ObservedObject::Unknown(why) => return Some(PreflightFailure::Waits(why)),
        ObservedObject::Absent => return Some(PreflightFailure::Waits(format!("{lookup} does not exist"))),
        ObservedObject::Terminating(_) => return Some(PreflightFailure::Waits(format!("{lookup} is being deleted"))),
        ObservedObject::There(object) => object,
    };
    if selector_of(object).as_ref() == Some(wanted) {
        return None;
    }
    let anothers = is_anothers(context, object).map(|why| PreflightFailure::Refused(format!("{lookup} {why}")));
    anothers.or_else(|| obstacles_around(context, recreation, (object, wanted), answers, others))
}

/// Obstacles regardless of ownership.
pub(super) fn obstacles_around(
    context: StepContext<'_>,
    recreation: &Recreation,
    (object, wanted): (&Value, &BTreeMap<String, String>),
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    let lookup = deployment_lookup(context, recreation);
    if let Some(by) = git_manager(object) {
        let why = format!("{lookup} is applied by {by}, which would recreate the object: remove the object from Git");
        return Some(PreflightFailure::Refused(why));
    }
    let found = among_others(context, recreation, answers, (object, wanted));
    found.unwrap_or_else(|why| Some(PreflightFailure::Waits(why))).or_else(|| {
        let (quotas, limits) = match (list(answers, &quotas(context)), list(answers, &limit_ranges(context))) {
            (Ok(quotas), Ok(limits)) => (quotas, limits),
            (Err(why), _) | (_, Err(why)) => return Some(PreflightFailure::Waits(why)),
        };
        Some(match no_room(quotas, &PodSet::of(object, limits), others)? {
            PreflightFailure::Refused(why) => PreflightFailure::Refused(format!("{lookup}: {why}")),
            PreflightFailure::Waits(why) => PreflightFailure::Waits(format!("{lookup}: {why}")),
        })
    })
}

/// The reason why a Deployment does not belong to the object, or has an unsupported selector.
pub(super) fn is_anothers(context: StepContext<'_>, deployment: &Value) -> Option<String> {
    if place(deployment, context.object.uid()).is_none() {
        return Some(
            "has no owner reference to the object. Rename it, or set the owner reference if it belongs to the object"
                .to_owned(),
        );
    }
    let has_labels = selector_of(deployment).is_some();
    (!has_labels).then(|| "selects its Pods by matchExpressions, not only by labels".to_owned())
}

/// Other objects in the namespace that would act on its Pods, or on the Deployment.
fn among_others(
    context: StepContext<'_>,
    recreation: &Recreation,
    answers: &LookupResults,
    (object, wanted): (&Value, &BTreeMap<String, String>),
) -> Result<Option<PreflightFailure>, String> {
    let lookup = deployment_lookup(context, recreation);
    let name = text(object, "/metadata/name");
    if let Some(one) = list(answers, &autoscalers(context))?.iter().find(|one| scales(one, name)) {
        let scaler = text(one, "/metadata/name");
        return Ok(Some(PreflightFailure::Refused(format!(
            "horizontalpodautoscalers.autoscaling {scaler} scales {lookup}: delete the autoscaler for this \
                 step, and create it again afterwards"
        ))));
    }
    let made = new(object, wanted);
    let all = list(answers, &all(context, &recreation.resource))?;
    let takes = |one: &&Value| text(one, "/metadata/name") != name && [object, &made].iter().any(|of| selects(one, of));
    Ok(all.iter().find(takes).map(|one| {
        let other = text(one, "/metadata/name");
        PreflightFailure::Refused(format!(
            "{} {other} also selects the Pods of {lookup}, and would adopt its orphaned ReplicaSets: use a \
                 distinct selector",
            recreation.resource
        ))
    }))
}

/// Pods that a recreated Deployment has yet to start.
pub(crate) fn pending_pods(
    context: StepContext<'_>,
    recreation: &Recreation,
    answers: &LookupResults,
) -> Option<PodSet> {
    let ObservedObject::There(object) = observed(answers, &deployment_lookup(context, recreation)) else { return None };
    let is_new = selector_of(object).as_ref() == Some(&selector(context, recreation));
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    let has_them = number("/status/replicas").unwrap_or_default() >= number("/spec/replicas").unwrap_or(1);
    let limits = list(answers, &limit_ranges(context)).unwrap_or_default();
    (!is_new || !has_them).then(|| PodSet::of(object, limits))
}

/// True if a Deployment selects the Pods of another one.
fn selects(deployment: &Value, other: &Value) -> bool {
    let labels = |label: &str| other.pointer("/spec/template/metadata/labels")?.get(label)?.as_str();
    let selector = deployment.pointer("/spec/selector").unwrap_or(&Value::Null);
    let members = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    members.into_iter().all(|(label, value)| labels(label) == value.as_str())
        && expressions.into_iter().all(|expression| {
            let found = labels(text(expression, "/key"));
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let is_one = values.into_iter().any(|value| found.is_some() && value.as_str() == found);
            match text(expression, "/operator") {
                "In" => is_one,
                "NotIn" => !is_one,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

fn scales(autoscaler: &Value, name: &str) -> bool {
    let target = |member: &str| text(autoscaler, &format!("/spec/scaleTargetRef/{member}"));
    (target("kind"), target("name")) == ("Deployment", name)
}

fn all(context: StepContext<'_>, resource: &ResourceName) -> LookupRequest {
    LookupRequest::of_all(resource, context.object.namespace())
}

fn quotas(context: StepContext<'_>) -> LookupRequest {
    all(context, &resource("resourcequotas", ""))
}

fn limit_ranges(context: StepContext<'_>) -> LookupRequest {
    all(context, &resource("limitranges", ""))
}

fn autoscalers(context: StepContext<'_>) -> LookupRequest {
    all(context, &resource("horizontalpodautoscalers", "autoscaling"))
}

fn resource(plural: &str, group: &str) -> ResourceName {
    ResourceName { plural: plural.to_owned(), group: group.to_owned() }
}
