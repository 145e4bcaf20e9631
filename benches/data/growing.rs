//! Objects with one part of variable size, which a client or the author of a definition can make large.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Value, json};

/// An object with a part of the given size, and the target version of its conversion.
pub(crate) struct Grown {
    pub(crate) webhook: Webhook,
    pub(crate) object: String,
    pub(crate) to: &'static str,
}

/// Creates an object with a part of this size.
pub(crate) type Make = fn(usize) -> Grown;

/// The parts of variable size, by name.
pub(crate) const ALL: [(&str, Make); 4] = [
    ("forged-entries", forged),
    ("kept-items", reordered),
    ("top-level-members", members_at_the_top),
    ("operations-used", operations),
];

/// A kind with these `spec` fields in its two versions, and these operations between the versions.
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
    let kind = Kind::from_crd(&definition.to_string(), &crd.to_string()).expect("a definition");
    Webhook::new(vec![kind], Metadata::Full).expect("one kind")
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

/// List items of which the newer version lacks an enum field, in reverse order at the newer version.
fn reordered(count: usize) -> Grown {
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
    let there = webhook.convert(&older.to_string(), "v2").expect("converted").text;
    let mut there: Value = serde_json::from_str(&there).expect("JSON");
    there["spec"]["list"].as_array_mut().expect("a list").reverse();
    Grown { webhook, object: there.to_string(), to: "v1" }
}

/// This many kept entries that no operation created, and as many kept items of an absent list.
fn forged(count: usize) -> Grown {
    let text = json!({"type": "string"});
    let webhook = kind(&json!({"f0": text, "g": text}), &json!({"g": text}), &json!([{"drop": "spec.f0"}]));
    let mut entries = fields(count, &json!({"value": "x", "became": [1, {"a": []}]}));
    let items: Vec<Value> = (0..count).map(|index| json!([["a"], "0123456789ab", {"f0": {"value": index}}])).collect();
    entries["list"] = json!({"each": {"count": count, "items": items}});
    let kept = json!({"fields": entries}).to_string();
    Grown { webhook, object: thing("v2", &json!({"g": "x"}), &kept).to_string(), to: "v1" }
}

fn members_at_the_top(count: usize) -> Grown {
    let text = json!({"type": "string"});
    let webhook = kind(&json!({"f0": text, "g": text}), &json!({"g": text}), &json!([{"drop": "spec.f0"}]));
    let mut object = thing("v1", &json!({"f0": "x"}), "x");
    for (name, value) in fields(count, &json!({"a": 1})).as_object().expect("an object") {
        object[name] = value.clone();
    }
    Grown { webhook, object: object.to_string(), to: "v2" }
}

fn operations(count: usize) -> Grown {
    let text = json!({"type": "string"});
    let renames: Vec<Value> = (0..count)
        .map(|index| json!({"rename": {"from": format!("spec.f{index}"), "to": format!("spec.g.f{index}")}}))
        .collect();
    let newer = json!({"g": {"type": "object", "properties": fields(count, &text)}});
    let webhook = kind(&fields(count, &text), &newer, &json!(renames));
    Grown { webhook, object: thing("v1", &fields(count, &json!("x")), "x").to_string(), to: "v2" }
}
