//! Configurations that are registered together: their consistency, overlays of an operator's own webhooks, and the
//! removal of a version.

use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    Address, BadOverlay, ClientConfig, Finding, GuardMode, RetireStep, Selection, Service, Trust, guard, inspect,
    overlay, overlay_all, promoting, retire, unserved, webhooks,
};
use pointsman_core::webhook::{ControllerVersion, Settings};
use serde_json::{Value, json};

use super::admission::{elasticsearch, embedded, load, version};
use super::registration::expression_is_sane;

const KEY: &str = "eaas.search.mercari.in/desired-controller-version";

fn client(service: &str) -> ClientConfig {
    let address = Address::Service(Service::per_version(service).unwrap());
    ClientConfig { address, trust: Trust::CertManager("pointsman/serving".parse().unwrap()) }
}

fn versions(names: &[&str]) -> Vec<ControllerVersion> {
    names.iter().map(|name| version(name)).collect()
}

/// Two versions at the same time; the older one is the default.
fn good(kind: &Kind) -> Vec<Value> {
    let [a, b] = ["2.16.0", "2.17.0"].map(version);
    let client = client("pointsman/pointsman-{version}");
    let mut documents = webhooks(kind, &a, Selection::Labelled, &client);
    documents.extend(webhooks(kind, &a, Selection::Unlabelled, &client));
    documents.extend(webhooks(kind, &b, Selection::Labelled, &client));
    documents.extend(guard(kind, &[a.clone(), b.clone()], GuardMode::Deny));
    documents.extend(unserved(kind, &[a, b]));
    documents
}

fn server(own: &str, default: bool, served: &[&str]) -> Settings {
    Settings { controller: Some(version(own)), default, served: versions(served), ..Settings::default() }
}

#[test]
fn printed_configuration_passes() {
    for kind in [embedded("materialize"), elasticsearch(), load("gadgets.yaml"), load("engines.yaml")] {
        let documents = good(&kind);
        let none: Vec<Finding> = Vec::new();
        assert_eq!(inspect(&kind, &documents, None), none);
        let both = ["2.17.0", "2.16.0"];
        assert_eq!(inspect(&kind, &documents, Some(&server("2.16.0", true, &both))), none);
        assert_eq!(inspect(&kind, &documents, Some(&server("2.17.0", false, &both))), none);
        assert_eq!(inspect(&embedded("materialize"), &[], None), none, "nothing is registered");
    }
}

/// A change of a document, and its finding: a part of the problem, and a part of the line to change.
type Case = (fn(&mut Vec<Value>), &'static str, &'static str);

