//! Mutations as policies that the API server evaluates itself.

use serde_json::{Value, json};

use super::cel_place::{at_root, json_value};
use super::override_policy::{OnceTrue, once_true};
use super::policy_limits::unsayable;
use super::reach::{FactInReach, reach};
use super::{cel_fields, cel_words};
use crate::apimachinery::Wants;
use crate::definition::{
    FieldRoot, MutatedKind, Mutation, MutationOperation, MutationSelection, Path, SYSTEM_NAMESPACE, are_against,
    hang_on_order, may_make_room,
};
use crate::registration::document::{Component, metadata, set, with_api_defaults};
use crate::registration::guards::cel::literal;
use crate::registration::mutation_webhooks::{conditions, rule, selectors};

/// The mutations of a kind as policies, or the reasons why they cannot be policies.
#[derive(Clone, Debug)]
pub struct MutationPolicies {
    /// Policies and bindings of the supported mutations.
    pub documents: Vec<Value>,
    /// The other mutations in order, with reasons. They need a server.
    pub others: Vec<(String, String)>,
}

/// Mutations as `MutatingAdmissionPolicy` and binding (`admissionregistration.k8s.io/v1`, Kubernetes 1.36): the API
/// server itself applies the changes of `/mutate`, for facts that it can read.
///
/// It can read the namespace of an object, and an object with a fixed name. Mutations with other facts, or with
/// operations that CEL cannot express, need a server.
#[must_use]
pub fn mutation_policies(mutated: &MutatedKind) -> MutationPolicies {
    let mut policies = MutationPolicies { documents: Vec::new(), others: Vec::new() };
    for (at, mutation) in mutated.mutations.iter().enumerate() {
        let earlier = mutated.mutations.iter().take(at);
        let why = earlier.into_iter().find_map(|other| in_order(other, mutation, &mutated.pod));
        match why.map_or_else(|| of_mutation(mutated, mutation), Err) {
            Ok(documents) => policies.documents.extend(documents),
            Err(why) => policies.others.push((mutation.name.clone(), why)),
        }
    }
    policies
}

/// Returns why a mutation must be applied after an earlier one. Policies have no order, and precede webhooks.
fn in_order(earlier: &Mutation, mutation: &Mutation, pod: &Path) -> Option<String> {
    if !earlier.selection.meets(&mutation.selection) {
        return None;
    }
    let mut both = earlier.operations().flat_map(|one| mutation.operations().map(move |two| (one, two)));
    let (one, two) = both.find(|(one, two)| hang_on_order(one, two, pod) || hang_on_order(two, one, pod))?;
    Some(format!(
        "`{}` depends on `{}` of mutation {}, and two policies have no order",
        two.describe(),
        one.describe(),
        earlier.name
    ))
}

fn of_mutation(mutated: &MutatedKind, mutation: &Mutation) -> Result<Vec<Value>, String> {
    let documents = documents_of(mutated, mutation)?;
    let mutations = documents.iter().filter_map(|document| document.pointer("/spec/mutations")?.as_array()).flatten();
    let mut expressions = mutations.filter_map(|one| one.pointer("/jsonPatch/expression")?.as_str());
    match expressions.find(|expression| expression.chars().count() > LONGEST_EXPRESSION) {
        Some(_) => Err(format!("an expression has more than {LONGEST_EXPRESSION} characters")),
        None => Ok(documents),
    }
}

/// The maximum number of characters in an expression (`cel-go parser/parser.go`).
const LONGEST_EXPRESSION: usize = 100_000;

