//! Warnings about values that the webhook restores or overwrites, and about stale values.

use pointsman_core::webhook::{Endpoint, Enforcement, Settings, unseen_by_scale};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::matrix::{A, B, labelled};
use super::mutate::stamping;
use super::{embedded, gadget, load, plain, serving, with};

const HASH: &str = "/metadata/annotations/example.com~1rollout-hash";
const KEPT: &str = "/metadata/annotations/pointsman.dev~1kept-v1";

fn stamped(object: &Value) -> Value {
    ask(&stamping(load("gadgets.yaml")), Endpoint::Mutate, &review("CREATE", None, Some(object))).patched
}

fn update(old: &Value, new: &Value) -> Answer {
    ask(&stamping(load("gadgets.yaml")), Endpoint::Mutate, &review("UPDATE", Some(old), Some(new)))
}

/// An API server sends no such object. Nothing is restored, and no warning claims a restore.
#[test]
fn unrestorable_value_is_not_promised() {
    let object = stamped(&gadget("v2", &json!({"replicas": 2})));
    for (path, odd) in [
        ("/metadata", json!([])),
        ("/metadata", json!("x")),
        ("/metadata/labels", json!(["x"])),
        ("/metadata/annotations", json!(7)),
    ] {
        let answer = update(&object, &with(&object, path, odd));
        assert!(answer.patch.is_empty() && answer.warnings.is_empty(), "{path}: {:?}", answer.warnings);
    }
}

#[test]
fn restored_value_is_reported() {
    let object = stamped(&gadget("v2", &json!({"replicas": 2})));
    let hash = object.pointer(HASH).cloned().unwrap();
    let label = "/metadata/labels/example.com~1managed-by-version";
    for (path, told) in [
        (label, "label example.com/managed-by-version was restored to \"2.17.0\": "),
        (HASH, "annotation example.com/rollout-hash was restored: its value is computed from the spec"),
    ] {
        let answer = update(&object, &with(&object, path, Value::Null));
        assert_eq!(answer.patched, object, "{path}");
        let [warning] = answer.warnings.as_slice() else { panic!("{path}: {:?}", answer.warnings) };
        assert!(warning.starts_with(told), "{warning}");
    }
    let forged = update(&object, &with(&object, HASH, json!("mine")));
    assert_eq!(forged.patched.pointer(HASH), Some(&hash));
    assert_eq!(
        forged.warnings,
        ["annotation example.com/rollout-hash was overwritten: its value is computed from the spec"]
    );
    // A value made stale by this write alone, and correct objects.
    assert!(update(&object, &with(&object, "/spec/replicas", json!(3))).warnings.is_empty());
    assert!(update(&object, &object).warnings.is_empty());
}

#[test]
fn restored_annotation_is_reported() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let read = |owner: &str| {
        let old = gadget("v1", &json!({"copies": 2, "level": owner, "hostPort": "a"}));
        let converted = webhook.convert(&old.to_string(), "v2").unwrap();
        stamped(&serde_json::from_str(&converted.text).unwrap())
    };
    let object = read("007");
    let name = |object: &Value| object.pointer(KEPT).cloned();
    assert!(name(&object).is_some(), "{object}");
    let dropped = update(&object, &with(&object, KEPT, Value::Null));
    assert_eq!(name(&dropped.patched), name(&object));
    let [warning] = dropped.warnings.as_slice() else { panic!("{:?}", dropped.warnings) };
    assert!(
        warning.starts_with("annotation pointsman.dev/kept-v1 was restored: it contains values that exist only in v1")
    );
    // A manifest that was exported before a client edited the object at v1.
    let exported = with(&object, KEPT, name(&read("08")).unwrap());
    let answer = update(&object, &exported);
    let [warning] = answer.warnings.as_slice() else { panic!("{:?}", answer.warnings) };
    assert!(warning.starts_with("annotation pointsman.dev/kept-v1 was changed by hand: "), "{warning}");
    // An annotation change caused by this write itself causes no warning, also in a repeated call.
    let changed = update(&object, &with(&object, "/spec/level", json!(5)));
    assert!(changed.warnings.is_empty(), "{:?}", changed.warnings);
    assert_ne!(name(&changed.patched), name(&object));
    assert!(update(&object, &changed.patched).warnings.is_empty());
    // An empty annotation is an intentional removal.
    assert!(update(&object, &with(&object, KEPT, json!(""))).warnings.is_empty());
}

