//! Installations that have become objects of another kind are taken back after the end of their rollout. The
//! controllers of Kubernetes are real; the kubelet and both operators are played.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::rollout_kinds::{
    Before, apps, before, core, goes, has_become, killed_after_each_write, runs, starts, status,
};
use crate::rollout_rights::{applied, installs, is_whole, leaves, phase, town};
use crate::scenario::Scenario;
use crate::support::installations::{LABEL, REPLICAS};
use crate::support::process::{SOON, eventually};
use crate::support::rights::{Right, Story, rights_of};
use crate::support::sample::{MATTERMOST, Sample};
use crate::support::scene::{MERGE, Scene};
use crate::support::town::Town;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("installations_undo_after_completion", again)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("killed_late_undo_finishes_alike", killed)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("late_undo_rights_are_exact", rights)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
];

static MATTERMOSTS: [&Sample; 1] = [&MATTERMOST];

/// What is so of an installation that was taken back after it had become another object.
#[track_caller]
fn is_there_again(scene: &Scene<'_>, town: &Town, name: &str, was: &Before) {
    let object = scene.call_get(&format!("{}/{name}", scene.installations()));
    assert_ne!(object["metadata"]["uid"], was.object["metadata"]["uid"], "it is another one");
    assert_eq!(object["spec"], was.object["spec"], "{name}");
    assert_eq!(object["status"]["state"], "stable");
    for what in ["labels", "annotations", "ownerReferences", "finalizers"] {
        assert_eq!(object["metadata"][what], was.object["metadata"][what], "{name}: {what}");
    }
    assert_eq!(scene.get("v1beta1", name).code, 404, "{name}");
    let deployment = scene.call_get(&format!("{}/{name}", scene.deployments()));
    assert_eq!(deployment["spec"], was.deployment["spec"], "{name}");
    assert_eq!(deployment["metadata"]["labels"], was.deployment["metadata"]["labels"]);
    let annotations = deployment["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    assert!(annotations.keys().all(|key| !key.contains("pointsman")), "{annotations:?}");
    let sets = scene.items(&apps(scene, "replicasets"));
    let new = sets.iter().filter(|set| set["metadata"]["labels"][LABEL] == name).count();
    assert_eq!(new, 0, "no ReplicaSet of the new Deployment is left of {name}");
    for (plural, was) in [("services", &was.service), ("persistentvolumeclaims", &was.claim)] {
        let now = scene.call_get(&format!("{}/{name}", core(scene, plural)));
        assert_eq!(now["metadata"]["uid"], was["metadata"]["uid"], "{plural}");
        let mut owners = was["metadata"]["ownerReferences"].clone();
        owners[0]["uid"] = object["metadata"]["uid"].clone();
        assert_eq!(now["metadata"]["ownerReferences"], owners, "{plural}");
    }
    let uid = object["metadata"]["uid"].as_str().unwrap();
    assert!(scene.belonging(uid).contains(&format!("deployments {name}")), "{:?}", scene.belonging(uid));
    assert_eq!(scene.items(&apps(scene, "controllerrevisions")), Vec::<Value>::new(), "nothing that was saved is left");
    assert!(town.fewest(name) >= REPLICAS, "{} Pods of {name} were ready at a time", town.fewest(name));
    assert_eq!(town.seen.lock().unwrap().contested, Vec::<String>::new(), "one operator acts at a time");
}

/// S39.
fn again(scene: &Scene<'_>) {
    let town = Town::begins(scene);
    let names = ["mm-abcd", "mm-efgh"];
    let more =
        json!({"minio": {"storageSize": "20Gi", "replicas": -1}, "canary": {"enable": false}, "size": "100users"});
    names.iter().for_each(|name| drop(scene.installs(name, &more)));
    names.iter().for_each(|name| scene.serves(&town, name));
    let all: Vec<Before> = names.iter().map(|name| before(scene, name)).collect();
    starts(scene, &scene.ns, &json!({}));
    let (code, text, errors) = runs(scene, &scene.ns);
    assert_eq!(code, 0, "{text}{errors}");
    names.iter().zip(&all).for_each(|(name, was)| has_become(scene, &town, name, was));
    stands_against_it(scene, names[0]);
    let told = status(scene, &scene.ns);
    assert_eq!((&told["phase"], &told["reason"]), (&json!("Aborted"), &json!("RolledBack")), "{told:#}");
    assert_eq!(told["message"], "every object with the mark of its move is what it was before");
    assert_eq!(told["convertedCounts"], json!({"all": 0}));
    names.iter().zip(&all).for_each(|(name, was)| is_there_again(scene, &town, name, was));
    let all: Vec<Before> = names.iter().map(|name| before(scene, name)).collect();
    goes(scene, &scene.ns, "Forward");
    let (code, text, errors) = runs(scene, &scene.ns);
    assert_eq!(code, 0, "{text}{errors}");
    names.iter().zip(&all).for_each(|(name, was)| has_become(scene, &town, name, was));
    let told = status(scene, &scene.ns);
    assert_eq!((&told["phase"], &told["convertedCounts"]), (&json!("Complete"), &json!({"all": 2})), "{told:#}");
    assert_eq!(scene.does(&["clean"]), format!("rollout {}: 2 objects cleaned\n", scene.ns));
    for name in names {
        let annotations = scene.get("v1beta1", name).ok()["metadata"]["annotations"].to_string();
        assert!(!annotations.contains("pointsman.dev/made") && !annotations.contains("returned"), "{annotations}");
    }
    scene.leaves_town(&[&scene.ns]);
}

/// Goes back while an autoscaler scales one of the new Deployments: the old installation is there then, and nothing is
/// given back to it.
fn stands_against_it(scene: &Scene<'_>, name: &str) {
    let all = format!("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers", scene.ns);
    let scaler = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "grows"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": REPLICAS,
            "maxReplicas": REPLICAS,
        },
    });
    scene.call(Method::POST, &all, Some(("application/json", scaler.to_string()))).ok();
    scene.does(&["undo"]);
    let mut running = scene.rollouts_on("test");
    eventually("it is told what stands against the way back", SOON, || {
        scene.does(&["objects"]).contains("horizontalpodautoscalers.autoscaling grows scales").then_some(())
    });
    let installation = scene.call_get(&format!("{}/{name}", scene.installations()));
    assert_eq!(installation["spec"]["migrate"], true, "the old operator leaves it alone");
    let new = scene.get("v1beta1", name).ok();
    let service = scene.call_get(&format!("{}/{name}", core(scene, "services")));
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], new["metadata"]["uid"], "the new one has all of it");
    scene.call(Method::DELETE, &format!("{all}/grows"), None).ok();
    assert_eq!(running.end(SOON), Some(0));
}

