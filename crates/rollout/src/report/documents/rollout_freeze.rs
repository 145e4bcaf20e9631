//! The policy that freezes resources during a rollout, evaluated by the API server itself, even while no runner runs.
//!
//! Its parameter is the StagedRollout. While the phase shows that objects are in flight, writes are rejected. Without
//! the StagedRollout, all writes are allowed. Unlike the other policies, this one fails open: after the removal of the
//! StagedRollout CRD, a policy that fails closed would reject these writes forever. A missing parameter kind is a
//! configuration error for every matching request (`apiserver
//! pkg/admission/plugin/policy/generic/policy_dispatcher.go`).

use serde_json::{Value, json};

use crate::observe::status::RolloutPhase;
use crate::spec::document::ROLLOUT;
use crate::spec::freeze::Freeze;
use crate::spec::rollout::Rollout;
use crate::spec::versions::OrderedVersion;
use pointsman_core::apimachinery::{Requirement, ResourceName, Wants};
use pointsman_core::definition::API_VERSION;
use pointsman_core::registration::{
    Component, NamespacedName, differences, literal, metadata, not_being_deleted, with_api_defaults,
};

/// A `ValidatingAdmissionPolicy` and its binding.
#[derive(Clone, Debug, PartialEq)]
pub struct FreezeDocuments {
    /// The name of both.
    pub name: String,
    /// The policy.
    pub policy: Value,
    /// The binding.
    pub binding: Value,
}

/// The policy that freezes the resources of a rollout for all users except the runner's service account, if given.
/// `None` if the rollout freezes no resource.
#[must_use]
pub fn freeze(rollout: &Rollout, runner: Option<&NamespacedName>) -> Option<FreezeDocuments> {
    let freezes = rollout.freezes();
    if freezes.is_empty() {
        return None;
    }
    let name = format!("pointsman-freeze.{}", rollout.name());
    let under_way: Vec<String> = freezes.iter().filter(|freeze| !freeze.is_bound()).map(frozen).collect();
    // There may be only version bounds.
    let under_way = if under_way.is_empty() { "false".to_owned() } else { under_way.join(" || ") };
    let validations: Vec<Value> = [validation()].into_iter().chain(freezes.iter().flat_map(bounds)).collect();
    let not_the_runner = runner.map(|runner| {
        let user = literal(&runner.as_service_account());
        json!({"name": RUNNER, "expression": format!("request.userInfo.username != {user}")})
    });
    let conditions: Vec<Value> = [not_being_deleted()].into_iter().chain(not_the_runner).collect();
    let policy = with_api_defaults(json!({
        "apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata(&name, Component::Rollout),
        "spec": {
            "failurePolicy": "Ignore",
            "matchConditions": conditions,
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "resourceRules": freezes.iter().flat_map(rules).collect::<Vec<_>>(),
            },
            "paramKind": {"apiVersion": API_VERSION, "kind": ROLLOUT},
            "variables": [{"name": "frozen", "expression": under_way}],
            "validations": validations,
        },
    }));
    let param = json!({"name": rollout.name(), "parameterNotFoundAction": "Allow"});
    let binding = json!({
        "apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata(&name, Component::Rollout),
        "spec": {"policyName": name, "paramRef": param, "validationActions": ["Deny"]},
    });
    Some(FreezeDocuments { name, policy, binding })
}

impl FreezeDocuments {
    /// Describes why the documents in a cluster do not freeze the same resources. `None` if they do. The service
    /// account is not compared, because the operator chose it.
    #[must_use]
    pub fn unmet(&self, policy: Option<&Value>, binding: Option<&Value>) -> Option<String> {
        let both = [(&self.policy, policy), (&self.binding, binding)];
        both.into_iter().find_map(|(printed, found)| {
            let title = format!("{} {}", printed.get("kind").and_then(Value::as_str).unwrap_or_default(), self.name);
            let Some(found) = found else { return Some(format!("{title} is missing")) };
            let (printed, found) = (comparable(printed), comparable(found));
            let differences = differences("spec", &found, &printed);
            differences.first().map(|difference| format!("{title}: {}", difference.problem()))
        })
    }
}

fn comparable(document: &Value) -> Value {
    let mut spec = document.get("spec").cloned().unwrap_or_else(|| json!({}));
    if let Some(conditions) = spec.get_mut("matchConditions").and_then(Value::as_array_mut) {
        conditions.retain(|condition| condition.get("name").is_none_or(|name| name != RUNNER));
    }
    spec
}

/// The rules of the policy.
fn rules(freeze: &Freeze) -> Vec<Value> {
    let scope = if freeze.namespaces.is_empty() { "*" } else { "Namespaced" };
    let rule = |resource: &ResourceName| {
        json!({
            "apiGroups": [resource.group], "apiVersions": ["*"], "operations": freeze.operations,
            "resources": [resource.plural], "scope": scope,
        })
    };
    freeze.resources.iter().map(rule).collect()
}

