//! What is stamped and kept on a real API server, and that nothing of it stands in anybody's way.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::sample::{ENGINE, Sample};
use crate::support::scene::Scene;
use crate::support::side_by_side::{A, SideBySide};
use crate::support::verbs::assert_holds;

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("replace_at_old_version_keeps_fields", replaced).of(&ENGINES),
    Scenario::new("repeated_apply_keeps_the_stamps", stamped).of(&ENGINES).newest(),
    Scenario::new("invalid_stored_objects_are_never_stuck", invalid).of(&ENGINES).newest(),
];

const HASH: &str = "rollout-hash";

/// One controller version, registered behind a CRD that is stored as wanted.
fn registered<'a>(scene: &'a Scene<'a>, storage: &str) -> SideBySide<'a> {
    scene.install(&scene.printed_crd(&["--storage", storage]));
    let servers = SideBySide::start(scene, &[A], &[]);
    servers.register("deny");
    servers
}

/// Checks that the label and the hash are there, and that the hash is the one that the command line prints.
#[track_caller]
fn assert_stamped(scene: &Scene<'_>, object: &Value) {
    let metadata = &object["metadata"];
    assert_eq!(metadata["labels"][scene.label_key()], A, "{object:#}");
    let annotations = &metadata["annotations"];
    let stamp = |name: &str| annotations[format!("{}/{name}", scene.group)].clone();
    assert_eq!(stamp(HASH), scene.printed_hash(object), "{object:#}");
    assert_eq!(stamp("rollout-hash-version"), "1", "{object:#}");
}

fn replaced(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let _servers = registered(scene, new);
    for storage in [new, old] {
        if storage == old {
            scene.store(old);
        }
        let name = format!("stored-as-{storage}");
        scene.create(new, &scene.object(new, &name)).ok();
        let before = scene.get(new, &name).ok();
        assert_stamped(scene, &before);
        // Neither annotations nor labels, as it lies in a repository.
        let manifest = scene.object(old, &name);
        scene.kubectl(&["replace"], &manifest);
        let after = scene.get(new, &name).ok();
        assert_eq!(after["spec"], before["spec"], "{storage} stored");
        assert_stamped(scene, &after);
        let mut changed = manifest.clone();
        changed["spec"]["power"] = json!(60);
        scene.kubectl(&["replace"], &changed);
        let after = scene.get(new, &name).ok();
        let mut expected = scene.object(new, &name)["spec"].clone();
        expected["power"] = json!(60);
        assert_eq!(after["spec"], expected, "{storage} stored");
        assert_stamped(scene, &after);
        assert_stamped(scene, &scene.get(old, &name).ok());
        let stored = scene.etcd(&name);
        assert_eq!(stored["apiVersion"], format!("{}/{storage}", scene.group));
        let text = stored.to_string();
        for held in ["water", "pressure"] {
            assert!(text.contains(held), "{storage} stored: {text}");
        }
        // What only the newer version can say can be taken away there, and stays away.
        scene.patch(new, &name, &json!({"spec": {"cooling": null}})).ok();
        scene.kubectl(&["replace"], &manifest);
        let after = scene.get(new, &name).ok();
        assert_eq!(after["spec"].get("cooling"), None, "{storage} stored");
        assert_eq!(after["spec"]["turbo"], json!({"pressure": 3}), "{storage} stored");
    }
}

