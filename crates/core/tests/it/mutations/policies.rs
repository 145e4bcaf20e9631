//! Mutations as policies: supported mutations, and readable output. `tests/cluster/mutations/policies.rs` tests the
//! effect of such a policy on the API server.

use pointsman_core::definition::MutatedKind;
use pointsman_core::laws::Random;
use pointsman_core::registration::{MutationPolicies, mutation_policies};
use serde_json::{Value, json};

use super::{chance, definition};

fn policies(text: &str) -> MutationPolicies {
    mutation_policies(&MutatedKind::load("mutations.yaml", text).unwrap_or_else(|bad| panic!("{bad}\n{text}")))
}

fn with_fact(fact: &str) -> MutationPolicies {
    let text = definition("[{flag: {name: --a}}]", "[{flag: {name: --b}}]");
    policies(&text.replace("{resource: namespaces, name: '{namespace}', label: moved}", fact))
}

/// All expressions of mutations.
fn expressions(policies: &MutationPolicies) -> Vec<&str> {
    let mutations = policies.documents.iter().filter_map(|document| document["spec"]["mutations"].as_array());
    mutations.flatten().map(|one| one["jsonPatch"]["expression"].as_str().unwrap()).collect()
}

#[test]
fn unobservable_fact_needs_a_server() {
    for (fact, why) in [
        (
            "{resource: clusters.example.com, version: v1, kind: Cluster, name: '{namespace}', label: moved}",
            "a policy cannot name clusters.example.com {namespace}, a different object for each written object",
        ),
        (
            "{resource: configmaps, version: v1, kind: ConfigMap, namespace: '{name}', name: facts, label: moved}",
            "a policy cannot name configmaps {name}/facts, a different object for each written object",
        ),
        (
            "{resource: configmaps, namespace: '{namespace}', name: facts, label: moved}",
            "a policy names configmaps by version and kind: add `version` and `kind` to the fact",
        ),
        (
            "{resource: namespaces, name: '{namespace}', field: status.phase, is: Active}",
            "a policy reads only labels and annotations of a namespace: use one of these in the fact",
        ),
    ] {
        let left = with_fact(fact);
        assert_eq!(left.others, [("moved".to_owned(), why.to_owned())], "{fact}");
        assert!(left.documents.is_empty(), "{fact}");
    }
}

#[test]
fn unsupported_operation_needs_a_server() {
    for (operation, why) in [
        (
            "{set: {field: spec.x, value: 9007199254740992}}",
            "`set spec.x to 9007199254740992`: a policy cannot write an integer beyond 9007199254740991",
        ),
        (
            "{item: {list: volumes, value: {name: a, b: [{c: 1e300}]}}}",
            "`item volumes with name \"a\"`: a policy cannot write an integer beyond 9007199254740991",
        ),
        ("{noFlag: '-1'}", "`noFlag -1`: a flag that is a number could be the value of the previous flag"),
        (
            "{unset: \"spec[\\\"\\a\\\"].b\"}",
            "`unset spec[\"\\u{7}\"].b`: a policy cannot name a field with such a character",
        ),
        (
            "{item: {list: spec.a, value: {name: x, b: {\"\\U0001F686\": 1}}}}",
            "`item spec.a with name \"x\"`: a policy cannot name a field with such a character",
        ),
    ] {
        let left = policies(&definition(&format!("[{operation}]"), "[]"));
        assert_eq!(left.others, [("moved".to_owned(), why.to_owned())], "{operation}");
    }
}