fn documents_of(mutated: &MutatedKind, mutation: &Mutation) -> Result<Vec<Value>, String> {
    if let Some(why) = mutation.always.iter().chain(&mutation.once_true).find_map(unsayable) {
        return Err(why);
    }
    let FactInReach { holds, param, is_in_object_namespace } = reach(mutated, &mutation.fact)?;
    let name = format!("pointsman-mutation.{}.{}", mutation.name, mutated.resource());
    let Some((kind, reference)) = param else {
        let all = mutations(mutation, &mutated.pod, Some(&holds))?;
        return Ok(policy(mutated, mutation, &name, (all, None)).into());
    };
    // If the object of the fact is absent, its policy has no effect. So `always` has its own policy. The API server
    // runs both in any order.
    let mut both = mutation.always.iter().flat_map(|one| mutation.once_true.iter().map(move |two| (one, two)));
    if let Some(why) = both.find_map(|(one, two)| are_against(one, two, &mutated.pod)) {
        return Err(format!("always and onceTrue: {why}, and two policies have no order"));
    }
    let mut documents = Vec::new();
    if !mutation.always.is_empty() {
        let always = Mutation { once_true: Vec::new(), ..mutation.clone() };
        documents.extend(policy(mutated, mutation, &name, (mutations(&always, &mutated.pod, None)?, None)));
    }
    if !mutation.once_true.is_empty() {
        let all = mutations(mutation, &mutated.pod, Some(&holds))?;
        let name = format!("pointsman-mutation-after.{}.{}", mutation.name, mutated.resource());
        let mut after = policy(mutated, mutation, &name, (all, Some((kind, reference))));
        if let [policy, _] = &mut after
            && let Some(rule) =
                policy.pointer_mut("/spec/matchConstraints/resourceRules/0").filter(|_| is_in_object_namespace)
        {
            set(rule, "scope", json!("Namespaced"));
        }
        documents.extend(after);
    }
    Ok(documents)
}

/// A policy and its binding.
fn policy(
    mutated: &MutatedKind,
    mutation: &Mutation,
    name: &str,
    (mutations, param): (Vec<String>, Option<(Value, Value)>),
) -> [Value; 2] {
    let patch = |expression: String| json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}});
    let mut constraints = json!({"matchPolicy": "Equivalent", "resourceRules": [rule(mutated)]});
    for (name, selector) in selectors(&mutation.selection, &[SYSTEM_NAMESPACE]) {
        set(&mut constraints, name, selector);
    }
    let matches = [conditions(&mutation.selection), of_selection(&mutation.selection)].concat();
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": metadata(name, Component::Admission),
        "spec": {
            "failurePolicy": mutation.failure_policy.name(),
            "matchConditions": matches,
            "matchConstraints": constraints,
            "mutations": mutations.into_iter().map(patch).collect::<Vec<_>>(),
            "reinvocationPolicy": "IfNeeded",
        },
    });
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": metadata(name, Component::Admission),
        "spec": {"policyName": name},
    });
    if let Some((kind, reference)) = param {
        if let Some(spec) = policy.get_mut("spec") {
            set(spec, "paramKind", kind);
        }
        if let Some(spec) = binding.get_mut("spec") {
            set(spec, "paramRef", reference);
        }
    }
    [with_api_defaults(policy), binding]
}

/// Conditions that selectors cannot express: a selector also matches the old object, and a cluster-scoped object
/// matches any namespace.
fn of_selection(selection: &MutationSelection) -> Vec<Value> {
    let list = |all: &[String]| format!("[{}]", all.iter().map(|one| literal(one)).collect::<Vec<_>>().join(", "));
    let mut conditions = Vec::new();
    if !selection.namespaces.is_empty() {
        let expression = format!("request.namespace in {}", list(&selection.namespaces));
        conditions.push(json!({"name": "in-these-namespaces", "expression": expression}));
    }
    let labels = selection.labels.requirements.iter().map(|requirement| {
        let key = literal(&requirement.key);
        let there = format!("has(object.metadata.labels) && {key} in object.metadata.labels");
        let is_one = |values: &[String]| format!("{there} && object.metadata.labels[{key}] in {}", list(values));
        match &requirement.wants {
            Wants::There => there,
            Wants::NotThere => format!("!({there})"),
            Wants::In(values) => is_one(values),
            Wants::NotIn(values) => format!("!({})", is_one(values)),
        }
    });
    let labels: Vec<String> = labels.map(|one| format!("({one})")).collect();
    if !labels.is_empty() {
        conditions.push(json!({"name": "with-these-labels", "expression": labels.join(" && ")}));
    }
    conditions
}

