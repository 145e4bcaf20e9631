//! What a conversion takes of the allocator, counted exactly: by thread, and the same on every machine.

use allocation_counter::measure;
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook};
use serde_json::{Value, json};

/// A stored object of 6 kB, as the benchmarks have it.
const OBJECT: &str = include_str!("../../../../benches/data/object.json");

fn review(objects: usize) -> Vec<u8> {
    let objects = vec![OBJECT.trim_end(); objects].join(",");
    let review = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"1",
        "desiredAPIVersion":"materialize.cloud/v1alpha2","objects":[{objects}]}}}}"#
    );
    review.into_bytes()
}

fn webhook() -> Webhook {
    Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap()
}

/// Allocations of one more object in a review, whatever the review itself takes.
fn allocations_per_object() -> u64 {
    let webhook = webhook();
    let count = |objects| {
        let body = review(objects);
        let allocations = measure(|| {
            let reply = webhook.handle(Endpoint::Convert, &body).unwrap();
            assert!(reply.message.is_none(), "{:?}", reply.message);
        });
        allocations.count_total
    };
    (count(110) - count(10)) / 100
}

#[test]
fn an_object_allocates_no_more_than_it_did() {
    let allocations = allocations_per_object();
    assert!(allocations <= 87, "{allocations} allocations per object");
}

/// Many objects in one review: their body, their answer, and little beside them.
#[test]
fn a_thousand_objects_take_little_more_than_their_answer() {
    let (webhook, body) = (webhook(), review(1000));
    let peak = measure(|| assert!(webhook.handle(Endpoint::Convert, &body).unwrap().message.is_none())).bytes_max;
    let with_body = (peak + body.len() as u64) as f64 / body.len() as f64;
    assert!(with_body <= 2.2, "{with_body:.2} times the body, the body itself with it");
}

/// What grows in an object, and its size.
type Grown<'g> = (&'static str, &'g dyn Fn(usize) -> (Webhook, String, &'static str));

/// A kind whose `spec` has these fields in its two versions, and these operations between them.
fn kind(older: &Value, newer: &Value, operations: &Value) -> Webhook {
    let version = |name: &str, spec: &Value, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": spec}},
        }}})
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [version("v1", older, true), version("v2", newer, false)],
        },
    });
    let definition = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "things.crd.yaml",
        "steps": [{"from": "v1", "to": "v2", "operations": operations}],
    });
    let kind = Kind::from_crd(&definition.to_string(), &crd.to_string()).unwrap();
    Webhook::new(vec![kind], Metadata::Full).unwrap()
}

fn thing(version: &str, spec: &Value, kept: &str) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Thing", "spec": spec,
        "metadata": {"name": "a", "namespace": "b", "uid": "c", "annotations": {"pointsman.dev/kept-v1": kept}},
    })
}

/// Fields `f0`, `f1` and so on.
fn fields(count: usize, value: &Value) -> Value {
    (0..count).map(|index| (format!("f{index}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
}

/// Items of which the newer version cannot say all, with an enum among it, written there in another order.
fn reordered(count: usize) -> (Webhook, String, &'static str) {
    let options: Vec<String> = (0..50).map(|option| format!("option-{option}")).collect();
    let text = json!({"type": "string"});
    let list = |item: Value| json!({"list": {"type": "array", "items": {"type": "object", "properties": item}}});
    let webhook = kind(
        &list(json!({"name": text, "mode": {"type": "string", "enum": options}})),
        &list(json!({"name": text})),
        &json!([{"each": {"in": "spec.list", "key": "name", "operations": [{"drop": "mode"}]}}]),
    );
    let item = |index: usize| json!({"name": format!("n{index}"), "mode": options[index % 50]});
    let older = thing("v1", &json!({"list": (0..count).map(item).collect::<Vec<_>>()}), "x");
    let there = webhook.convert(&older.to_string(), "v2").unwrap().text;
    let mut there: Value = serde_json::from_str(&there).unwrap();
    there["spec"]["list"].as_array_mut().unwrap().reverse();
    (webhook, there.to_string(), "v1")
}

/// An entry for each of so many places that nothing keeps, and as many items of a list that is not there.
fn forged(count: usize) -> (Webhook, String, &'static str) {
    let text = json!({"type": "string"});
    let webhook = kind(&json!({"f0": text, "g": text}), &json!({"g": text}), &json!([{"drop": "spec.f0"}]));
    let mut entries = fields(count, &json!({"value": "x", "became": [1, {"a": []}]}));
    let items: Vec<Value> = (0..count).map(|index| json!([["a"], "0123456789ab", {"f0": {"value": index}}])).collect();
    entries["list"] = json!({"each": {"count": count, "items": items}});
    let kept = json!({"fields": entries}).to_string();
    (webhook, thing("v2", &json!({"g": "x"}), &kept).to_string(), "v1")
}

fn members_at_the_top(count: usize) -> (Webhook, String, &'static str) {
    let text = json!({"type": "string"});
    let webhook = kind(&json!({"f0": text, "g": text}), &json!({"g": text}), &json!([{"drop": "spec.f0"}]));
    let mut object = thing("v1", &json!({"f0": "x"}), "x");
    for (name, value) in fields(count, &json!({"a": 1})).as_object().unwrap() {
        object[name] = value.clone();
    }
    (webhook, object.to_string(), "v2")
}

fn operations(count: usize) -> (Webhook, String, &'static str) {
    let text = json!({"type": "string"});
    let renames: Vec<Value> = (0..count)
        .map(|index| json!({"rename": {"from": format!("spec.f{index}"), "to": format!("spec.g.f{index}")}}))
        .collect();
    let newer = json!({"g": {"type": "object", "properties": fields(count, &text)}});
    let webhook = kind(&fields(count, &text), &newer, &json!(renames));
    (webhook, thing("v1", &fields(count, &json!("x")), "x").to_string(), "v2")
}

/// Twice as much costs twice as much, whatever a client makes large: no attack, and no large object, gets dear by its
/// square. What the allocator is asked for is exact; it does not see what is only read twice.
#[test]
fn twice_as_much_of_anything_allocates_twice_as_much() {
    let grown: [Grown<'_>; 4] = [
        ("forged entries", &forged),
        ("items that keep an option", &reordered),
        ("members at the top", &members_at_the_top),
        ("operations", &operations),
    ];
    for (what, make) in grown {
        let taken = |count: usize| {
            let (webhook, object, to) = make(count);
            let taken = measure(|| drop(webhook.convert(&object, to).unwrap()));
            (taken.count_total, taken.bytes_total)
        };
        let (small, large) = (taken(500), taken(1000));
        for (unit, small, large) in [("allocations", small.0, large.0), ("bytes", small.1, large.1)] {
            assert!(large as f64 <= small as f64 * 2.2, "{what}: {small} {unit} for 500, {large} for 1000");
        }
    }
}
