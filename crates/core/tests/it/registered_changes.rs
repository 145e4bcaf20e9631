//! Manual changes of registered configurations: every difference from the printed documents is found, except allowed
//! choices.

use pointsman_core::definition::Kind;
use pointsman_core::pointer_token;
use pointsman_core::registration::{
    Address, ClientConfig, Finding, GuardMode, Selection, Service, Trust, guard, incomplete, inspect, unserved,
    webhooks,
};
use pointsman_core::webhook::{Enforcement, Settings};
use serde_json::{Value, json};

use super::admission::{elasticsearch, embedded, load, version};

fn client(service: &str) -> ClientConfig {
    let address = Address::Service(Service::per_version(service).unwrap());
    ClientConfig { address, trust: Trust::CertManager("pointsman/serving".parse().unwrap()) }
}

/// Two versions at the same time, the older one the default, and a third in shadow mode; with all printed documents.
fn printed(kind: &Kind) -> Vec<Value> {
    let [a, b, c] = ["2.16.0", "2.17.0", "2.18.0-rc.1"].map(version);
    let client = client("pointsman/pointsman-{version}");
    let mut documents = webhooks(kind, &a, Selection::Labelled, &client);
    documents.extend(webhooks(kind, &a, Selection::Unlabelled, &client));
    documents.extend(webhooks(kind, &b, Selection::Labelled, &client));
    documents.extend(webhooks(kind, &c, Selection::Shadowed(&b), &client));
    documents.extend(guard(kind, &[a.clone(), b.clone()], GuardMode::Deny));
    documents.extend(unserved(kind, &[a, b]));
    documents.extend(incomplete(kind, kind.storage()));
    documents
}

fn kinds() -> [Kind; 4] {
    [embedded("materialize"), elasticsearch(), load("gadgets.yaml"), load("engines.yaml")]
}

const NONE: [Finding; 0] = [];

/// Every location of a value, as a JSON pointer.
fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| places(value, format!("{at}/{}", pointer_token(name)), all));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| places(value, format!("{at}/{index}"), all));
        }
        _ => {}
    }
    if !at.is_empty() {
        all.push(at);
    }
}

fn remove(document: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        other => panic!("{other}"),
    }
}

/// Locations that users may choose, or that the API server restores.
fn is_free(document: &Value, pointer: &str, is_removed: bool) -> bool {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    let last = *parts.last().unwrap();
    let is_webhook = document["kind"].as_str().unwrap().ends_with("WebhookConfiguration");
    let name = document["metadata"]["name"].as_str().unwrap();
    let looks = name.contains("-shadows-") || parts.get(1) == Some(&"1");
    match parts.as_slice() {
        // Documents of other tools or of unknown kinds are ignored.
        ["apiVersion" | "kind"] | ["metadata"] | ["metadata", "name"] => true,
        ["metadata", "labels", label] if label.ends_with("managed-by") => true,
        ["metadata", "annotations", ..] => !is_removed,
        // The webhook is then identified by the name of the document.
        ["webhooks", _, "name"] if is_webhook => true,
        ["webhooks", _, "clientConfig", "service", "namespace" | "port"]
        | ["webhooks", _, "matchConditions", _, "name"] => true,
        // The printed value is the default.
        ["webhooks", _, "matchPolicy"] | ["webhooks", _, "rules", _, "scope"] if is_removed => true,
        ["spec", "matchConstraints", "namespaceSelector" | "objectSelector"] if is_removed => {
            document.pointer(pointer) == Some(&json!({}))
        }
        ["spec", "matchConstraints", "resourceRules", _, "scope"] if is_removed => true,
        ["webhooks", _, "failurePolicy"] if is_removed => !looks,
        ["webhooks", _, "timeoutSeconds"] => !looks,
        // A shadow configuration may select fewer objects and may call any server.
        ["webhooks", _, "matchConditions", ..] => looks,
        ["webhooks", _, "clientConfig", "service", "name"] => name.contains("-shadows-"),
        _ if is_removed => matches!(last, "matchPolicy") || parts == ["spec", "failurePolicy"],
        _ => false,
    }
}