/// The operations of a mutation in sequence. Those after the fact apply only if `holds`. The sequence is repeated if
/// one operation may enable an earlier one. The API server repeats policies once by itself.
///
/// # Errors
/// An operation that a policy cannot express.
fn mutations(mutation: &Mutation, pod: &Path, holds: Option<&str>) -> Result<Vec<String>, String> {
    let all: Vec<&MutationOperation> = mutation.always.iter().chain(&mutation.once_true).collect();
    let makes_room = |(at, earlier): (usize, &&MutationOperation)| {
        all.iter().skip(at + 1).any(|later| may_make_room(later, earlier, pod))
    };
    let rounds = if all.iter().enumerate().any(makes_room) { 2 } else { 1 };
    let mut expressions = Vec::new();
    for operation in &mutation.always {
        let done = patches(operation, pod);
        let instead = match once_true(operation, &mutation.once_true, pod)? {
            OnceTrue::AsBefore => None,
            OnceTrue::Replaced(other) => Some(patches(other, pod)),
            OnceTrue::Emptied(other) => Some(holders(other, pod)),
        };
        match (instead, holds) {
            (Some(instead), Some(holds)) => {
                expressions.extend(done.iter().map(|patch| format!("{holds} ? [] : {patch}")));
                expressions.extend(instead.iter().map(|patch| format!("{holds} ? {patch} : []")));
            }
            _ => expressions.extend(done),
        }
    }
    let after = mutation.once_true.iter().flat_map(|operation| patches(operation, pod));
    expressions.extend(after.map(|patch| match holds {
        Some(holds) => format!("{holds} ? {patch} : []"),
        None => patch,
    }));
    Ok(expressions.iter().cycle().take(expressions.len() * rounds).cloned().collect())
}

/// Patches that create the parents of an operation's field.
fn holders(operation: &MutationOperation, pod: &Path) -> Vec<String> {
    let (MutationOperation::Set { place, .. } | MutationOperation::Unset { place }) = operation else {
        return Vec::new();
    };
    match place.path.parent() {
        Some(holder) if !holder.is_empty() => {
            vec![at_root(&place.root, pod, |root| cel_fields::make(root, &holder))]
        }
        _ => Vec::new(),
    }
}

/// The patches of an operation, in sequence.
fn patches(operation: &MutationOperation, pod: &Path) -> Vec<String> {
    use MutationOperation as Is;
    let of_container =
        |of: &_, patch: &dyn Fn(&_) -> String| at_root(&FieldRoot::Container(Clone::clone(of)), pod, patch);
    match operation {
        Is::Set { place, value: is } => {
            vec![at_root(&place.root, pod, |root| cel_fields::set(root, &place.path, &json_value(is)))]
        }
        Is::Unset { place } => vec![at_root(&place.root, pod, |root| cel_fields::unset(root, &place.path))],
        Is::Item { list, key, item } => {
            vec![at_root(&list.root, pod, |root| cel_fields::set_item(root, &list.path, key, &json_value(item)))]
        }
        Is::NoItem { list, key, value: is } => {
            vec![at_root(&list.root, pod, |root| cel_fields::unset_item(root, &list.path, key, &json_value(is)))]
        }
        Is::Flag { of, name, value } => vec![of_container(of, &|at| cel_words::set(at, name, value.as_deref()))],
        Is::NoFlag { of, name, form } => vec![of_container(of, &|at| cel_words::unset(at, name, *form))],
        Is::FlagEntries { of, name, entries } => {
            let each =
                entries.iter().map(|entry| of_container(of, &|at| cel_words::set_entry(at, name, entry, entries)));
            each.collect()
        }
        Is::NoFlagEntries { of, name, keys } => {
            vec![of_container(of, &|at| cel_words::unset_entries(at, name, keys))]
        }
    }
}
