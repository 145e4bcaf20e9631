//! A kept value whose visible field has changed is removed: `/mutate` processes the write and prunes the annotation.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Enforcement, Webhook};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::{data, embedded, plain, with};

const KEPT: &str = "/metadata/annotations/pointsman.dev~1kept-v1";

fn case(name: &str) -> Webhook {
    let text = |extension: &str| data(&format!("random-kinds/{name}.{extension}"));
    plain(Kind::from_crd(&text("yaml"), &text("crd.yaml")).unwrap(), Enforcement::Enforce)
}

fn update(webhook: &Webhook, old: &Value, new: &Value) -> Answer {
    ask(webhook, Endpoint::Mutate, &review("UPDATE", Some(old), Some(new)))
}

fn create(webhook: &Webhook, new: &Value) -> Answer {
    ask(webhook, Endpoint::Mutate, &review("CREATE", None, Some(new)))
}

/// The object converted to another version, as a client reads it.
fn at(webhook: &Webhook, object: &Value, version: &str) -> Value {
    serde_json::from_str(&webhook.convert(&object.to_string(), version).unwrap().text).unwrap()
}

fn thing(spec: Value) -> Value {
    let mut thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}});
    thing["spec"] = spec;
    thing
}

#[test]
fn kept_value_needs_its_anchor() {
    let webhook = case("guard-changes-back");
    let stored = at(&webhook, &thing(json!({"policy": "Forever"})), "v2");
    assert!(stored.pointer(KEPT).is_some(), "{stored}");
    let never = update(&webhook, &stored, &with(&stored, "/spec/policy", json!("Never"))).patched;
    assert_eq!(never.pointer(KEPT), None, "{never}");
    let always = update(&webhook, &never, &with(&never, "/spec/policy", json!("Always"))).patched;
    assert_eq!(at(&webhook, &always, "v1")["spec"]["policy"], "Always");
    // A replace from a manifest without annotations is handled like any write.
    let replaced = update(&webhook, &stored, &with(&with(&stored, KEPT, Value::Null), "/spec/policy", json!("Never")));
    assert_eq!((replaced.patched.pointer(KEPT), replaced.patch.len()), (None, 0));
}

#[test]
fn recreated_item_starts_clean() {
    let kind = Kind::from_crd(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: x\nsteps:\n- from: v1\n  to: v2\n  operations:\n  \
         - each: {in: spec.items, key: name, operations: [{drop: comment}]}\n",
        &data("random-kinds/guard-changes-back.crd.yaml")
            .replacen(
                "policy: {type: string, enum: [Always, Forever, Never]}",
                "items: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, comment: {type: string}}}}",
                1,
            )
            .replacen(
                "policy: {type: string, enum: [Always, Never]}",
                "items: {type: array, items: {type: object, required: [name], properties: {name: {type: string}}}}",
                1,
            ),
    );
    let webhook = plain(kind.unwrap(), Enforcement::Enforce);
    let items = json!([{"name": "a", "comment": "mine"}, {"name": "b", "comment": "yours"}]);
    let stored = at(&webhook, &thing(json!({"items": items})), "v2");
    let without = update(&webhook, &stored, &with(&stored, "/spec/items", json!([{"name": "b"}]))).patched;
    let home = |object: &Value| at(&webhook, object, "v1")["spec"]["items"].clone();
    assert_eq!(home(&without), json!([{"name": "b", "comment": "yours"}]));
    let again =
        update(&webhook, &without, &with(&without, "/spec/items", json!([{"name": "a"}, {"name": "b"}]))).patched;
    assert_eq!(home(&again), json!([{"name": "a"}, {"name": "b", "comment": "yours"}]));
}

