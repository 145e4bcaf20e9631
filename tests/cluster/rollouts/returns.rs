//! Replaced installations are undone after the end of their rollout. The controllers of Kubernetes are real; the
//! kubelet and both operators are fakes.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::rollouts::kinds::{
    Before, apps, before, core, goes, is_replaced, killed_after_each_write, runs, starts, status,
};
use crate::rollouts::rights::{applied, fake_operators, installs, is_whole, leaves, phase};
use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::fake_operators::FakeOperators;
use crate::support::installations::{LABEL, REPLICAS};
use crate::support::process::{SOON, eventually};
use crate::support::rights::{Right, Story, rights_of};
use crate::support::sample::{MATTERMOST, Sample};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("installations_undo_after_completion", again)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("killed_late_undo_finishes_alike", killed).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
    Scenario::new("late_undo_rights_are_exact", rights).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
];

static MATTERMOSTS: [&Sample; 1] = [&MATTERMOST];

/// Checks an installation that was undone after its replacement.
#[track_caller]
fn is_there_again(ctx: &TestContext<'_>, fake_operators: &FakeOperators, name: &str, was: &Before) {
    let object = ctx.call_get(&format!("{}/{name}", ctx.installations()));
    assert_ne!(object["metadata"]["uid"], was.object["metadata"]["uid"], "it is another one");
    assert_eq!(object["spec"], was.object["spec"], "{name}");
    assert_eq!(object["status"]["state"], "stable");
    for what in ["labels", "annotations", "ownerReferences", "finalizers"] {
        assert_eq!(object["metadata"][what], was.object["metadata"][what], "{name}: {what}");
    }
    assert_eq!(ctx.get("v1beta1", name).code, 404, "{name}");
    let deployment = ctx.call_get(&format!("{}/{name}", ctx.deployments()));
    assert_eq!(deployment["spec"], was.deployment["spec"], "{name}");
    assert_eq!(deployment["metadata"]["labels"], was.deployment["metadata"]["labels"]);
    let annotations = deployment["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    assert!(annotations.keys().all(|key| !key.contains("pointsman")), "{annotations:?}");
    let sets = ctx.items(&apps(ctx, "replicasets"));
    let new = sets.iter().filter(|set| set["metadata"]["labels"][LABEL] == name).count();
    assert_eq!(new, 0, "no ReplicaSet of the new Deployment is left of {name}");
    for (plural, was) in [("services", &was.service), ("persistentvolumeclaims", &was.claim)] {
        let now = ctx.call_get(&format!("{}/{name}", core(ctx, plural)));
        assert_eq!(now["metadata"]["uid"], was["metadata"]["uid"], "{plural}");
        let mut owners = was["metadata"]["ownerReferences"].clone();
        owners[0]["uid"] = object["metadata"]["uid"].clone();
        assert_eq!(now["metadata"]["ownerReferences"], owners, "{plural}");
    }
    let uid = object["metadata"]["uid"].as_str().unwrap();
    assert!(ctx.belonging(uid).contains(&format!("deployments {name}")), "{:?}", ctx.belonging(uid));
    assert_eq!(ctx.items(&apps(ctx, "controllerrevisions")), Vec::<Value>::new(), "nothing that was saved is left");
    assert!(
        fake_operators.fewest(name) >= REPLICAS,
        "{} Pods of {name} were ready at a time",
        fake_operators.fewest(name)
    );
    assert_eq!(fake_operators.seen.lock().unwrap().contested, Vec::<String>::new(), "one operator acts at a time");
}

/// S39.
fn again(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let names = ["mm-abcd", "mm-efgh"];
    let more =
        json!({"minio": {"storageSize": "20Gi", "replicas": -1}, "canary": {"enable": false}, "size": "100users"});
    names.iter().for_each(|name| drop(ctx.installs(name, &more)));
    names.iter().for_each(|name| ctx.serves(&fake_operators, name));
    let all: Vec<Before> = names.iter().map(|name| before(ctx, name)).collect();
    starts(ctx, &ctx.ns, &json!({}));
    let (code, text, errors) = runs(ctx, &ctx.ns);
    assert_eq!(code, 0, "{text}{errors}");
    names.iter().zip(&all).for_each(|(name, was)| is_replaced(ctx, &fake_operators, name, was));
    stands_against_it(ctx, names[0]);
    let told = status(ctx, &ctx.ns);
    assert_eq!((&told["phase"], &told["reason"]), (&json!("Aborted"), &json!("RolledBack")), "{told:#}");
    assert_eq!(told["message"], "every object with a rollout annotation has its earlier version");
    assert_eq!(told["convertedCounts"], json!({"all": 0}));
    names.iter().zip(&all).for_each(|(name, was)| is_there_again(ctx, &fake_operators, name, was));
    let all: Vec<Before> = names.iter().map(|name| before(ctx, name)).collect();
    goes(ctx, &ctx.ns, "Forward");
    let (code, text, errors) = runs(ctx, &ctx.ns);
    assert_eq!(code, 0, "{text}{errors}");
    names.iter().zip(&all).for_each(|(name, was)| is_replaced(ctx, &fake_operators, name, was));
    let told = status(ctx, &ctx.ns);
    assert_eq!((&told["phase"], &told["convertedCounts"]), (&json!("Complete"), &json!({"all": 2})), "{told:#}");
    assert_eq!(ctx.does(&["clean"]), format!("rollout {}: 2 objects cleaned\n", ctx.ns));
    for name in names {
        let annotations = ctx.get("v1beta1", name).ok()["metadata"]["annotations"].to_string();
        assert!(!annotations.contains("pointsman.dev/made") && !annotations.contains("returned"), "{annotations}");
    }
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// Starts the undo while an autoscaler scales one of the new Deployments. The old installation then exists, and
/// receives no owned objects.
fn stands_against_it(ctx: &TestContext<'_>, name: &str) {
    let all = format!("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers", ctx.ns);
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
    ctx.call(Method::POST, &all, Some(("application/json", scaler.to_string()))).ok();
    ctx.does(&["undo"]);
    let mut running = ctx.rollouts_on("test");
    eventually("the obstacle of the undo is reported", SOON, || {
        ctx.does(&["objects"]).contains("horizontalpodautoscalers.autoscaling grows scales").then_some(())
    });
    let installation = ctx.call_get(&format!("{}/{name}", ctx.installations()));
    assert_eq!(installation["spec"]["migrate"], true, "the old operator leaves it alone");
    let new = ctx.get("v1beta1", name).ok();
    let service = ctx.call_get(&format!("{}/{name}", core(ctx, "services")));
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], new["metadata"]["uid"], "the new one has all of it");
    ctx.call(Method::DELETE, &format!("{all}/grows"), None).ok();
    assert_eq!(running.end(SOON), Some(0));
}