const CASES: [Case; 15] = [
    (
        |all| drop(all.remove(4)),
        "its objects are validated, but no /mutate webhook writes their labels and annotations",
        "apply both configurations",
    ),
    (
        |all| drop(all.remove(5)),
        "its objects are stamped by /mutate, but no webhook validates them",
        "apply both configurations",
    ),
    (
        |all| all[5]["webhooks"][0]["clientConfig"]["service"]["name"] = json!("pointsman-2-16-0"),
        "calls the server that MutatingWebhookConfiguration pointsman-v2-16-0.elasticsearches.elasticsearch.k8s.elastic.co \
         calls for 2.16.0: a server has one version",
        "webhooks[0].clientConfig.service.name: the Service of 2.17.0",
    ),
    (
        |all| all[5]["webhooks"][0]["clientConfig"]["service"]["path"] = json!("/mutate"),
        "path \"/mutate\" leads to another webhook than /validate",
        "webhooks[0].clientConfig.service.path: /validate",
    ),
    (
        |all| all[1]["webhooks"][0]["failurePolicy"] = json!("Ignore"),
        "while the server is down, writes pass unjudged",
        "webhooks[0].failurePolicy: Fail",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"][0]["apiVersions"] = json!(["v1beta1"]),
        "writes at v1 are converted for the call, or pass",
        "webhooks[0].rules[0].apiVersions: [v1]",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"][0]["operations"] = json!(["CREATE"]),
        "no rule covers UPDATE",
        "webhooks[0].rules[0].operations: [CREATE, UPDATE]",
    ),
    (
        |all| all[1]["webhooks"][0]["objectSelector"] = json!({}),
        "the selector does not require eaas.search.mercari.in/desired-controller-version: objects of several versions",
        "webhooks[0].objectSelector.matchExpressions: [{key: eaas",
    ),
    (
        |all| {
            all[1]["webhooks"][0]["matchConditions"][0]["expression"] = json!("!has(object.metadata.deletionTimestamp)")
        },
        "a creation by apply can claim to be terminating, and is excluded",
        "webhooks[0].matchConditions[0].expression: oldObject == null || ",
    ),
    (
        |all| drop(all[1]["metadata"].as_object_mut().unwrap().remove("annotations")),
        "the webhook has no caBundle",
        "webhooks[0].clientConfig.caBundle: ",
    ),
    (
        |all| all[6]["spec"]["variables"][5]["expression"] = json!("[\"2.17.0\", \"2.18.0\"]"),
        "2.16.0 has webhooks, but the label policy rejects its label",
        "spec.variables[5].expression: '[\"2.17.0\", \"2.18.0\", \"2.16.0\"]'",
    ),
    (
        |all| drop(all.remove(7)),
        "the policy has no binding, so that the API server ignores the policy",
        "apply the binding",
    ),
    (|all| all[7]["spec"]["policyName"] = json!("another"), "the API server ignores the policy", "apply the binding"),
    (
        |all| all[7]["kind"] = json!("MutatingAdmissionPolicyBinding"),
        "the API server ignores the policy",
        "apply the binding",
    ),
    (
        |all| all[5]["webhooks"][0]["clientConfig"]["service"]["path"] = json!("/foo/validate"),
        "path \"/foo/validate\" leads to another webhook than /validate",
        "webhooks[0].clientConfig.service.path: /validate",
    ),
];

#[test]
fn misfit_names_its_line() {
    let kind = elasticsearch();
    for (spoil, problem, change) in CASES {
        let mut documents = good(&kind);
        spoil(&mut documents);
        let found = inspect(&kind, &documents, None);
        let hit = |finding: &&Finding| finding.problem.contains(problem) && finding.change.contains(change);
        assert!(found.iter().any(|finding| hit(&finding)), "{problem}: {found:#?}");
    }
    let mut documents = good(&kind);
    documents.truncate(6);
    let [only] = inspect(&kind, &documents, None).try_into().unwrap();
    let Finding { problem, change, .. } = only;
    assert!(problem.starts_with("the guard is missing"), "{problem}");
    assert!(change.contains("--served 2.16.0,2.17.0"), "{change}");
}

/// A change, the document to change, and a part of the only finding.
type Single = (fn(&mut Vec<Value>), &'static str, &'static str);

const NAME: &str = "pointsman-2-18-0";

const SINGLE: [Single; 11] = [
    (
        |all| all[0]["webhooks"][0]["clientConfig"]["service"]["name"] = json!("pointsman-2-17-0"),
        "Mutating v2-16-0",
        "a server has one version",
    ),
    (
        |all| all[1]["webhooks"][0]["clientConfig"]["service"]["name"] = json!("pointsman-2-17-0"),
        "Validating v2-16-0",
        "a server has one version",
    ),
    (
        |all| all[1]["webhooks"][0]["clientConfig"]["service"]["name"] = json!(NAME),
        "Validating v2-16-0",
        "calls another server than",
    ),
    (
        |all| all[3]["webhooks"][0]["clientConfig"]["service"]["name"] = json!(NAME),
        "Validating default",
        "a server without a version",
    ),
    (
        |all| all[3]["webhooks"][0]["clientConfig"]["service"]["name"] = json!("pointsman-2-17-0"),
        "Validating default",
        "calls another server than",
    ),
    (
        |all| all[1]["webhooks"][0]["namespaceSelector"] = json!({"matchLabels": {"a": "b"}}),
        "Validating v2-16-0",
        "objects in other namespaces are excluded",
    ),
    (
        |all| all[1]["webhooks"][0]["objectSelector"]["matchLabels"] = json!({"a": "b"}),
        "Validating v2-16-0",
        "the selector requires more than",
    ),
    (
        |all| all[1]["webhooks"][0]["matchConditions"] = json!([]),
        "Validating v2-16-0",
        "terminating objects keep their finalizers",
    ),
    (
        |all| drop(all[3]["webhooks"][0]["matchConditions"].as_array_mut().unwrap().pop()),
        "Validating default",
        "validated and counted twice",
    ),
    (
        |all| {
            all[1]["webhooks"][0]["matchConditions"]
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "n", "expression": "false"}))
        },
        "Validating v2-16-0",
        "the condition \"n\" are excluded",
    ),
    (
        |all| all[1]["webhooks"][0]["rules"] = json!([{"apiGroups": ["elasticsearch.k8s.elastic.co"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["elasticsearches"]}, {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}]),
        "Validating v2-16-0",
        "no rule covers UPDATE",
    ),
];

