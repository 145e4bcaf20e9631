//! The printed policy for the resources that a rollout freezes. tests/cluster/rollouts/freezes.rs checks that the API
//! server accepts the policy, and its decisions.

use pointsman_core::registration::NamespacedName;
use pointsman_rollout::documents::{FreezeDocuments, freeze};
use pointsman_rollout::{FleetObject, PlanInput, ROLLOUT_CRD, RolloutPhase, RolloutStatus, plan, read_rollout};
use serde_json::{Value, json};

use crate::kinds::{KINDS, rollout_of};
use crate::patches::{NOW, database};

fn members() -> Value {
    json!({"waves": [{"name": "all"}], "freeze": [
        {"resources": ["deployments.apps", "services"], "operations": ["DELETE", "CREATE"]},
        {"resources": ["configmaps"], "namespaces": ["lake"], "labels": "app=b"},
    ]})
}

fn printed() -> FreezeDocuments {
    freeze(&rollout_of(&members()), Some(&"ships/crew".parse().unwrap())).unwrap()
}

#[test]
fn only_frozen_resources_are_queried() {
    let FreezeDocuments { name, policy, binding } = printed();
    assert_eq!(name, "pointsman-freeze.r");
    let rule = |group: &str, resource: &str, operations: &[&str], scope: &str| {
        json!({
            "apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": [resource], "scope": scope,
        })
    };
    let rules = [
        rule("apps", "deployments", &["CREATE", "DELETE"], "*"),
        rule("", "services", &["CREATE", "DELETE"], "*"),
        // Cluster-scoped objects are in none of these namespaces.
        rule("", "configmaps", &["CREATE", "UPDATE", "DELETE"], "Namespaced"),
    ];
    assert_eq!(policy["spec"]["matchConstraints"]["resourceRules"], json!(rules));
    assert_eq!(policy["spec"]["paramKind"], json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout"}));
    // If the StagedRollouts disappear, nothing stays frozen.
    assert_eq!(policy["spec"]["failurePolicy"], "Ignore");
    assert_eq!(binding["spec"]["paramRef"], json!({"name": "r", "parameterNotFoundAction": "Allow"}));
    assert_eq!(
        (&binding["spec"]["policyName"], &binding["spec"]["validationActions"]),
        (&json!(name), &json!(["Deny"]))
    );
    let text = policy.to_string();
    assert!(text.contains("request.userInfo.username != \\\"system:serviceaccount:ships:crew\\\""), "{text}");
    let others = freeze(&rollout_of(&members()), None).unwrap();
    assert!(!others.policy.to_string().contains("userInfo"), "nobody runs it, and nobody passes");
    assert_eq!(freeze(&rollout_of(&json!({"waves": [{"name": "all"}]})), None), None);
}

/// The policy that protects a StagedRollout and its freeze policy use the same phases.
#[test]
fn freezing_phases_are_kept() {
    let phases = |text: &str| {
        let list =
            text.split(" in [").find_map(|part| part.split_once(']').filter(|(list, _)| list.contains("Rolling")));
        let (list, _) = list.unwrap();
        list.split(", ").map(|name| name.trim_matches(['\'', '"']).to_owned()).collect::<Vec<_>>()
    };
    let expression = printed().policy["spec"]["validations"][0]["expression"].as_str().unwrap().to_owned();
    let known: Vec<String> = RolloutPhase::UNSETTLED.iter().map(|phase| format!("{phase:?}")).collect();
    assert_eq!(phases(&expression), known);
    assert_eq!(phases(ROLLOUT_CRD), known);
}

#[test]
fn different_freeze_policy_is_found() {
    let printed = printed();
    let unmet = |change: &dyn Fn(&mut Value, &mut Value)| {
        let (mut policy, mut binding) = (printed.policy.clone(), printed.binding.clone());
        change(&mut policy, &mut binding);
        printed.unmet(Some(&policy), Some(&binding))
    };
    // The policy as the API server returns it, and a policy that was applied for another rollout.
    assert_eq!(unmet(&|_, _| ()), None);
    let answered = |policy: &mut Value, _: &mut Value| {
        policy["metadata"]["generation"] = json!(1);
        policy["spec"]["matchConstraints"]["namespaceSelector"] = json!({});
        policy["spec"]["matchConstraints"]["objectSelector"] = json!({});
        policy["status"] = json!({"observedGeneration": 1});
    };
    assert_eq!(unmet(&answered), None);
    let other: NamespacedName = "other/runner".parse().unwrap();
    let theirs = freeze(&rollout_of(&members()), Some(&other)).unwrap();
    assert_eq!(printed.unmet(Some(&theirs.policy), Some(&theirs.binding)), None);
    for (said, change) in [
        (
            "operations",
            (|policy, _| {
                policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!(["CREATE"]);
            }) as fn(&mut Value, &mut Value),
        ),
        ("resourceRules", |policy, _| {
            drop(policy["spec"]["matchConstraints"]["resourceRules"].as_array_mut().unwrap().pop());
        }),
        ("namespaceSelector", |policy, _| {
            policy["spec"]["matchConstraints"]["namespaceSelector"] = json!({"matchLabels": {"a": "b"}});
        }),
        ("validations", |policy, _| policy["spec"]["validations"][0]["expression"] = json!("true")),
        ("variables", |policy, _| policy["spec"]["variables"][0]["expression"] = json!("false")),
        ("matchConditions", |policy, _| {
            let conditions = policy["spec"]["matchConditions"].as_array_mut().unwrap();
            conditions.push(json!({"name": "never", "expression": "false"}));
        }),
        ("validationActions", |_, binding| binding["spec"]["validationActions"] = json!(["Audit"])),
        ("paramRef", |_, binding| binding["spec"]["paramRef"]["name"] = json!("other")),
        ("matchResources", |_, binding| binding["spec"]["matchResources"] = json!({"matchPolicy": "Exact"})),
    ] {
        let told = unmet(&change).unwrap();
        assert!(told.contains(said), "{said}: {told}");
    }
    let told = [printed.unmet(None, Some(&printed.binding)), printed.unmet(Some(&printed.policy), None)];
    let told = told.map(Option::unwrap);
    assert_eq!(told[0], "ValidatingAdmissionPolicy pointsman-freeze.r is missing");
    assert_eq!(told[1], "ValidatingAdmissionPolicyBinding pointsman-freeze.r is missing");
}

/// In-flight objects continue: an operator may have had to remove the freeze.
#[test]
fn freeze_precedes_first_move() {
    let rollout = rollout_of(&json!({"waves": [{"name": "all"}]}));
    let fleet =
        [FleetObject::of(&database(json!({"labels": {"example.com/controller-version": "2.16.0"}})), &rollout)
            .unwrap()];
    let planned = |status: &RolloutStatus, unfrozen: Option<&str>| {
        let facts = PlanInput { consistent: true, unfrozen: unfrozen.map(str::to_owned), ..PlanInput::default() };
        plan(&rollout, status, &fleet, facts, NOW)
    };
    let refused = planned(&RolloutStatus::default(), Some("a policy is not there"));
    assert_eq!((refused.status.phase, refused.status.in_flight.len()), (RolloutPhase::Refused, 0));
    assert_eq!(
        refused.status.message,
        "the freeze would have no effect: a policy is not there: run pointsman rollout policies r | kubectl apply -f -"
    );
    let begun = planned(&refused.status, None);
    assert_eq!((begun.status.phase, begun.status.in_flight.len()), (RolloutPhase::Rolling, 1));
    let on = planned(&begun.status, Some("a policy is not there"));
    assert_eq!((on.status.phase, on.status.in_flight.len()), (RolloutPhase::Rolling, 1));
}

/// The version order is encoded in strings, because every API server compares strings alike.
#[test]
fn freeze_waits_for_running_versions() {
    let members = json!({"waves": [{"name": "all"}], "freeze": [
        {"resources": ["services"], "operations": ["CREATE"], "atLeast": "2.17.0"},
        {"resources": ["services"], "operations": ["DELETE"], "atMost": "v2.16"},
    ]});
    let policy = freeze(&rollout_of(&members), None).unwrap().policy;
    assert_eq!(policy["spec"]["variables"][0]["expression"], "false", "the phase makes no difference");
    let validations = policy["spec"]["validations"].as_array().unwrap();
    assert_eq!(validations.len(), 3);
    let zeros = "0".repeat(18);
    for (validation, field, compared, operation) in [
        (&validations[1], "lowest", format!("order >= \"{zeros}02.{zeros}17.{zeros}00~\""), "\"CREATE\""),
        (&validations[2], "highest", format!("order <= \"{zeros}02.{zeros}16.{zeros}00~\""), "\"DELETE\""),
    ] {
        let expression = validation["expression"].as_str().unwrap();
        for part in [&format!("params.status.{field}.{compared}"), &format!("request.operation in [{operation}]")] {
            assert!(expression.contains(part), "{part}: {expression}");
        }
        let known = format!("has(params.status) && has(params.status.{field})");
        assert!(expression.contains(&known), "where nobody knows it is refused: {expression}");
        assert!(validation["messageExpression"].as_str().unwrap().contains(&format!("params.status.{field}.version")));
    }
}

#[test]
fn running_range_is_reported_conservatively() {
    let waves = json!([{"name": "all", "maxInFlight": 2}]);
    let rollout = rollout_of(&json!({"waves": waves}));
    let one = |name: &str, version: Option<&str>, mark: Option<&str>| {
        let mut metadata = json!({"name": name, "uid": format!("u-{name}"), "labels": {"a": "b"}});
        if let Some(version) = version {
            metadata["labels"] = json!({"example.com/controller-version": version});
        }
        if let Some(was) = mark {
            let mark = json!({"rollout": "rollout-1", "was": was, "to": "2.17.0", "at": "2026-11-18T11:06:40Z"});
            metadata["annotations"] = json!({"pointsman.dev/rollout": mark.to_string()});
        }
        FleetObject::of(&database(metadata), &rollout).unwrap()
    };
    let said = |fleet: &[FleetObject], status: &RolloutStatus, consistent: bool| {
        let facts = PlanInput { consistent, ..PlanInput::default() };
        let status = plan(&rollout, status, fleet, facts, NOW).status;
        status.lowest.zip(status.highest).map(|(lowest, highest)| format!("{}..{}", lowest.version, highest.version))
    };
    let fresh = RolloutStatus::default();
    let (old, new) = (one("a", Some("2.16.0"), None), one("b", Some("2.17.0"), None));
    assert_eq!(said(&[], &fresh, true), None);
    assert_eq!(said(&[old.clone(), new.clone()], &fresh, true).as_deref(), Some("2.16.0..2.17.0"));
    assert_eq!(said(std::slice::from_ref(&new), &fresh, true).as_deref(), Some("2.17.0..2.17.0"));
    assert_eq!(said(&[old.clone(), one("c", None, None)], &fresh, true), None, "one object has no owner");
    assert_eq!(said(&[old, one("c", Some("latest"), None)], &fresh, true), None);
    // In flight: the old controller may still own the object.
    let moved = one("d", Some("2.17.0"), Some("2.15.0"));
    let reserved = json!([{"object": "n/d", "uid": "u-d", "since": "2026-11-18T11:06:40Z"}]);
    let begun = json!({"phase": "Rolling", "started": "2026-11-18T11:06:40Z", "inFlight": reserved});
    let begun = RolloutStatus::of(&json!({"status": begun}));
    assert_eq!(said(&[moved, new.clone()], &begun, true).as_deref(), Some("2.15.0..2.17.0"));
    // A cache may miss a new object.
    assert_eq!(said(std::slice::from_ref(&new), &begun, false), None);
    let order = |minor: u64| format!("{:020}.{minor:020}.{:020}~", 2, 0);
    let known = |version: &str, minor| json!({"version": version, "order": order(minor)});
    let before = json!({
        "phase": "Rolling", "started": "2026-11-18T11:06:40Z",
        "lowest": known("2.15.0", 15), "highest": known("2.15.0", 15),
    });
    let before = RolloutStatus::of(&json!({"status": before}));
    let seen = [one("a", Some("2.16.0"), None), new];
    assert_eq!(said(&seen, &before, false).as_deref(), Some("2.15.0..2.17.0"));
    assert_eq!(said(&seen, &before, true).as_deref(), Some("2.16.0..2.17.0"));
}

#[test]
fn names_of_policies_are_names() {
    let name = "a".repeat(200);
    let text = format!(
        "{{apiVersion: pointsman.dev/v1, kind: StagedRollout, metadata: {{name: {name}}}, \
         spec: {{kind: database, to: 2.17.0, waves: [{{name: a}}], freeze: [{{resources: [services]}}]}}}}"
    );
    let documents = freeze(&read_rollout("rollout.yaml", &text, &KINDS[0]).unwrap(), None).unwrap();
    assert!(documents.name.len() <= 253, "{}", documents.name);
}
