//! Deletion of objects: with their owner, their namespace, their collection, and after finalizers.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::process::{SOON, eventually};
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("namespace_with_both_versions_is_deleted", namespace_deleted)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("owned_objects_are_garbage_collected", owners).needs("kube-controller-manager").alone(),
    Scenario::new("finalizers_work_across_versions", finalizers),
    Scenario::new("generate_name_and_deletecollection_work", collections),
];

fn namespace_deleted(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.create(new, &ctx.object(new, "b")).ok();
    ctx.store(new);
    ctx.create(old, &ctx.object(old, "c")).ok();
    ctx.create(new, &ctx.object(new, "d")).ok();
    // In a separate namespace: the namespace of the ctx has the Service of pointsman.
    let ns = format!("{}-doomed", ctx.ns);
    let path = |rest: &str| ctx.all(new).replace(&format!("/{}/", ctx.ns), &format!("/{ns}/")) + rest;
    ctx.post("/api/v1/namespaces", &json!({"metadata": {"name": ns}})).ok();
    for name in ["a", "b"] {
        let mut object: Value = ctx.object(new, name);
        object["metadata"]["namespace"] = json!(ns);
        ctx.post(&path(""), &object).ok();
        let mut older = object.clone();
        older["apiVersion"] = json!(format!("{}/{old}", ctx.group));
        older["metadata"]["name"] = json!(format!("{name}-old"));
        older["spec"] = ctx.sample.old_spec();
        ctx.post(&path("").replace(&format!("/{new}/"), &format!("/{old}/")), &older).ok();
    }
    let namespace = format!("/api/v1/namespaces/{ns}");
    ctx.call(Method::DELETE, &namespace, None).ok();
    eventually("the namespace is deleted", SOON, || {
        (ctx.call(Method::GET, &namespace, None).code == 404).then_some(())
    });
    assert_eq!(ctx.names(old), ["a", "b", "c", "d"], "and nothing else");
}

fn owners(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let owner = ctx.create(new, &ctx.object(new, "owner")).ok();
    // Owner reference, owned object and deletion use different versions.
    for (version, name) in [(old, "owned-old"), (new, "owned-new")] {
        let mut object = ctx.object(version, name);
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": format!("{}/{old}", ctx.group), "kind": ctx.sample.kind, "name": "owner",
            "uid": owner["metadata"]["uid"],
        }]);
        ctx.create(version, &object).ok();
    }
    ctx.delete(old, "owner").ok();
    let gone = || ctx.names(new).is_empty().then_some(());
    eventually("owned objects are deleted", SOON, gone);
}

fn finalizers(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    for (version, other) in [(old, new), (new, old)] {
        let name = format!("born-{version}");
        let mut object = ctx.object(version, &name);
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        ctx.create(version, &object).ok();
        ctx.delete(other, &name).ok();
        let dying = ctx.get(other, &name).ok();
        assert!(dying["metadata"]["deletionTimestamp"].is_string());
        assert_holds(&dying, &json!({"spec": if other == new { ctx.sample.new_spec() } else { json!({}) }}));
        ctx.patch(version, &name, &json!({"metadata": {"finalizers": null}})).ok();
        assert_eq!(ctx.get(new, &name).code, 404);
    }
}

fn collections(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    for version in [old, new, old, new] {
        let mut object = ctx.object(version, "x");
        object["metadata"] = json!({"generateName": "made-", "labels": {"born": version}});
        let name = ctx.create(version, &object).ok()["metadata"]["name"].clone();
        assert!(name.as_str().unwrap().starts_with("made-"));
    }
    let born = |version: &str, reader: &str| {
        let list = ctx.call_get(&format!("{}?labelSelector=born%3D{version}", ctx.all(reader)));
        list["items"].as_array().unwrap().len()
    };
    assert_eq!([born(old, new), born(new, old)], [2, 2]);
    let path = format!("{}?labelSelector=born%3D{new}", ctx.all(old));
    ctx.call(Method::DELETE, &path, None).ok();
    assert_eq!(ctx.names(new).len(), 2);
    ctx.call(Method::DELETE, &ctx.all(old), None).ok();
    assert_eq!(ctx.names(new), [""; 0]);
}
