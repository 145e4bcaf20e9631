//! Replaces one kind by another in a cluster: installations of an operator are migrated to the new kind, without an
//! outage. The controllers of Kubernetes are real; the kubelet and both operators are fakes.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::fake_operators::FakeOperators;
use crate::support::installations::{Belongings, LABEL, REPLICAS};
use crate::support::process::{SOON, eventually};
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{MATTERMOST, Sample};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("installations_migrate_without_downtime", whole)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("killed_replacement_finishes_alike", killed)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("replacement_reverts_from_anywhere", back).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
    Scenario::new("replacement_blockers_precede_changes", refused)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("replacement_rights_are_exact", guarded).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
    Scenario::new("unstable_object_is_undone_alone", never_stable)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("foreign_deployment_is_not_deleted", contested)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("fresh_deployment_is_not_deleted", taken_over)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("dependents_block_deletion", belongs).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
    Scenario::new("refused_replacement_deletes_nothing", refused_successor)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
];

static MATTERMOSTS: [&Sample; 1] = [&MATTERMOST];

/// An installation before its migration, with the objects that must stay.
pub(crate) struct Before {
    pub(crate) object: Value,
    pub(crate) deployment: Value,
    pub(crate) service: Value,
    pub(crate) claim: Value,
    /// ReplicaSets of the Deployment.
    pub(crate) sets: Vec<Value>,
}

pub(crate) fn core(ctx: &TestContext<'_>, plural: &str) -> String {
    format!("/api/v1/namespaces/{}/{plural}", ctx.ns)
}

pub(crate) fn apps(ctx: &TestContext<'_>, plural: &str) -> String {
    format!("/apis/apps/v1/namespaces/{}/{plural}", ctx.ns)
}

pub(crate) fn before(ctx: &TestContext<'_>, name: &str) -> Before {
    let get = |path: &str| ctx.call_get(&format!("{path}/{name}"));
    let deployment = get(&ctx.deployments());
    Before {
        object: get(&ctx.installations()),
        sets: ctx.sets_of(&deployment["metadata"]["uid"]),
        deployment,
        service: get(&core(ctx, "services")),
        claim: get(&core(ctx, "persistentvolumeclaims")),
    }
}

/// Starts a rollout over installations.
pub(crate) fn starts(ctx: &TestContext<'_>, name: &str, more: &Value) {
    let file = ctx.migration(name, more);
    ctx.commanded(&["rollout", "start", "-f", &file.display().to_string()]);
}

pub(crate) fn runs(ctx: &TestContext<'_>, name: &str) -> (i32, String, String) {
    let namespace = format!("--namespace={}", ctx.ns);
    ctx.command(&["rollout", "run", name, "--holder=test", &namespace])
}

/// Changes the direction of a rollout.
pub(crate) fn goes(ctx: &TestContext<'_>, rollout: &str, direction: &str) {
    let patch = json!({"spec": {"direction": direction}}).to_string();
    ctx.call(Method::PATCH, &format!("/apis/pointsman.dev/v1/stagedrollouts/{rollout}"), Some((MERGE, patch))).ok();
}

pub(crate) fn status(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.call_get(&format!("/apis/pointsman.dev/v1/stagedrollouts/{name}"))["status"].clone()
}

/// Checks the result of a migration, independent of its course.
#[track_caller]
pub(crate) fn is_replaced(ctx: &TestContext<'_>, fake_operators: &FakeOperators, name: &str, before: &Before) {
    is_replaced_among(ctx, fake_operators, &ctx.belongings(), name, before);
}

