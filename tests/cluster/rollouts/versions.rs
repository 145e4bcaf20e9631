//! Running versions, and prerequisites before and during a rollout: hosts with a control plane and a kubelet, the
//! patches of a version, applications and Nodes.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::access::each_right;
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::rolling::Controllers;
use crate::support::sample::{HOST, Sample};

pub(crate) static HOSTS: [&Sample; 1] = [&HOST];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("version_states_follow_objects", standing).of(&HOSTS),
    Scenario::new("versions_come_from_pods_and_node", watched).of(&HOSTS).newest(),
    Scenario::new("start_needs_all_checks", checked).of(&HOSTS),
    Scenario::new("failing_cluster_check_pauses_rollout", during).of(&HOSTS).newest(),
    Scenario::new("version_and_start_rights_are_exact", rights).of(&HOSTS).newest(),
];

pub(crate) const OLD: &str = "v1.16.4";
pub(crate) const NEW: &str = "v1.17.1";
pub(crate) const NAMES: [&str; 4] = ["controller-0", "controller-1", "compute-0", "compute-1"];

/// A cluster with two controllers and two workers at the old version, whose definition selects the objects of this
/// scenario.
pub(crate) fn begins(ctx: &TestContext<'_>) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let own = |what: &str| what.replace("kube-system", &ctx.ns).replace("=application", &format!("={}", ctx.ns));
    fs::write(&file, own(&definition).replace("inventory=here", &format!("inventory={}", ctx.ns))).unwrap();
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    for name in NAMES {
        ctx.create("v1", &ctx.labelled("v1", name, Some(OLD))).ok();
        runs(ctx, name, OLD, OLD);
    }
}

/// Writes the running versions of a host; a controller reports its control plane as well.
pub(crate) fn runs(ctx: &TestContext<'_>, name: &str, control_plane: &str, kubelet: &str) {
    let mut status = json!({"kubelet": kubelet, "conditions": [{"type": "Ready", "status": "True"}]});
    if name.starts_with("controller") {
        status["controlPlane"] = json!({"image": format!("registry.local:9001/kube-apiserver:{control_plane}@sha256:00"), "version": control_plane});
    }
    let path = format!("{}/status?fieldManager=host-agent", ctx.one("v1", name));
    ctx.call(Method::PATCH, &path, Some((MERGE, json!({"status": status}).to_string()))).ok();
}

/// The rows of the table, word by word.
fn rows(ctx: &TestContext<'_>) -> Vec<Vec<String>> {
    let table = ctx.commanded(&["rollout", "versions", &ctx.crd_name()]);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    table.lines().map(words).collect()
}

fn standing(ctx: &TestContext<'_>) {
    begins(ctx);
    let head = ["VERSION", "TARGET", "STATE"];
    let told = |states: [[&str; 2]; 3]| {
        let row = |(version, [target, state]): (&str, [&str; 2])| {
            vec![version.to_owned(), target.to_owned(), state.to_owned()]
        };
        let rows = [OLD, NEW, "v1.18.1"].into_iter().zip(states).map(row);
        [head.map(str::to_owned).to_vec()].into_iter().chain(rows).collect::<Vec<_>>()
    };
    let (away, before) = (["False", "unavailable"], [["True", "active"], ["False", "available"]]);
    assert_eq!(rows(ctx), told([before[0], before[1], away]));
    // A rollout is in progress.
    ctx.kubectl(&["apply"], &serde_json::from_str(&fs::read_to_string(rollout(ctx, &json!({}))).unwrap()).unwrap());
    set_phase(ctx, "Rolling");
    assert_eq!(rows(ctx), told([["False", "active"], ["True", "available"], away]));
    runs(ctx, "controller-0", NEW, OLD);
    let mixed = told([["False", "partial"], ["True", "partial"], away]);
    assert_eq!(rows(ctx), mixed, "nothing is available");
    for name in NAMES {
        runs(ctx, name, NEW, if name == "compute-1" { OLD } else { NEW });
    }
    assert_eq!(rows(ctx), mixed);
    runs(ctx, "compute-1", NEW, NEW);
    set_phase(ctx, "Complete");
    assert_eq!(rows(ctx), told([away, ["True", "active"], ["False", "available"]]));
    let one: Value =
        serde_json::from_str(&ctx.commanded(&["rollout", "versions", &ctx.crd_name(), "1.17.1", "-o", "json"]))
            .unwrap();
    assert_eq!(
        one,
        json!({
            "target": true, "upgrade_from": [OLD], "downgrade_to": [], "applied_patches": ["PATCH.Y"], "state": "active",
            "version": NEW, "available_patches": ["PATCH.Z"], "objects": 4,
        })
    );
    // The versions of one host are unknown.
    ctx.create("v1", &ctx.labelled("v1", "new", None)).ok();
    let (code, text, errors) = ctx.command(&["rollout", "versions", &ctx.crd_name(), "-o", "json"]);
    let told: Value = serde_json::from_str(&text).unwrap();
    let why = json!({"object": format!("{}/new", ctx.ns), "why": "status.kubelet is not set"});
    assert_eq!((code, &told["unread"]["count"], &told["unread"]["objects"][0]), (0, &json!(1), &why));
    assert_eq!(told["versions"][1]["state"], "partial");
    assert!(errors.contains("the running version of 1 of 5 objects is unknown"), "{errors}");
    ctx.forgets_rollout();
}