#[test]
fn mistake_is_reported_once() {
    let kind = elasticsearch();
    for (spoil, document, problem) in SINGLE {
        let mut documents = good(&kind);
        spoil(&mut documents);
        let found = inspect(&kind, &documents, None);
        let [only] = found.as_slice() else { panic!("{document}, {problem}: {found:#?}") };
        assert!(document.split(' ').all(|part| only.document.contains(part)), "{document}: {only:?}");
        assert!(only.problem.contains(problem) && only.change.starts_with("webhooks[0]."), "{problem}: {only:?}");
    }
    // If both configurations of a version are wrong, the name of their server identifies the version.
    let mut documents = good(&kind);
    for document in &mut documents[..2] {
        document["webhooks"][0]["clientConfig"]["service"]["name"] = json!("pointsman-2-17-0");
    }
    let found = inspect(&kind, &documents, None);
    assert!(found.iter().all(|finding| finding.document.contains("v2-16-0")), "{found:#?}");
}

#[test]
fn audit_server_never_blocks() {
    let kind = elasticsearch();
    let [a, b] = ["2.16.0", "2.17.0"].map(version);
    let mut documents = good(&kind);
    documents.extend(webhooks(&kind, &b, Selection::Shadowed(&a), &client("pointsman/pointsman-{version}")));
    assert_eq!(inspect(&kind, &documents, None), [] as [Finding; 0]);
    documents.last_mut().unwrap()["webhooks"][0]["failurePolicy"] = json!("Fail");
    let [only] = inspect(&kind, &documents, None).try_into().unwrap();
    assert!(only.change.ends_with("failurePolicy: Ignore"), "{only:?}");
}

#[test]
fn wrong_server_is_found() {
    let kind = elasticsearch();
    let documents = good(&kind);
    let found = |settings: Settings| -> Vec<String> {
        let found = inspect(&kind, &documents, Some(&settings)).into_iter();
        found.map(|finding| format!("{}: {}: {}", finding.document, finding.problem, finding.change)).collect()
    };
    let both = ["2.16.0", "2.17.0"];
    let [told] = found(server("2.16.0", false, &both)).try_into().unwrap();
    assert!(told.contains(
        "the server gets objects without a label, and refuses these: start the server with --default-version"
    ));
    let [told] = found(server("2.17.0", true, &both)).try_into().unwrap();
    assert!(told.contains("the configuration selects another server"), "{told}");
    let [told] = found(server("2.17.0", false, &["2.17.0"])).try_into().unwrap();
    assert!(told.ends_with("start the server with --served-versions 2.16.0,2.17.0"), "{told}");
    let told = found(server("2.18.0", false, &both));
    assert!(told[0].contains("the server gets no requests for objects of 2.18.0"), "{told:?}");
    let shadow = Settings { shadowed: versions(&["2.16.0"]), ..server("2.17.0", false, &both) };
    let [told] = found(shadow).try_into().unwrap();
    assert!(told.contains("the server audits 2.16.0, but no configuration selects these objects"), "{told}");
}

/// An operator's own configuration: one webhook for the kind, one for another kind, one for all resources.
fn operators_own() -> Value {
    let webhook = |name: &str, groups: &[&str], resources: &[&str]| {
        json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"caBundle": "MAA=", "service": {"namespace": "elastic-system", "name": "elastic-webhook", "path": format!("/{name}")}},
            "failurePolicy": "Ignore",
            "objectSelector": {"matchExpressions": [{"key": "paused", "operator": "DoesNotExist"}]},
            "rules": [{"apiGroups": groups, "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": resources}],
            "sideEffects": "None",
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "elastic-webhook.k8s.elastic.co", "uid": "x", "resourceVersion": "7", "labels": {"app": "eck"}},
        "webhooks": [
            webhook("es.elastic.co", &["elasticsearch.k8s.elastic.co"], &["elasticsearches", "others"]),
            webhook("kb.elastic.co", &["kibana.k8s.elastic.co"], &["kibanas"]),
            webhook("any.elastic.co", &["*"], &["*"]),
        ],
    })
}

