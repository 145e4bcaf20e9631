//! Stages as policies: which can be, and that what is printed can be read. What such a policy does, the API server says
//! (`tests/cluster/stage_policies.rs`).

use pointsman_core::definition::StagedKind;
use pointsman_core::laws::Random;
use pointsman_core::registration::{StagePolicies, stage_policies};
use serde_json::{Value, json};

use super::{chance, definition};

fn policies(text: &str) -> StagePolicies {
    stage_policies(&StagedKind::load("stages.yaml", text).unwrap_or_else(|bad| panic!("{bad}\n{text}")))
}

fn with_fact(fact: &str) -> StagePolicies {
    let text = definition("[{flag: {name: --a}}]", "[{flag: {name: --b}}]");
    policies(&text.replace("{resource: namespaces, name: '{namespace}', label: moved}", fact))
}

/// All expressions of mutations.
fn expressions(policies: &StagePolicies) -> Vec<&str> {
    let mutations = policies.documents.iter().filter_map(|document| document["spec"]["mutations"].as_array());
    mutations.flatten().map(|one| one["jsonPatch"]["expression"].as_str().unwrap()).collect()
}

#[test]
fn what_a_policy_cannot_see_is_left_to_a_server() {
    for (fact, why) in [
        (
            "{resource: clusters.example.com, version: v1, kind: Cluster, name: '{namespace}', label: moved}",
            "a policy cannot name clusters.example.com {namespace}, another one for each object that is written",
        ),
        (
            "{resource: configmaps, version: v1, kind: ConfigMap, namespace: '{name}', name: facts, label: moved}",
            "a policy cannot name configmaps {name}/facts, another one for each object that is written",
        ),
        (
            "{resource: configmaps, namespace: '{namespace}', name: facts, label: moved}",
            "a policy names configmaps by version and kind: give the fact its `version` and its `kind`",
        ),
        (
            "{resource: namespaces, name: '{namespace}', field: status.phase, is: Active}",
            "of a namespace a policy sees labels and annotations: make the fact one of them",
        ),
    ] {
        let left = with_fact(fact);
        assert_eq!(left.others, [("moved".to_owned(), why.to_owned())], "{fact}");
        assert!(left.documents.is_empty(), "{fact}");
    }
}

#[test]
fn what_a_policy_cannot_do_is_left_to_a_server() {
    for (operation, why) in [
        (
            "{set: {field: spec.x, value: 9007199254740992}}",
            "`set spec.x to 9007199254740992`: a policy cannot write a whole number beyond 9007199254740991",
        ),
        (
            "{item: {list: volumes, value: {name: a, b: [{c: 1e300}]}}}",
            "`item volumes with name \"a\"`: a policy cannot write a whole number beyond 9007199254740991",
        ),
        ("{noFlag: '-1'}", "`noFlag -1`: a flag that looks like a number could be the value of the flag before it"),
    ] {
        let left = policies(&definition(&format!("[{operation}]"), "[]"));
        assert_eq!(left.others, [("moved".to_owned(), why.to_owned())], "{operation}");
    }
}

/// The API server gives a policy an object to look at, and leaves the policy out where that is missing.
#[test]
fn what_holds_before_the_fact_hangs_on_no_object() {
    let fact =
        "{resource: facts.example.com, version: v1beta1, kind: Fact, namespace: moves, name: mesh, field: spec.on}";
    let StagePolicies { documents, others } = with_fact(fact);
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
    // What `after` takes back would come again, or not, as the API server takes one policy first or the other.
    let against = definition("[{set: {field: spec.replicas, value: 1}}]", "[{unset: spec.replicas}]");
    let text = against.replace("{resource: namespaces, name: '{namespace}', label: moved}", fact);
    let left = policies(&text);
    let why = "before and after: `set spec.replicas to 1` and `unset spec.replicas` cannot both be so, and two \
               policies have no order";
    assert_eq!(left.others, [("moved".to_owned(), why.to_owned())]);
    // By the namespace both are of one policy, which has one.
    assert_eq!(policies(&against).others, []);
}

#[test]
fn every_expression_is_one() {
    let mut random = Random::new(1);
    let mut read = 0;
    for _ in 0..200 {
        let [before, after] = [chance::operations(&mut random), chance::operations(&mut random)];
        let text = definition(&before.to_string(), &after.to_string());
        let Ok(staged) = StagedKind::load("stages.yaml", &text) else { continue };
        let printed = stage_policies(&staged);
        assert_eq!(printed.others, [], "{text}");
        for expression in expressions(&printed) {
            assert!(cel::Program::compile(expression).is_ok(), "{expression}\n{text}");
            read += 1;
        }
        let sent: Vec<&Value> = printed.documents.iter().map(|document| &document["spec"]["failurePolicy"]).collect();
        assert_eq!(sent, [&json!("Fail"), &Value::Null], "{text}");
    }
    assert!(read > 400, "{read}");
}