/// A StagedRollout of the hosts to the new version.
pub(crate) fn rollout(ctx: &TestContext<'_>, more: &Value) -> String {
    let mut members = json!({"from": OLD, "to": NEW, "acceptedRisks": ["no-way-back"]});
    members.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ctx.rollout_file(&members).display().to_string()
}

/// Writes a fake phase of a rollout.
fn set_phase(ctx: &TestContext<'_>, phase: &str) {
    let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{}/status", ctx.ns);
    let status = json!({"status": {"phase": phase}});
    ctx.call(Method::PATCH, &path, Some((MERGE, status.to_string()))).ok();
}

/// Writes a patch of the version, as a component of the cluster stores it.
pub(crate) fn patch(ctx: &TestContext<'_>, name: &str, state: &str) {
    let all = format!("/api/v1/namespaces/{}/configmaps", ctx.ns);
    let map = json!({"metadata": {"name": name}, "data": {"state": state}});
    if ctx.post(&all, &map).code == 409 {
        ctx.call(Method::PATCH, &format!("{all}/{name}"), Some((MERGE, map.to_string()))).ok();
    }
}

/// An application that supports every version, available or not.
pub(crate) fn application(ctx: &TestContext<'_>, available: bool) {
    let all = format!("/apis/apps/v1/namespaces/{}/deployments", ctx.ns);
    let labels = json!({"tier": ctx.ns});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    // No controller creates Pods for the application.
    let spec = json!({"replicas": 0, "paused": true, "selector": {"matchLabels": labels}, "template": template});
    let annotations = json!({"example.com/kubernetes-max": "v1.18.1"});
    let metadata = json!({"name": "portal", "labels": labels, "annotations": annotations});
    let made = ctx.post(&all, &json!({"metadata": metadata, "spec": spec}));
    assert!(made.is_ok() || made.code == 409, "{}", made.message());
    let status = if available { "True" } else { "False" };
    let status = json!({"status": {"conditions": [{"type": "Available", "status": status, "reason": "Said"}]}});
    ctx.call(Method::PATCH, &format!("{all}/portal/status"), Some((MERGE, status.to_string()))).ok();
}

pub(crate) fn node(ctx: &TestContext<'_>, ready: bool) {
    let name = ctx.ns.clone();
    let node = json!({"metadata": {"name": name, "labels": {"inventory": name}}});
    let made = ctx.post("/api/v1/nodes", &node);
    assert!(made.is_ok() || made.code == 409, "{}", made.message());
    let status = if ready { "True" } else { "False" };
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    ctx.call(Method::PATCH, &format!("/api/v1/nodes/{name}/status"), Some((MERGE, status.to_string()))).ok();
}

