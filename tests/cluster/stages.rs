//! Stages on the real API server: three Deployments on both sides of a fact, and what becomes of writes while nobody
//! knows the fact, or nobody is there.

use std::fs;
use std::path::{Path, PathBuf};

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::pointsman::Pointsman;
use crate::support::process::{SOON, eventually};
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{MERGE, Scene};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("three_deployments_follow_a_fact", followed).of(&WIDGETS).newest().failing()];

static WIDGETS: [&Sample; 1] = [&WIDGET];

pub(crate) const NAMES: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
pub(crate) const NEEDS_COMPLETE: &str = "csi-migration.extensions.gardener.cloud/needs-complete-feature-gates";
pub(crate) const FINISHED: &str = "csi-migration.extensions.gardener.cloud/controller-finished";

/// A file of the example that people read.
pub(crate) fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/examples/gardener");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Its definition, for this namespace alone, whose own annotation is the fact.
pub(crate) fn define(scene: &Scene<'_>) {
    let text = example("control-plane.yaml")
        .replace("clusters.extensions.gardener.cloud", "namespaces")
        .replace("version: v1alpha1", "version: v1")
        .replace("  before:", &format!("  namespaces: [{}]\n  before:", scene.ns));
    fs::write(scene.setup.kinds.join("control-plane.yaml"), text).unwrap();
}

/// Serves it, by a kubeconfig.
pub(crate) fn serve(scene: &Scene<'_>, kubeconfig: &Path) {
    scene.stop_pointsman();
    let mut setup = scene.setup.clone();
    setup.flags.push(format!("--kubeconfig={}", kubeconfig.display()));
    *scene.pointsman.borrow_mut() = Some(Pointsman::start(&setup));
}

/// A kubeconfig of somebody who has the role of docs/rights.md, for these objects, and no other: with these verbs of
/// it, or all.
fn reader(scene: &Scene<'_>, verbs: Option<&[&str]>) -> PathBuf {
    let rights = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rights.md")).unwrap();
    let section = rights.split("\n## serve with stages\n").nth(1).expect("a section");
    let role = section.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a role");
    let role = role.replace("extensions.gardener.cloud", "\"\"").replace("clusters", "namespaces");
    let mut role: Value = serde_saphyr::from_str(&role).unwrap();
    let mut name = format!("{}-reader", scene.ns);
    if let Some(verbs) = verbs {
        assert!(verbs.iter().all(|verb| role["rules"][0]["verbs"].as_array().unwrap().contains(&json!(verb))));
        role["rules"][0]["verbs"] = json!(verbs);
        name = format!("{name}-{}", verbs.join("-"));
    }
    role["metadata"]["name"] = json!(name);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    });
    scene.kubectl(&["apply"], &role);
    scene.kubectl(&["apply"], &binding);
    kubeconfig(scene, &name)
}

/// A kubeconfig of somebody.
fn kubeconfig(scene: &Scene<'_>, who: &str) -> PathBuf {
    let text = fs::read_to_string(&scene.bed.api.kubeconfig).unwrap();
    let file = scene.dir.join(who);
    fs::write(&file, text.replace("{token: secret-token}", &format!("{{token: secret-token, as: {who}}}"))).unwrap();
    file
}

pub(crate) fn metric(scene: &Scene<'_>, line: &str) -> bool {
    scene.pointsman.borrow().as_ref().expect("running").metrics().contains(line)
}