#[test]
fn any_changed_field_is_found() {
    let mut tried = 0;
    for kind in kinds() {
        let good = printed(&kind);
        assert_eq!(inspect(&kind, &good, None), NONE);
        for at in 0..good.len() {
            let mut all = Vec::new();
            places(&good[at], String::new(), &mut all);
            for pointer in all {
                for is_removed in [false, true] {
                    if is_free(&good[at], &pointer, is_removed) {
                        continue;
                    }
                    let mut documents = good.clone();
                    if is_removed {
                        remove(&mut documents[at], &pointer);
                    } else {
                        let place = documents[at].pointer_mut(&pointer).unwrap();
                        *place = match place {
                            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
                            Value::String(text) => json!(format!("{text}x")),
                            Value::Array(_) => json!([]),
                            Value::Object(members) if members.is_empty() => json!({"matchLabels": {"a": "b"}}),
                            Value::Object(_) => json!({}),
                            other => panic!("{other}"),
                        };
                    }
                    let found = inspect(&kind, &documents, None);
                    let what = if is_removed { "without" } else { "with another" };
                    assert!(!found.is_empty(), "{} {what} {pointer}", good[at]["metadata"]["name"]);
                    assert!(found.iter().all(|one| !one.problem.is_empty() && !one.change.is_empty()), "{found:#?}");
                    tried += 1;
                }
            }
        }
        // One document is missing. Shadow configurations and the webhook that keeps objects complete are optional.
        for at in (0..6).chain(7..11) {
            let mut documents = good.clone();
            documents.remove(at);
            assert_ne!(inspect(&kind, &documents, None), NONE, "without {}", good[at]["metadata"]["name"]);
        }
    }
    println!("{tried} changes found");
    assert!(tried > 1000, "{tried}");
}