fn stamped(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let servers = registered(scene, new);
    for version in [old, new] {
        for flags in [&["apply"][..], &["apply", "--server-side"]] {
            let name = format!("{version}-{}", flags.len());
            let manifest = scene.object(version, &name);
            scene.kubectl(flags, &manifest);
            let before = scene.get(version, &name).ok();
            assert_stamped(scene, &before);
            // kubectl takes the items of a list one after the other.
            let again = json!({"apiVersion": "v1", "kind": "List", "items": vec![manifest.clone(); 20]});
            let (said, answered) = servers.answered(|| scene.kubectl(flags, &again));
            let quiet = said.matches("unchanged").count() + said.matches("serverside-applied").count();
            assert_eq!(quiet, 20, "{said}");
            let after = scene.get(version, &name).ok();
            assert_eq!(after, before, "{name}: {answered}");
            let (same, difference) = scene.try_kubectl(&["diff"], &manifest);
            assert!(same, "kubectl diff: {difference}");
            // Another hash for another spec.
            scene.patch(version, &name, &json!({"spec": {"power": 90}})).ok();
            let changed = scene.get(version, &name).ok();
            assert_stamped(scene, &changed);
            let hash = |object: &Value| object["metadata"]["annotations"][format!("{}/{HASH}", scene.group)].clone();
            assert_ne!(hash(&changed), hash(&before));
            // The hash is the same in the other version.
            let other = if version == old { new } else { old };
            assert_eq!(hash(&scene.get(other, &name).ok()), hash(&changed), "{name}");
        }
        let created = format!("{version}-created");
        scene.kubectl(&["create"], &scene.object(version, &created));
        assert_stamped(scene, &scene.get(version, &created).ok());
        let mut generated = scene.object(version, "x");
        generated["metadata"] = json!({"generateName": format!("{version}-generated-")});
        let generated = scene.create(version, &generated).ok();
        assert_stamped(scene, &generated);
        let tried = scene.object(version, &format!("{version}-tried"));
        let path = format!("{}?dryRun=All", scene.all(version));
        assert_stamped(scene, &scene.post(&path, &tried).ok());
        assert_eq!(scene.get(version, &format!("{version}-tried")).code, 404);
        // A label that is taken away is put back.
        let path = json!({"metadata": {"labels": null, "annotations": null}});
        assert_stamped(scene, &scene.patch(version, &created, &path).ok());
    }
}

fn invalid(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.install(&scene.printed_crd(&[]));
    let names: Vec<(String, &str)> = [old, new]
        .into_iter()
        .flat_map(|version| ["before", "etcd"].map(|way| (format!("{way}-{version}"), version)))
        .collect();
    for (name, _) in &names {
        let mut object = scene.labelled(new, name, Some(A));
        object["metadata"]["finalizers"] = json!(["example.com/wait"]);
        object["spec"]["power"] = json!(if name.starts_with("before") { 500 } else { 75 });
        scene.create(new, &object).ok();
    }
    let servers = SideBySide::start(scene, &[A], &[]);
    servers.register("deny");
    for (name, version) in &names {
        if name.starts_with("etcd") {
            let mut stored = scene.etcd(name);
            stored["spec"]["power"] = json!(500);
            scene.bed.etcd.write(&scene.key(name), &stored);
            scene.eventually(|| (scene.get(version, name).ok()["spec"]["power"] == 500).then_some(()));
        }
        let tell = |answer: crate::support::client::Answer| {
            let told = answer.warnings.concat();
            assert!(told.contains("spec.power: Invalid value: 500"), "{name}: {told}");
            assert!(told.contains("it was so before, so it may stay"), "{name}: {told}");
            answer.ok()
        };
        let annotation = json!({"metadata": {"annotations": {"touched": "yes"}}});
        let object = tell(scene.patch(version, name, &annotation));
        assert_stamped(scene, &object);
        // Another field of the spec is no reason either.
        tell(scene.patch(version, name, &json!({"spec": {"note": "old"}})));
        // But the field itself is, once it is touched.
        let message = scene.patch(version, name, &json!({"spec": {"power": 501}})).fails(422);
        assert!(message.contains("less than or equal to 100"), "{message}");
        let (_, said) = servers.answered(|| {
            let status = json!({"status": {"replicas": 1}});
            scene.patch(version, &format!("{name}/status"), &status).ok();
        });
        assert_eq!(said, "nobody", "{name}");
        let (_, said) = servers.answered(|| {
            let scale = json!({"spec": {"replicas": 4}});
            scene.patch(version, &format!("{name}/scale"), &scale).ok();
        });
        assert_eq!(said, "A: validate allow", "{name}");
        assert_holds(&scene.get(new, name).ok(), &json!({"spec": {"replicas": 4}, "status": {"replicas": 1}}));
        scene.delete(version, name).ok();
        let finalizers = json!({"metadata": {"finalizers": null}});
        let going = scene.get(version, name).ok();
        assert!(going["metadata"]["deletionTimestamp"].is_string(), "{going:#}");
        scene.patch(version, name, &finalizers).ok();
        assert_eq!(scene.get(version, name).code, 404, "{name}");
    }
    // Many at once: one DELETE review each, without a name, if deletions were anybody's to judge.
    scene.create(new, &scene.object(new, "last")).ok();
    scene.call(Method::DELETE, &scene.all(old), None).ok();
    assert_eq!(scene.get(new, "last").code, 404);
}
