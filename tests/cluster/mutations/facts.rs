//! Mutations on the real API server: three Deployments for both values of a fact, and writes while the fact is unknown
//! or no server runs.

use std::fs;
use std::path::{Path, PathBuf};

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::pointsman::Pointsman;
use crate::support::process::{SOON, eventually};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("three_deployments_follow_a_fact", followed).of(&WIDGETS).newest().failing()];

static WIDGETS: [&Sample; 1] = [&WIDGET];

pub(crate) const NAMES: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
pub(crate) const NEEDS_COMPLETE: &str = "csi-migration.extensions.gardener.cloud/needs-complete-feature-gates";
pub(crate) const FINISHED: &str = "csi-migration.extensions.gardener.cloud/controller-finished";

/// A file of the documented example.
pub(crate) fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/examples/gardener");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The definition of the example, for this namespace alone, with an annotation of the namespace as the fact.
pub(crate) fn define(ctx: &TestContext<'_>) {
    let text = example("control-plane.yaml")
        .replace("clusters.extensions.gardener.cloud", "namespaces")
        .replace("version: v1alpha1", "version: v1")
        .replace("  always:", &format!("  namespaces: [{}]\n  always:", ctx.ns));
    fs::write(ctx.setup.kinds.join("control-plane.yaml"), text).unwrap();
}

/// Serves the definition, with a kubeconfig.
pub(crate) fn serve(ctx: &TestContext<'_>, kubeconfig: &Path) {
    ctx.stop_pointsman();
    let mut setup = ctx.setup.clone();
    setup.flags.push(format!("--kubeconfig={}", kubeconfig.display()));
    *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&setup));
}

/// A kubeconfig of a user with exactly the role of docs/rights.md for these objects: with these verbs, or with all.
fn reader(ctx: &TestContext<'_>, verbs: Option<&[&str]>) -> PathBuf {
    let rights = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rights.md")).unwrap();
    let section = rights.split("\n## serve with mutations\n").nth(1).expect("a section");
    let role = section.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a role");
    let role = role.replace("extensions.gardener.cloud", "\"\"").replace("clusters", "namespaces");
    let mut role: Value = serde_saphyr::from_str(&role).unwrap();
    let mut name = format!("{}-reader", ctx.ns);
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
    ctx.kubectl(&["apply"], &role);
    ctx.kubectl(&["apply"], &binding);
    kubeconfig(ctx, &name)
}

/// A kubeconfig of a user.
fn kubeconfig(ctx: &TestContext<'_>, who: &str) -> PathBuf {
    let text = fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap();
    let file = ctx.dir.join(who);
    fs::write(&file, text.replace("{token: secret-token}", &format!("{{token: secret-token, as: {who}}}"))).unwrap();
    file
}

pub(crate) fn metric(ctx: &TestContext<'_>, line: &str) -> bool {
    ctx.pointsman.borrow().as_ref().expect("running").metrics().contains(line)
}