/// A change and its only finding: the document, the problem, the line.
type Single = (fn(&mut Vec<Value>), &'static str, &'static str, &'static str);

const SINGLE: [Single; 24] = [
    (
        |all| all[7]["spec"]["validations"] = json!([]),
        "ValidatingAdmissionPolicy pointsman-version-label",
        "the policy has no validations",
        "spec.validations: [{",
    ),
    (
        |all| all[9]["spec"]["variables"][5]["expression"] = json!("[\"2.16.0\"]"),
        "ValidatingAdmissionPolicy pointsman-unserved-label",
        "2.17.0 is registered, but its writers are warned that no server handles this version",
        "spec.variables[5].expression: '[\"2.16.0\", \"2.17.0\"]'",
    ),
    (
        |all| drop(all.drain(9..11)),
        "ValidatingAdmissionPolicy pointsman-unserved-label",
        "writers of objects with an unserved label get no warning",
        "apply the output of `pointsman webhooks --served 2.16.0,2.17.0`",
    ),
    (
        |all| all[8]["spec"]["validationActions"] = json!(["Audit"]),
        "ValidatingAdmissionPolicyBinding pointsman-version-label",
        "the policy does Audit only: forbidden writes are accepted",
        "spec.validationActions: [Deny], or use --enforcement",
    ),
    (
        |all| all[10]["spec"]["validationActions"] = json!(["Audit"]),
        "ValidatingAdmissionPolicyBinding pointsman-unserved-label",
        "the policy does Audit only: writers get no warning",
        "spec.validationActions: [Warn]",
    ),
    (
        |all| all[10]["spec"]["validationActions"] = json!(["Deny", "Warn"]),
        "ValidatingAdmissionPolicyBinding pointsman-unserved-label",
        "such objects could not be changed",
        "spec.validationActions: [Warn]",
    ),
    (
        |all| all[8]["spec"]["matchResources"] = json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}),
        "ValidatingAdmissionPolicyBinding pointsman-version-label",
        "the policy is not in force everywhere",
        "spec.matchResources: remove",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"][0]["scope"] = json!("Cluster"),
        "Validating pointsman-v2-16-0",
        "its rule does not match: objects of the kind are Namespaced, and the rule is for Cluster",
        "webhooks[0].rules[0].scope: Namespaced",
    ),
    (
        |all| {
            let again = all[1].clone();
            all.push(again);
        },
        "Validating pointsman-v2-16-0",
        "its name occurs more than once",
        "remove all but one",
    ),
    (
        |all| {
            let mut again = all[1].clone();
            again["metadata"]["name"] = json!("pointsman-copy");
            all.push(again);
        },
        "ValidatingWebhookConfiguration pointsman-copy",
        "receives the same writes as webhooks[0] of ValidatingWebhookConfiguration pointsman-v2-16-0",
        "webhooks[0]: remove one of the two",
    ),
    (
        |all| all[1]["webhooks"][0]["objectSelector"] = json!({}),
        "Validating pointsman-v2-16-0",
        "the selector does not require",
        "webhooks[0].objectSelector.matchExpressions: [{key: eaas.search.mercari.in/desired-controller-version, operator: In, \
         values: [2.16.0]}]",
    ),
    (
        |all| {
            let values = json!(["2.16.0", "2.17.0"]);
            all[1]["webhooks"][0]["objectSelector"]["matchExpressions"][0]["values"] = values;
        },
        "Validating pointsman-v2-16-0",
        "the selector does not require",
        "values: [2.16.0]}]",
    ),
    (
        |all| all[1]["webhooks"][0]["objectSelector"]["matchExpressions"][0]["values"] = json!(["2.17.0"]),
        "Validating pointsman-v2-16-0",
        "the name is for the objects of 2.16.0, but the selector is for the objects of 2.17.0",
        "webhooks[0].objectSelector.matchExpressions: [{",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"][0]["operations"] = json!(["CREATE", "UPDATE", "DELETE"]),
        "Validating pointsman-v2-16-0",
        "also receives the operation DELETE, which fails while its server is down",
        "webhooks[0].rules[0].operations: [CREATE, UPDATE]",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"][0]["resources"] = json!(["elasticsearches", "elasticsearches/status"]),
        "Validating pointsman-v2-16-0",
        "also receives the resource elasticsearches/status, which fails while its server is down",
        "webhooks[0].rules[0].resources: [elasticsearches]",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"][0]["resources"] = json!(["elasticsearch"]),
        "Validating pointsman-v2-16-0",
        "none of its rules covers elasticsearches.elasticsearch.k8s.elastic.co",
        "webhooks[0].rules: [{",
    ),
    (
        |all| all[0]["webhooks"][0]["reinvocationPolicy"] = json!("Never"),
        "Mutating pointsman-v2-16-0",
        "if another webhook changes the object later, the hash is stale",
        "webhooks[0].reinvocationPolicy: \"IfNeeded\"",
    ),
    (
        |all| all[1]["webhooks"][0]["sideEffects"] = json!("Some"),
        "Validating pointsman-v2-16-0",
        "dry runs would be refused",
        "webhooks[0].sideEffects: \"None\"",
    ),
    (
        |all| all[1]["webhooks"][0]["somethingNew"] = json!("x"),
        "Validating pointsman-v2-16-0",
        "webhooks[0].somethingNew is \"x\", and is absent in the printed document",
        "webhooks[0].somethingNew: remove",
    ),
    (
        |all| all[6]["webhooks"][0]["timeoutSeconds"] = json!(10),
        "Validating -shadows-v2-17-0",
        "writes wait 10 s while its server does not respond",
        "webhooks[0].timeoutSeconds: 1",
    ),
    (
        |all| drop(all[1]["metadata"]["labels"].as_object_mut().unwrap().remove("app.kubernetes.io/component")),
        "Validating pointsman-v2-16-0",
        "would leave this object",
        "metadata.labels[app.kubernetes.io/component]: admission",
    ),
    (
        |all| all[11]["spec"]["validations"][0]["expression"] = json!("true"),
        "ValidatingAdmissionPolicy pointsman-incomplete.v1",
        "spec.validations[0].expression is \"true\", and \"!variables.marked\" is printed",
        "spec.validations[0].expression: \"!variables.marked\"",
    ),
    (
        |all| {
            let only = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["a"]}]});
            all[1]["webhooks"][0]["namespaceSelector"] = only;
        },
        "Validating pointsman-v2-16-0",
        "excludes other namespaces than the other webhooks: a, and the others exclude none",
        "webhooks[0].namespaceSelector: {}",
    ),
    (
        |all| all[7]["spec"]["matchConstraints"]["resourceRules"][0]["scope"] = json!("Cluster"),
        "ValidatingAdmissionPolicy pointsman-version-label",
        "spec.matchConstraints.resourceRules[0].scope is \"Cluster\", and is absent in the printed document",
        "spec.matchConstraints.resourceRules[0].scope: remove",
    ),
];