pub(crate) fn configuration(scene: &Scene<'_>) -> Value {
    scene.conversion();
    let ca = format!("--ca-file={}", scene.authority().display());
    let kinds = format!("--kinds={}", scene.setup.kinds.display());
    let args = ["webhooks", "stages", "--kind=deployments", &scene.server(), &ca, &kinds, "--output=json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn path(scene: &Scene<'_>, name: &str) -> String {
    let all = format!("/apis/apps/v1/namespaces/{}/deployments", scene.ns);
    if name.is_empty() { all } else { format!("{all}/{name}") }
}

pub(crate) fn deployment(scene: &Scene<'_>, name: &str) -> Value {
    let mut object: Value = serde_saphyr::from_str(&example(&format!("{name}.yaml"))).unwrap();
    object["metadata"]["namespace"] = json!(scene.ns);
    object
}

/// An empty patch, as Gardener sends it.
pub(crate) fn nudge(scene: &Scene<'_>, name: &str) -> Answer {
    patched_by_nothing(scene, &path(scene, name))
}

fn patched_by_nothing(scene: &Scene<'_>, path: &str) -> Answer {
    const STRATEGIC: &str = "application/strategic-merge-patch+json";
    scene.call(Method::PATCH, path, Some((STRATEGIC, "{}".to_owned())))
}

/// The command lines of what a stage makes of it offline, on this side of the fact.
pub(crate) fn offline(scene: &Scene<'_>, document: &Value, fact: &str) -> Value {
    commands(&mutated(scene, document, fact))
}

/// What a stage makes of it offline, on this side of the fact.
pub(crate) fn mutated(scene: &Scene<'_>, document: &Value, fact: &str) -> Value {
    let file = scene.dir.join("deployment.json");
    fs::write(&file, document.to_string()).unwrap();
    let (fact, file) = (format!("--fact=csi={fact}"), file.display().to_string());
    let kinds = format!("--kinds={}", scene.setup.kinds.display());
    let args = ["mutate", "-f", &file, &fact, &kinds, "--whole", "-o", "json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The command lines of an object, and the names of what stages take away.
pub(crate) fn commands(object: &Value) -> Value {
    let pod = &object["spec"]["template"]["spec"];
    let names = |list: &Value| -> Vec<Value> {
        list.as_array().into_iter().flatten().map(|item| item["name"].clone()).collect()
    };
    let containers = pod["containers"].as_array().unwrap().iter();
    let containers =
        containers.map(|it| json!([it["name"], it["command"], names(&it["env"]), names(&it["volumeMounts"])]));
    json!([containers.collect::<Vec<_>>(), names(&pod["volumes"])])
}

pub(crate) fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap()
}

fn followed(scene: &Scene<'_>) {
    define(scene);
    serve(scene, &reader(scene, None));
    let configuration = configuration(scene);
    scene.kubectl(&["apply"], &configuration);
    scene.eventually(|| metric(scene, "pointsman_fact_known{resource=\"namespaces\"} 1\n").then_some(()));

    // Before the fact.
    let dry = format!("{}?dryRun=All", path(scene, ""));
    let scheduler = deployment(scene, "kube-scheduler");
    let is_asked = || scene.post(&dry, &scheduler).body.to_string().contains("CSIMigrationAWS=true");
    scene.eventually(|| is_asked().then_some(()));
    for name in NAMES {
        let made = scene.post(&path(scene, ""), &deployment(scene, name)).ok();
        assert_eq!(commands(&made), offline(scene, &deployment(scene, name), "false"), "{name}");
    }

    // The fact, and an empty patch each.
    annotate(scene, NEEDS_COMPLETE);
    let changed = offline(scene, &deployment(scene, "kube-scheduler"), "true");
    scene.eventually(|| {
        let tried = patched_by_nothing(scene, &format!("{}?dryRun=All", path(scene, "kube-scheduler")));
        (tried.is_ok() && commands(&tried.body) == changed).then_some(())
    });
    // Namespaces of others may say it as well.
    assert!(metric(scene, "pointsman_fact_objects{resource=\"namespaces\"} "));
    assert!(!metric(scene, "pointsman_fact_objects{resource=\"namespaces\"} 0\n"));
    for name in NAMES {
        let before = scene.call_get(&path(scene, name));
        let after = nudge(scene, name).ok();
        assert_eq!(commands(&after), offline(scene, &deployment(scene, name), "true"), "{name}");
        assert_eq!(generation(&after), generation(&before) + 1, "{name}");
        let again = nudge(scene, name).ok();
        assert_eq!(again["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"], "{name} is quiet");
    }
    annotate(scene, FINISHED);
    // One that is created now is what the others became.
    scene.call(Method::DELETE, &path(scene, "kube-scheduler"), None).ok();
    let made = eventually("it is gone", SOON, || {
        let made = scene.post(&path(scene, ""), &deployment(scene, "kube-scheduler"));
        made.is_ok().then_some(made.body)
    });
    assert_eq!(commands(&made), offline(scene, &deployment(scene, "kube-scheduler"), "true"));

    each_right_is_needed(scene);
    nobody_knows(scene);
    nobody_is_there(scene);
    scene.kubectl(&["delete"], &configuration);
}

pub(crate) fn annotate(scene: &Scene<'_>, key: &str) {
    let patch = json!({"metadata": {"annotations": {key: "true"}}}).to_string();
    scene.call(Method::PATCH, &format!("/api/v1/namespaces/{}", scene.ns), Some((MERGE, patch))).ok();
}

/// Without either right of its role a server says in its log what it cannot do.
fn each_right_is_needed(scene: &Scene<'_>) {
    for (kept, missing) in [("watch", "list"), ("list", "watch")] {
        let reader = reader(scene, Some(&[kept]));
        serve(scene, &reader);
        let user = reader.file_name().unwrap().to_str().unwrap();
        let said = format!("cannot {missing} resource \"namespaces\" in API group");
        scene.eventually(|| {
            let log = fs::read_to_string(&scene.setup.log).unwrap();
            log.lines().any(|line| line.contains(user) && line.contains(&said)).then_some(())
        });
    }
}

/// A server that may not read the fact, or does not reach who says it, decides nothing by it. It is ready all the same.
fn nobody_knows(scene: &Scene<'_>) {
    serve(scene, &kubeconfig(scene, "nobody"));
    let said = nudge(scene, "kube-scheduler");
    assert!(!said.is_ok(), "{}", said.body);
    let said = said.message();
    assert!(said.contains("failed calling webhook \"csi.stages.deployments.apps\""), "{said}");
    // It is told to come again in a second, does so for as long as the call may take, and then says that alone.
    assert!(said.contains("context deadline exceeded"), "{said}");
    scene.eventually(|| metric(scene, "pointsman_fact_known{resource=\"namespaces\"} 0\n").then_some(()));
    // Of another name: no stage is about it.
    let mut other = deployment(scene, "kube-scheduler");
    other["metadata"]["name"] = json!("other");
    scene.post(&path(scene, ""), &other).ok();
}

/// Writes wait for a server, deletions do not.
fn nobody_is_there(scene: &Scene<'_>) {
    scene.stop_pointsman();
    let said = nudge(scene, "kube-scheduler").message();
    assert!(said.contains("failed calling webhook \"csi.stages.deployments.apps\""), "{said}");
    scene.call(Method::DELETE, &path(scene, "kube-scheduler"), None).ok();
    scene.call(Method::DELETE, &path(scene, "other"), None).ok();
}