#[test]
fn operator_versions_see_own_objects() {
    let kind = elasticsearch();
    let address = Address::Service(Service::per_version("elastic-system/webhook-{version}").unwrap());
    let versions = versions(&["2.16.0", "2.17.0"]);
    let laid = overlay(&kind, &versions, Some(&versions[0]), Some(&address), &operators_own()).unwrap();
    let [a, b] = laid.versions.as_slice() else { panic!("{laid:?}") };
    assert_eq!(a["metadata"], json!({"name": "elastic-webhook.k8s.elastic.co-v2-16-0", "labels": {"app": "eck"}}));
    let names = |document: &Value| -> Vec<String> {
        let all = document["webhooks"].as_array().unwrap().iter();
        all.map(|webhook| webhook["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(a), ["es.elastic.co", "any.elastic.co", "unlabelled.es.elastic.co", "unlabelled.any.elastic.co"]);
    assert_eq!(names(b), ["es.elastic.co", "any.elastic.co"]);
    let own = &b["webhooks"][0];
    assert_eq!(own["clientConfig"]["service"]["name"], "webhook-2-17-0");
    assert_eq!(
        (&own["clientConfig"]["service"]["path"], &own["clientConfig"]["caBundle"]),
        (&json!("/es.elastic.co"), &json!("MAA="))
    );
    assert_eq!(own["rules"][0]["resources"], json!(["elasticsearches"]));
    assert_eq!(
        own["objectSelector"]["matchExpressions"],
        json!([{"key": "paused", "operator": "DoesNotExist"}, {"key": KEY, "operator": "In", "values": ["2.17.0"]}])
    );
    let condition = own["matchConditions"][0]["expression"].as_str().unwrap();
    expression_is_sane(condition, &[]);
    assert_eq!(
        condition,
        format!(
            "object == null || has(object.metadata.labels) && \"{KEY}\" in object.metadata.labels && object.metadata.labels[\"{KEY}\"] == \"2.17.0\""
        )
    );
    assert_eq!(
        b["webhooks"][1]["rules"][0],
        json!({"apiGroups": ["elasticsearch.k8s.elastic.co"], "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["elasticsearches"]})
    );
    // Webhooks for other resources continue unchanged, and no object of the kind is validated there.
    let rest = laid.rest.unwrap();
    assert_eq!(names(&rest), ["es.elastic.co", "kb.elastic.co", "any.elastic.co"]);
    assert_eq!(rest["webhooks"][0]["rules"][0]["resources"], json!(["others"]));
    assert_eq!(rest["webhooks"][1], operators_own()["webhooks"][1]);
    assert_eq!(
        rest["webhooks"][2]["matchConditions"][0]["expression"],
        "request.resource.group != \"elasticsearch.k8s.elastic.co\" || request.resource.resource != \"elasticsearches\""
    );
    assert_eq!(rest["metadata"]["name"], "elastic-webhook.k8s.elastic.co");
    // A second overlay has no work and reports an error.
    let again = overlay(&kind, &versions, None, Some(&address), b);
    assert!(matches!(again, Err(BadOverlay::SelectsAlready { .. })), "{again:?}");
    let mut other = operators_own();
    other["webhooks"] = json!([operators_own()["webhooks"][1]]);
    let none = overlay(&kind, &versions, None, None, &other).unwrap_err();
    assert!(none.to_string().contains("has no webhook for elasticsearches.elasticsearch.k8s.elastic.co"), "{none}");
    // The doctor recognizes webhooks that name the kind. A webhook for all groups may be any policy.
    let mut documents = good(&kind);
    documents.push(operators_own());
    assert!(inspect(&kind, &documents, None).iter().all(|finding| finding.change.contains("webhooks overlay")));
    assert_eq!(inspect(&kind, &documents, None).len(), 1);
}

#[test]
fn kinds_of_one_operator_share_overlay() {
    let (one, other) = (elasticsearch(), load("engines.yaml"));
    let mut own = operators_own();
    own["webhooks"][1]["rules"][0]["apiGroups"] = json!([other.group()]);
    own["webhooks"][1]["rules"][0]["resources"] = json!([other.plural()]);
    let address = Address::Service(Service::per_version("elastic-system/webhook-{version}").unwrap());
    let versions = versions(&["2.16.0", "2.17.0"]);
    let laid = overlay_all(&[&one, &other], &versions, None, Some(&address), &own).unwrap();
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(laid.versions.len(), 2);
    for (document, version) in laid.versions.iter().zip(["v2-16-0", "v2-17-0"]) {
        assert_eq!(document["metadata"]["name"], format!("elastic-webhook.k8s.elastic.co-{version}"));
        let all = ["es.elastic.co", "any.elastic.co", "kb.elastic.co", &format!("{}.any.elastic.co", other.plural())];
        assert_eq!(names(&document["webhooks"]), all);
        let group_of = |at: usize| document["webhooks"][at]["rules"][0]["apiGroups"][0].clone();
        assert_eq!([group_of(1), group_of(3)], [json!(one.group()), json!(other.group())]);
    }
    // The webhook for all resources continues for other kinds, with uniquely named conditions.
    let rest = laid.rest.unwrap();
    assert_eq!(names(&rest["webhooks"]), ["es.elastic.co", "any.elastic.co"]);
    let conditions = &rest["webhooks"][1]["matchConditions"];
    assert_eq!(names(conditions), ["pointsman-other-kinds", "pointsman-other-kinds-2"]);
    assert!(conditions[1]["expression"].as_str().unwrap().contains(other.plural()));
    let once = overlay(&one, &versions, None, Some(&address), &operators_own());
    assert_eq!(overlay_all(&[&one, &one], &versions, None, Some(&address), &operators_own()), once);
    let mut nothing = operators_own();
    nothing["webhooks"] = json!([operators_own()["webhooks"][0]]);
    nothing["webhooks"][0]["rules"][0]["resources"] = json!([one.plural()]);
    let none = overlay_all(&[&one, &other], &versions, None, Some(&address), &nothing).unwrap_err();
    assert!(matches!(&none, BadOverlay::NothingOfTheKind { resource, .. } if resource.starts_with(other.plural())));
}

#[test]
fn rules_parse_like_the_apiserver() {
    let kind = elasticsearch();
    let address = Address::Service(Service::per_version("elastic-system/webhook-{version}").unwrap());
    let versions = versions(&["2.16.0", "2.17.0"]);
    for (given, narrow) in [
        ("elasticsearches/*", "elasticsearches/*"),
        ("elasticsearches/status", "elasticsearches/status"),
        ("*/*", "elasticsearches/*"),
        ("*/scale", "elasticsearches/scale"),
        ("*", "elasticsearches"),
    ] {
        let mut own = operators_own();
        own["webhooks"] = json!([own["webhooks"][0]]);
        own["webhooks"][0]["rules"][0]["resources"] = json!([given]);
        let laid = overlay(&kind, &versions, None, Some(&address), &own).unwrap();
        assert_eq!(laid.versions[0]["webhooks"][0]["rules"][0]["resources"], json!([narrow]), "{given}");
        assert_eq!(laid.rest.is_some(), given.starts_with('*'), "{given}");
        let mut documents = good(&kind);
        documents.push(own);
        // A webhook for all objects of the kind receives the objects of all versions.
        let asks = matches!(given, "elasticsearches/*" | "*/*" | "*");
        assert_eq!(inspect(&kind, &documents, None).len(), usize::from(asks), "{given}");
    }
}

#[test]
fn versions_register_in_safe_order() {
    let kind = embedded("materialize");
    let [a, b] = ["2.16.0", "2.17.0"].map(version);
    let client = client("pointsman/pointsman-{version}");
    let steps = retire(&kind, &a, std::slice::from_ref(&b), Some(&b), Some(GuardMode::Deny), &client);
    let [
        RetireStep::Apply { documents: default, .. },
        RetireStep::Apply { documents: guarded, .. },
        RetireStep::Delete { documents: gone, .. },
    ] = steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    assert_eq!(default, &webhooks(&kind, &b, Selection::Unlabelled, &client));
    assert_eq!(guarded[..2], guard(&kind, std::slice::from_ref(&b), GuardMode::Deny));
    assert_eq!(guarded[2..], unserved(&kind, std::slice::from_ref(&b)));
    let names: Vec<String> = gone
        .iter()
        .map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["metadata"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            "MutatingWebhookConfiguration pointsman-v2-16-0.materializes.materialize.cloud",
            "ValidatingWebhookConfiguration pointsman-v2-16-0.materializes.materialize.cloud",
            "ValidatingWebhookConfiguration pointsman-v2-17-0-shadows-v2-16-0.materializes.materialize.cloud",
            "ValidatingWebhookConfiguration pointsman-v2-16-0-shadows-v2-17-0.materializes.materialize.cloud",
        ]
    );
    // The remaining documents after all steps are consistent.
    let mut documents = good(&kind);
    documents.retain(|document| {
        let is = |other: &Value| {
            (&other["kind"], &other["metadata"]["name"]) == (&document["kind"], &document["metadata"]["name"])
        };
        !gone.iter().chain(default).chain(guarded).any(is)
    });
    documents.extend(default.iter().chain(guarded).cloned());
    assert_eq!(inspect(&kind, &documents, Some(&server("2.17.0", true, &["2.17.0"]))), [] as [Finding; 0]);
}

#[test]
fn unlabelled_objects_use_default() {
    let kind = load("engines.yaml");
    let client = client("pointsman/pointsman");
    let [mutating, validating] =
        webhooks(&kind, &version("2.16.0"), Selection::Unlabelled, &client).try_into().unwrap();
    for document in [&mutating, &validating] {
        let condition = &document["webhooks"][0]["matchConditions"][1];
        assert_eq!(
            condition["expression"],
            "!has(object.metadata.labels) || !(\"example.com/controller-version\" in object.metadata.labels)",
            "one that gets its label is for the version in it"
        );
    }
    let rules = |document: &Value| document["webhooks"][0]["rules"].as_array().unwrap().clone();
    let [_, scale] = validating["webhooks"].as_array().unwrap().as_slice() else { panic!("{validating}") };
    assert_eq!(
        (&scale["rules"][0]["resources"], &scale["failurePolicy"]),
        (&json!(["engines/scale"]), &json!("Ignore"))
    );
    assert_eq!((&scale["timeoutSeconds"], scale.get("objectSelector")), (&json!(1), None), "autoscalers do not wait");
    assert_eq!(mutating["webhooks"].as_array().unwrap().len(), 1, "no patch of a Scale stamps the object");
    for document in webhooks(&kind, &version("2.16.0"), Selection::Labelled, &client) {
        assert_eq!((rules(&document).len(), document["webhooks"].as_array().unwrap().len()), (1, 1));
        assert_eq!(document["webhooks"][0]["matchConditions"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn versions_have_distinct_services() {
    let kind = embedded("materialize");
    let client = client("pointsman/p-{version}");
    let mut seen: Vec<[String; 2]> = Vec::new();
    for name in ["2.17.0", "2.17.0-rc.1", "2.17.0-rc-1", "2.17.0-RC.1", "v2.17.0", "1.16.4", "v1.16.4"] {
        let document = webhooks(&kind, &version(name), Selection::Labelled, &client).remove(0);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let service = text(&document["webhooks"][0]["clientConfig"]["service"]["name"]);
        seen.push([text(&document["metadata"]["name"]), service]);
    }
    for (index, [name, service]) in seen.iter().enumerate() {
        assert!(!name.contains("vv"), "{name}");
        assert!(seen.iter().skip(index + 1).all(|[other, at]| other != name && at != service), "{seen:?}");
    }
    let services: Vec<&str> = seen.iter().map(|[_, service]| service.as_str()).collect();
    assert_eq!(services[..3], ["p-2-17-0", "p-2-17-0--rc-1", "p-2-17-0--rc--1"]);
}

#[test]
fn guard_catches_mistaken_labels() {
    let kind = elasticsearch();
    let served = versions(&["2.16.0", "2.17.0"]);
    let [policy, _] = guard(&kind, &served, GuardMode::Deny);
    let validations = policy["spec"]["validations"].as_array().unwrap();
    let last = validations.last().unwrap()["message"].as_str().unwrap();
    assert_eq!(
        last,
        "label eaas.search.mercari.in/controller-version is not the version label: the controller version of an object is in \
         label eaas.search.mercari.in/desired-controller-version: set this label instead; served versions: 2.16.0, 2.17.0"
    );
    let [policy, binding] = unserved(&kind, &served);
    assert_eq!(binding["spec"]["validationActions"], json!(["Warn"]));
    assert_ne!(policy["metadata"]["name"], guard(&kind, &served, GuardMode::Deny)[0]["metadata"]["name"]);
    let labels = |document: &Value| document["metadata"]["labels"]["app.kubernetes.io/component"].clone();
    for document in good(&kind) {
        assert_eq!(labels(&document), "admission", "one command deletes them all: {document}");
    }
    let incomplete = pointsman_core::registration::incomplete(&kind, "v1");
    assert!(incomplete.iter().all(|document| labels(document) == "conversion"), "which that command leaves alone");
}

/// The names are those of the definition. The policy reads versions whose status contains these fields.
#[test]
fn promotion_policy_uses_definition_names() {
    assert_eq!(promoting(&elasticsearch(), GuardMode::Deny), None);
    for (kind, newer) in [(embedded("materialize"), "v1alpha2"), (load("engines.yaml"), "v2")] {
        for (mode, action) in [(GuardMode::Deny, "Deny"), (GuardMode::Warn, "Warn"), (GuardMode::Audit, "Audit")] {
            let [policy, binding] = promoting(&kind, mode).unwrap();
            assert_eq!(binding["spec"]["validationActions"], json!([action]));
            assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
            let rule = &policy["spec"]["matchConstraints"]["resourceRules"];
            assert_eq!(rule.as_array().unwrap().len(), 1, "{rule}");
            assert_eq!((&rule[0]["apiVersions"], &rule[0]["operations"]), (&json!([newer]), &json!(["UPDATE"])));
            assert_eq!(rule[0]["resources"], json!([format!("{}/status", kind.plural())]));
            assert_eq!(policy["spec"]["matchConstraints"]["matchPolicy"], "Exact");
            let mut known: Vec<String> = Vec::new();
            for variable in policy["spec"]["variables"].as_array().unwrap() {
                expression_is_sane(variable["expression"].as_str().unwrap(), &known);
                known.push(variable["name"].as_str().unwrap().to_owned());
            }
            for validation in policy["spec"]["validations"].as_array().unwrap() {
                expression_is_sane(validation["expression"].as_str().unwrap(), &known);
                expression_is_sane(validation["messageExpression"].as_str().unwrap(), &known);
            }
            let text = policy["spec"]["variables"].to_string();
            for name in ["status.requestedRolloutHash", "status.lastCompletedRolloutHash", "\\\"Promoting\\\""] {
                assert!(text.contains(name), "{name}: {text}");
            }
        }
    }
}

#[test]
fn broken_promotion_policy_is_found() {
    let kind = load("engines.yaml");
    let found = |change: &dyn Fn(&mut [Value; 2])| {
        let mut own = promoting(&kind, GuardMode::Deny).unwrap();
        change(&mut own);
        let documents = [good(&kind), own.to_vec()].concat();
        inspect(&kind, &documents, None).into_iter().map(|one| one.problem).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(found(&|_| ()), "");
    assert_eq!(found(&|[_, binding]| binding["spec"]["validationActions"] = json!(["Warn"])), "", "that was asked for");
    for (said, change) in [
        (
            "the policy has no binding",
            (|[_, binding]| binding["spec"]["policyName"] = json!("x")) as fn(&mut [Value; 2]),
        ),
        ("spec.validations[0].expression is \"true\"", |[policy, _]| {
            policy["spec"]["validations"][0]["expression"] = json!("true");
        }),
        ("matchPolicy", |[policy, _]| policy["spec"]["matchConstraints"]["matchPolicy"] = json!("Equivalent")),
        ("deleting admission by its labels", |[policy, _]| policy["metadata"]["labels"] = json!({})),
    ] {
        let told = found(&change);
        assert!(told.contains(said), "{said}: {told}");
    }
}
