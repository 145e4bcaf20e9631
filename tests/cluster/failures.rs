//! If a conversion fails, every client receives the reason, for every request.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::{Value, json};

use crate::incomplete::guard;
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{APPLY, JSON, MERGE, TestContext};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("conversion_errors_reach_every_verb", conversion_errors).failing(),
    Scenario::new("oversized_kept_fields_are_never_stored", too_big).materialize(),
    Scenario::new("one_bad_object_harms_no_other", one_of_many).failing(),
];

/// An object with text as its spec: written directly to etcd, or under an older CRD.
fn conversion_errors(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let object = ctx.create(old, &ctx.object(old, "bad")).ok();
    let mut bad = ctx.etcd("bad");
    bad["spec"] = json!("text");
    ctx.test_cluster.etcd.write(&ctx.key("bad"), &bad);
    let mut verbs = vec![("bad", Method::GET), ("bad", Method::PUT), ("bad", Method::PATCH), ("bad", Method::DELETE)];
    verbs.extend([("", Method::GET), ("", Method::DELETE)]);
    verbs.extend(
        ["bad/status"].into_iter().flat_map(|name| [(name, Method::GET), (name, Method::PUT), (name, Method::PATCH)]),
    );
    if ctx.sample.scale {
        verbs.extend([("bad/scale", Method::GET), ("bad/scale", Method::PUT), ("bad/scale", Method::PATCH)]);
    }
    let mut seen = BTreeSet::new();
    for (name, method) in verbs {
        let body = body(&method, name, &object);
        let message = ctx.eventually(|| {
            let answer = ctx.call(method.clone(), &ctx.one(old, name), body.clone());
            // An unfilled cache rejects its readers for a moment.
            (answer.code != 429).then(|| explained(&answer, &format!("{method} {name}")))
        });
        assert!(message.contains("spec"), "{message}");
        // Kubernetes 1.37 adds the key and the revision before the message of the webhook.
        let reason = match ctx.test_cluster.plan.version {
            "1.37" => message.split_once("conversion webhook for").unwrap().1.to_owned(),
            _ => message,
        };
        seen.insert(reason);
    }
    let apply = Some((APPLY, ctx.object(old, "bad").to_string()));
    let path = format!("{}?fieldManager=x&force=true", ctx.one(old, "bad"));
    explained(&ctx.call(Method::PATCH, &path, apply), "apply");
    assert_eq!(seen.len(), 1, "one reason for all: {seen:?}");
    // At its own version the object can be read and deleted.
    ctx.delete(new, "bad").ok();
    ctx.eventually(|| ctx.list(old).is_ok().then_some(()));
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

/// Checks that pointsman caused the failure, and that the message names the object and the path.
fn explained(answer: &Answer, what: &str) -> String {
    let message = answer.fails(500);
    assert!(message.contains("conversion webhook for"), "{what}: {message}");
    assert!(message.contains("/bad"), "{what}: {message}");
    message
}

/// A value that only one version can represent, and that is too large for an annotation.
fn too_big(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let mut marked = ctx.object(new, "probe");
    marked["metadata"]["annotations"] = json!({"pointsman.dev/incomplete": "by hand"});
    guard(ctx, new, new, &marked);
    ctx.create(old, &ctx.object(old, "bad")).ok();
    let before = ctx.etcd("bad");
    let big = "x".repeat(300_000);
    let spec =
        json!({"environmentdIamRoleArn": big, "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "other"}});
    let mut object = ctx.get(old, "bad").ok();
    object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let mut fresh = ctx.object(old, "bad-2");
    fresh["spec"] = object["spec"].clone();
    let mut applied = ctx.object(old, "bad");
    applied["spec"] = object["spec"].clone();
    for (what, answer) in [
        ("create", ctx.create(old, &fresh)),
        ("update", ctx.update(old, "bad", &object)),
        ("patch", ctx.patch(old, "bad", &json!({"spec": spec}))),
        ("apply", ctx.force_apply(old, "bad", &applied, "x")),
    ] {
        let message = answer.fails(422);
        assert!(message.contains("kept-v1alpha1") && message.contains("256 KiB"), "{what}: {message}");
        assert!(message.len() < 2000, "{what}: the value itself is not in the message");
    }
    assert_eq!(ctx.etcd("bad"), before);
    assert!(ctx.test_cluster.etcd.read(&ctx.key("bad-2")).is_none());
    ctx.forget_policy(new);
}

fn one_of_many(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    for name in ["good", "bad"] {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let mut bad = ctx.etcd("bad");
    bad["spec"] = json!(["not", "a", "spec"]);
    ctx.test_cluster.etcd.write(&ctx.key("bad"), &bad);
    ctx.eventually(|| (!ctx.get(old, "bad").is_ok()).then_some(()));
    ctx.get(old, "good").ok();
    ctx.patch(old, "good", &json!({"metadata": {"labels": {"a": "b"}}})).ok();
    assert_eq!(ctx.names(new), ["bad", "good"]);
    ctx.delete(new, "bad").ok();
    ctx.eventually(|| ctx.list(old).is_ok().then_some(()));
    assert_eq!(ctx.names(old), ["good"]);
}
