//! Everything else that happens to objects: sparse ones, subresources, dry runs, watches.

use std::time::Duration;

use hyper::Method;
use serde_json::json;

use crate::scenario::Scenario;
use crate::support::scene::{MERGE, Scene};
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("field_managers_apply_at_either_version", sparse),
    Scenario::new("subresources_work_at_either_version", subresources),
    Scenario::new("dry_run_stores_nothing", dry_run),
    Scenario::new("watch_sees_every_change_converted", watches),
];

fn sparse(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    for storage in [new, old] {
        if storage == new {
            scene.enable(new);
        } else {
            scene.store(old);
        }
        let name = &format!("in-{storage}");
        scene.apply(old, name, &scene.object(old, name), "owner").ok();
        let before = [old, new].map(|version| scene.get(version, name).ok()["spec"].clone());
        // Each manager says one thing. Its objects have no spec at all, or next to nothing in it.
        for (version, manager) in [(old, "m-old"), (new, "m-new")] {
            let mut object = scene.object(version, name);
            object.as_object_mut().unwrap().remove("spec");
            object["metadata"]["annotations"] = json!({format!("example.com/{manager}"): "here"});
            scene.apply(version, name, &object, manager).ok();
            object["metadata"]["labels"] = json!({manager: "too"});
            scene.apply(version, name, &object, manager).ok();
            object["metadata"].as_object_mut().unwrap().remove("annotations");
            scene.apply(version, name, &object, manager).ok();
        }
        let (key, value) = match scene.sample.scale {
            true => ("replicas", json!(7)),
            false => ("enableRbac", json!(true)),
        };
        for (version, manager) in [(old, "f-old"), (new, "f-new")] {
            let object = scene.with_spec(version, name, json!({key: value}));
            scene.force_apply(version, name, &object, manager).ok();
        }
        for (version, mut before) in [old, new].into_iter().zip(before) {
            before[key] = value.clone();
            let now = scene.get(version, name).ok();
            assert_eq!(now["spec"], before, "{name} at {version}");
            assert_eq!(now["metadata"]["labels"], json!({"m-old": "too", "m-new": "too"}));
            let mine = |key: &String| key.starts_with("example.com/");
            let annotations = now["metadata"]["annotations"].as_object();
            assert!(!annotations.is_some_and(|all| all.keys().any(mine)), "{now:#}");
        }
    }
}

fn subresources(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(old, &scene.object(old, "a")).ok();
    let spec = scene.get(old, "a").ok()["spec"].clone();
    if !scene.sample.scale {
        // Applied, as a controller might: the status alone, at either version.
        for version in [old, new] {
            let mut object = scene.object(version, "a");
            object.as_object_mut().unwrap().remove("spec");
            object["status"] = json!({"resourceId": "x", "activeGeneration": 1, "conditions": []});
            if version == old {
                object["status"]["resourcesHash"] = json!("");
                object["status"]["lastCompletedRolloutRequest"] = json!("22222222-2222-2222-2222-222222222222");
            }
            scene.force_apply(version, "a/status", &object, "controller").ok();
            assert_holds(&scene.get(old, "a").ok(), &json!({"status": {"resourceId": "x", "activeGeneration": 1}}));
        }
        assert_eq!(scene.get(old, "a").ok()["spec"], spec);
        return;
    }
    for (version, other) in [(old, new), (new, old)] {
        let status = json!({"status": {"phase": format!("at-{version}"), "replicas": 2}});
        scene.patch(version, "a/status", &status).ok();
        assert_holds(&scene.get(other, "a").ok(), &status);
        let mut whole = scene.get(version, "a").ok();
        whole["status"]["phase"] = json!("whole");
        whole["spec"] = json!({});
        scene.update(version, "a/status", &whole).ok();
        assert_eq!(scene.get(other, "a").ok()["status"]["phase"], "whole");
        assert_eq!(scene.get(old, "a").ok()["spec"], spec, "status writes leave the spec alone");
        scene.patch(version, "a/scale", &json!({"spec": {"replicas": 5}})).ok();
        let scale = scene.get(other, "a/scale").ok();
        assert_holds(&scale, &json!({"spec": {"replicas": 5}, "status": {"replicas": 2}}));
        let mut scale = scene.get(version, "a/scale").ok();
        scale["spec"]["replicas"] = json!(2);
        scene.update(version, "a/scale", &scale).ok();
        assert_eq!(scene.get(old, "a").ok()["spec"], spec);
    }
}

fn dry_run(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let dry = |path: String| format!("{path}?dryRun=All");
    for version in [old, new] {
        let object = scene.object(version, "a");
        let shown = scene.post(&dry(scene.all(version)), &object).ok();
        assert_holds(&shown, &json!({"spec": scene.sample.spec(version)}));
        assert_eq!(scene.get(version, "a").code, 404);
    }
    scene.create(old, &scene.object(old, "a")).ok();
    let before = scene.etcd("a");
    let patch = Some((MERGE, json!({"metadata": {"labels": {"dry": "yes"}}}).to_string()));
    let shown = scene.call(Method::PATCH, &dry(scene.one(old, "a")), patch).ok();
    assert_eq!(shown["metadata"]["labels"]["dry"], "yes");
    scene.call(Method::DELETE, &dry(scene.one(old, "a")), None).ok();
    assert_eq!(scene.etcd("a"), before);
}

fn watches(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let start = scene.list(new).ok()["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    scene.create(old, &scene.object(old, "a")).ok();
    scene.patch(new, "a", &json!({"metadata": {"labels": {"n": "1"}}})).ok();
    scene.patch(old, "a", &json!({"metadata": {"labels": {"n": "2"}}})).ok();
    scene.delete(new, "a").ok();
    for version in [old, new] {
        let path = format!("{}?watch=1&resourceVersion={start}", scene.all(version));
        let events = scene.bed.api.client.watch(&path, 4, Duration::from_secs(10));
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["ADDED", "MODIFIED", "MODIFIED", "DELETED"], "{events:?}");
        for event in &events {
            assert_eq!(event["object"]["apiVersion"], format!("{}/{version}", scene.group));
            assert_holds(&event["object"], &json!({"spec": scene.sample.spec(version)}));
        }
    }
}
