//! Callers that disconnect during a decision, and callers that stay.

use std::cell::Cell;

use pointsman_core::definition::MutatedKind;
use pointsman_core::webhook::{Endpoint, FactValue, HandleError, KnownFacts, Metadata, Request, Webhook};
use serde_json::{Value, json};

use crate::kinds::{WEBHOOK, load};

/// A caller that disconnects after this many liveness checks.
struct Impatient {
    patience: usize,
    asked: Cell<usize>,
}

impl Impatient {
    fn waiting(patience: usize) -> Self {
        Self { patience, asked: Cell::new(0) }
    }

    fn waits(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get() <= self.patience
    }

    /// Returns whether the request was answered, and the number of liveness checks.
    fn asks(&self, webhook: &Webhook, endpoint: Endpoint, body: &Value) -> (bool, usize) {
        let mut facts = KnownFacts::default();
        facts.set("moved", FactValue::True);
        let reply = webhook.handle(
            &Request::new(endpoint, body.to_string().as_bytes()).knowing(&facts).while_awaited(&|| self.waits()),
        );
        let answered = match reply {
            Ok(_) => true,
            Err(HandleError::ClientDisconnected) => false,
            Err(error) => panic!("{error}"),
        };
        (answered, self.asked.get())
    }
}

fn conversion(objects: &[Value], desired: &str) -> Value {
    let request = json!({"uid": "u", "desiredAPIVersion": desired, "objects": objects});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
}

fn admission(group: &str, new: &Value, old: Option<&Value>) -> Value {
    let kind = json!({"group": group, "version": "v1", "kind": new["kind"]});
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = json!({"uid": "u", "operation": operation, "kind": kind, "object": new, "oldObject": old});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

/// An object with this many items, each with one part.
fn mailbox(items: usize) -> Value {
    let item = |id: usize| json!({"id": id.to_string(), "stop": true, "parts": [{"size": "1"}]});
    let filters: Vec<Value> = (0..items).map(item).collect();
    json!({"apiVersion": "example.com/v1", "kind": "Mailbox", "metadata": {"name": "a"}, "spec": {"filters": filters}})
}

/// Reviews of one endpoint each, with `times` units of work.
fn reviews(times: usize) -> Vec<(&'static str, Endpoint, Value)> {
    let small: Vec<Value> = (0..times).map(|_| mailbox(0)).collect();
    let broken: Vec<Value> = (0..times).map(|_| json!({"kind": "Mailbox"})).collect();
    let large = mailbox(times);
    vec![
        ("objects", Endpoint::Convert, conversion(&small, "example.com/v2")),
        ("objects that cannot be converted", Endpoint::Convert, conversion(&broken, "example.com/v2")),
        ("items", Endpoint::Convert, conversion(std::slice::from_ref(&large), "example.com/v2")),
        ("items that are stamped", Endpoint::Mutate, admission("example.com", &large, None)),
    ]
}

#[test]
fn caller_is_polled_per_item() {
    for (name, endpoint, review) in reviews(500) {
        let patient = Impatient::waiting(usize::MAX);
        let (answered, asked) = patient.asks(&WEBHOOK, endpoint, &review);
        assert!(answered && asked >= 500, "{name}: asked {asked} times");
        let one = WEBHOOK.handle(&Request::new(endpoint, review.to_string().as_bytes())).unwrap();
        let other = WEBHOOK.handle(
            &Request::new(endpoint, review.to_string().as_bytes())
                .knowing(&KnownFacts::default())
                .while_awaited(&|| true),
        );
        assert_eq!(one.body, other.unwrap().body, "{name}");
    }
}

/// A cancelled decision returns no response, even if its partial result resembles a response, and starts no further
/// work.
#[test]
fn abandoned_decision_ends_early() {
    let mut given_up = 0;
    for (name, endpoint, review) in reviews(20) {
        let (_, all) = Impatient::waiting(usize::MAX).asks(&WEBHOOK, endpoint, &review);
        for patience in 0..all {
            let (answered, asked) = Impatient::waiting(patience).asks(&WEBHOOK, endpoint, &review);
            assert!(!answered, "{name}: gone at question {patience} of {all}, and answered");
            assert_eq!(asked, patience + 1, "{name}: who is gone is not asked again");
            given_up += 1;
        }
    }
    assert!(given_up > 100, "{given_up}");
}

#[test]
fn abandoned_write_gets_no_verdict() {
    let kinds = vec![load("engines.yaml"), load("mailboxes.yaml")];
    let webhook = Webhook::new(kinds, Metadata::Identity).unwrap();
    let engine = json!({"apiVersion": "example.com/v2", "kind": "Engine", "metadata": {"name": "a"},
        "spec": {"size": 1, "image": "a:1.0.0"}});
    let (old, new) = (mailbox(3), mailbox(5));
    let mut given_up = 0;
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        for review in [
            admission("example.com", &engine, None),
            admission("example.com", &engine, Some(&engine)),
            admission("example.com", &new, Some(&old)),
        ] {
            let (_, all) = Impatient::waiting(usize::MAX).asks(&webhook, endpoint, &review);
            for patience in 0..all {
                let (answered, asked) = Impatient::waiting(patience).asks(&webhook, endpoint, &review);
                assert!(!answered && asked == patience + 1, "{endpoint:?} {review}");
                given_up += 1;
            }
        }
    }
    assert!(given_up > 20, "{given_up}");
}

#[test]
fn abandoned_mutation_does_not_run() {
    let mutations = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
        resource: {group: apps, version: v1, kind: Deployment, plural: deployments}\nmutations:\n\
        - name: moved\n  fact: {resource: nodes, name: x, label: moved}\n\
        \x20 onceTrue: [{set: {field: spec.replicas, value: 0}}]\n";
    let webhook = Webhook::new(Vec::new(), Metadata::Identity).unwrap();
    let webhook = webhook.with_mutations(vec![MutatedKind::load("s.yaml", mutations).unwrap()]).unwrap();
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {}});
    let review = admission("apps", &object, None);
    let (answered, asked) = Impatient::waiting(usize::MAX).asks(&webhook, Endpoint::Mutate, &review);
    assert!(answered && asked > 0, "{asked}");
    assert_eq!(Impatient::waiting(0).asks(&webhook, Endpoint::Mutate, &review), (false, 1));
}