#[test]
fn change_names_its_line_once() {
    let kind = elasticsearch();
    for (spoil, document, problem, change) in SINGLE {
        let mut documents = printed(&kind);
        spoil(&mut documents);
        let found = inspect(&kind, &documents, None);
        let [only] = found.as_slice() else { panic!("{document}, {problem}: {found:#?}") };
        assert!(document.split(' ').all(|part| only.document.contains(part)), "{document}: {only:?}");
        assert!(only.problem.contains(problem), "{problem}: {only:?}");
        assert!(only.change.contains(change), "{change}: {only:?}");
    }
}

#[test]
fn swapped_servers_are_found() {
    let kind = elasticsearch();
    let service = |document: &mut Value, name: &str| {
        for webhook in document["webhooks"].as_array_mut().unwrap() {
            webhook["clientConfig"]["service"]["name"] = json!(name);
        }
    };
    let mut documents = printed(&kind);
    (0..2).for_each(|at| service(&mut documents[at], "pointsman-2-17-0"));
    (4..6).for_each(|at| service(&mut documents[at], "pointsman-2-16-0"));
    let found = inspect(&kind, &documents, None);
    let told: Vec<&str> = found.iter().map(|one| one.problem.as_str()).collect();
    assert_eq!(
        told,
        [
            "calls the server of 2.17.0, for the objects of 2.16.0",
            "calls the server of 2.17.0, for the objects of 2.16.0",
            "calls the server of 2.16.0, for the objects of 2.17.0",
            "calls the server of 2.16.0, for the objects of 2.17.0",
        ]
    );
    assert_eq!(found[0].change, "webhooks[0].clientConfig.service.name: the Service of 2.16.0");
    // Names without a version indicate no mistake.
    let mut documents = printed(&kind);
    (0..4).for_each(|at| service(&mut documents[at], "blue"));
    (4..6).for_each(|at| service(&mut documents[at], "green-12-16-0"));
    assert_eq!(inspect(&kind, &documents, None), NONE);
}

/// Choices, other spellings, and values filled in by an API server.
const CHOICES: [fn(&mut Vec<Value>); 13] = [
    |all| all[1]["webhooks"][0]["admissionReviewVersions"] = json!(["v1beta1", "v1"]),
    |all| {
        for (index, document) in all.iter_mut().enumerate() {
            document["metadata"]["uid"] = json!(format!("uid-{index}"));
            document["metadata"]["generation"] = json!(3);
            document["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
            document["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
            document["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
            document["status"] = json!({"observedGeneration": 3});
            if let Some(constraints) = document["spec"].get_mut("matchConstraints") {
                constraints["namespaceSelector"] = json!({});
                constraints["objectSelector"] = json!({});
                constraints["resourceRules"][0]["scope"] = json!("*");
            }
            for webhook in document["webhooks"].as_array_mut().into_iter().flatten() {
                webhook["namespaceSelector"] = json!({});
                webhook["clientConfig"]["caBundle"] = json!("MAA=");
            }
        }
    },
    |all| all[1]["webhooks"][0]["timeoutSeconds"] = json!(30),
    |all| {
        let label = all[1]["webhooks"][0]["objectSelector"]["matchExpressions"][0]["key"].clone();
        let selector = json!({"matchLabels": {label.as_str().unwrap(): "2.16.0"}});
        all[1]["webhooks"][0]["objectSelector"] = selector;
    },
    |all| {
        let rule = all[1]["webhooks"][0]["rules"][0].clone();
        let mut rules = [rule.clone(), rule];
        rules[0]["operations"] = json!(["CREATE"]);
        rules[1]["operations"] = json!(["UPDATE"]);
        all[1]["webhooks"][0]["rules"] = json!(rules);
    },
    |all| all[1]["webhooks"][0]["rules"][0]["operations"] = json!(["UPDATE", "CREATE"]),
    |all| all[1]["webhooks"][0]["rules"][0]["scope"] = json!("*"),
    |all| all[8]["spec"]["validationActions"] = json!(["Deny", "Audit"]),
    |all| all[7]["spec"]["variables"][5]["expression"] = json!("[\"2.16.0\",\"2.17.0\"]"),
    |all| {
        let mut more = all[8].clone();
        more["metadata"]["name"] = json!("somebodys-own");
        more["metadata"]["labels"] = json!({});
        more["spec"]["validationActions"] = json!(["Audit"]);
        all.push(more);
    },
    |all| {
        let only = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]});
        for document in &mut all[..11] {
            if let Some(constraints) = document["spec"].get_mut("matchConstraints") {
                constraints["namespaceSelector"] = only.clone();
            }
            for webhook in document["webhooks"].as_array_mut().into_iter().flatten() {
                webhook["namespaceSelector"] = only.clone();
            }
        }
    },
    |all| all.reverse(),
    |all| {
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
        all.extend([other.clone(), other, json!(null), json!([]), json!("x"), json!({})]);
    },
];

