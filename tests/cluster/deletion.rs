//! How objects go: with their owner, their namespace, their collection, and when a finalizer lets them.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::process::{SOON, eventually};
use crate::support::scene::Scene;
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("namespace_with_both_versions_is_deleted", namespace_deleted)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("owned_objects_are_garbage_collected", owners).needs("kube-controller-manager").alone(),
    Scenario::new("finalizers_work_across_versions", finalizers),
    Scenario::new("generate_name_and_deletecollection_work", collections),
];

fn namespace_deleted(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    scene.create(new, &scene.object(new, "b")).ok();
    scene.store(new);
    scene.create(old, &scene.object(old, "c")).ok();
    scene.create(new, &scene.object(new, "d")).ok();
    // In a namespace of their own: ours has the Service that leads to us.
    let ns = format!("{}-doomed", scene.ns);
    let path = |rest: &str| scene.all(new).replace(&format!("/{}/", scene.ns), &format!("/{ns}/")) + rest;
    scene.post("/api/v1/namespaces", &json!({"metadata": {"name": ns}})).ok();
    for name in ["a", "b"] {
        let mut object: Value = scene.object(new, name);
        object["metadata"]["namespace"] = json!(ns);
        scene.post(&path(""), &object).ok();
        let mut older = object.clone();
        older["apiVersion"] = json!(format!("{}/{old}", scene.group));
        older["metadata"]["name"] = json!(format!("{name}-old"));
        older["spec"] = scene.sample.old_spec();
        scene.post(&path("").replace(&format!("/{new}/"), &format!("/{old}/")), &older).ok();
    }
    let namespace = format!("/api/v1/namespaces/{ns}");
    scene.call(Method::DELETE, &namespace, None).ok();
    eventually("the namespace is gone", SOON, || (scene.call(Method::GET, &namespace, None).code == 404).then_some(()));
    assert_eq!(scene.names(old), ["a", "b", "c", "d"], "and nothing else");
}

fn owners(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let owner = scene.create(new, &scene.object(new, "owner")).ok();
    // The owner is named at one version, the owned object is of another, and so is the deletion.
    for (version, name) in [(old, "owned-old"), (new, "owned-new")] {
        let mut object = scene.object(version, name);
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": format!("{}/{old}", scene.group), "kind": scene.sample.kind, "name": "owner",
            "uid": owner["metadata"]["uid"],
        }]);
        scene.create(version, &object).ok();
    }
    scene.delete(old, "owner").ok();
    let gone = || scene.names(new).is_empty().then_some(());
    eventually("owned objects are gone", SOON, gone);
}

fn finalizers(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    for (version, other) in [(old, new), (new, old)] {
        let name = format!("born-{version}");
        let mut object = scene.object(version, &name);
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        scene.create(version, &object).ok();
        scene.delete(other, &name).ok();
        let dying = scene.get(other, &name).ok();
        assert!(dying["metadata"]["deletionTimestamp"].is_string());
        assert_holds(&dying, &json!({"spec": if other == new { scene.sample.new_spec() } else { json!({}) }}));
        scene.patch(version, &name, &json!({"metadata": {"finalizers": null}})).ok();
        assert_eq!(scene.get(new, &name).code, 404);
    }
}

fn collections(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    for version in [old, new, old, new] {
        let mut object = scene.object(version, "x");
        object["metadata"] = json!({"generateName": "made-", "labels": {"born": version}});
        let name = scene.create(version, &object).ok()["metadata"]["name"].clone();
        assert!(name.as_str().unwrap().starts_with("made-"));
    }
    let born = |version: &str, reader: &str| {
        let list = scene.call_get(&format!("{}?labelSelector=born%3D{version}", scene.all(reader)));
        list["items"].as_array().unwrap().len()
    };
    assert_eq!([born(old, new), born(new, old)], [2, 2]);
    let path = format!("{}?labelSelector=born%3D{new}", scene.all(old));
    scene.call(Method::DELETE, &path, None).ok();
    assert_eq!(scene.names(new).len(), 2);
    scene.call(Method::DELETE, &scene.all(old), None).ok();
    assert_eq!(scene.names(new), [""; 0]);
}
