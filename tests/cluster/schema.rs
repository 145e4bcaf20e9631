//! What the API server does around a conversion: pruning, defaulting, keeping metadata to itself.

use crate::scenario::Scenario;
use crate::support::scene::Scene;
use crate::support::verbs::assert_holds;
use serde_json::{Value, json};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("unknown_fields_in_etcd_are_pruned", pruning),
    Scenario::new("defaults_follow_request_version", defaults).materialize(),
    Scenario::new("metadata_is_equal_in_every_version", metadata),
    Scenario::new("large_numbers_and_odd_keys_survive", odd_values),
];

fn pruning(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    for storage in [old, new] {
        if storage == old {
            scene.enable(old);
        } else {
            scene.store(new);
        }
        let name = format!("stored-{storage}");
        scene.create(old, &scene.object(old, &name)).ok();
        let before: Vec<Value> = [old, new].map(|version| scene.get(version, &name).ok()).into();
        let mut dirty = scene.etcd(&name);
        dirty["garbage"] = json!({"a": 1});
        dirty["spec"]["garbage"] = json!("text");
        dirty["status"] = json!({"garbage": [1, 2]});
        scene.bed.etcd.write(&scene.key(&name), &dirty);
        for (version, before) in [old, new].into_iter().zip(before) {
            // What is read through a cache is up to date with etcd, but only just.
            let now = scene.eventually(|| {
                Some(scene.get(version, &name).ok())
                    .filter(|now| now["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"])
            });
            assert_eq!(now["spec"], before["spec"], "at {version}, {storage} stored");
            assert_eq!(now["garbage"], Value::Null);
            assert_eq!(now["status"]["garbage"], Value::Null);
        }
        // The next write cleans up.
        scene.patch(old, &name, &json!({"metadata": {"labels": {"x": "y"}}})).ok();
        assert!(!scene.etcd(&name).to_string().contains("garbage"), "{}", scene.etcd(&name));
    }
}

fn defaults(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let minimal = json!({"environmentdImageRef": "e:v1", "backendSecretName": "s"});
    scene.create(new, &scene.with_spec(new, "b", minimal.clone())).ok();
    assert_holds(&scene.etcd("b"), &json!({"spec": {"rolloutStrategy": "WaitUntilReady", "enableRbac": false}}));
    let at_old = scene.get(old, "b").ok();
    assert_eq!(at_old["spec"]["inPlaceRollout"], json!(false), "the older schema's default, as it would fill it");
    // Stored without defaults, as by an older CRD: read with them, and left as it is.
    let mut bare = scene.etcd("b");
    bare["spec"] = minimal.clone();
    scene.bed.etcd.write(&scene.key("b"), &bare);
    let filled = scene.eventually(|| {
        Some(scene.get(new, "b").ok())
            .filter(|now| now["metadata"]["resourceVersion"] != at_old["metadata"]["resourceVersion"])
    });
    assert_eq!(filled["spec"]["rolloutStrategy"], "WaitUntilReady");
    assert_holds(
        &scene.get(old, "b").ok(),
        &json!({"spec": {"rolloutStrategy": "WaitUntilReady", "inPlaceRollout": false}}),
    );
    assert_eq!(scene.etcd("b")["spec"], minimal);
    // Born old: the older version's defaults are not what the newer one shows.
    scene.create(old, &scene.with_spec(old, "a", minimal)).ok();
    let at_new = scene.get(new, "a").ok();
    assert_eq!(at_new["spec"].get("inPlaceRollout"), None);
    assert_eq!(at_new["spec"].get("requestRollout"), None);
}

fn metadata(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let mut owner = scene.object(new, "owner");
    owner["metadata"]["labels"] = json!({"role": "owner"});
    let owner = scene.create(new, &owner).ok();
    let mut object = scene.object(old, "a");
    object["metadata"]["labels"] = json!({"a": "b"});
    object["metadata"]["annotations"] = json!({"example.com/a": "b", "pointsman.dev/other": "ours by name only"});
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    scene.create(old, &object).ok();
    let (at_old, at_new) = (scene.get(old, "a").ok(), scene.get(new, "a").ok());
    for field in
        ["uid", "resourceVersion", "generation", "creationTimestamp", "finalizers", "ownerReferences", "labels"]
    {
        assert_eq!(at_old["metadata"][field], at_new["metadata"][field], "{field}");
    }
    for version in [&at_old, &at_new] {
        assert_holds(version, &json!({"metadata": {"annotations": object["metadata"]["annotations"]}}));
    }
    // Removed in one version is removed in the other.
    scene.patch(new, "a", &json!({"metadata": {"labels": null, "finalizers": null}})).ok();
    let at_old = scene.get(old, "a").ok();
    assert_eq!(at_old["metadata"].get("labels"), None);
    assert_eq!(at_old["metadata"].get("finalizers"), None);
    assert_holds(&at_old, &json!({"spec": scene.sample.old_spec()}));
}

fn odd_values(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let mut object = scene.object(old, "a");
    let odd = "quotes \" and \\ and \u{1f682} and \u{2028} and <&>";
    object["metadata"]["annotations"] = json!({"example.com/odd": odd});
    if scene.sample.scale {
        object = scene.object(new, "a");
        object["metadata"]["annotations"] = json!({"example.com/odd": odd});
        object["spec"]["port"] = json!(9_007_199_254_740_993_i64);
    }
    let born = if scene.sample.scale { new } else { old };
    scene.create(born, &object).ok();
    for version in [old, new, old] {
        let read = scene.get(version, "a").ok();
        assert_eq!(read["metadata"]["annotations"]["example.com/odd"], odd);
        scene.update(version, "a", &read).ok();
    }
    assert_holds(&scene.get(born, "a").ok(), &json!({"spec": object["spec"]}));
}
