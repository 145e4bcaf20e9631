//! Kubernetes' own conversion tests (apiextensions-apiserver `conversion_test.go`, e2e `crd_conversion_webhook.go`),
//! with our kinds: which version is stored, and what is then read.

use crate::scenario::Scenario;
use crate::support::scene::Scene;
use crate::support::verbs::{assert_holds, content};
use serde_json::{Value, json};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("objects_read_at_either_version", read_in_the_other),
    Scenario::new("embedded_definition_serves_unchanged", read_in_the_other).built_in(),
    Scenario::new("storage_flips_lose_nothing", flip_and_back),
    Scenario::new("unserved_versions_round_trip", unserved),
    Scenario::new("mixed_storage_versions_read_alike", stored_differently),
    Scenario::new("mixed_storage_lists_are_right", lists),
    // 1.34 keeps a cache for such a version all the same.
    Scenario::new("unused_versions_are_not_requested", unused).newest(),
];

fn read_in_the_other(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(old, &scene.object(old, "a")).ok();
    scene.create(new, &scene.object(new, "b")).ok();
    for name in ["a", "b"] {
        assert_holds(&scene.get(new, name).ok(), &json!({"spec": scene.sample.new_spec()}));
    }
    assert_holds(&scene.get(old, "a").ok(), &json!({"spec": scene.sample.old_spec()}));
    // A change in one version is seen in the other, and is what is stored.
    scene.patch(old, "a", &json!({"metadata": {"labels": {"changed": "at-old"}}})).ok();
    scene.patch(new, "b", &json!({"metadata": {"labels": {"changed": "at-new"}}})).ok();
    for version in [old, new] {
        assert_eq!(scene.get(version, "a").ok()["metadata"]["labels"]["changed"], "at-old");
        assert_eq!(scene.get(version, "b").ok()["metadata"]["labels"]["changed"], "at-new");
    }
    assert_holds(&scene.etcd("a"), &json!({"spec": scene.sample.new_spec()}));
    assert_eq!(scene.etcd("a")["apiVersion"], format!("{}/{new}", scene.group));
}

fn flip_and_back(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    let mut seen: Vec<(String, &str, Value)> = Vec::new();
    for (round, storage) in [old, new, old].into_iter().enumerate() {
        if round > 0 {
            scene.store(storage);
        }
        for version in [old, new] {
            let name = format!("{round}-{version}");
            scene.create(version, &scene.object(version, &name)).ok();
            assert_eq!(scene.etcd(&name)["apiVersion"], format!("{}/{storage}", scene.group));
            for reader in [old, new] {
                seen.push((name.clone(), reader, scene.get(reader, &name).ok()));
            }
        }
        // Whatever was read before reads the same, wherever it is stored by now.
        for (name, reader, before) in &seen {
            let now = scene.get(reader, name).ok();
            assert_eq!(&now, before, "{name} at {reader}, {storage} stored");
        }
    }
    // Rewriting what is stored in the old form changes the form and nothing else.
    scene.store(new);
    for (name, reader, before) in &seen {
        scene.patch(new, name, &json!({})).ok();
        assert_eq!(scene.etcd(name)["apiVersion"], format!("{}/{new}", scene.group));
        let now = scene.get(reader, name).ok();
        assert_eq!(content(&now), content(before), "{name} at {reader}, rewritten");
    }
}

fn unserved(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(old, &scene.object(old, "a")).ok();
    let before = scene.get(old, "a").ok();
    serve(scene, old, false);
    scene.eventually(|| (scene.get(old, "a").code == 404).then_some(()));
    assert_holds(&scene.get(new, "a").ok(), &json!({"spec": scene.sample.new_spec()}));
    serve(scene, old, true);
    let now = scene.eventually(|| Some(scene.get(old, "a")).filter(|answer| answer.code != 404));
    assert_eq!(now.ok(), before);
}

fn serve(scene: &Scene<'_>, version: &str, served: bool) {
    scene.change_crd(|crd| {
        for entry in crd["spec"]["versions"].as_array_mut().unwrap() {
            if entry["name"] == version {
                entry["served"] = json!(served);
            }
        }
    });
}

fn stored_differently(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    scene.store(new);
    scene.create(old, &scene.object(old, "b")).ok();
    assert_ne!(scene.etcd("a")["apiVersion"], scene.etcd("b")["apiVersion"]);
    for version in [old, new] {
        let specs = ["a", "b"].map(|name| scene.get(version, name).ok()["spec"].clone());
        assert_eq!(specs[0], specs[1], "at {version}");
        assert_holds(&specs[0], &scene.sample.spec(version));
    }
}

fn lists(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    let mut names = Vec::new();
    for storage in [old, new] {
        if storage == new {
            scene.store(new);
        }
        for version in [old, new] {
            let name = format!("{version}-stored-{storage}");
            scene.create(version, &scene.object(version, &name)).ok();
            names.push(name);
        }
    }
    names.sort();
    for version in [old, new] {
        // From the cache, page by page from etcd, and as a table.
        for query in ["", "?limit=3", "?resourceVersion=0"] {
            let list = scene.call_get(&format!("{}{query}", scene.all(version)));
            let items = list["items"].as_array().unwrap();
            let expected = if query == "?limit=3" { 3 } else { 4 };
            assert_eq!(items.len(), expected, "{query}");
            for item in items {
                let name = item["metadata"]["name"].as_str().unwrap();
                assert_eq!(item["apiVersion"], format!("{}/{version}", scene.group));
                assert_eq!(item, &scene.get(version, name).ok(), "{name} in a list and alone");
            }
        }
        assert_eq!(scene.names(version), names);
    }
}

fn unused(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let mut crd = scene.enabled(new);
    for entry in crd["spec"]["versions"].as_array_mut().unwrap() {
        entry["served"] = json!(entry["name"] == new);
    }
    scene.install(&crd);
    scene.apply(new, "a", &scene.object(new, "a"), "one").ok();
    scene.patch(new, "a", &json!({"metadata": {"labels": {"x": "y"}}})).ok();
    scene.list(new).ok();
    assert_eq!(scene.get(old, "a").code, 404);
    scene.delete(new, "a").ok();
    assert_eq!(scene.conversions(), (0, 0));
}