#[test]
fn permissive_settings_are_accepted() {
    for kind in kinds() {
        for (number, choose) in CHOICES.iter().enumerate() {
            let mut documents = printed(&kind);
            choose(&mut documents);
            assert_eq!(inspect(&kind, &documents, None), NONE, "choice {number}");
        }
    }
}

#[test]
fn looser_guard_is_accepted() {
    let kind = elasticsearch();
    let a = version("2.16.0");
    let client = client("pointsman/pointsman");
    for (mode, actions) in [(GuardMode::Audit, 1), (GuardMode::Warn, 2), (GuardMode::Deny, 3)] {
        let mut documents = webhooks(&kind, &a, Selection::Labelled, &client);
        documents.extend(guard(&kind, std::slice::from_ref(&a), mode));
        documents.extend(unserved(&kind, std::slice::from_ref(&a)));
        for (enforcement, wanted) in [(Enforcement::Audit, 1), (Enforcement::Warn, 2), (Enforcement::Enforce, 3)] {
            let settings = Settings { enforcement, ..Settings::default() };
            let found = inspect(&kind, &documents, Some(&settings));
            assert_eq!(found.is_empty(), actions >= wanted, "{mode:?} {enforcement:?}: {found:#?}");
        }
    }
}

/// A pre-release may contain the words that separate two versions in a name.
#[test]
fn version_names_are_not_split() {
    let kind = elasticsearch();
    let client = client("pointsman/pointsman-{version}");
    let odd =
        ["2.17.0-shadows-2.16.0", "2.17.0-a.shadows.v2.16.0", "2.17.0-a-shadows-b", "v2.17.0", "2.17.0-RC.1", "2.17"];
    for name in odd {
        let (own, other) = (version(name), version("2.16.0"));
        let mut documents = webhooks(&kind, &own, Selection::Labelled, &client);
        documents.extend(webhooks(&kind, &other, Selection::Labelled, &client));
        documents.extend(webhooks(&kind, &other, Selection::Unlabelled, &client));
        documents.extend(webhooks(&kind, &own, Selection::Shadowed(&other), &client));
        documents.extend(webhooks(&kind, &other, Selection::Shadowed(&own), &client));
        let served = [own.clone(), other.clone()];
        documents.extend(guard(&kind, &served, GuardMode::Deny));
        documents.extend(unserved(&kind, &served));
        let settings =
            Settings { controller: Some(own), served: served.to_vec(), shadowed: vec![other], ..Settings::default() };
        assert_eq!(inspect(&kind, &documents, Some(&settings)), NONE, "{name}");
        // The version's own configurations are recognized as enforcing ones.
        documents[1]["webhooks"][0]["failurePolicy"] = json!("Ignore");
        let found = inspect(&kind, &documents, None);
        assert!(found.len() == 1 && found[0].problem.contains("writes pass unjudged"), "{name}: {found:#?}");
    }
}
