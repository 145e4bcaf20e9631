//! Warnings for users: a rollout and its reasons, an ineffective promotion, a missing field.

use pointsman_core::webhook::{Endpoint, Enforcement};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::{embedded, gadget, load, plain, with};

#[test]
fn force_promote_mismatch_is_warned_of() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let warnings = |version: &str, promote: &str, request: &str, status: &Value| {
        let object = json!({"apiVersion": format!("materialize.cloud/{version}"), "kind": "Materialize", "metadata": {"name": "m"},
            "spec": {"environmentdImageRef": "materialize/environmentd:v26.1.0", "backendSecretName": "s", "forcePromote": promote, "requestRollout": request},
            "status": status});
        let answer = ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&object)));
        let about = answer.warnings.into_iter().filter(|warning| warning.starts_with("spec.forcePromote"));
        about.collect::<Vec<_>>()
    };
    let (one, two, nil) = (
        "22222222-2222-2222-2222-222222222222",
        "33333333-3333-3333-3333-333333333333",
        "00000000-0000-0000-0000-000000000000",
    );
    let status = json!({"requestedRolloutHash": "abc"});
    let none: [&str; 0] = [];
    // At v1alpha1 a promotion names the request; at v1alpha2 it names the hash.
    assert_eq!(warnings("v1alpha1", one, one, &status), none);
    assert_eq!(warnings("v1alpha1", &one.replace('-', ""), one, &status), none);
    assert_eq!(warnings("v1alpha1", "abc", one, &status), none);
    assert_eq!(warnings("v1alpha1", nil, one, &status), none);
    assert_eq!(warnings("v1alpha1", "", one, &status), none);
    assert_eq!(
        warnings("v1alpha1", two, one, &status),
        ["spec.forcePromote: promotes nothing: it is neither spec.requestRollout nor status.requestedRolloutHash"]
    );
    assert_eq!(warnings("v1alpha2", "abc", nil, &status), none);
    assert_eq!(
        warnings("v1alpha2", one, nil, &status),
        ["spec.forcePromote: promotes nothing: it is not status.requestedRolloutHash"]
    );
    assert_eq!(warnings("v1alpha2", "", nil, &status), none);
}

#[test]
fn rollout_start_is_warned_of_once() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let old = gadget("v1", &json!({"copies": 2, "hostPort": "a:1"}));
    let told = |new: &Value| ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(new))).warnings;
    assert!(told(&old).is_empty());
    let forced = with(&with(&old, "/spec/copies", json!(3)), "/metadata/annotations/example.com~1force", json!("now"));
    let [warning] = told(&forced).try_into().unwrap();
    assert!(warning.starts_with("this change starts a rollout: copies, annotation example.com/force ("), "{warning}");
    // An empty annotation does not change the hash.
    assert!(told(&with(&old, "/metadata/annotations/example.com~1force", json!(""))).is_empty());
}

#[test]
fn foreign_version_fields_warn() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let applied = json!({"apiVersion": "example.com/v2", "kind": "Gadget", "spec": {"owner": "me"}}).to_string();
    let object = with(
        &gadget("v2", &json!({})),
        "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
        json!(applied),
    );
    let answer = ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&object)));
    assert_eq!(answer.warnings, ["spec.owner has no effect: v2 does not have the field, only v1 does"]);
    let deprecated =
        ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&gadget("v1", &json!({"level": "3"})))));
    assert_eq!(deprecated.warnings, ["spec.level is deprecated: use spec.copies"]);
    let unused =
        ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&gadget("v1", &json!({"level": "0"})))));
    assert!(unused.warnings.is_empty());
}