/// The same, for one of many.
#[track_caller]
fn is_replaced_among(
    ctx: &TestContext<'_>,
    fake_operators: &FakeOperators,
    others: &Belongings,
    name: &str,
    before: &Before,
) {
    let uid = before.object["metadata"]["uid"].as_str().unwrap();
    let gone = ctx.call(Method::GET, &format!("{}/{name}", ctx.installations()), None);
    assert_eq!(gone.code, 404, "{name} is gone");
    let target = ctx.get("v1beta1", name).ok();
    assert_eq!(target["status"]["state"], "stable");
    assert_eq!(target["spec"]["version"], before.object["spec"]["version"]);
    assert_eq!(target["spec"]["ingressName"], before.object["spec"]["ingressName"]);
    let deployment = ctx.call_get(&format!("{}/{name}", ctx.deployments()));
    assert_eq!(deployment["spec"]["selector"]["matchLabels"][LABEL], name);
    // Everything except the selector labels is unchanged.
    let stripped = |deployment: &Value| {
        let mut spec = deployment["spec"].clone();
        spec["selector"] = Value::Null;
        let labels = spec["template"]["metadata"]["labels"].as_object_mut().unwrap();
        labels.retain(|label, _| label == "played" || label == "app");
        spec
    };
    assert_eq!(stripped(&deployment), stripped(&before.deployment));
    for set in &others.sets {
        let labels = &set["metadata"]["labels"];
        let is_old = labels["v1alpha1.mattermost.com/installation"] == name;
        assert!(!is_old || !set["metadata"]["deletionTimestamp"].is_null(), "{set:#}");
    }
    for (plural, was) in [("services", &before.service), ("persistentvolumeclaims", &before.claim)] {
        let now = ctx.call_get(&format!("{}/{name}", core(ctx, plural)));
        assert_eq!(now["metadata"]["uid"], was["metadata"]["uid"], "{plural}");
        let owners = now["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 1, "{owners:?}");
        assert_eq!((&owners[0]["uid"], &owners[0]["controller"]), (&target["metadata"]["uid"], &json!(true)));
    }
    assert_eq!(others.of(uid), Vec::<String>::new(), "a deleted object has no dependents");
    assert!(others.saved.iter().all(|one| one["metadata"]["labels"]["pointsman.dev/workflow"] != uid), "{name}");
    assert!(
        fake_operators.fewest(name) >= REPLICAS,
        "{} Pods of {name} were ready at a time",
        fake_operators.fewest(name)
    );
}

/// S30.
fn whole(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let names = ["mm-abcd", "mm-efgh"];
    names.iter().for_each(|name| drop(ctx.installs(name, &json!({}))));
    names.iter().for_each(|name| ctx.serves(&fake_operators, name));
    let all: Vec<Before> = names.iter().map(|name| before(ctx, name)).collect();
    starts(ctx, &ctx.ns, &json!({}));
    let (code, text, errors) = runs(ctx, &ctx.ns);
    assert_eq!(code, 0, "{text}{errors}");
    for (name, before) in names.iter().zip(&all) {
        is_replaced(ctx, &fake_operators, name, before);
    }
    let status = status(ctx, &ctx.ns);
    assert_eq!((&status["phase"], &status["convertedCounts"]), (&json!("Complete"), &json!({"all": 2})), "{status:#}");
    assert_eq!(status["history"][0]["accepted"], json!(["old-object"]));
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// Runs a rollout, and kills the runner after each write. Returns the writes. `most` limits their number.
pub(crate) fn killed_after_each_write(
    ctx: &TestContext<'_>,
    name: &str,
    most: usize,
    ends: impl Fn() -> bool,
) -> Vec<String> {
    let mut writes = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(400);
    while !ends() && writes.len() < most {
        assert!(Instant::now() < deadline, "{writes:#?} {:#}", status(ctx, name));
        let proxy =
            Proxy::start(&ctx.test_cluster.api.client, |_, method, path| match is_write(method.as_str(), path) {
                true => Fate::HeldAfter,
                false => Fate::Pass,
            });
        let kubeconfig = ctx.through(proxy.port);
        let mut process = run_through(ctx, name, &kubeconfig);
        let written =
            || proxy.calls().iter().find(|call| call.split_once(' ').is_some_and(|(m, p)| is_write(m, p))).cloned();
        eventually("a write, or the end", Duration::from_secs(200), || {
            (written().is_some() || process.end(Duration::from_millis(20)).is_some() || ends()).then_some(())
        });
        // The API server completes the call without a client.
        sleep(Duration::from_millis(100));
        process.kill();
        writes.extend(written());
    }
    writes
}

fn run_through(ctx: &TestContext<'_>, name: &str, kubeconfig: &Path) -> crate::support::process::Process {
    let namespace = format!("--namespace={}", ctx.ns);
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let args = ctx.on_the_cluster(&["rollout", "run", name, "--holder=test", &namespace, &kubeconfig]);
    ctx.started("killed", &args)
}

/// Leases, events and dry runs change no object of a rollout; SelfSubjectReviews change nothing at all.
fn is_write(method: &str, path: &str) -> bool {
    method != "GET"
        && ["/leases", "/events", "dryRun=", "/selfsubjectreviews"].iter().all(|other| !path.contains(other))
}

/// S31.
fn killed(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = "mm-abcd";
    ctx.installs(name, &json!({}));
    ctx.serves(&fake_operators, name);
    let was = before(ctx, name);
    starts(ctx, &ctx.ns, &json!({}));
    let writes = killed_after_each_write(ctx, &ctx.ns, usize::MAX, || status(ctx, &ctx.ns)["phase"] == "Complete");
    let deletes = writes.iter().filter(|write| write.starts_with("DELETE") && write.contains("/deployments/")).count();
    assert_eq!(deletes, 1, "the Deployment is deleted once: {writes:#?}");
    is_replaced(ctx, &fake_operators, name, &was);
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// Points of return for installations: the number of completed steps, and of writes in the next step.
const TURNS: [(usize, usize); 13] = [
    (0, 2),
    (1, 0),
    // Saved, then deleted.
    (1, 1),
    (1, 2),
    (2, 0),
    (3, 0),
    // The new object exists.
    (3, 1),
    (4, 0),
    (5, 0),
    // The first owned object is handed over.
    (5, 1),
    (6, 0),
    // The old ReplicaSet is deleted.
    (6, 1),
    (7, 0),
];

/// Steps of the workflow; the last step deletes the object.
const STEPS: usize = 8;

/// The number of completed steps in the annotation of an installation.
fn steps_done(ctx: &TestContext<'_>, name: &str) -> usize {
    let object = ctx.call_get(&format!("{}/{name}", ctx.installations()));
    let mark = object["metadata"]["annotations"]["pointsman.dev/rollout"].as_str();
    let mark = mark.map(|mark| serde_json::from_str::<Value>(mark).unwrap()).unwrap_or_default();
    usize::try_from(mark["step"]["all"].as_u64().unwrap_or_default()).unwrap()
}

/// S32: one installation reverts from each step before the last, and from the middle of steps with several writes. The
/// runner is killed after each write on the way to the point of return.
fn back(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = |(done, more): (usize, usize)| format!("mm-{done}-{more}");
    TURNS.iter().for_each(|turn| drop(ctx.installs(&name(*turn), &json!({}))));
    TURNS.iter().for_each(|turn| ctx.serves(&fake_operators, &name(*turn)));
    let mut taken = Vec::new();
    for turn in TURNS {
        let (done, more) = turn;
        let (name, rollout) = (name(turn), format!("{}-{done}-{more}", ctx.ns));
        let was = before(ctx, &name);
        starts(ctx, &rollout, &json!({"selector": {"labels": format!("one={name}")}}));
        killed_after_each_write(ctx, &rollout, usize::MAX, || steps_done(ctx, &name) >= done);
        killed_after_each_write(ctx, &rollout, more, || false);
        assert_eq!(steps_done(ctx, &name), done, "{name} is where it turns");
        goes(ctx, &rollout, "Undo");
        taken.push((name, rollout, was, done));
    }
    let steps: BTreeSet<usize> = taken.iter().map(|(.., done)| *done).collect();
    assert_eq!(steps, (0..STEPS).collect(), "each step before the end of the last one");
    let namespace = format!("--namespace={}", ctx.ns);
    let args = ctx.on_the_cluster(&["rollout", "run", "--holder=test", &namespace]);
    let mut runs_all = ctx.started("all", &args);
    for (name, rollout, was, _) in &taken {
        eventually(&format!("{rollout} is taken back"), Duration::from_secs(240), || {
            (status(ctx, rollout)["phase"] == "Aborted").then_some(())
        });
        is_as_before(ctx, &fake_operators, name, was);
    }
    runs_all.interrupt();
    runs_all.end(Duration::from_secs(10));
    let rollouts: Vec<&str> = taken.iter().map(|(_, rollout, ..)| rollout.as_str()).collect();
    ctx.leaves_fake_operators(&rollouts);
}

#[track_caller]
pub(crate) fn is_as_before(ctx: &TestContext<'_>, fake_operators: &FakeOperators, name: &str, was: &Before) {
    is_as_before_among(ctx, fake_operators, &ctx.belongings(), name, was);
}

#[track_caller]
fn is_as_before_among(
    ctx: &TestContext<'_>,
    fake_operators: &FakeOperators,
    others: &Belongings,
    name: &str,
    was: &Before,
) {
    let object = ctx.call_get(&format!("{}/{name}", ctx.installations()));
    assert_eq!(object["spec"], was.object["spec"], "{name}");
    assert_eq!(object["metadata"]["annotations"], was.object["metadata"]["annotations"], "{name}");
    assert_eq!(ctx.get("v1beta1", name).code, 404, "{name}");
    let deployment = ctx.call_get(&format!("{}/{name}", ctx.deployments()));
    assert_eq!(deployment["spec"], was.deployment["spec"], "{name}");
    assert_eq!(deployment["metadata"]["labels"], was.deployment["metadata"]["labels"]);
    let annotations = deployment["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    assert!(annotations.keys().all(|key| !key.contains("pointsman")), "{annotations:?}");
    let new = others.sets.iter().filter(|set| set["metadata"]["labels"][LABEL] == name).count();
    assert_eq!(new, 0, "no ReplicaSet of the new Deployment is left of {name}");
    // The Deployment owns its ReplicaSet again, unless the ReplicaSet was deleted.
    let old =
        others.sets.iter().filter(|set| was.sets.iter().any(|old| old["metadata"]["uid"] == set["metadata"]["uid"]));
    for set in old.filter(|set| set["metadata"]["deletionTimestamp"].is_null()) {
        let owner = &set["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["uid"], &owner["controller"]), (&deployment["metadata"]["uid"], &json!(true)), "{set:#}");
    }
    let uid = was.object["metadata"]["uid"].as_str().unwrap();
    for plural in ["deployments", "services", "persistentvolumeclaims"] {
        assert!(others.of(uid).contains(&format!("{plural} {name}")), "{plural}: {:?}", others.of(uid));
    }
    assert!(others.saved.iter().all(|one| one["metadata"]["labels"]["pointsman.dev/workflow"] != uid), "{name}");
    assert!(
        fake_operators.fewest(name) >= REPLICAS,
        "{} Pods of {name} were ready at a time",
        fake_operators.fewest(name)
    );
}

/// A dry run charges no quota: each of two Pods fits alone, where only one has room. So the preflight computes the sum.
fn dry_runs_miss_the_quota(ctx: &TestContext<'_>) {
    for name in ["dry-a", "dry-b"] {
        let spec = json!({"automountServiceAccountToken": false, "containers": [{"name": "a", "image": "a"}]});
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        ctx.post(&format!("{}?dryRun=All", core(ctx, "pods")), &pod).ok();
    }
}

/// S33 and S35.
fn refused(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    ctx.installs("blue", &json!({"blueGreen": {"enable": true}}));
    ctx.installs("secret", &json!({"database": {"secret": "nowhere"}}));
    ["blue", "secret"].iter().for_each(|name| ctx.serves(&fake_operators, name));
    let all = ["blue", "secret"].map(|name| before(ctx, name));
    starts(ctx, &ctx.ns, &json!({}));
    runs_once(ctx);
    let (state, why) = unmoved(ctx, "blue");
    assert_eq!(state, "Refused");
    assert!(why.contains("Set spec.blueGreen.enable to false first"), "{why}");
    let told = ctx.call_get(&format!("{}/blue", ctx.installations()))["status"]["migration"]["error"].clone();
    assert_eq!(told, why.as_str(), "the owner is reported");
    let (state, why) = unmoved(ctx, "secret");
    assert_eq!(state, "Waiting");
    assert!(why.contains("/nowhere with the value of externalDatabase does not exist"), "{why}");
    for (name, was) in ["blue", "secret"].iter().zip(&all) {
        is_untouched(ctx, name, was);
    }
    ctx.installs("full", &json!({}));
    ctx.serves(&fake_operators, "full");
    let was = before(ctx, "full");
    let quota = json!({"metadata": {"name": "tight"}, "spec": {"hard": {"pods": "7"}}});
    ctx.post(&core(ctx, "resourcequotas"), &quota).ok();
    ctx.eventually(|| {
        let quota = ctx.call_get(&format!("{}/tight", core(ctx, "resourcequotas")));
        (quota["status"]["used"]["pods"] == "6").then_some(())
    });
    dry_runs_miss_the_quota(ctx);
    runs_once(ctx);
    let (state, why) = unmoved(ctx, "full");
    assert_eq!(state, "Refused");
    assert!(why.contains("resourcequotas tight leaves 1 of pods, where 2 are needed"), "{why}");
    is_untouched(ctx, "full", &was);
    // With the Secret and with quota, they move.
    let secret = json!({"metadata": {"name": "nowhere"}, "stringData": {"DB_CONNECTION_STRING": "postgres://a"}});
    ctx.post(&core(ctx, "secrets"), &secret).ok();
    ctx.call(Method::DELETE, &format!("{}/tight", core(ctx, "resourcequotas")), None).ok();
    let mut runs_on = ctx.rollouts_on("test");
    eventually("both are deleted", Duration::from_secs(200), || {
        (status(ctx, &ctx.ns)["convertedCounts"]["all"] == 2).then_some(())
    });
    runs_on.interrupt();
    runs_on.end(Duration::from_secs(10));
    is_replaced(ctx, &fake_operators, "full", &was);
    let target = ctx.get("v1beta1", "secret").ok();
    assert_eq!(target["spec"]["database"]["external"]["secret"], "nowhere", "{target:#}");
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

fn runs_once(ctx: &TestContext<'_>) {
    let namespace = format!("--namespace={}", ctx.ns);
    let (code, text, errors) = ctx.command(&["rollout", "run", &ctx.ns, "--once", "--holder=test", &namespace]);
    assert_eq!(code, 0, "{text}{errors}");
}

/// The state of a blocked object, with the reason.
#[track_caller]
fn unmoved(ctx: &TestContext<'_>, name: &str) -> (String, String) {
    let status = status(ctx, &ctx.ns);
    let object = format!("{}/{name}", ctx.ns);
    let mut all = status["blocked"].as_array().into_iter().flatten();
    let one = all.find(|one| one["object"] == object.as_str()).unwrap_or_else(|| panic!("{name}: {status:#}"));
    (one["state"].as_str().unwrap().to_owned(), one["message"].as_str().unwrap().to_owned())
}

#[track_caller]
fn is_untouched(ctx: &TestContext<'_>, name: &str, was: &Before) {
    let now = before(ctx, name);
    assert_eq!(now.object["spec"], was.object["spec"], "{name}");
    assert_eq!(now.object["metadata"]["annotations"], was.object["metadata"]["annotations"], "{name}");
    assert_eq!(now.deployment["metadata"]["uid"], was.deployment["metadata"]["uid"], "{name}");
    assert_eq!(ctx.get("v1beta1", name).code, 404);
}

/// S37, and the limits of a runner with exactly the printed rights.
fn guarded(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = "mm-abcd";
    ctx.installs(name, &json!({}));
    ctx.serves(&fake_operators, name);
    fake_operators.seen.lock().unwrap().never.push(name.to_owned());
    let was = before(ctx, name);
    let file = ctx.migration(&ctx.ns, &json!({})).display().to_string();
    let (user, account) = (format!("system:serviceaccount:{}:mover", ctx.ns), format!("{}/mover", ctx.ns));
    let role: Value = serde_saphyr::from_str(&ctx.commanded(&["rollout", "rights", "-f", &file])).unwrap();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    ctx.post(&format!("{rbac}/clusterroles"), &role).ok();
    let subject = json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
    let role = &role["metadata"]["name"];
    let reference = json!({"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": role}, "subjects": [subject], "roleRef": reference});
    ctx.post(&format!("{rbac}/clusterrolebindings"), &binding).ok();
    let flag = format!("--service-account={account}");
    let policies = ctx.commanded(&["rollout", "policies", "-f", &file, &flag]);
    let policies: Vec<Value> = serde_saphyr::from_multiple(&policies).unwrap();
    let place = |policy: &Value| {
        let plural = format!("{}s", policy["kind"].as_str().unwrap().to_lowercase()).replace("policys", "policies");
        format!("/apis/admissionregistration.k8s.io/v1/{plural}")
    };
    assert_eq!(policies.len(), 4);
    policies.iter().for_each(|policy| drop(ctx.post(&place(policy), policy).ok()));
    ctx.commanded(&["rollout", "start", "-f", &file]);
    let text = std::fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap();
    let kubeconfig = ctx.dir.join("mover");
    let as_user = format!("{{token: secret-token, as: '{user}'}}");
    std::fs::write(&kubeconfig, text.replace("{token: secret-token}", &as_user)).unwrap();
    let mut runs_on = run_through(ctx, &ctx.ns, &kubeconfig);
    eventually("it waits for the target", SOON, || ctx.does(&["objects"]).contains("step stable").then_some(()));
    let one = format!("{}/{name}", ctx.installations());
    let changed = json!({"spec": {"version": "5.32.0"}}).to_string();
    let refused = ctx.eventually(|| {
        let answer = ctx.call(Method::PATCH, &format!("{one}?dryRun=All"), Some((MERGE, changed.clone())));
        (!answer.is_ok()).then(|| answer.fails(403))
    });
    assert!(refused.contains("ClusterInstallation mm-abcd is becoming Mattermost mm-abcd"), "{refused}");
    // A client that reverts the trigger also removes the annotation.
    let back =
        json!({"metadata": {"annotations": {"pointsman.dev/rollout": null}}, "spec": {"migrate": null}}).to_string();
    ctx.call(Method::PATCH, &format!("{one}?dryRun=All"), Some((MERGE, back))).ok();
    let state = json!({"status": {"state": "reconciling"}}).to_string();
    ctx.call(Method::PATCH, &format!("{one}/status"), Some((MERGE, state))).ok();
    let mut another = was.object.clone();
    another["metadata"] = json!({"name": "mm-late", "namespace": ctx.ns});
    let refused = ctx.post(&ctx.installations(), &another).fails(403);
    assert!(refused.contains("new ClusterInstallation objects are refused: create a Mattermost"), "{refused}");
    fake_operators.seen.lock().unwrap().never.clear();
    assert_eq!(runs_on.end(SOON), Some(0), "{}", log(ctx));
    is_replaced(ctx, &fake_operators, name, &was);
    for policy in &policies {
        let path = format!("{}/{}", place(policy), policy["metadata"]["name"].as_str().unwrap());
        ctx.call(Method::DELETE, &path, None);
    }
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

fn log(ctx: &TestContext<'_>) -> String {
    std::fs::read_to_string(ctx.log_of("killed")).unwrap_or_default()
}

/// S34, smaller; in full size with `POINTSMAN_INSTALLATIONS=100`. With more of them, ten are in flight at once.
fn never_stable(ctx: &TestContext<'_>) {
    let count: usize = std::env::var("POINTSMAN_INSTALLATIONS").map_or(6, |count| count.parse().unwrap());
    let max_in_flight = match count {
        0..MANY => 3,
        MANY..=100 => 5,
        _ => 10,
    };
    let bad: Vec<usize> = (0..(count * 3 / 100).max(1)).map(|at| at * 33 + 3).collect();
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, definition.replace("timeout: 30m", "timeout: 20s")).unwrap();
    let fake_operators = FakeOperators::begins(ctx);
    let name = |at: usize| format!("mm-{at}");
    let never: Vec<String> = bad.iter().map(|at| name(*at)).collect();
    fake_operators.seen.lock().unwrap().never.clone_from(&never);
    let names: Vec<String> = (0..count).map(name).collect();
    names.iter().for_each(|name| drop(ctx.installs(name, &json!({}))));
    names.iter().for_each(|name| ctx.serves(&fake_operators, name));
    let all: Vec<Before> = names.iter().map(|name| before(ctx, name)).collect();
    let waves = json!([{"name": "all", "maxInFlight": max_in_flight}]);
    starts(ctx, &ctx.ns, &json!({"waves": waves, "onFailure": "Undo", "maxUnhealthy": bad.len() + 2}));
    let (began, mut minute) = (Instant::now(), 0);
    let mut runs_on = ctx.rollouts_on("test");
    println!("| minute | have become others | under way | went back |\n|---|---|---|---|");
    let told = eventually("it is over", Duration::from_secs(60 + 20 * count as u64), || {
        let told = status(ctx, &ctx.ns);
        let under_way = told["inFlight"].as_array().map_or(0, Vec::len);
        assert!(under_way <= max_in_flight, "{under_way} are under way");
        if began.elapsed().as_secs() / 60 >= minute {
            let back = told["failures"].as_array().map_or(0, Vec::len);
            let through = told["convertedCounts"]["all"].as_u64().unwrap_or_default();
            println!("| {minute} | {through} | {under_way} | {back} |");
            minute += 1;
        }
        ["Failed", "Complete"].contains(&told["phase"].as_str().unwrap_or_default()).then_some(told)
    });
    println!("{count} installations, {max_in_flight} at once: {} s", began.elapsed().as_secs());
    assert_eq!(runs_on.end(SOON), Some(1), "some objects are left");
    assert_eq!(
        (&told["phase"], &told["convertedCounts"]["all"]),
        (&json!("Failed"), &json!(count - bad.len())),
        "{told:#}"
    );
    for name in &never {
        let object = format!("{}/{name}", ctx.ns);
        let mut failures = told["failures"].as_array().unwrap().iter();
        let why = failures.find(|failure| failure["object"] == object.as_str()).unwrap()["message"].as_str().unwrap();
        assert!(why.contains("step stable: not done within 20s") && why.contains("status.state is"), "{why}");
    }
    let others = ctx.belongings();
    for (name, was) in names.iter().zip(&all) {
        if never.contains(name) {
            is_as_before_among(ctx, &fake_operators, &others, name, was);
        } else {
            is_replaced_among(ctx, &fake_operators, &others, name, was);
        }
    }
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// From this number of installations on, five are in flight at once.
const MANY: usize = 20;

/// S36: the old operator keeps changing its Deployment.
fn contested(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = "mm-abcd";
    let made = ctx.installs(name, &json!({}));
    ctx.serves(&fake_operators, name);
    let was = before(ctx, name);
    starts(ctx, &ctx.ns, &json!({}));
    let path = format!("{}/{name}", ctx.deployments());
    let is_gone = || ctx.call(Method::GET, &path, None).code == 404;
    let is_deleted = |write: &String| write.starts_with("DELETE") && write.contains("/deployments/");
    let mut writes = Vec::new();
    while !writes.iter().any(is_deleted) {
        writes.extend(killed_after_each_write(ctx, &ctx.ns, 1, || false));
    }
    ctx.eventually(|| is_gone().then_some(()));
    let other = ctx.post(&ctx.deployments(), &ctx.old_deployment(&made)).ok()["metadata"]["uid"].clone();
    let namespace = format!("--namespace={}", ctx.ns);
    let (code, ..) = ctx.command(&["rollout", "run", &ctx.ns, "--once", "--holder=test", &namespace]);
    assert_eq!(code, 1);
    let told = status(ctx, &ctx.ns);
    assert_eq!((&told["phase"], &told["reason"]), (&json!("Paused"), &json!("ManualActionRequired")));
    let said = format!("step deployment: another client created deployments.apps {}/{name}", ctx.ns);
    assert!(told["message"].as_str().unwrap().contains(&said), "{told:#}");
    assert_eq!(ctx.call_get(&path)["metadata"]["uid"], other, "it is not deleted");
    leaves_pods(ctx, name);
    ctx.does(&["resume"]);
    let (code, text, errors) = runs(ctx, &ctx.ns);
    assert_eq!(code, 0, "{text}{errors}");
    is_replaced(ctx, &fake_operators, name, &was);
    let from = &ctx.call_get(&path)["metadata"]["annotations"]["pointsman.dev/recreated-from"];
    assert_eq!(*from, was.deployment["metadata"]["uid"], "nothing was deleted twice");
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// Deletes a Deployment and orphans its Pods, once the Deployment owns Pods and the garbage collector has observed
/// that.
fn leaves_pods(ctx: &TestContext<'_>, name: &str) {
    let path = format!("{}/{name}", ctx.deployments());
    let uid = ctx.call_get(&path)["metadata"]["uid"].clone();
    ctx.eventually(|| (!ctx.sets_of(&uid).is_empty()).then_some(()));
    ctx.collector_hears();
    let orphan = json!({"propagationPolicy": "Orphan"}).to_string();
    ctx.call(Method::DELETE, &path, Some((crate::support::ctx::JSON, orphan))).ok();
    ctx.eventually(|| (ctx.call(Method::GET, &path, None).code == 404).then_some(()));
}

/// A Deployment that has just adopted its Pods: the garbage collector may not have observed that, and would delete the
/// Pods.
fn taken_over(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = "mm-abcd";
    let made = ctx.installs(name, &json!({}));
    ctx.serves(&fake_operators, name);
    leaves_pods(ctx, name);
    let again = ctx.post(&ctx.deployments(), &ctx.old_deployment(&made)).ok()["metadata"]["uid"].clone();
    ctx.eventually(|| (!ctx.sets_of(&again).is_empty()).then_some(()));
    let was = before(ctx, name);
    let began = Instant::now();
    starts(ctx, &ctx.ns, &json!({}));
    let mut runs_on = ctx.rollouts_on("test");
    eventually("it is waited for", SOON, || {
        ctx.does(&["status"]).contains("the garbage collector can see the change up to").then_some(())
    });
    let uid = || ctx.call_get(&format!("{}/{name}", ctx.deployments()))["metadata"]["uid"].clone();
    while began.elapsed() < Duration::from_secs(7) {
        assert_eq!(uid(), again, "it is there");
    }
    assert_eq!(runs_on.end(SOON), Some(0), "{:#}", status(ctx, &ctx.ns));
    is_replaced(ctx, &fake_operators, name, &was);
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

/// S38.
fn belongs(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    ctx.installs("mm-owns", &json!({}));
    ctx.serves(&fake_operators, "mm-owns");
    let was = before(ctx, "mm-owns");
    let uid = was.object["metadata"]["uid"].as_str().unwrap();
    let map = json!({
        "metadata": {"name": "notes", "ownerReferences": was.service["metadata"]["ownerReferences"]},
    });
    ctx.post(&core(ctx, "configmaps"), &map).ok();
    starts(ctx, &ctx.ns, &json!({}));
    let mut runs_on = ctx.rollouts_on("test");
    ctx.rollout_says("in flight");
    let said = "step old-object: configmaps notes still belongs to it";
    eventually(said, SOON, || {
        let objects = ctx.does(&["objects"]);
        objects.contains("configmaps notes still belongs to it").then_some(())
    });
    assert_eq!(ctx.belonging(uid), ["configmaps notes"]);
    let path = format!("{}/notes", core(ctx, "configmaps"));
    ctx.call(Method::PATCH, &path, Some((MERGE, json!({"metadata": {"ownerReferences": null}}).to_string()))).ok();
    assert_eq!(runs_on.end(SOON), Some(0));
    is_replaced(ctx, &fake_operators, "mm-owns", &was);
    assert!(ctx.call(Method::GET, &path, None).is_ok(), "it was not deleted with it");
    ctx.leaves_fake_operators(&[&ctx.ns]);
}

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// Installs a policy that refuses Deployments in the namespace unless this CEL expression is true, and waits until the
/// policy is in force.
fn policy(ctx: &TestContext<'_>, name: &str, expression: &str, refused: &Value) {
    let rules = json!([{
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"],
    }]);
    let metadata = json!({"name": name});
    let spec = json!({
        "failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": expression, "message": "no such Deployment today"}],
    });
    ctx.post(POLICIES, &json!({"metadata": metadata, "spec": spec})).ok();
    let namespaces = json!({"matchLabels": {"kubernetes.io/metadata.name": ctx.ns}});
    let spec = json!({
        "policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": namespaces},
    });
    ctx.post(BINDINGS, &json!({"metadata": metadata, "spec": spec})).ok();
    ctx.eventually(|| is_denied(ctx, refused).then_some(()));
}

/// True if the policy is in force, regardless of a quota.
fn is_denied(ctx: &TestContext<'_>, deployment: &Value) -> bool {
    let answer = ctx.post(&format!("{}?dryRun=All", ctx.deployments()), deployment);
    answer.body["message"].as_str().is_some_and(|message| message.contains("no such Deployment today"))
}

fn no_policy(ctx: &TestContext<'_>, name: &str, allowed: &Value) {
    for all in [BINDINGS, POLICIES] {
        ctx.call(Method::DELETE, &format!("{all}/{name}"), None).ok();
    }
    ctx.eventually(|| (!is_denied(ctx, allowed)).then_some(()));
}

/// Admission would refuse the new Deployment, or the old Deployment during an undo: the existing Deployment stays each
/// time. A quota of Deployments that the deleted Deployment fills blocks nothing.
fn refused_successor(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let name = "mm-abcd";
    let made = ctx.installs(name, &json!({}));
    ctx.serves(&fake_operators, name);
    let was = before(ctx, name);
    let quota = json!({"metadata": {"name": "one"}, "spec": {"hard": {"count/deployments.apps": "1"}}});
    ctx.post(&core(ctx, "resourcequotas"), &quota).ok();
    let path = format!("{}/{name}", ctx.deployments());
    let uid = || ctx.call_get(&path)["metadata"]["uid"].clone();
    let is_new = format!("object.spec.selector.matchLabels.exists(label, label == '{LABEL}')");
    let old = ctx.old_deployment(&made);
    let mut new = old.clone();
    new["spec"]["selector"]["matchLabels"] = json!({LABEL: name});
    new["spec"]["template"]["metadata"]["labels"][LABEL] = json!(name);
    policy(ctx, &ctx.ns, &format!("!{is_new}"), &new);
    starts(ctx, &ctx.ns, &json!({}));
    let mut runs_on = ctx.rollouts_on("test");
    let said = ctx.rollout_says("so the old object was not deleted")["message"].clone();
    assert!(said.as_str().unwrap().contains("no such Deployment today"), "{said}");
    assert_eq!(uid(), was.deployment["metadata"]["uid"], "it is there");
    fake_operators.seen.lock().unwrap().never.push(name.to_owned());
    no_policy(ctx, &ctx.ns, &new);
    eventually("it is recreated", SOON, || ctx.does(&["objects"]).contains("step stable").then_some(()));
    let anew = uid();
    assert_ne!(anew, was.deployment["metadata"]["uid"]);
    policy(ctx, &ctx.ns, &is_new, &old);
    goes(ctx, &ctx.ns, "Undo");
    ctx.rollout_says("undoing step deployment: the replacement is refused, so the old object was not deleted");
    assert_eq!(uid(), anew, "it is there");
    no_policy(ctx, &ctx.ns, &old);
    eventually("it is taken back", SOON, || (status(ctx, &ctx.ns)["phase"] == "Aborted").then_some(()));
    runs_on.end(Duration::from_secs(30));
    is_as_before(ctx, &fake_operators, name, &was);
    ctx.call(Method::DELETE, &format!("{}/one", core(ctx, "resourcequotas")), None).ok();
    ctx.leaves_fake_operators(&[&ctx.ns]);
}