/// The metadata of each host that a rollout could change, and the response code for the StagedRollout.
pub(crate) fn stored(ctx: &TestContext<'_>) -> (Value, u16) {
    // A CRD that has just changed has no handler for a moment.
    let list = ctx.eventually(|| Some(ctx.list("v1")).filter(|answer| answer.is_ok())).ok();
    let hosts = list["items"].as_array().unwrap().iter().map(|host| host["metadata"].clone()).collect();
    (hosts, ctx.call(Method::GET, &format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns), None).code)
}

fn checked(ctx: &TestContext<'_>) {
    begins(ctx);
    patch(ctx, "patch.y", "Applied");
    patch(ctx, "patch.z", "Available");
    application(ctx, true);
    node(ctx, true);
    let file = rollout(ctx, &json!({}));
    // Each problem alone, then resolved.
    let refused = |file: &str, said: &str| {
        let before = stored(ctx);
        let (code, _, errors) = ctx.command(&["rollout", "start", "-f", file]);
        assert_eq!(code, 1, "{errors}");
        let lines: Vec<&str> = errors.lines().collect();
        assert_eq!(lines.len(), 2, "one sentence for one thing: {errors}");
        assert!(lines[0].starts_with("error: ") && lines[0].contains(said), "{said}: {errors}");
        assert!(lines[1].ends_with("is not started; the cluster is unchanged"), "{errors}");
        for more in [&["--server"][..], &[]] {
            let (code, text, errors) = ctx.command(&[&["rollout", "plan", "-f", file][..], more].concat());
            assert_eq!(code, 1, "{text}{errors}");
            assert!(text.contains("\nthe rollout would not start: ") && text.contains(said), "{said}: {text}{errors}");
        }
        assert_eq!(stored(ctx), before, "nothing was written");
        assert_eq!(before.1, 404);
    };
    let maps = format!("configmaps {}", ctx.ns);
    patch(ctx, "patch.y", "Available");
    let must = "needs: PATCH.Y must be applied before a rollout to v1.17.1 starts, and";
    refused(&file, &format!("{must} {maps}/patch.y has \"Available\""));
    patch(ctx, "patch.y", "Applied");
    ctx.call(Method::DELETE, &format!("/api/v1/namespaces/{}/configmaps/patch.z", ctx.ns), None).ok();
    let must = "needs: PATCH.Z must be available before a rollout to v1.17.1 starts,";
    refused(&file, &format!("{must} but {maps}/patch.z does not exist"));
    patch(ctx, "patch.z", "Applied");
    refused(&file, &format!("{must} and {maps}/patch.z has \"Applied\""));
    patch(ctx, "patch.z", "Available");
    let skips = rollout(ctx, &json!({"to": "v1.18.1"}));
    refused(&skips, "paths: no upgrade from v1.16.4 to v1.18.1 is allowed; first move to v1.17.1");
    let file = rollout(ctx, &json!({}));
    application(ctx, false);
    refused(&file, &format!("applications: deployments.apps {}/portal: condition Available is False", ctx.ns));
    application(ctx, true);
    node(ctx, false);
    refused(&file, &format!("nodes: nodes {}: condition Ready is False, and must be True", ctx.ns));
    node(ctx, true);
    lacking(ctx, &file, &refused);
    let other = format!("{}-other", ctx.ns);
    ctx.kubectl(&["apply"], &document(&rollout(ctx, &json!({"name": other}))));
    let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{other}");
    let rolling = json!({"status": {"phase": "Rolling"}}).to_string();
    ctx.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, rolling))).ok();
    refused(&file, &format!("rollout {other} has 4 of the same objects in flight"));
    let over = json!({"status": {"phase": "Complete"}}).to_string();
    ctx.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, over))).ok();
    ctx.eventually(|| matches!(ctx.call(Method::DELETE, &path, None).code, 200 | 404).then_some(()));
    unasked(ctx, &file);
    ctx.call(Method::DELETE, &format!("/api/v1/nodes/{}", ctx.ns), None).ok();
}

