//! Reviews of objects with mutations.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pointsman_core::definition::{Kind, MutatedKind};
use pointsman_core::webhook::{Endpoint, HandleError, KnownFacts, Metadata, Outcome, Request, Webhook};
use serde_json::{Value, json};

use super::{definition, deployment};

fn review(operation: &str, new: &Value, old: Option<&Value>) -> Vec<u8> {
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    let request = json!({"uid": "u1", "operation": operation, "kind": kind, "object": new, "oldObject": old});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string().into_bytes()
}

fn webhook() -> Webhook {
    let text = definition("[{flag: {name: --a, value: before}}]", "[{flag: {name: --a, value: after}}]");
    let text = text.replace("  fact:", "  names: [kcm]\n  fact:");
    let mutated = MutatedKind::load("mutations.yaml", &text).unwrap();
    Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap().with_mutations(vec![mutated]).unwrap()
}

/// The fact is true for these namespaces.
fn seen(webhook: &Webhook, namespaces: &[&str]) -> KnownFacts {
    let objects: BTreeSet<(String, String)> =
        namespaces.iter().map(|name| (String::new(), (*name).to_owned())).collect();
    let mut facts = KnownFacts::default();
    facts.see(&webhook.mutated()[0].facts()[0], Arc::new(objects));
    facts
}

fn flag(webhook: &Webhook, facts: &KnownFacts, body: &[u8]) -> Result<Option<String>, HandleError> {
    let reply = webhook.handle(&Request::new(Endpoint::Mutate, body).knowing(facts))?;
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(answer["response"]["uid"], "u1");
    assert_eq!(answer["response"]["allowed"], true);
    let Some(patch) = answer["response"]["patch"].as_str() else {
        assert_eq!(reply.outcome, Outcome::Allow);
        return Ok(None);
    };
    assert_eq!((reply.outcome, &answer["response"]["patchType"]), (Outcome::Patch, &json!("JSONPatch")));
    let patch: Value = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
    Ok(Some(patch[0]["value"].to_string()))
}

#[test]
fn known_fact_decides() {
    let webhook = webhook();
    let object = deployment("kcm", &json!({"containers": [{"name": "kcm", "args": ["x"]}]}));
    let create = review("CREATE", &object, None);
    let facts = seen(&webhook, &["other"]);
    assert_eq!(flag(&webhook, &facts, &create).unwrap().as_deref(), Some("\"--a=before\""));
    let facts = seen(&webhook, &["other", "shoot--a"]);
    assert_eq!(flag(&webhook, &facts, &create).unwrap().as_deref(), Some("\"--a=after\""));
    let update = review("UPDATE", &object, Some(&object));
    assert_eq!(flag(&webhook, &facts, &update).unwrap().as_deref(), Some("\"--a=after\""));
}

#[test]
fn unobserved_fact_decides_nothing() {
    let webhook = webhook();
    let object = deployment("kcm", &json!({"containers": [{"name": "kcm"}]}));
    let error = flag(&webhook, &KnownFacts::default(), &review("CREATE", &object, None)).unwrap_err();
    assert!(matches!(error, HandleError::FactUnknown(_)), "{error}");
    assert!(error.to_string().ends_with("is still unknown, and mutation moved needs this fact, try again"), "{error}");
    // An object of another name, or of a built-in kind, does not depend on the fact.
    let other = deployment("other", &json!({"containers": [{"name": "kcm"}]}));
    assert_eq!(flag(&webhook, &KnownFacts::default(), &review("CREATE", &other, None)).unwrap(), None);
    let own = json!({"uid": "u1", "operation": "CREATE", "kind": {"group": "materialize.cloud", "kind": "Materialize"},
        "object": {"apiVersion": "materialize.cloud/v1alpha2", "kind": "Materialize", "metadata": {"name": "a"}, "spec": {}}});
    let own = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": own}).to_string();
    let knowing =
        webhook.handle(&Request::new(Endpoint::Mutate, own.as_bytes()).knowing(&KnownFacts::default())).unwrap();
    assert_eq!(knowing.body, webhook.handle(&Request::new(Endpoint::Mutate, own.as_bytes())).unwrap().body);
}

/// The warning for the client of a write.
fn warned(containers: &Value) -> Value {
    let webhook = webhook();
    let object = deployment("kcm", &json!({"containers": containers}));
    let body = review("CREATE", &object, None);
    let reply = webhook.handle(&Request::new(Endpoint::Mutate, &body).knowing(&seen(&webhook, &[]))).unwrap();
    let mut answer: Value = serde_json::from_slice(&reply.body).unwrap();
    answer["response"]["warnings"].take()
}

#[test]
fn writer_is_warned_of_replacements() {
    let words = |words: &[&str]| warned(&json!([{"name": "kcm", "command": words}]));
    assert_eq!(words(&["kcm"]), Value::Null, "an addition removes no value");
    assert_eq!(words(&["kcm", "--a=before"]), Value::Null);
    let replaced =
        "mutation moved replaces or removes values of the request: /spec/template/spec/containers/0/command/1";
    assert_eq!(words(&["kcm", "--a=x"]), json!([replaced]));
    let for_two = "mutation moved skips a command line of two programs: a shell with -c, or -- in `command`";
    assert_eq!(words(&["sh", "-c", "kcm --a=x"]), json!([for_two]));
    let nowhere = "mutation moved found no matching container: name the container with `of`";
    assert_eq!(warned(&json!([{"name": "a"}, {"name": "b"}])), json!([nowhere]));
}

#[test]
fn system_objects_are_left_alone() {
    let webhook = webhook();
    let mut object = deployment("kcm", &json!({"containers": [{"name": "kcm"}]}));
    object["metadata"]["namespace"] = json!("kube-system");
    let facts = KnownFacts::default();
    assert_eq!(flag(&webhook, &facts, &review("CREATE", &object, None)).unwrap(), None);
}

#[test]
fn required_fact_stays_cached() {
    let webhook = webhook();
    let wanted = webhook.mutated()[0].facts();
    let mut facts = seen(&webhook, &["a", "b"]);
    facts.keep(&wanted);
    assert_eq!(facts.objects(&wanted), Some(2));
    facts.keep(&[]);
    assert_eq!(facts.objects(&wanted), None);
}

#[test]
fn deletions_are_left_alone() {
    let webhook = webhook();
    let object = deployment("kcm", &json!({"containers": [{"name": "kcm"}]}));
    let mut going = object.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let facts = KnownFacts::default();
    assert_eq!(flag(&webhook, &facts, &review("UPDATE", &going, Some(&going))).unwrap(), None);
    assert_eq!(flag(&webhook, &facts, &review("DELETE", &Value::Null, Some(&object))).unwrap(), None);
    // The API server drops the deletion timestamp of a new object.
    let facts = seen(&webhook, &[]);
    assert!(flag(&webhook, &facts, &review("CREATE", &going, None)).unwrap().is_some());
}

#[test]
fn validate_of_mutation_is_refused() {
    let webhook = webhook();
    let object = deployment("kcm", &json!({"containers": []}));
    let body = review("CREATE", &object, None);
    let reply = webhook.handle(&Request::new(Endpoint::Validate, &body).knowing(&KnownFacts::default())).unwrap();
    assert_eq!(reply.outcome, Outcome::Deny);
    assert!(reply.message.unwrap().contains("Deployment.apps is not served here"));
}
