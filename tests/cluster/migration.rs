//! Storage migration (KEP-4192) from an old version without a webhook to a new one that no longer needs it.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::process::eventually;
use crate::support::scene::{CRDS, Scene};
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("migrated_storage_needs_no_webhook", migration).needs("kube-controller-manager").failing().alone()];

/// Kubernetes' own `TestStorageVersionMigrationWithCRD`, step by step.
fn migration(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    // One version, no webhook.
    let both = scene.armed(old);
    let mut crd = both.clone();
    crd["spec"].as_object_mut().unwrap().remove("conversion");
    crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    scene.install(&crd);
    let names = ["a", "b", "c"];
    for name in names {
        scene.create(old, &scene.object(old, name)).ok();
    }
    let seen = names.map(|name| scene.get(old, name).ok());
    // A second one, and us.
    scene.change_crd(|crd| {
        crd["spec"]["conversion"] = both["spec"]["conversion"].clone();
        crd["spec"]["versions"] = both["spec"]["versions"].clone();
    });
    scene.eventually(|| scene.list(new).is_ok().then_some(()));
    scene.eventually(|| scene.create(new, &scene.object(new, "d")).is_ok().then_some(()));
    assert_eq!(version_of(&scene.etcd("d")), old);
    scene.store(new);
    scene.create(old, &scene.object(old, "e")).ok();
    assert_eq!(version_of(&scene.etcd("e")), new);
    assert_eq!(version_of(&scene.etcd("a")), old, "nothing is rewritten by itself");
    let before = ["a", "b", "c", "d", "e"].map(|name| scene.get(new, name).ok());
    assert_eq!(names.map(|name| scene.get(old, name).ok()["spec"].clone()), seen.map(|object| object["spec"].clone()));
    migrate(scene);
    for object in before {
        let name = object["metadata"]["name"].as_str().unwrap();
        assert_eq!(version_of(&scene.etcd(name)), new, "{name}");
        let now = scene.get(new, name).ok();
        assert_eq!(now["spec"], object["spec"], "{name}");
        assert_eq!(now["metadata"]["generation"], object["metadata"]["generation"], "{name}");
    }
    // Nobody needs the old version any more, and nobody needs us.
    scene.leave_alone(new, old);
    assert_eq!(scene.names(new), ["a", "b", "c", "d", "e"]);
    assert_holds(&scene.get(new, "a").ok(), &json!({"spec": scene.sample.new_spec()}));
    scene.patch(new, "a", &json!({"metadata": {"labels": {"still": "works"}}})).ok();
    scene.delete(new, "b").ok();
}

fn version_of(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap().split('/').next_back().unwrap()
}

fn migrate(scene: &Scene<'_>) {
    let path = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
    let spec = json!({"resource": {"group": scene.group, "resource": scene.sample.plural}});
    scene.post(path, &json!({"metadata": {"name": scene.ns}, "spec": spec})).ok();
    let path = format!("{path}/{}", scene.ns);
    let mut turn = 0;
    eventually("the migration", Duration::from_secs(100), || {
        let migration = scene.call_get(&path);
        let conditions = migration["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let has = |kind: &str| conditions.iter().any(|it| it["type"] == kind && it["status"] == "True");
        assert!(!has("Failed"), "{migration:#}");
        // It waits for the garbage collector's view to get as far, which only another write brings about.
        if migration["status"]["resourceVersion"].is_string() {
            turn += 1;
            let label = json!({"metadata": {"labels": {"turn": turn.to_string()}}});
            scene.patch(scene.sample.new, "e", &label).ok();
            std::thread::sleep(Duration::from_millis(300));
        }
        has("Succeeded").then_some(())
    });
    let crd = scene.call(Method::GET, &format!("{CRDS}/{}", scene.crd_name()), None).ok();
    assert_eq!(crd["status"]["storedVersions"], json!([scene.sample.new]));
}