/// A write that changes neither a kept value nor its visible field is left unchanged, regardless of the annotation's
/// spelling.
#[test]
fn valid_kept_value_is_untouched() {
    let webhook = case("guard-changes-back");
    let spelled = json!(r#"{ "fields": {"spec.policy": {"became": "Always", "value": "Forever"}}}"#);
    let stored =
        with(&with(&thing(json!({"policy": "Always"})), KEPT, spelled), "/apiVersion", json!("example.com/v2"));
    for new in [
        stored.clone(),
        with(&stored, "/metadata/labels", json!({"app": "x"})),
        with(&stored, "/metadata/annotations/note", json!("x")),
        with(&stored, "/spec/other", json!(1)),
        with(&stored, "/status", json!({"phase": "Ready"})),
    ] {
        assert_eq!(update(&webhook, &stored, &new).patch, [Value::Null; 0], "{new}");
    }
    // Nothing is created if nothing was kept, or if the annotation belongs to another client.
    for kept in [Value::Null, json!("{"), json!("{}"), json!(r#"{"theirs":1}"#)] {
        let old = with(&stored, KEPT, kept);
        let new = with(&old, "/spec/policy", json!("Never"));
        assert_eq!(update(&webhook, &old, &new).patch, [Value::Null; 0], "{new}");
    }
    assert_eq!(create(&webhook, &stored).patch, [Value::Null; 0]);
    // An outdated annotation in a manifest is removed, even if the stored object had none.
    let brought = with(&stored, "/spec/policy", json!("Never"));
    assert_eq!(update(&webhook, &with(&brought, KEPT, Value::Null), &brought).patched.pointer(KEPT), None);
}

/// An exported, edited and recreated manifest contains the kept values of the original.
#[test]
fn created_object_keeps_only_valid_values() {
    let webhook = case("guard-changes-back");
    let stored = at(&webhook, &thing(json!({"policy": "Forever"})), "v2");
    let edited = create(&webhook, &with(&stored, "/spec/policy", json!("Never"))).patched;
    assert_eq!(edited.pointer(KEPT), None, "{edited}");
}

/// The older version requires a size, the newer one does not; each version has a field with a default.
fn sized() -> Webhook {
    let version = |name: &str, spec: &str| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema:\n        \
             {{type: object, properties: {{spec: {spec}}}}}\n",
            name == "v3"
        )
    };
    let open = "{type: object, properties: {size: {type: integer}, mode: {type: string, default: slow}}}";
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things, singular: thing}}\n  \
         scope: Namespaced\n  versions:\n{}{}{}",
        version("v1", "{type: object, required: [size], properties: {size: {type: integer}}}"),
        version("v2", open),
        version("v3", open),
    );
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: x\nsteps:\n\
        - {from: v1, to: v2, operations: [{add: spec.mode}, {fill: {field: spec.size, value: 1}}]}\n\
        - {from: v2, to: v3, operations: []}\n";
    plain(Kind::from_crd(definition, &crd).unwrap(), Enforcement::Enforce)
}