pub(crate) fn document(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The CRD in the cluster is older, and lacks a field of the definition.
fn lacking(ctx: &TestContext<'_>, file: &str, refused: &dyn Fn(&str, &str)) {
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    let kubelet = ctx.call_get(&format!("{CRDS}/{}", ctx.crd_name())).pointer(fields).unwrap()["kubelet"].clone();
    let change = |with: bool| {
        ctx.change_crd(|crd| {
            let fields = crd.pointer_mut(fields).unwrap().as_object_mut().unwrap();
            match with {
                true => drop(fields.insert("kubelet".to_owned(), kubelet.clone())),
                false => drop(fields.remove("kubelet")),
            }
        });
    };
    change(false);
    refused(file, &format!("crd: the CRD {} lacks parts of the definition: ", ctx.crd_name()));
    change(true);
}

/// If a StagedRollout was applied without the command, `run` reports the problems, also for unreadable objects. Once
/// all prerequisites hold, the rollout proceeds.
fn unasked(ctx: &TestContext<'_>, file: &str) {
    let definition = fs::read_to_string(ctx.setup.kinds.join("kind.yaml")).unwrap();
    let broken = definition.replace("list: deployments.apps", "list: helmreleases.helm.toolkit.fluxcd.io");
    fs::write(ctx.setup.kinds.join("kind.yaml"), broken).unwrap();
    ctx.kubectl(&["apply"], &document(file));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 1, "{text}{errors}");
    let said = "Refused: applications: helmreleases.helm.toolkit.fluxcd.io cannot be read: ";
    assert!(text.contains(said), "{text}{errors}");
    assert_eq!(ctx.versions(), [(OLD.to_owned(), 4)].into());
    assert!(ctx.rollout_writes().is_empty());
    fs::write(ctx.setup.kinds.join("kind.yaml"), definition).unwrap();
    let _controllers = agents(ctx);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.versions(), [(NEW.to_owned(), 4)].into());
    ctx.forgets_rollout();
}

/// A controller that reports every host as healthy.
pub(crate) fn agents(ctx: &TestContext<'_>) -> Controllers {
    Controllers::start_as(ctx, |_| "host-agent", |_, _| Some(true))
}

fn during(ctx: &TestContext<'_>) {
    begins(ctx);
    patch(ctx, "patch.y", "Applied");
    patch(ctx, "patch.z", "Available");
    application(ctx, true);
    let _controllers = agents(ctx);
    let wave =
        json!([{"name": "first", "selector": {"labels": "rollout=first"}, "after": "approval"}, {"name": "rest"}]);
    ctx.patch("v1", "compute-0", &json!({"metadata": {"labels": {"rollout": "first"}}})).ok();
    ctx.commanded(&["rollout", "start", "-f", &rollout(ctx, &json!({"waves": wave, "timeout": "120s"}))]);
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("waiting for approval");
    application(ctx, false);
    // The runner repeats the check every 5 s.
    sleep(Duration::from_secs(6));
    ctx.does(&["approve", "first"]);
    let status = ctx.rollout_says("condition Available is False");
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Waiting"), &json!("PreconditionsNotMet")));
    let moved = ctx.versions()[NEW];
    sleep(Duration::from_secs(5));
    assert_eq!((ctx.versions()[NEW], moved < 4), (moved, true), "nothing more is moved");
    application(ctx, true);
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    ctx.forgets_rollout();
}

fn rights(ctx: &TestContext<'_>) {
    begins(ctx);
    patch(ctx, "patch.y", "Applied");
    patch(ctx, "patch.z", "Available");
    application(ctx, true);
    node(ctx, true);
    let as_ = |who: &Path| format!("--kubeconfig={}", who.display());
    let looks = |who: &Path| ctx.command(&["rollout", "versions", &ctx.crd_name(), &as_(who)]);
    each_right(ctx, &["pointsman-rollout-versions"], &|_| true, &looks);
    let file = rollout(ctx, &json!({}));
    let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns);
    let starts = |who: &Path| {
        ctx.eventually(|| (ctx.call(Method::DELETE, &path, None).code == 404).then_some(()));
        ctx.command(&["rollout", "start", "-f", &file, &as_(who)])
    };
    each_right(ctx, &["pointsman-rollout-start"], &|_| true, &starts);
    ctx.call(Method::DELETE, &path, None);
    ctx.call(Method::DELETE, &format!("/api/v1/nodes/{}", ctx.ns), None).ok();
}

