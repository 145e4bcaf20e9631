//! Applying the same manifest again changes nothing, and managers meet as they would in one version.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::scene::Scene;
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("repeated_apply_changes_nothing", again_and_again),
    Scenario::new("repeated_kubectl_apply_changes_nothing", with_kubectl),
    Scenario::new("field_managers_at_two_versions_coexist", two_managers),
    Scenario::new("field_managers_conflict_across_versions", conflicts),
    Scenario::new("kubectl_replace_works_across_versions", replaces),
];

/// A way to apply a manifest.
type Apply = fn(&Scene<'_>, &str, &str, &Value) -> Answer;

const WAYS: [(&str, Apply); 3] = [
    ("client-side", |scene, version, name, manifest| {
        // What kubectl sends: a patch with the manifest, which it keeps in an annotation as well.
        let mut patch = manifest.clone();
        let kept = json!({"kubectl.kubernetes.io/last-applied-configuration": manifest.to_string()});
        patch["metadata"]["annotations"] = kept;
        match scene.get(version, name).code {
            404 => scene.create(version, &patch),
            _ => scene.patch(version, name, &patch),
        }
    }),
    ("server-side", |scene, version, name, manifest| scene.apply(version, name, manifest, "git")),
    ("forced", |scene, version, name, manifest| scene.force_apply(version, name, manifest, "git")),
];

fn again_and_again(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    for storage in [old, new] {
        if storage == old {
            scene.enable(old);
        } else {
            scene.store(new);
        }
        for version in [old, new] {
            for (way, apply) in WAYS {
                let name = format!("{way}-{version}-in-{storage}");
                let manifest = scene.object(version, &name);
                apply(scene, version, &name, &manifest).ok();
                let before = everything(scene, &name);
                for round in 0..times(scene) {
                    apply(scene, version, &name, &manifest).ok();
                    if round == 0 {
                        assert_eq!(everything(scene, &name), before, "{name}, the second time");
                    }
                }
                assert_eq!(everything(scene, &name), before, "{name}");
            }
        }
    }
}

/// All there is to see of an object: stored and in both versions, managed fields and all.
fn everything(scene: &Scene<'_>, name: &str) -> [Value; 3] {
    let (old, new) = (scene.sample.old, scene.sample.new);
    [scene.etcd(name), scene.get(old, name).ok(), scene.get(new, name).ok()]
}

/// Once everywhere is not enough, and a hundred times everywhere takes long.
fn times(scene: &Scene<'_>) -> usize {
    if scene.bed.plan.name == "1.36" { 100 } else { 10 }
}

fn with_kubectl(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    for version in [old, new] {
        for flags in [&["apply"][..], &["apply", "--server-side"]] {
            let name = format!("{version}-{}", flags.len());
            let manifest = scene.object(version, &name);
            scene.kubectl(flags, &manifest);
            let before = everything(scene, &name);
            for _ in 0..3 {
                let said = scene.kubectl(flags, &manifest);
                let quiet = said.contains("unchanged") || said.contains("serverside-applied");
                assert!(quiet, "{said}");
            }
            assert_eq!(everything(scene, &name), before, "{name}");
            let (same, difference) = scene.try_kubectl(&["diff"], &manifest);
            assert!(same, "kubectl diff: {difference}");
        }
    }
}

fn two_managers(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    for storage in [old, new] {
        if storage == old {
            scene.enable(old);
        } else {
            scene.store(new);
        }
        let name = &format!("in-{storage}");
        let (at_old, at_new) = (scene.object(old, name), scene.object(new, name));
        // The second one says the same, in the other version's words: no conflict.
        scene.apply(old, name, &at_old, "one").ok();
        scene.apply(new, name, &at_new, "two").ok();
        let before = everything(scene, name);
        for _ in 0..times(scene) / 4 {
            scene.apply(old, name, &at_old, "one").ok();
            scene.apply(new, name, &at_new, "two").ok();
            scene.force_apply(old, name, &at_old, "one").ok();
            scene.force_apply(new, name, &at_new, "two").ok();
        }
        assert_eq!(everything(scene, name), before, "{storage} stored");
        // A third one has a field of its own, and gives it up again.
        let mut third = scene.with_spec(new, name, json!({}));
        third["metadata"]["labels"] = json!({"third": "yes"});
        scene.apply(new, name, &third, "three").ok();
        scene.apply(old, name, &at_old, "one").ok();
        assert_eq!(scene.get(old, name).ok()["metadata"]["labels"]["third"], "yes");
        third["metadata"].as_object_mut().unwrap().remove("labels");
        scene.apply(new, name, &third, "three").ok();
        let now = everything(scene, name);
        assert_eq!(now[1]["spec"], before[1]["spec"]);
        assert_eq!(now[2]["spec"], before[2]["spec"]);
        assert_eq!(now[0]["metadata"].get("labels"), None);
    }
}

fn conflicts(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.apply(old, "a", &scene.object(old, "a"), "one").ok();
    let mut changed = scene.object(new, "a");
    let field = if scene.sample.scale { "host" } else { "backendSecretName" };
    changed["spec"][field] = json!("another");
    let refusal = scene.apply(new, "a", &changed, "two");
    assert!(refusal.fails(409).contains("conflict with \"one\""), "{}", refusal.message());
    scene.force_apply(new, "a", &changed, "two").ok();
    assert_holds(&scene.get(new, "a").ok(), &json!({"spec": {field: "another"}}));
    let refusal = scene.apply(old, "a", &scene.object(old, "a"), "one");
    assert!(refusal.fails(409).contains("conflict with \"two\""), "{}", refusal.message());
    scene.force_apply(old, "a", &scene.object(old, "a"), "one").ok();
    assert_holds(&scene.get(old, "a").ok(), &json!({"spec": scene.sample.old_spec()}));
    // What nobody applies any more is gone, in both versions.
    let manager = |entry: &Value| entry["manager"].as_str().unwrap().to_owned();
    let managed = scene.get(old, "a").ok()["metadata"]["managedFields"].clone();
    let managers: Vec<String> = managed.as_array().unwrap().iter().map(manager).collect();
    assert!(managers.contains(&"one".to_owned()), "{managers:?}");
}

fn replaces(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(new, &scene.object(new, "a")).ok();
    // A replace at the older version with what kubectl showed there changes nothing.
    let before = everything(scene, "a");
    let read = scene.get(old, "a").ok();
    scene.kubectl(&["replace"], &read);
    let now = everything(scene, "a");
    assert_eq!(now[2]["spec"], before[2]["spec"]);
    assert_eq!(now[1]["spec"], before[1]["spec"]);
    // And so does one with what a user has in a file, as far as that file speaks.
    scene.create(old, &scene.object(old, "b")).ok();
    let before = everything(scene, "b");
    scene.kubectl(&["replace"], &scene.object(old, "b"));
    assert_eq!(everything(scene, "b")[1]["spec"], before[1]["spec"]);
    scene.kubectl(&["delete"], &scene.object(old, "a"));
    assert_eq!(scene.get(new, "a").code, 404);
}