#[test]
fn sparse_object_becomes_complete() {
    let webhook = sized();
    let sparse = thing(json!({}));
    for there in ["v2", "v3"] {
        let read = at(&webhook, &sparse, there);
        assert_eq!((&read["spec"], read.pointer(KEPT)), (&json!({}), Some(&json!(r#"{"sparse":true}"#))), "{there}");
        let written = with(&read, "/spec/size", json!(1));
        let home = at(&webhook, &written, "v1");
        assert_eq!(home["spec"], json!({"size": 1}));
        // The next read at the other version returns a complete object.
        let again = at(&webhook, &with(&home, "/spec/size", json!(2)), there);
        assert_eq!((&again["spec"], again.pointer(KEPT)), (&json!({"size": 2, "mode": "slow"}), None), "{there}");
    }
}

/// An annotation that marks a complete object as sparse in another version would remove its defaults and its hash in
/// every version. The write that adds the annotation drops it.
#[test]
fn obsolete_sparse_mark_is_dropped() {
    let webhook = sized();
    for (version, elsewhere) in [("v2", "v1"), ("v3", "v1"), ("v3", "v2"), ("v1", "v3"), ("v1", "v2"), ("v2", "v3")] {
        let mut whole = thing(json!({"size": 1, "mode": "fast"}));
        if version == "v1" {
            whole = thing(json!({"size": 1}));
        }
        let whole = with(&whole, "/apiVersion", json!(format!("example.com/{version}")));
        let key = format!("/metadata/annotations/pointsman.dev~1kept-{elsewhere}");
        let marked = with(&whole, &key, json!(r#"{"sparse":true}"#));
        for patched in [create(&webhook, &marked).patched, update(&webhook, &whole, &marked).patched] {
            assert_eq!(patched.pointer(&key), None, "{version}: {patched}");
        }
    }
}

/// The API server assigns the uid of a new object after admission.
#[test]
fn new_object_completes_without_uid() {
    let webhook = case("added-field-without-spec");
    let stored = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "t", "uid": "u"},
        "data": {"x": "a"}});
    let exported = with(&at(&webhook, &stored, "v1"), "/metadata/uid", Value::Null);
    let kept = "/metadata/annotations/pointsman.dev~1kept-v2";
    assert!(exported.pointer(kept).is_some(), "{exported}");
    let created = create(&webhook, &exported).patched;
    assert_eq!(created.pointer(kept), exported.pointer(kept), "{created}");

    let webhook = case("new-object-without-spec");
    let new = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "data": {"x": "a"}});
    let created = create(&webhook, &new).patched;
    let hash = created.pointer("/metadata/annotations/example.com~1rollout-hash");
    assert!(hash.is_some(), "{created}");
    let labelled = with(&with(&created, "/metadata/uid", json!("u")), "/metadata/labels", json!({"app": "x"}));
    let updated = update(&webhook, &with(&created, "/metadata/uid", json!("u")), &labelled).patched;
    assert_eq!(updated.pointer("/metadata/annotations/example.com~1rollout-hash"), hash);
}

/// If the status is a subresource, the status in a write of the object is ignored: the API server drops it.
#[test]
fn status_in_a_write_is_ignored() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let kept = "/metadata/annotations/pointsman.dev~1kept-v1alpha1";
    let older = json!({
        "apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize", "metadata": {"name": "m", "namespace": "n"},
        "spec": {"environmentdImageRef": "m:v26.0.0", "backendSecretName": "s", "inPlaceRollout": true,
            "requestRollout": "22222222-2222-2222-2222-222222222222"},
        "status": {"activeGeneration": 1, "conditions": [], "resourcesHash": "abc",
            "lastCompletedRolloutRequest": "22222222-2222-2222-2222-222222222222"},
    });
    let created = update(&webhook, &at(&webhook, &older, "v1alpha2"), &at(&webhook, &older, "v1alpha2")).patched;
    let upgraded = with(&created, "/spec/environmentdImageRef", json!("m:v26.1.0"));
    for status in [json!({}), json!({"lastCompletedRolloutHash": "x", "conditions": []}), Value::Null] {
        let new = with(&upgraded, "/status", status);
        let patched = update(&webhook, &created, &new).patched;
        assert_eq!(patched.pointer(kept), created.pointer(kept), "{new}");
    }
    // A controller writes another status between two writes of the object. Values that depend on the first status are
    // checked on read, not on the write of the object.
    let moved_on = with(&created, "/status/lastCompletedRolloutHash", json!("x"));
    let upgraded = with(&upgraded, "/status", moved_on["status"].clone());
    let patched = update(&webhook, &moved_on, &upgraded).patched;
    assert_eq!(patched.pointer(kept), created.pointer(kept));
}

/// If the status is a subresource, a created object has no status, regardless of the request. Kept status values would
/// reappear with the first status write.
#[test]
fn recreated_object_loses_kept_status() {
    let status = |fields: &str| format!("status: {{type: object, properties: {{phase: {{type: string}}{fields}}}}}");
    let version = |name: &str, status: &str, storage: bool| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {storage}\n    subresources: {{status: {{}}}}\n    \
             schema:\n      openAPIV3Schema: {{type: object, properties: {{{status}}}}}\n"
        )
    };
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things, singular: thing}}\n  \
         scope: Namespaced\n  versions:\n{}{}",
        version("v1", &status(", note: {type: string}"), false),
        version("v2", &status(""), true),
    );
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: x\nsteps:\n\
        - {from: v1, to: v2, operations: [{drop: status.note}]}\n";
    let webhook = plain(Kind::from_crd(definition, &crd).unwrap(), Enforcement::Enforce);
    let older = with(&thing(json!({})), "/status", json!({"phase": "Ready", "note": "of before"}));
    let exported = at(&webhook, &older, "v2");
    assert!(exported.pointer(KEPT).is_some(), "{exported}");
    let created = create(&webhook, &exported).patched;
    assert_eq!(created.pointer(KEPT), None, "{created}");
}