/// An expression for whether a request concerns a frozen resource. A policy has only one namespace selector and one
/// label selector for all its resources.
fn frozen(freeze: &Freeze) -> String {
    let list =
        |texts: &mut dyn Iterator<Item = String>| texts.map(|text| literal(&text)).collect::<Vec<_>>().join(", ");
    let resources = list(&mut freeze.resources.iter().map(|one| format!("{}.{}", one.plural, one.group)));
    let operations = list(&mut freeze.operations.iter().map(|one| (*one).to_owned()));
    let mut all = vec![
        format!("(request.resource.resource + \".\" + request.resource.group) in [{resources}]"),
        format!("request.operation in [{operations}]"),
    ];
    if !freeze.namespaces.is_empty() {
        let namespaces = list(&mut freeze.namespaces.iter().cloned());
        all.push(format!("has(request.namespace) && request.namespace in [{namespaces}]"));
    }
    if !freeze.labels().is_empty() {
        // Matches like an objectSelector: the new or the old object.
        let matches = |object: &str| {
            let labels: Vec<String> = freeze.labels().iter().map(|one| labelled(object, one)).collect();
            format!("{object} != null && {}", labels.join(" && "))
        };
        all.push(format!("(({}) || ({}))", matches("object"), matches("oldObject")));
    }
    format!("({})", all.join(" && "))
}

fn labelled(object: &str, Requirement { key, wants }: &Requirement) -> String {
    let (labels, key) = (format!("{object}.metadata.labels"), literal(key));
    let there = format!("has({labels}) && {key} in {labels}");
    let one_of = |values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| literal(value)).collect();
        format!("{there} && {labels}[{key}] in [{}]", values.join(", "))
    };
    match wants {
        Wants::There => format!("({there})"),
        Wants::NotThere => format!("!({there})"),
        Wants::In(values) => format!("({})", one_of(values)),
        Wants::NotIn(values) => format!("!({})", one_of(values)),
    }
}

/// Rejects frozen writes while the StagedRollout is unsettled.
fn validation() -> Value {
    let phases: Vec<String> = RolloutPhase::UNSETTLED.iter().map(|phase| literal(&format!("{phase:?}"))).collect();
    let phases = phases.join(", ");
    let message = [
        literal("rollout "),
        "params.metadata.name".to_owned(),
        literal(" is "),
        "params.status.phase".to_owned(),
        literal(": "),
        "request.resource.resource".to_owned(),
        literal(" are frozen meanwhile; see pointsman rollout status "),
        "params.metadata.name".to_owned(),
    ];
    json!({
        "expression": format!(
            "!variables.frozen || !has(params.status) || !has(params.status.phase) || !(params.status.phase in [{phases}])"
        ),
        "messageExpression": message.join(" + "),
        "message": "this resource is frozen by an active rollout: see pointsman rollout list",
        "reason": "Forbidden",
    })
}

/// Rejects writes that need other running versions, or if the running versions are unknown.
fn bounds(freeze: &Freeze) -> Vec<Value> {
    let bounds = [("lowest", ">=", "at least", &freeze.at_least), ("highest", "<=", "at most", &freeze.at_most)];
    let one = |(what, sign, words, bound): (&str, &str, &str, &Option<OrderedVersion>)| {
        let (bound, SeenVersion { field, known }) = (bound.as_ref()?, SeenVersion::of(freeze.part.as_deref(), what));
        let (part, every) = (freeze.part.as_deref(), freeze.part.as_deref().unwrap_or("object"));
        let of_part = part.map_or_else(String::new, |part| format!(" of {part}"));
        let message = [
            literal("rollout "),
            "params.metadata.name".to_owned(),
            literal(": "),
            "request.resource.resource".to_owned(),
            literal(&format!(
                " wait until every {every} is {words} {}; the {what} running version{of_part} is ",
                bound.version
            )),
            format!("({known} ? {field}.version : \"unknown\")"),
        ];
        Some(json!({
            "expression": format!("!{} || {known} && {field}.order {sign} {}", frozen(freeze), literal(&bound.order)),
            "messageExpression": message.join(" + "),
            "message": format!("this waits until every {every} of a rollout is {words} {}: see pointsman rollout list", bound.version),
            "reason": "Forbidden",
        }))
    };
    bounds.into_iter().filter_map(one).collect()
}

/// Expressions for the lowest or highest running version in the status.
struct SeenVersion {
    /// The field.
    field: String,
    /// Whether the field is present.
    known: String,
}

impl SeenVersion {
    /// The fields for a part of the objects, or for the whole objects.
    fn of(part: Option<&str>, what: &str) -> Self {
        let (field, within) = match part.map(literal) {
            None => (format!("params.status.{what}"), String::new()),
            Some(part) => {
                let parts = "params.status.parts";
                (format!("{parts}[{part}].{what}"), format!(" && has({parts}) && {part} in {parts}"))
            }
        };
        let known = format!("has(params.status){within} && has({field}) && has({field}.order) && has({field}.version)");
        Self { field, known }
    }
}

const API: &str = "admissionregistration.k8s.io/v1";

/// The name of the condition that exempts the runner.
const RUNNER: &str = "not-the-rollout-itself";