/// The same, with a runner that is killed after each write.
fn killed(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = "mm-abcd";
    ctx.installs(name, &json!({}));
    ctx.serves(&fake_operators, name);
    let was = before(ctx, name);
    starts(ctx, &ctx.ns, &json!({}));
    let (code, text, errors) = runs(ctx, &ctx.ns);
    assert_eq!(code, 0, "{text}{errors}");
    goes(ctx, &ctx.ns, "Undo");
    let writes = killed_after_each_write(ctx, &ctx.ns, usize::MAX, || status(ctx, &ctx.ns)["phase"] == "Aborted");
    for (verb, what) in [("POST", "/clusterinstallations"), ("DELETE", "/deployments/"), ("DELETE", "/mattermosts/")] {
        let times = writes.iter().filter(|write| write.starts_with(verb) && write.contains(what)).count();
        assert_eq!(times, 1, "{verb} {what}: {writes:#?}");
    }
    is_there_again(ctx, &fake_operators, name, &was);
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// A workflow that can be undone from its end, for installations without Pods.
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

/// The rights that only an undo after the end needs.
fn rights(ctx: &TestContext<'_>) {
    fake_operators(ctx, WORKFLOWS);
    let file = |name: &str| {
        let spec = json!({"selector": {"labels": format!("one={name}")}, "workflow": "whole", "timeout": "90s"});
        ctx.migration(name, &spec)
    };
    let role = ctx.role(&file("any"), &[]).remove(0);
    let story = Story {
        ctx,
        name: "after",
        role: &role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| goes(ctx, name, "Undo"),
        has_ended: &|name| {
            let one = format!("{}/{name}", ctx.installations());
            let stable = json!({"status": {"state": "stable"}}).to_string();
            ctx.call(Method::PATCH, &format!("{one}/status"), Some((MERGE, stable)));
            phase(ctx, name) == "Aborted"
        },
        is_whole: &|name| is_whole(ctx, name),
    };
    let (source, target) = ("clusterinstallations", ctx.sample.plural);
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
    let namespace = format!("--namespace={}", ctx.ns);
    let begun = names.iter().map(|name| {
        installs(ctx, name, &json!({}));
        applied(ctx, &file(name));
        let args = ctx.on_the_cluster(&["rollout", "run", name, "--holder=test", &namespace]);
        ctx.started(&format!("{name}-forth"), &args)
    });
    let mut begun: Vec<_> = begun.collect();
    for (name, process) in names.iter().zip(&mut begun) {
        eventually(&format!("{name} is over"), SOON, || (phase(ctx, name) == "Complete").then_some(()));
        process.end(Duration::from_secs(10));
    }
    leaves(ctx, &story.try_each(&rights));
}