pub(crate) fn configuration(ctx: &TestContext<'_>) -> Value {
    ctx.conversion();
    let ca = format!("--ca-file={}", ctx.authority().display());
    let kinds = format!("--kinds={}", ctx.setup.kinds.display());
    let args = ["webhooks", "mutations", "--kind=deployments", &ctx.server(), &ca, &kinds, "--output=json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn path(ctx: &TestContext<'_>, name: &str) -> String {
    let all = format!("/apis/apps/v1/namespaces/{}/deployments", ctx.ns);
    if name.is_empty() { all } else { format!("{all}/{name}") }
}

pub(crate) fn deployment(ctx: &TestContext<'_>, name: &str) -> Value {
    let mut object: Value = serde_saphyr::from_str(&example(&format!("{name}.yaml"))).unwrap();
    object["metadata"]["namespace"] = json!(ctx.ns);
    object
}

/// An empty patch, as Gardener sends it.
pub(crate) fn nudge(ctx: &TestContext<'_>, name: &str) -> Answer {
    patched_by_nothing(ctx, &path(ctx, name))
}

fn patched_by_nothing(ctx: &TestContext<'_>, path: &str) -> Answer {
    const STRATEGIC: &str = "application/strategic-merge-patch+json";
    ctx.call(Method::PATCH, path, Some((STRATEGIC, "{}".to_owned())))
}

/// The command lines of the offline result of a mutation, for this value of the fact.
pub(crate) fn offline(ctx: &TestContext<'_>, document: &Value, fact: &str) -> Value {
    commands(&mutated(ctx, document, fact))
}

/// The offline result of a mutation, for this value of the fact.
pub(crate) fn mutated(ctx: &TestContext<'_>, document: &Value, fact: &str) -> Value {
    let file = ctx.dir.join("deployment.json");
    fs::write(&file, document.to_string()).unwrap();
    let (fact, file) = (format!("--fact=csi={fact}"), file.display().to_string());
    let kinds = format!("--kinds={}", ctx.setup.kinds.display());
    let args = ["mutate", "-f", &file, &fact, &kinds, "--whole", "-o", "json"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The command lines of an object, and the names of items that mutations remove.
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

fn followed(ctx: &TestContext<'_>) {
    define(ctx);
    serve(ctx, &reader(ctx, None));
    let configuration = configuration(ctx);
    ctx.kubectl(&["apply"], &configuration);
    ctx.eventually(|| metric(ctx, "pointsman_fact_known{resource=\"namespaces\"} 1\n").then_some(()));

    // Before the fact.
    let dry = format!("{}?dryRun=All", path(ctx, ""));
    let scheduler = deployment(ctx, "kube-scheduler");
    let is_asked = || ctx.post(&dry, &scheduler).body.to_string().contains("CSIMigrationAWS=true");
    ctx.eventually(|| is_asked().then_some(()));
    for name in NAMES {
        let made = ctx.post(&path(ctx, ""), &deployment(ctx, name)).ok();
        assert_eq!(commands(&made), offline(ctx, &deployment(ctx, name), "false"), "{name}");
    }

    // The fact, and an empty patch each.
    annotate(ctx, NEEDS_COMPLETE);
    let changed = offline(ctx, &deployment(ctx, "kube-scheduler"), "true");
    ctx.eventually(|| {
        let tried = patched_by_nothing(ctx, &format!("{}?dryRun=All", path(ctx, "kube-scheduler")));
        (tried.is_ok() && commands(&tried.body) == changed).then_some(())
    });
    // Namespaces of other scenarios may have the fact as well.
    assert!(metric(ctx, "pointsman_fact_objects{resource=\"namespaces\"} "));
    assert!(!metric(ctx, "pointsman_fact_objects{resource=\"namespaces\"} 0\n"));
    for name in NAMES {
        let before = ctx.call_get(&path(ctx, name));
        let after = nudge(ctx, name).ok();
        assert_eq!(commands(&after), offline(ctx, &deployment(ctx, name), "true"), "{name}");
        assert_eq!(generation(&after), generation(&before) + 1, "{name}");
        let again = nudge(ctx, name).ok();
        assert_eq!(again["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"], "{name} is quiet");
    }
    annotate(ctx, FINISHED);
    // A new object equals the changed objects.
    ctx.call(Method::DELETE, &path(ctx, "kube-scheduler"), None).ok();
    let made = eventually("the object is deleted", SOON, || {
        let made = ctx.post(&path(ctx, ""), &deployment(ctx, "kube-scheduler"));
        made.is_ok().then_some(made.body)
    });
    assert_eq!(commands(&made), offline(ctx, &deployment(ctx, "kube-scheduler"), "true"));

    each_right_is_needed(ctx);
    nobody_knows(ctx);
    nobody_is_there(ctx);
    ctx.kubectl(&["delete"], &configuration);
}

pub(crate) fn annotate(ctx: &TestContext<'_>, key: &str) {
    let patch = json!({"metadata": {"annotations": {key: "true"}}}).to_string();
    ctx.call(Method::PATCH, &format!("/api/v1/namespaces/{}", ctx.ns), Some((MERGE, patch))).ok();
}

/// Without either right of its role a server logs the forbidden action.
fn each_right_is_needed(ctx: &TestContext<'_>) {
    for (kept, missing) in [("watch", "list"), ("list", "watch")] {
        let reader = reader(ctx, Some(&[kept]));
        serve(ctx, &reader);
        let user = reader.file_name().unwrap().to_str().unwrap();
        let said = format!("cannot {missing} resource \"namespaces\" in API group");
        ctx.eventually(|| {
            let log = fs::read_to_string(&ctx.setup.log).unwrap();
            log.lines().any(|line| line.contains(user) && line.contains(&said)).then_some(())
        });
    }
}

/// A server that cannot read the fact, or cannot reach its source, makes no decision with the fact. The server is still
/// ready.
fn nobody_knows(ctx: &TestContext<'_>) {
    serve(ctx, &kubeconfig(ctx, "nobody"));
    let said = nudge(ctx, "kube-scheduler");
    assert!(!said.is_ok(), "{}", said.body);
    let said = said.message();
    assert!(said.contains("failed calling webhook \"csi.mutations.deployments.apps\""), "{said}");
    // The client receives a request to retry after a second, retries until the call times out, and reports the timeout
    // alone.
    assert!(said.contains("context deadline exceeded"), "{said}");
    ctx.eventually(|| metric(ctx, "pointsman_fact_known{resource=\"namespaces\"} 0\n").then_some(()));
    // An object with another name: no mutation selects it.
    let mut other = deployment(ctx, "kube-scheduler");
    other["metadata"]["name"] = json!("other");
    ctx.post(&path(ctx, ""), &other).ok();
}

/// Writes need a server, deletions do not.
fn nobody_is_there(ctx: &TestContext<'_>) {
    ctx.stop_pointsman();
    let said = nudge(ctx, "kube-scheduler").message();
    assert!(said.contains("failed calling webhook \"csi.mutations.deployments.apps\""), "{said}");
    ctx.call(Method::DELETE, &path(ctx, "kube-scheduler"), None).ok();
    ctx.call(Method::DELETE, &path(ctx, "other"), None).ok();
}