/// During a rollout its target is the target of the hosts.
fn is_the_target_of_a_rollout(ctx: &TestContext<'_>) {
    ctx.kubectl(&["apply"], &document(&rollout(ctx, &json!({"paused": true}))));
    set_phase(ctx, "Rolling");
    let states: Vec<String> = rows(ctx).into_iter().map(|row| row.join(" ")).collect();
    assert_eq!(states[1..3], [format!("{OLD} False partial"), format!("{NEW} True partial")]);
    ctx.forgets_rollout();
}

/// Pods and Nodes report the versions of a host; the host's own report is ignored.
fn watched(ctx: &TestContext<'_>) {
    begins(ctx);
    asks_pods_and_nodes(ctx);
    let states = || rows(ctx).into_iter().map(|row| row.join(" ")).collect::<Vec<_>>();
    api_server(ctx, "controller-0", OLD);
    assert_eq!(states()[1..3], [format!("{OLD} True active"), format!("{NEW} False available")]);
    api_server(ctx, "controller-0", NEW);
    assert_eq!(states()[1..3], [format!("{OLD} False partial"), format!("{NEW} False partial")]);
    is_the_target_of_a_rollout(ctx);
    // The StagedRollout is checked, and moves nothing.
    let freeze = json!([{
        "resources": ["configmaps"], "operations": ["CREATE"], "namespaces": [ctx.ns], "part": "control-plane",
        "atLeast": NEW,
    }]);
    let waves = json!([{"name": "all"}]);
    ctx.kubectl(&["apply"], &document(&rollout(ctx, &json!({"paused": true, "freeze": freeze, "waves": waves}))));
    let policies = ctx.commanded(&["rollout", "policies", &ctx.ns, "-o", "json"]);
    ctx.kubectl(&["apply"], &serde_json::from_str(&policies).unwrap());
    let looks = || {
        ctx.runs_rollout(&["--once"]);
        let parts = ctx.rollout_status()["parts"].clone();
        let span = |part: &str| {
            let version = |end: &str| parts[part][end]["version"].as_str().unwrap_or("none").to_owned();
            format!("{}..{}", version("lowest"), version("highest"))
        };
        [span("control-plane"), span("kubelet")]
    };
    let tries = || {
        let path = format!("/api/v1/namespaces/{}/configmaps?dryRun=All", ctx.ns);
        ctx.post(&path, &json!({"metadata": {"name": "tried"}}))
    };
    assert_eq!(looks(), [format!("{OLD}..{NEW}"), format!("{OLD}..{OLD}")]);
    let words = format!(
        "wait until every control-plane is at least {NEW}; the lowest running version of control-plane is {OLD}"
    );
    ctx.eventually(|| Some(tries()).filter(|answer| answer.code == 403 && answer.message().contains(&words)));
    let told: Value = serde_json::from_str(&ctx.does(&["objects", "-o", "json"])).unwrap();
    let host = |name: &str| told.as_array().unwrap().iter().find(|host| host["name"] == name).unwrap();
    let runs = |versions: &[&str]| json!({"versions": versions});
    assert_eq!(host("controller-1")["parts"], json!({"control-plane": runs(&[OLD]), "kubelet": runs(&[OLD])}));
    assert_eq!(host("compute-0")["parts"], json!({"control-plane": runs(&[]), "kubelet": runs(&[OLD])}));
    // The hosts themselves do not change.
    api_server(ctx, "controller-1", NEW);
    kubelet(ctx, "compute-0", NEW);
    assert_eq!(looks(), [format!("{NEW}..{NEW}"), format!("{OLD}..{NEW}")]);
    ctx.eventually(|| tries().is_ok().then_some(()));
    NAMES.iter().for_each(|name| kubelet(ctx, name, NEW));
    assert_eq!(states()[1..3], [format!("{OLD} False unavailable"), format!("{NEW} True active")]);
    // A Pod of the same name in another namespace, and a Pod with another image, are ignored.
    strangers(ctx);
    assert_eq!(states()[1..3], [format!("{OLD} False unavailable"), format!("{NEW} True active")]);
    kubelet(ctx, "controller-1", OLD);
    assert_eq!(looks(), [format!("{NEW}..{NEW}"), format!("{OLD}..{NEW}")]);
    ctx.call(Method::DELETE, "/api/v1/nodes/compute-0", None).ok();
    assert_eq!(looks(), [format!("{NEW}..{NEW}"), "none..none".to_owned()]);
    let (_, _, errors) = ctx.command(&["rollout", "versions", &ctx.crd_name()]);
    assert!(errors.contains("compute-0: none of nodes has a version in metadata.name"), "{errors}");
    for name in NAMES {
        ctx.call(Method::DELETE, &format!("/api/v1/nodes/{name}"), None);
    }
    ctx.does(&["clean"]);
    ctx.forgets_rollout();
}

