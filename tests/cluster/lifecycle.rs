//! Everything else that happens to objects: sparse ones, subresources, dry runs, watches.

use std::time::Duration;

use hyper::Method;
use serde_json::json;

use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("field_managers_apply_at_either_version", sparse),
    Scenario::new("subresources_work_at_either_version", subresources),
    Scenario::new("dry_run_stores_nothing", dry_run),
    Scenario::new("watch_sees_every_change_converted", watches),
];

fn sparse(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [new, old] {
        if storage == new {
            ctx.enable(new);
        } else {
            ctx.store(old);
        }
        let name = &format!("in-{storage}");
        ctx.apply(old, name, &ctx.object(old, name), "owner").ok();
        let before = [old, new].map(|version| ctx.get(version, name).ok()["spec"].clone());
        // Each manager applies one annotation. The objects have no spec, or an almost empty one.
        for (version, manager) in [(old, "m-old"), (new, "m-new")] {
            let mut object = ctx.object(version, name);
            object.as_object_mut().unwrap().remove("spec");
            object["metadata"]["annotations"] = json!({format!("example.com/{manager}"): "here"});
            ctx.apply(version, name, &object, manager).ok();
            object["metadata"]["labels"] = json!({manager: "too"});
            ctx.apply(version, name, &object, manager).ok();
            object["metadata"].as_object_mut().unwrap().remove("annotations");
            ctx.apply(version, name, &object, manager).ok();
        }
        let (key, value) = match ctx.sample.scale {
            true => ("replicas", json!(7)),
            false => ("enableRbac", json!(true)),
        };
        for (version, manager) in [(old, "f-old"), (new, "f-new")] {
            let object = ctx.with_spec(version, name, json!({key: value}));
            ctx.force_apply(version, name, &object, manager).ok();
        }
        for (version, mut before) in [old, new].into_iter().zip(before) {
            before[key] = value.clone();
            let now = ctx.get(version, name).ok();
            assert_eq!(now["spec"], before, "{name} at {version}");
            assert_eq!(now["metadata"]["labels"], json!({"m-old": "too", "m-new": "too"}));
            let mine = |key: &String| key.starts_with("example.com/");
            let annotations = now["metadata"]["annotations"].as_object();
            assert!(!annotations.is_some_and(|all| all.keys().any(mine)), "{now:#}");
        }
    }
}

fn subresources(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let spec = ctx.get(old, "a").ok()["spec"].clone();
    if !ctx.sample.scale {
        // Applied, as a controller might: the status alone, at either version.
        for version in [old, new] {
            let mut object = ctx.object(version, "a");
            object.as_object_mut().unwrap().remove("spec");
            object["status"] = json!({"resourceId": "x", "activeGeneration": 1, "conditions": []});
            if version == old {
                object["status"]["resourcesHash"] = json!("");
                object["status"]["lastCompletedRolloutRequest"] = json!("22222222-2222-2222-2222-222222222222");
            }
            ctx.force_apply(version, "a/status", &object, "controller").ok();
            assert_holds(&ctx.get(old, "a").ok(), &json!({"status": {"resourceId": "x", "activeGeneration": 1}}));
        }
        assert_eq!(ctx.get(old, "a").ok()["spec"], spec);
        return;
    }
    for (version, other) in [(old, new), (new, old)] {
        let status = json!({"status": {"phase": format!("at-{version}"), "replicas": 2}});
        ctx.patch(version, "a/status", &status).ok();
        assert_holds(&ctx.get(other, "a").ok(), &status);
        let mut whole = ctx.get(version, "a").ok();
        whole["status"]["phase"] = json!("whole");
        whole["spec"] = json!({});
        ctx.update(version, "a/status", &whole).ok();
        assert_eq!(ctx.get(other, "a").ok()["status"]["phase"], "whole");
        assert_eq!(ctx.get(old, "a").ok()["spec"], spec, "status writes leave the spec alone");
        ctx.patch(version, "a/scale", &json!({"spec": {"replicas": 5}})).ok();
        let scale = ctx.get(other, "a/scale").ok();
        assert_holds(&scale, &json!({"spec": {"replicas": 5}, "status": {"replicas": 2}}));
        let mut scale = ctx.get(version, "a/scale").ok();
        scale["spec"]["replicas"] = json!(2);
        ctx.update(version, "a/scale", &scale).ok();
        assert_eq!(ctx.get(old, "a").ok()["spec"], spec);
    }
}

fn dry_run(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let dry = |path: String| format!("{path}?dryRun=All");
    for version in [old, new] {
        let object = ctx.object(version, "a");
        let shown = ctx.post(&dry(ctx.all(version)), &object).ok();
        assert_holds(&shown, &json!({"spec": ctx.sample.spec(version)}));
        assert_eq!(ctx.get(version, "a").code, 404);
    }
    ctx.create(old, &ctx.object(old, "a")).ok();
    let before = ctx.etcd("a");
    let patch = Some((MERGE, json!({"metadata": {"labels": {"dry": "yes"}}}).to_string()));
    let shown = ctx.call(Method::PATCH, &dry(ctx.one(old, "a")), patch).ok();
    assert_eq!(shown["metadata"]["labels"]["dry"], "yes");
    ctx.call(Method::DELETE, &dry(ctx.one(old, "a")), None).ok();
    assert_eq!(ctx.etcd("a"), before);
}

fn watches(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let start = ctx.list(new).ok()["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.patch(new, "a", &json!({"metadata": {"labels": {"n": "1"}}})).ok();
    ctx.patch(old, "a", &json!({"metadata": {"labels": {"n": "2"}}})).ok();
    ctx.delete(new, "a").ok();
    for version in [old, new] {
        let path = format!("{}?watch=1&resourceVersion={start}", ctx.all(version));
        let events = ctx.test_cluster.api.client.watch(&path, 4, Duration::from_secs(10));
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["ADDED", "MODIFIED", "MODIFIED", "DELETED"], "{events:?}");
        for event in &events {
            assert_eq!(event["object"]["apiVersion"], format!("{}/{version}", ctx.group));
            assert_holds(&event["object"], &json!({"spec": ctx.sample.spec(version)}));
        }
    }
}