/// The API server evaluates a policy with a parameter object, and skips the policy if that object is missing.
#[test]
fn always_entries_need_no_object() {
    let fact =
        "{resource: facts.example.com, version: v1beta1, kind: Fact, namespace: moves, name: mesh, field: spec.on}";
    let MutationPolicies { documents, others } = with_fact(fact);
    assert_eq!(others, []);
    let [before, before_binding, after, binding] = documents.as_slice() else { panic!("{documents:?}") };
    assert!(before["spec"].get("paramKind").is_none() && before_binding["spec"].get("paramRef").is_none());
    assert_eq!(after["spec"]["paramKind"], json!({"apiVersion": "example.com/v1beta1", "kind": "Fact"}));
    let reference = json!({"name": "mesh", "namespace": "moves", "parameterNotFoundAction": "Allow"});
    assert_eq!(binding["spec"]["paramRef"], reference);
    for (policy, binding) in [(before, before_binding), (after, binding)] {
        assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
        let spared = json!([{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]);
        assert_eq!(policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"], spared);
    }
    // The API server applies policies in any order, so a value reverted by `after` might return.
    let against = definition("[{set: {field: spec.replicas, value: 1}}]", "[{unset: spec.replicas}]");
    let text = against.replace("{resource: namespaces, name: '{namespace}', label: moved}", fact);
    let left = policies(&text);
    let why = "always and onceTrue: `set spec.replicas to 1` and `unset spec.replicas` contradict each other, and two \
               policies have no order";
    assert_eq!(left.others, [("moved".to_owned(), why.to_owned())]);
    // With a fact of the namespace, both lists are in one policy, which has a fixed order.
    assert_eq!(policies(&against).others, []);
}

/// The API server applies policies in any order, which may change.
#[test]
fn consecutive_mutations_share_a_server() {
    let left = |first: &str, second: &str| {
        let text = definition(&format!("[{first}]"), "[]");
        let more = "- name: second\n  fact: {resource: namespaces, name: '{namespace}', label: second}\n";
        let MutationPolicies { documents, others } =
            policies(&format!("{text}{more}  always: []\n  onceTrue: [{second}]\n"));
        assert_eq!(documents.len(), if others.is_empty() { 4 } else { 2 });
        others
    };
    for (first, second) in [
        ("{flag: {of: main, name: --a}}", "{flag: {of: main, name: --b}}"),
        ("{flag: {of: main, name: --a}}", "{noFlag: --b}"),
        ("{flagEntries: {of: main, name: --a, entries: [A]}}", "{flagEntries: {of: main, name: --a, entries: [B]}}"),
        ("{item: {list: volumes, value: {name: a}}}", "{item: {list: spec.template.spec.volumes, value: {name: b}}}"),
        ("{item: {list: containers, value: {name: a}}}", "{flag: {name: --a}}"),
    ] {
        let others = left(first, second);
        let [(mutation, why)] = others.as_slice() else { panic!("{first} {second}: {others:?}") };
        assert_eq!(mutation, "second");
        assert!(why.contains(" depends on `") && why.ends_with("and two policies have no order"), "{why}");
    }
    for (first, second) in [
        ("{flag: {of: main, name: --a}}", "{flag: {of: side, name: --b}}"),
        ("{item: {list: volumes, value: {name: a}}}", "{noItem: {list: volumes, value: b}}"),
        ("{set: {field: hostNetwork, value: true}}", "{flag: {name: --a}}"),
    ] {
        assert_eq!(left(first, second), [], "{first} {second}");
    }
}

/// Defaults filled in by the API server would remain.
#[test]
fn reverted_entry_is_not_applied() {
    let holds = "(namespaceObject != null";
    let both = |before: &str, after: &str| policies(&definition(&format!("[{before}]"), &format!("[{after}]")));
    for (before, after) in [
        ("{set: {field: hostNetwork, value: true}}", "{set: {field: spec.template.spec.hostNetwork, value: false}}"),
        ("{set: {field: spec.a.b, value: true}}", "{unset: spec.a.b}"),
        ("{unset: spec.a.b}", "{set: {field: spec.a, value: {}}}"),
        (
            "{item: {list: volumes, value: {name: a, b: {c: 1}}}}",
            "{item: {list: volumes, value: {name: a, b: {c: 2, d: 3}}}}",
        ),
        ("{item: {list: volumes, value: {name: a, b: {c: 1}}}}", "{item: {list: volumes, value: {name: a, b: null}}}"),
    ] {
        let printed = both(before, after);
        assert_eq!(printed.others, [], "{before} {after}");
        let all = expressions(&printed);
        // All expressions are repeated if one of them may make room for another.
        let (once, again) = all.split_at(all.len().min(3));
        assert!(again.is_empty() || again == once, "{all:#?}");
        let [before, instead, after] = once else { panic!("{all:#?}") };
        assert!(before.starts_with(holds) && before.contains(" ? [] : "), "{before}");
        assert!(instead.starts_with(holds) && instead.ends_with(" : []"), "{instead}");
        assert!(after.starts_with(holds), "{after}");
    }
    for (before, after) in [
        ("{unset: spec.strategy}", "{set: {field: spec.strategy.type, value: Recreate}}"),
        ("{set: {field: spec.a, value: {}}}", "{set: {field: spec.a.b, value: 1}}"),
        (
            "{item: {list: volumes, value: {name: a, b: {c: 1}}}}",
            "{item: {list: volumes, value: {name: a, b: {d: 2}}}}",
        ),
    ] {
        let others = both(before, after).others;
        let [(_, why)] = others.as_slice() else { panic!("{before} {after}") };
        assert!(why.ends_with("contradict each other, and the API server fills in defaults in between"), "{why}");
    }
    // Words of a command line get no defaults, and a removed item leaves nothing behind.
    for (before, after) in [
        ("{flag: {name: --a, value: 1}}", "{noFlag: --a}"),
        ("{item: {list: volumes, value: {name: a}}}", "{noItem: {list: volumes, value: a}}"),
    ] {
        assert_eq!(expressions(&both(before, after)).len(), if before.contains("flag") { 4 } else { 2 }, "{before}");
    }
}

#[test]
fn numeric_fact_compares_like_server() {
    let holds = |is: &str| {
        let fact =
            format!("{{resource: facts.example.com, version: v1, kind: Fact, name: mesh, field: spec.on, is: '{is}'}}");
        let printed = with_fact(&fact);
        expressions(&printed).last().unwrap().to_string()
    };
    for number in [0.5, -2.25, 1e-7, 1e21] {
        // The number as the API server formats it.
        let is = json!(number).to_string();
        let wanted = format!("== double && params[\"spec\"][\"on\"] == {number:?})");
        assert!(holds(&is).contains(&wanted), "{is}: {}", holds(&is));
    }
    for is in ["7", "0.50", "1e5", "1.0", "x", "NaN", "inf"] {
        assert!(!holds(is).contains("double"), "{is}");
    }
    // An object of this name that is cluster-scoped, not the object in the namespace of the write.
    assert!(holds("x").contains("!(\"namespace\" in params[\"metadata\"])"));
}

#[test]
fn cluster_object_has_no_namespaced_fact() {
    let scope = |fact: &str| {
        let printed = with_fact(fact);
        let rules = |document: &Value| document["spec"]["matchConstraints"]["resourceRules"][0]["scope"].clone();
        [0, 2].map(|at| rules(&printed.documents[at]))
    };
    let fact = "{resource: configmaps, version: v1, kind: ConfigMap, namespace: NAMESPACE, name: mesh, label: on}";
    assert_eq!(scope(&fact.replace("NAMESPACE", "'{namespace}'")), ["*", "Namespaced"]);
    assert_eq!(scope(&fact.replace("NAMESPACE", "moves")), ["*", "*"]);
}

#[test]
fn unparsable_expression_needs_a_server() {
    let left = policies(&definition(&format!("[{{set: {{field: spec.a, value: {}}}}}]", "x".repeat(60_000)), "[]"));
    assert_eq!(left.others, [("moved".to_owned(), "an expression has more than 100000 characters".to_owned())]);
}

#[test]
fn every_expression_is_one() {
    let mut random = Random::new(1);
    let mut read = 0;
    for _ in 0..200 {
        let [before, after] = [chance::operations(&mut random), chance::operations(&mut random)];
        let text = definition(&before.to_string(), &after.to_string());
        let Ok(mutated) = MutatedKind::load("mutations.yaml", &text) else { continue };
        let printed = mutation_policies(&mutated);
        if let [(_, why)] = printed.others.as_slice() {
            assert!(why.ends_with("the API server fills in defaults in between"), "{why}: {text}");
            continue;
        }
        for expression in expressions(&printed) {
            assert!(cel::Program::compile(expression).is_ok(), "{expression}\n{text}");
            read += 1;
        }
        let sent: Vec<&Value> = printed.documents.iter().map(|document| &document["spec"]["failurePolicy"]).collect();
        assert_eq!(sent, [&json!("Fail"), &Value::Null], "{text}");
    }
    assert!(read > 400, "{read}");
}