/// The definition reads versions from Pods and Nodes of each host.
fn asks_pods_and_nodes(ctx: &TestContext<'_>) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let (before, after) = definition.split_once("  - {part: control-plane").unwrap();
    let (_, after) = after.split_once("  role:").unwrap();
    let places = format!(
        "  - part: control-plane\n    from:\n      list: pods\n      namespace: {}\n      where: component=kube-apiserver\n\
         \x20     by: spec.nodeName\n      item: {{list: spec.containers, name: kube-apiserver}}\n    field: image\n    as: \
         imageTag\n    optional: true\n  - {{part: kubelet, from: {{list: nodes, by: metadata.name}}, field: \
         status.nodeInfo.kubeletVersion}}\n",
        ctx.ns
    );
    fs::write(&file, format!("{before}{places}  role:{after}")).unwrap();
    for name in NAMES {
        let node = json!({"metadata": {"name": name}});
        let made = ctx.post("/api/v1/nodes", &node);
        assert!(made.is_ok() || made.code == 409, "{}", made.message());
        kubelet(ctx, name, OLD);
    }
    ctx.post(&format!("/api/v1/namespaces/{}/serviceaccounts", ctx.ns), &json!({"metadata": {"name": "default"}}));
    api_server(ctx, "controller-0", NEW);
    api_server(ctx, "controller-1", OLD);
}

/// Writes the kubelet version of a host.
fn kubelet(ctx: &TestContext<'_>, host: &str, version: &str) {
    let status = json!({"status": {"nodeInfo": {"kubeletVersion": version}}}).to_string();
    ctx.call(Method::PATCH, &format!("/api/v1/nodes/{host}/status"), Some((MERGE, status))).ok();
}

/// Pods of the hosts outside the definition's selection.
fn strangers(ctx: &TestContext<'_>) {
    let other = format!("{}-other", ctx.ns);
    ctx.post("/api/v1/namespaces", &json!({"metadata": {"name": other}})).ok();
    for namespace in [&other, &ctx.ns] {
        ctx.post(&format!("/api/v1/namespaces/{namespace}/serviceaccounts"), &json!({"metadata": {"name": "default"}}));
        let labels = if *namespace == other { json!({"component": "kube-apiserver"}) } else { json!({}) };
        let containers = json!([{"name": "kube-apiserver", "image": format!("k8s/kube-apiserver:{OLD}")}]);
        let metadata = json!({"name": "stranger", "labels": labels});
        let pod = json!({"metadata": metadata, "spec": {"nodeName": "controller-1", "containers": containers}});
        let pods = format!("/api/v1/namespaces/{namespace}/pods");
        ctx.eventually(|| ctx.post(&pods, &pod).is_ok().then_some(()));
    }
}

/// Makes this the only API server of a host.
fn api_server(ctx: &TestContext<'_>, host: &str, version: &str) {
    let (pods, name) = (format!("/api/v1/namespaces/{}/pods", ctx.ns), format!("kube-apiserver-{host}"));
    ctx.call(Method::DELETE, &format!("{pods}/{name}?gracePeriodSeconds=0"), None);
    let metadata = json!({"name": name, "labels": {"component": "kube-apiserver"}});
    let containers = json!([{"name": "kube-apiserver", "image": format!("registry:9001/kube-apiserver:{version}")}]);
    let pod = json!({"metadata": metadata, "spec": {"nodeName": host, "containers": containers}});
    ctx.eventually(|| ctx.post(&pods, &pod).is_ok().then_some(()));
}
