//! When a conversion fails, whoever asked is told why, whatever they asked for.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::{Value, json};

use crate::incomplete::guard;
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::scene::{APPLY, JSON, MERGE, Scene};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("conversion_errors_reach_every_verb", conversion_errors).failing(),
    Scenario::new("oversized_kept_fields_are_never_stored", too_big).materialize(),
    Scenario::new("one_bad_object_harms_no_other", one_of_many).failing(),
];

/// An object whose spec is text: written by somebody who can write to etcd, or by an older CRD.
fn conversion_errors(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let object = scene.create(old, &scene.object(old, "bad")).ok();
    let mut bad = scene.etcd("bad");
    bad["spec"] = json!("text");
    scene.bed.etcd.write(&scene.key("bad"), &bad);
    let mut verbs = vec![("bad", Method::GET), ("bad", Method::PUT), ("bad", Method::PATCH), ("bad", Method::DELETE)];
    verbs.extend([("", Method::GET), ("", Method::DELETE)]);
    verbs.extend(
        ["bad/status"].into_iter().flat_map(|name| [(name, Method::GET), (name, Method::PUT), (name, Method::PATCH)]),
    );
    if scene.sample.scale {
        verbs.extend([("bad/scale", Method::GET), ("bad/scale", Method::PUT), ("bad/scale", Method::PATCH)]);
    }
    let mut seen = BTreeSet::new();
    for (name, method) in verbs {
        let body = body(&method, name, &object);
        let message = scene.eventually(|| {
            let answer = scene.call(method.clone(), &scene.one(old, name), body.clone());
            // A cache that cannot be filled sends its readers away for a moment.
            (answer.code != 429).then(|| explained(&answer, &format!("{method} {name}")))
        });
        assert!(message.contains("spec"), "{message}");
        seen.insert(message);
    }
    let apply = Some((APPLY, scene.object(old, "bad").to_string()));
    let path = format!("{}?fieldManager=x&force=true", scene.one(old, "bad"));
    explained(&scene.call(Method::PATCH, &path, apply), "apply");
    assert_eq!(seen.len(), 1, "one reason for all: {seen:?}");
    // In its own version it can be had, and removed.
    scene.delete(new, "bad").ok();
    scene.eventually(|| scene.list(old).is_ok().then_some(()));
}

fn body(method: &Method, name: &str, object: &Value) -> Option<(&'static str, String)> {
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 1},
        "metadata": {"name": "bad", "namespace": object["metadata"]["namespace"]},
    });
    match *method {
        Method::PUT if name == "bad/scale" => Some((JSON, scale.to_string())),
        Method::PUT => Some((JSON, object.to_string())),
        Method::PATCH => Some((MERGE, json!({"metadata": {"labels": {"a": "b"}}}).to_string())),
        _ => None,
    }
}

/// Checks that a failure is ours, and that it names the object and the place.
fn explained(answer: &Answer, what: &str) -> String {
    let message = answer.fails(500);
    assert!(message.contains("conversion webhook for"), "{what}: {message}");
    assert!(message.contains("/bad"), "{what}: {message}");
    message
}

/// A value that only one version can say, and that is too big for an annotation.
fn too_big(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let mut marked = scene.object(new, "probe");
    marked["metadata"]["annotations"] = json!({"pointsman.dev/incomplete": "by hand"});
    guard(scene, new, new, &marked);
    scene.create(old, &scene.object(old, "bad")).ok();
    let before = scene.etcd("bad");
    let big = "x".repeat(300_000);
    let spec =
        json!({"environmentdIamRoleArn": big, "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "other"}});
    let mut object = scene.get(old, "bad").ok();
    object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let mut fresh = scene.object(old, "bad-2");
    fresh["spec"] = object["spec"].clone();
    let mut applied = scene.object(old, "bad");
    applied["spec"] = object["spec"].clone();
    for (what, answer) in [
        ("create", scene.create(old, &fresh)),
        ("update", scene.update(old, "bad", &object)),
        ("patch", scene.patch(old, "bad", &json!({"spec": spec}))),
        ("apply", scene.force_apply(old, "bad", &applied, "x")),
    ] {
        let message = answer.fails(422);
        assert!(message.contains("kept-v1alpha1") && message.contains("256 KiB"), "{what}: {message}");
        assert!(message.len() < 2000, "{what}: the value itself is not in the message");
    }
    assert_eq!(scene.etcd("bad"), before);
    assert!(scene.bed.etcd.read(&scene.key("bad-2")).is_none());
    scene.forget_policy(new);
}

fn one_of_many(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    for name in ["good", "bad"] {
        scene.create(old, &scene.object(old, name)).ok();
    }
    let mut bad = scene.etcd("bad");
    bad["spec"] = json!(["not", "a", "spec"]);
    scene.bed.etcd.write(&scene.key("bad"), &bad);
    scene.eventually(|| (!scene.get(old, "bad").is_ok()).then_some(()));
    scene.get(old, "good").ok();
    scene.patch(old, "good", &json!({"metadata": {"labels": {"a": "b"}}})).ok();
    assert_eq!(scene.names(new), ["bad", "good"]);
    scene.delete(new, "bad").ok();
    scene.eventually(|| scene.list(old).is_ok().then_some(()));
    assert_eq!(scene.names(old), ["good"]);
}
