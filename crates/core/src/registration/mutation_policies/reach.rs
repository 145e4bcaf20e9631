//! Access to the fact of a mutation from a policy.

use serde_json::{Value, json};

use super::cel_place::CelPlace;
use crate::apimachinery::ResourceName;
use crate::definition::{FactQuery, FactScope, MutatedKind, MutationFact, NAMESPACE, WatchedFact};
use crate::registration::guards::cel::literal;

/// How a policy reads the fact of its mutation.
pub(super) struct FactInReach {
    /// The expression for whether the fact is true.
    pub(super) holds: String,
    /// The kind and the object of the fact, as `paramKind` and `paramRef`. `None` for a fact of the object's namespace,
    /// which every policy receives.
    pub(super) param: Option<(Value, Value)>,
    /// Whether the object of the fact is in the namespace of the written object. For a cluster-scoped object the fact
    /// is then false, and the API server cannot evaluate it.
    pub(super) is_in_object_namespace: bool,
}

/// How a policy can read a fact.
///
/// # Errors
/// Why it cannot, or which information is missing.
pub(super) fn reach(mutated: &MutatedKind, fact: &MutationFact) -> Result<FactInReach, String> {
    let watched = &fact.watched;
    if is_of_namespace(fact) && mutated.resource() == watched.resource {
        return Err("a policy that handles namespaces cannot read another namespace".to_owned());
    }
    if is_of_namespace(fact) {
        return of_namespace(watched);
    }
    if mutated.resource() == namespaces() && matches!(watched.scope, FactScope::Every) {
        return Err("a policy cannot read the namespace of a namespace creation".to_owned());
    }
    let namespace = match &watched.scope {
        FactScope::Cluster => None,
        FactScope::One(one) => Some(one),
        // The namespace of the written object, unless another one is named.
        FactScope::Every if fact.namespace == NAMESPACE => None,
        FactScope::Every => return Err(unknown_object_error(fact)),
    };
    let Some(name) = &watched.name else { return Err(unknown_object_error(fact)) };
    let (Some(version), Some(kind)) = (&watched.version, &watched.kind) else {
        return Err(format!(
            "a policy names {} by version and kind: add `version` and `kind` to the fact",
            watched.resource
        ));
    };
    let api_version = match watched.resource.group.as_str() {
        "" => version.clone(),
        group => format!("{group}/{version}"),
    };
    // Without the object the fact is false, and no mutation is due.
    let mut reference = json!({"name": name, "parameterNotFoundAction": "Allow"});
    if let (Some(namespace), Some(reference)) = (namespace, reference.as_object_mut()) {
        reference.insert("namespace".to_owned(), json!(namespace));
    }
    Ok(FactInReach {
        holds: holds(watched),
        param: Some((json!({"apiVersion": api_version, "kind": kind}), reference)),
        is_in_object_namespace: matches!(watched.scope, FactScope::Every),
    })
}

fn unknown_object_error(fact: &MutationFact) -> String {
    let of = match fact.namespace.as_str() {
        "" => fact.name.clone(),
        namespace => format!("{namespace}/{}", fact.name),
    };
    format!("a policy cannot name {} {of}, a different object for each written object", fact.watched.resource)
}

/// Returns whether the fact is a property of the object's namespace.
fn is_of_namespace(fact: &MutationFact) -> bool {
    fact.watched.resource == namespaces() && fact.name == NAMESPACE
}

fn namespaces() -> ResourceName {
    ResourceName { plural: "namespaces".to_owned(), group: String::new() }
}

/// The API server provides only the metadata of a namespace to a policy, in a separate form.
fn of_namespace(watched: &WatchedFact) -> Result<FactInReach, String> {
    let (list, key) = match &watched.query {
        FactQuery::Annotation(key) => ("annotations", key),
        FactQuery::Label(key) => ("labels", key),
        FactQuery::Field(_) => {
            return Err(
                "a policy reads only labels and annotations of a namespace: use one of these in the fact".to_owned()
            );
        }
    };
    let all = format!("namespaceObject.metadata.{list}");
    let is = match &watched.is {
        Some(is) => format!("{all}[{}] == {}", literal(key), literal(is)),
        None => "true".to_owned(),
    };
    let holds = format!("namespaceObject != null && has({all}) && {} in {all} && {is}", literal(key));
    Ok(FactInReach { holds: format!("({holds})"), param: None, is_in_object_namespace: false })
}

/// An expression for whether the fact is true for its object.
fn holds(watched: &WatchedFact) -> String {
    let way: Vec<Box<str>> = match &watched.query {
        FactQuery::Annotation(key) => ["metadata", "annotations", key].map(Into::into).to_vec(),
        FactQuery::Label(key) => ["metadata", "labels", key].map(Into::into).to_vec(),
        FactQuery::Field(names) => names.iter().map(|name| name.as_str().into()).collect(),
    };
    let Some((last, names)) = way.split_last() else { return "false".to_owned() };
    let (mut wanted, holder) = CelPlace::params().inside(names);
    let value = holder.member(last).value;
    wanted.insert(0, "params != null".to_owned());
    if watched.scope == FactScope::Cluster {
        // For a namespaced kind, the API server would select the object in the namespace of the written object.
        wanted.insert(1, "!(\"namespace\" in params[\"metadata\"])".to_owned());
    }
    wanted.extend([holder.has(last), format!("{value} != null")]);
    if let Some(is) = &watched.is {
        // A number or a boolean is compared as text.
        let types = ["string", "bool", "int"].map(|one| format!("type({value}) == {one}"));
        let by_text = format!("({}) && string({value}) == {}", types.join(" || "), literal(is));
        wanted.push(match fraction(is) {
            Some(number) => format!("({by_text} || type({value}) == double && {value} == {number})"),
            None => by_text,
        });
    }
    format!("({})", wanted.join(" && "))
}

/// The number with this text on a server, as an expression, if it is no 64-bit integer. Server and API server format
/// such numbers differently (`1e-5` and `0.00001`).
fn fraction(text: &str) -> Option<String> {
    let number: f64 = text.parse().ok()?;
    let sent: Value = serde_json::from_str(&format!("{number}")).ok()?;
    let spelled = sent.to_string();
    (sent.as_i64().is_none() && spelled == text).then(|| format!("{number:?}"))
}