/// The same, by somebody who is killed after each write.
fn killed(scene: &Scene<'_>) {
    let town = Town::begins(scene);
    let name = "mm-abcd";
    scene.installs(name, &json!({}));
    scene.serves(&town, name);
    let was = before(scene, name);
    starts(scene, &scene.ns, &json!({}));
    let (code, text, errors) = runs(scene, &scene.ns);
    assert_eq!(code, 0, "{text}{errors}");
    goes(scene, &scene.ns, "Undo");
    let writes =
        killed_after_each_write(scene, &scene.ns, usize::MAX, || status(scene, &scene.ns)["phase"] == "Aborted");
    for (verb, what) in [("POST", "/clusterinstallations"), ("DELETE", "/deployments/"), ("DELETE", "/mattermosts/")] {
        let times = writes.iter().filter(|write| write.starts_with(verb) && write.contains(what)).count();
        assert_eq!(times, 1, "{verb} {what}: {writes:#?}");
    }
    is_there_again(scene, &town, name, &was);
    scene.leaves_town(&[&scene.ns]);
}

/// A workflow that can be undone from its end, of installations without Pods.
const WORKFLOWS: &str = r#"workflows:
  whole:
  - name: trigger
    set: {fields: {spec.migrate: true}}
  - name: deployment
    recreate:
      resource: deployments.apps
      name: "{name}"
      selector: {app: mattermost, installation.mattermost.com/installation: "{name}"}
      was: {app: mattermost, v1alpha1.mattermost.com/installation: "{name}", v1alpha1.mattermost.com/resource: "{name}"}
  - name: convert
    convert: {}
  - name: adopt
    adopt: {resources: [deployments.apps, services, persistentvolumeclaims]}
  - name: old-object
    delete: {on: source}
    irreversible: it is gone
"#;

/// What only the way back after the end takes.
fn rights(scene: &Scene<'_>) {
    town(scene, WORKFLOWS);
    let file = |name: &str| {
        let spec = json!({"selector": {"labels": format!("one={name}")}, "workflow": "whole", "timeout": "90s"});
        scene.migration(name, &spec)
    };
    let role = scene.role(&file("any"), &[]).remove(0);
    let story = Story {
        scene,
        name: "after",
        role: &role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| goes(scene, name, "Undo"),
        has_ended: &|name| {
            let one = format!("{}/{name}", scene.installations());
            let stable = json!({"status": {"state": "stable"}}).to_string();
            scene.call(Method::PATCH, &format!("{one}/status"), Some((MERGE, stable)));
            phase(scene, name) == "Aborted"
        },
        is_whole: &|name| is_whole(scene, name),
    };
    let (source, target) = ("clusterinstallations", scene.sample.plural);
    let rights: Vec<Right> = rights_of(&role)
        .into_iter()
        .filter(|right| {
            let of = |plural: &str, verb: &str| right.plural == plural && right.verb == verb;
            of(source, "create") || of(target, "patch") || of(target, "list")
        })
        .collect();
    assert_eq!(rights.len(), 3, "{rights:?}");
    let names: Vec<String> =
        std::iter::once(None).chain(rights.iter().map(Some)).map(|right| story.rollout_without(right)).collect();
    let namespace = format!("--namespace={}", scene.ns);
    let begun = names.iter().map(|name| {
        installs(scene, name, &json!({}));
        applied(scene, &file(name));
        let args = scene.on_the_cluster(&["rollout", "run", name, "--holder=test", &namespace]);
        scene.started(&format!("{name}-forth"), &args)
    });
    let mut begun: Vec<_> = begun.collect();
    for (name, process) in names.iter().zip(&mut begun) {
        eventually(&format!("{name} is over"), SOON, || (phase(scene, name) == "Complete").then_some(()));
        process.end(Duration::from_secs(10));
    }
    leaves(scene, &story.try_each(&rights));
}