#[test]
fn stale_hash_is_reported() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let object = stamped(&gadget("v2", &json!({"replicas": 2})));
    let told = |old: Option<&Value>, new: &Value| {
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let answer = ask(&webhook, Endpoint::Validate, &review(operation, old, Some(new)));
        assert!(answer.allowed, "{answer:?}");
        answer.warnings.into_iter().filter(|warning| warning.contains("rollout-hash is")).collect::<Vec<_>>()
    };
    assert_eq!(told(None, &object), [""; 0]);
    let changed = with(&object, "/spec/replicas", json!(3));
    let [warning] = told(None, &changed).try_into().unwrap();
    assert!(warning.contains("the object was changed after /mutate, or bypassed /mutate"), "{warning}");
    assert_eq!(told(Some(&object), &changed).len(), 1);
    // Written without a stamping webhook: every later write repeats the warning.
    assert_eq!(told(Some(&changed), &with(&changed, "/metadata/labels/x", json!("y"))).len(), 1);
    let other = with(&changed, "/metadata/annotations/example.com~1rollout-hash-version", json!("2"));
    assert_eq!(told(None, &other), [""; 0], "another recipe's");
    assert_eq!(told(None, &gadget("v2", &json!({"replicas": 2}))), [""; 0], "never stamped");
}

#[test]
fn change_uses_its_authors_path() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let old = json!({"apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize", "metadata": {"name": "m"},
        "spec": {"environmentdImageRef": "materialize/environmentd:v26.1.0", "backendSecretName": "s",
            "environmentdIamRoleArn": "arn:a", "serviceAccountAnnotations": {"team": "a"}}});
    let told = |pointer: &str, value: Value| {
        let new = with(&old, pointer, value);
        let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
        let [warning] = answer
            .warnings
            .into_iter()
            .filter(|warning| warning.contains("starts a rollout"))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        warning.rsplit_once(" (").unwrap().0.to_owned()
    };
    let starts = |what: &str| format!("this change starts a rollout: {what}");
    assert_eq!(told("/spec/serviceAccountAnnotations/team", json!("b")), starts("serviceAccountAnnotations"));
    assert_eq!(told("/spec/environmentdIamRoleArn", json!("arn:b")), starts("environmentdIamRoleArn"));
    assert_eq!(told("/spec/podLabels", json!({"a": "b"})), starts("podLabels"));
}

#[test]
fn left_version_gets_no_warnings() {
    let webhook = serving(load("gadgets.yaml"), Some(A), Settings::default());
    let object = stamped(&gadget("v2", &json!({"replicas": 2})));
    let changed = with(&object, "/spec/replicas", json!(3));
    let (old, new) = (labelled(&object, Some(A)), labelled(&changed, Some(B)));
    let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
    assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
}

/// A write of a scale subresource, as the API server sends it.
fn scale(version: &str, from: i64, to: i64) -> Value {
    let object = |replicas: i64| {
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "e", "namespace": "default"},
            "spec": {"replicas": replicas}, "status": {"replicas": 1}})
    };
    let mut review = review("UPDATE", Some(&object(from)), Some(&object(to)));
    review["request"]["subResource"] = json!("scale");
    review["request"]["resource"] = json!({"group": "example.com", "version": version, "resource": "engines"});
    review
}

#[test]
fn scale_follows_common_rules() {
    let kind = || {
        let text = super::data("kinds/engines.yaml");
        assert!(text.contains("\n  rules:\n"), "{text}");
        let text = text.replace("\n  rules:\n", "\n  rules:\n  - range: {field: spec.replicas, max: 5}\n");
        let text = text.replace("  except: [spec.replicas]\n", "");
        let mut read = |file: &str| Ok(super::data(&format!("kinds/{file}")));
        pointsman_core::definition::Kind::load("engines.yaml", &text, &mut read).unwrap()
    };
    let ask = |enforcement, from, to| {
        let webhook = plain(kind(), enforcement);
        ask(&webhook, Endpoint::Validate, &scale("v1", from, to))
    };
    let fine = ask(Enforcement::Enforce, 2, 3);
    assert!(fine.allowed, "{fine:?}");
    let [warning] = fine.warnings.as_slice() else { panic!("{fine:?}") };
    assert!(warning.starts_with("spec.replicas is part of the rollout hash, and scale bypasses /mutate"));
    assert!(ask(Enforcement::Enforce, 3, 3).warnings.is_empty());
    let denied = ask(Enforcement::Enforce, 3, 9);
    assert_eq!((denied.allowed, denied.code), (false, 422));
    assert_eq!(denied.causes[0].0, "spec.replicas");
    let warned = ask(Enforcement::Warn, 3, 9);
    assert!(warned.allowed && warned.warnings.iter().any(|told| told.starts_with("not enforced yet: spec.replicas")));
    let audited = ask(Enforcement::Audit, 3, 9);
    assert!(audited.allowed && audited.warnings.is_empty() && audited.audit["would-deny"].is_string());
    let notes = unseen_by_scale(&kind());
    assert!(notes.iter().any(|note| note.contains("is part of the rollout hash")), "{notes:?}");
    assert_eq!(unseen_by_scale(&embedded("materialize")), [""; 0]);
}
