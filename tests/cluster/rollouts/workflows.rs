//! Workflows on a real API server: the hosts of a cluster receive another Kubernetes version, master by master, and
//! kubelet by kubelet. Jobs, hosts and the taints of locked hosts are fakes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::rollouts::kinds::goes;
use crate::rollouts::versions::{HOSTS, NAMES, NEW, OLD, application, begins, node, patch, runs};
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::process::{Process, eventually};
use crate::support::proxy::{Fate, Proxy};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("cluster_upgrade_follows_its_states", whole).of(&HOSTS).newest(),
    Scenario::new("resume_reruns_failed_job_unless_repaired", failed).of(&HOSTS).newest(),
    Scenario::new("unacknowledged_job_runs_once", unanswered).of(&HOSTS).newest(),
    Scenario::new("abort_leaves_no_host_locked", aborted).of(&HOSTS).newest(),
    Scenario::new("gate_waits_for_its_part", bound).of(&HOSTS).newest(),
];

/// The fakes of hosts and Jobs, with their observations.
struct Yard {
    ends: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    works: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    /// The highest number of locked hosts at a time, by personality.
    locked: BTreeMap<String, usize>,
    /// The purpose of every Job, by its name.
    jobs: BTreeMap<String, String>,
    /// Jobs that must fail, by purpose.
    fails: BTreeSet<String>,
    /// Jobs that must keep running, by purpose.
    holds: BTreeSet<String>,
}

impl Yard {
    fn start(ctx: &TestContext<'_>) -> Self {
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let (ended, saw, client) = (ends.clone(), seen.clone(), ctx.test_cluster.api.client.another());
        let (hosts, jobs) = (ctx.all("v1"), format!("/apis/batch/v1/namespaces/{}/jobs", ctx.ns));
        let works = thread::spawn(move || {
            let set = |path: String, status: Value| {
                let body = json!({"status": status}).to_string();
                client.call(Method::PATCH, &path, Some((MERGE, body)));
            };
            while !ended.load(Ordering::Relaxed) {
                let list = client.call(Method::GET, &hosts, None).body;
                let mut locked = BTreeMap::<String, usize>::new();
                for host in list["items"].as_array().into_iter().flatten() {
                    let is_locked = host["spec"]["administrative"] == "locked";
                    let taint = if is_locked { json!("NoExecute") } else { Value::Null };
                    if is_locked || !host["status"]["taint"].is_null() {
                        let personality = host["metadata"]["labels"]["personality"].as_str().unwrap_or("none");
                        *locked.entry(personality.to_owned()).or_default() += 1;
                    }
                    if host["status"]["taint"] != taint {
                        let name = host["metadata"]["name"].as_str().unwrap();
                        set(format!("{hosts}/{name}/status?fieldManager=host-agent"), json!({"taint": taint}));
                    }
                }
                let mut saw = saw.lock().unwrap();
                for (personality, count) in locked {
                    let most = saw.locked.entry(personality).or_default();
                    *most = count.max(*most);
                }
                let list = client.call(Method::GET, &jobs, None).body;
                for job in list["items"].as_array().into_iter().flatten() {
                    works_on(job, &hosts, &jobs, &mut saw, &set);
                }
                drop(saw);
                sleep(Duration::from_millis(150));
            }
        });
        Self { ends, seen, works: Some(works) }
    }

    fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap())
    }

    /// The executed Jobs by purpose, with counts.
    fn jobs(&self) -> BTreeMap<String, usize> {
        self.seen(|seen| {
            let mut jobs = BTreeMap::new();
            seen.jobs.values().for_each(|about| *jobs.entry(about.clone()).or_default() += 1);
            jobs
        })
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(works) = self.works.take() {
            let _ = works.join();
        }
    }
}

/// Completes a Job and applies its effect.
fn works_on(job: &Value, hosts: &str, jobs: &str, seen: &mut Seen, set: &dyn Fn(String, Value)) {
    let text = |path: &str| job.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, about) = (text("/metadata/name"), text("/metadata/annotations/pointsman.dev~1step"));
    // `WAVE: STEP of NAMESPACE/HOST`, or of a wave.
    let short = about.replace(&format!("{}/", text("/metadata/namespace")), "");
    let is_new = seen.jobs.insert(name.clone(), short.clone()).is_none();
    let has_ended = job["status"]["conditions"].as_array().is_some_and(|all| !all.is_empty());
    // Leaves a new Job running for one round.
    if is_new || has_ended || seen.holds.contains(&short) {
        return;
    }
    let path = format!("{jobs}/{name}/status");
    if seen.fails.contains(&short) {
        return set(path, ended(["FailureTarget", "Failed"]));
    }
    let env = job.pointer("/spec/template/spec/containers/0/env").and_then(Value::as_array);
    let value =
        |name: &str| env.and_then(|env| env.iter().find(|one| one["name"] == name)).map(|one| one["value"].clone());
    if let (Some(host), Some(to)) = (value("NODE"), value("TO")) {
        let status = match text("/spec/template/spec/containers/0/image").as_str() {
            "kubelet" => json!({"kubelet": to}),
            _ => {
                let image = format!("registry.local:9001/kube-apiserver:{}@sha256:00", to.as_str().unwrap());
                json!({"controlPlane": {"version": to, "image": image}})
            }
        };
        set(format!("{hosts}/{}/status?fieldManager=host-agent", host.as_str().unwrap()), status);
    }
    set(path, ended(["SuccessCriteriaMet", "Complete"]));
}

/// The status that the Job controller writes. Source: `kubernetes pkg/apis/batch/validation/validation.go`,
/// `validateJobStatus`.
pub(crate) fn ended(conditions: [&str; 2]) -> Value {
    let at = "2026-11-23T00:00:00Z";
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "Said", "message": "by the test", "lastTransitionTime": at,
            "lastProbeTime": at,
        })
    };
    let mut status = json!({"startTime": at, "conditions": conditions.map(condition)});
    if conditions.contains(&"Complete") {
        status["completionTime"] = json!(at);
        status["succeeded"] = json!(1);
    }
    status
}

/// Two controllers and two workers at the old version, with all prerequisites of a rollout.
fn ready(ctx: &TestContext<'_>) -> Yard {
    begins(ctx);
    for name in NAMES {
        let personality = if name.starts_with("controller") { "controller" } else { "worker" };
        let labels = json!({"host": name, "personality": personality});
        let role = json!({"metadata": {"labels": labels}, "spec": {"personality": personality}});
        ctx.patch("v1", name, &role).ok();
    }
    patch(ctx, "patch.y", "Applied");
    patch(ctx, "patch.z", "Available");
    application(ctx, true);
    node(ctx, true);
    for what in ["control-plane", "kubelet", "networking"] {
        let pods = json!({"restartPolicy": "Never", "containers": [{"name": "upgrade", "image": what}]});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pods}}});
        let map = json!({"metadata": {"name": format!("upgrade-{what}")}, "data": {"job": job.to_string()}});
        ctx.post(&format!("/api/v1/namespaces/{}/configmaps", ctx.ns), &map).ok();
    }
    Yard::start(ctx)
}

/// The StagedRollout of tests/data/hosts, over the hosts of this scenario.
fn starts(ctx: &TestContext<'_>) {
    starts_changed(ctx, &|_| ());
}

/// The same, with a changed spec.
fn starts_changed(ctx: &TestContext<'_>, change: &dyn Fn(&mut Value)) {
    let text = include_str!("../../data/hosts/rollout.yaml").replace("kube-system", &ctx.ns);
    let mut rollout: Value = serde_saphyr::from_str(&text).unwrap();
    rollout["metadata"]["name"] = json!(ctx.ns);
    rollout["spec"]["kind"] = json!(ctx.crd_name());
    change(&mut rollout["spec"]);
    let file = ctx.dir.join("workflow.yaml");
    fs::write(&file, rollout.to_string()).unwrap();
    ctx.commanded(&["rollout", "start", "-f", &file.display().to_string()]);
}

/// Every progress message of the StagedRollout, in order.
struct Words(Process, std::path::PathBuf);

impl Words {
    fn watch(ctx: &TestContext<'_>) -> Self {
        let log = ctx.dir.join("words.log");
        let args = [
            format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display()),
            "get".to_owned(),
            "stagedrollouts".to_owned(),
            ctx.ns.clone(),
            "--watch".to_owned(),
            "--output=jsonpath={.status.state}{\"\\n\"}".to_owned(),
        ];
        Self(Process::start("words", &ctx.test_cluster.assets.path("kubectl"), &args, &log), log)
    }

    fn said(&mut self) -> Vec<String> {
        self.0.kill();
        let text = fs::read_to_string(&self.1).unwrap();
        let mut words: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        words.dedup();
        words
    }
}

fn host(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.get("v1", name).ok()
}

/// The running versions of each host: its control plane, if any, and its kubelet.
fn running(ctx: &TestContext<'_>) -> Vec<(String, String)> {
    let of = |name: &&str| {
        let status = &host(ctx, name)["status"];
        let text = |value: &Value| value.as_str().unwrap_or("N/A").to_owned();
        (text(&status["controlPlane"]["version"]), text(&status["kubelet"]))
    };
    NAMES.iter().map(of).collect()
}

fn pair(control_plane: &str, kubelet: &str) -> (String, String) {
    (control_plane.to_owned(), kubelet.to_owned())
}

fn nobody_is_locked(ctx: &TestContext<'_>) {
    for name in NAMES {
        let host = host(ctx, name);
        assert!(host["spec"]["administrative"] != "locked" && host["status"]["taint"].is_null(), "{host:#}");
    }
}

fn ends(ctx: &TestContext<'_>) {
    ctx.call(Method::DELETE, &format!("/api/v1/nodes/{}", ctx.ns), None);
    ctx.forgets_rollout();
}

/// S24.
fn whole(ctx: &TestContext<'_>) {
    let yard = ready(ctx);
    starts(ctx);
    let mut words = Words::watch(ctx);
    sleep(Duration::from_secs(1));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    sleep(Duration::from_secs(1));
    let said = [
        "upgrade-started",
        "upgrading-first-master",
        "upgraded-first-master",
        "upgrading-networking",
        "upgraded-networking",
        "upgrading-second-master",
        "upgraded-second-master",
        "upgrading-kubelets",
        "upgrade-complete",
    ];
    assert_eq!(words.said(), said);
    assert_eq!(running(ctx), [pair(NEW, NEW), pair(NEW, NEW), pair("N/A", NEW), pair("N/A", NEW)]);
    table_says(
        ctx,
        &[],
        &[("controller-0", &["controllers", NEW, NEW, "Updated"]), ("compute-1", &["workers", "-", NEW, "Updated"])],
    );
    nobody_is_locked(ctx);
    let locked = yard.seen(|seen| seen.locked.clone());
    assert_eq!(locked, [("controller".to_owned(), 1), ("worker".to_owned(), 2)].into());
    let jobs = yard.jobs();
    assert!(jobs.len() == 7 && jobs.values().all(|times| *times == 1), "{jobs:?}");
    let status = ctx.rollout_status();
    assert_eq!(status["lowest"]["version"], NEW, "{status:#}");
    let history = &status["history"][0];
    assert_eq!(
        (&history["state"], &history["accepted"]),
        (&json!("Complete"), &json!(["no-way-back", "control-plane", "networking"]))
    );
    ends(ctx);
}

/// The connection breaks during the creation of the first Job, and the API server creates the Job much later. Meanwhile
/// a client undoes the rollout and starts it again: a second attempt would run in parallel with the first.
fn unanswered(ctx: &TestContext<'_>) {
    let yard = ready(ctx);
    starts(ctx);
    let was_cut = AtomicBool::new(false);
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| {
        let is_job = method == Method::POST && path.contains("/jobs?");
        if is_job && !was_cut.swap(true, Ordering::Relaxed) { Fate::CutAndLate(LATE) } else { Fate::Pass }
    });
    let mut running_on = ctx.rollouts_through("one", &ctx.through(proxy.port));
    let status = ctx.rollout_says("the creation was requested, and its result is unknown");
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Waiting"), &json!("APIError")), "{status:#}");
    for direction in ["Undo", "Forward"] {
        goes(ctx, &ctx.ns, direction);
        sleep(Duration::from_secs(4));
    }
    assert_eq!(yard.jobs(), BTreeMap::new(), "nothing else is made meanwhile");
    ctx.rollout_says("Complete");
    assert_eq!(running_on.end(Duration::from_secs(20)), Some(0));
    let jobs = yard.jobs();
    assert!(jobs.len() == 7 && jobs.values().all(|times| *times == 1), "{jobs:?}");
    ends(ctx);
}

/// The delay: longer than two changes of direction take, and shorter than the runner's wait for certainty.
const LATE: Duration = Duration::from_secs(20);

/// S25: (a) the second attempt succeeds; (b) an operator did the work by hand.
fn failed(ctx: &TestContext<'_>) {
    let yard = ready(ctx);
    let [first, second] =
        ["first-master: control-plane of controller-0", "second-master: control-plane of controller-1"];
    yard.seen(|seen| seen.fails.extend([first.to_owned(), second.to_owned()]));
    starts(ctx);
    let mut running_on = ctx.rollouts_on("one");
    let status = ctx.rollout_says("controller-0: wave first-master, step control-plane: job ");
    assert_eq!(
        (&status["phase"], &status["reason"], &status["state"]),
        (&json!("Paused"), &json!("JobFailed"), &json!("upgrade-failed"))
    );
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("failed: Said: by the test"), "{message}");
    sleep(Duration::from_secs(3));
    assert_eq!(yard.jobs(), [(first.to_owned(), 1)].into(), "the Job does not run again before a resume");
    yard.seen(|seen| seen.fails.remove(first));
    ctx.does(&["resume"]);
    let status = ctx.rollout_says("controller-1: wave second-master, step control-plane: job ");
    assert_eq!(status["state"], "upgrade-failed");
    assert_eq!(yard.jobs()[first], 2);
    runs(ctx, "controller-1", NEW, OLD);
    let mut words = Words::watch(ctx);
    sleep(Duration::from_secs(1));
    ctx.does(&["resume"]);
    ctx.rollout_says("Complete");
    assert_eq!(running_on.end(Duration::from_secs(20)), Some(0));
    assert_eq!(yard.jobs()[second], 1, "a manual action replaces the Job");
    let said = words.said();
    assert_eq!(said[0], "upgrade-failed");
    let is_through = said.iter().position(|word| word == "upgraded-second-master");
    assert!(is_through.is_some_and(|at| at <= 2), "{said:?}");
    assert_eq!(running(ctx)[1], pair(NEW, NEW));
    ends(ctx);
}

/// S26: before any move, and in the middle of the kubelets.
fn aborted(ctx: &TestContext<'_>) {
    let yard = ready(ctx);
    let before: Vec<Value> = NAMES.iter().map(|name| host(ctx, name)["metadata"].clone()).collect();
    starts(ctx);
    ctx.does(&["abort"]);
    ctx.runs_rollout(&[]);
    assert_eq!(ctx.rollout_status()["phase"], "Aborted");
    let after: Vec<Value> = NAMES.iter().map(|name| host(ctx, name)["metadata"].clone()).collect();
    assert_eq!((after, yard.jobs().len()), (before, 0), "nothing was touched");
    ctx.forgets_rollout();
    let held = "controllers: kubelet of controller-0";
    yard.seen(|seen| seen.holds.insert(held.to_owned()));
    starts(ctx);
    let mut running_on = ctx.rollouts_on("one");
    // After both masters, each of which must stay healthy for a minute.
    eventually("the kubelets begin", Duration::from_secs(240), || yard.jobs().contains_key(held).then_some(()));
    assert_eq!(host(ctx, "controller-0")["spec"]["administrative"], "locked");
    ctx.does(&["abort"]);
    sleep(Duration::from_secs(3));
    assert_ne!(ctx.rollout_status()["phase"], "Aborted", "objects in flight finish first");
    yard.seen(|seen| seen.holds.clear());
    ctx.rollout_says("Aborted");
    running_on.end(Duration::from_secs(20));
    nobody_is_locked(ctx);
    assert_eq!(running(ctx), [pair(NEW, NEW), pair(NEW, OLD), pair("N/A", OLD), pair("N/A", OLD)]);
    let versions = ctx.commanded(&["rollout", "versions", &ctx.crd_name()]);
    for version in [OLD, NEW] {
        let row = versions.lines().find(|line| line.starts_with(version)).unwrap();
        assert!(row.contains("partial"), "{versions}");
    }
    ends(ctx);
}

/// The prerequisites of the kubelets are applied between the masters and the kubelets, and the running versions are
/// visible.
fn bound(ctx: &TestContext<'_>) {
    let yard = ready(ctx);
    let all = |plural: &str| format!("/api/v1/namespaces/{}/{plural}", ctx.ns);
    ctx.post(&all("services"), &json!({"metadata": {"name": "there"}, "spec": {"ports": [{"port": 80}]}})).ok();
    let tries = |plural: &str| {
        let object = json!({"metadata": {"name": "tried"}, "spec": {"ports": [{"port": 80}]}});
        ctx.post(&format!("{}?dryRun=All", all(plural)), &object)
    };
    let deletes = || ctx.call(Method::DELETE, &format!("{}/there?dryRun=All", all("services")), None);
    let refuses = |answer: &dyn Fn() -> Answer, words: &str| {
        ctx.eventually(|| Some(answer()).filter(|answer| answer.code == 403 && answer.message().contains(words)));
    };
    starts_changed(ctx, &|spec| {
        let of = |plural: &str, operation: &str, part: &str, bound: &str, version: &str| {
            let mut freeze = json!({"resources": [plural], "operations": [operation], "namespaces": [ctx.ns]});
            freeze[bound] = json!(version);
            if !part.is_empty() {
                freeze["part"] = json!(part);
            }
            freeze
        };
        spec["freeze"] = json!([
            of("services", "CREATE", "control-plane", "atLeast", NEW),
            of("services", "DELETE", "kubelet", "atMost", OLD),
            of("serviceaccounts", "CREATE", "", "atLeast", NEW),
        ]);
        spec["waves"][3]["before"] = json!("approval");
    });
    // No runner has checked the versions yet.
    refuses(&|| tries("services"), "the lowest running version of control-plane is unknown");
    let mut running_on = ctx.rollouts_on("one");
    let words = format!(
        "rollout {}: services wait until every control-plane is at least {NEW}; the lowest running version of control-plane is {OLD}",
        ctx.ns
    );
    refuses(&|| tries("services"), &words);
    // Each master must be observed healthy afterwards.
    eventually("the masters are through", Duration::from_secs(240), || {
        Some(()).filter(|()| ctx.rollout_status()["reason"] == "Approval")
    });
    ctx.eventually(|| tries("services").is_ok().then_some(()));
    deletes().ok();
    refuses(
        &|| tries("serviceaccounts"),
        &format!("every object is at least {NEW}; the lowest running version is {OLD}"),
    );
    let shown = ctx.does(&["status"]);
    for line in [&format!("{OLD} to {NEW}"), &format!("control-plane {NEW}"), &format!("kubelet {OLD}")] {
        assert!(shown.contains(&format!("\n  runs      {line}\n")), "{line}: {shown}");
    }
    tells_each_host(ctx);
    ctx.does(&["approve", "controllers"]);
    eventually("the kubelets are through", Duration::from_secs(240), || {
        Some(()).filter(|()| ctx.rollout_status()["phase"] == "Complete")
    });
    assert_eq!(running_on.end(Duration::from_secs(20)), Some(0));
    ctx.eventually(|| tries("serviceaccounts").is_ok().then_some(()));
    tries("services").ok();
    refuses(&deletes, &format!("every kubelet is at most {OLD}; the highest running version of kubelet is {NEW}"));
    assert_eq!(yard.jobs().len(), 7);
    ctx.does(&["clean"]);
    ends(ctx);
}

/// Checks the rows of the host table, from the wave column on. Returns the head of the table.
fn table_says(ctx: &TestContext<'_>, more: &[&str], hosts: &[(&str, &[&str])]) -> Vec<String> {
    let table = ctx.does(&[&["objects"][..], more].concat());
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = table.lines().map(words).collect();
    for (name, cells) in hosts {
        let row = rows.iter().find(|row| row[1] == *name).unwrap();
        assert_eq!(row[2..2 + cells.len()], **cells, "{table}");
    }
    rows[0].clone()
}

/// The table of the hosts, between the masters and the kubelets.
fn tells_each_host(ctx: &TestContext<'_>) {
    let (master, worker): (&[&str], &[&str]) = (&["controllers", NEW, OLD], &["workers", "-", OLD]);
    let hosts = [("controller-0", master), ("controller-1", master), ("compute-0", worker), ("compute-1", worker)];
    let head = table_says(ctx, &[], &hosts);
    assert_eq!(head, ["NAMESPACE", "NAME", "WAVE", "CONTROL-PLANE", "KUBELET", "STATE"]);
    let (master, worker): (&[&str], &[&str]) =
        (&["controller", "controllers", NEW, NEW, OLD], &["worker", "workers", NEW, "-", OLD]);
    let hosts = hosts.map(|(name, _)| (name, if name.starts_with("controller") { master } else { worker }));
    let head = table_says(ctx, &["-o", "wide"], &hosts);
    assert_eq!(head[2..5], ["ROLE", "WAVE", "TARGET"]);
    let told: Value = serde_json::from_str(&ctx.does(&["objects", "-o", "json"])).unwrap();
    let host = |name: &str| told.as_array().unwrap().iter().find(|host| host["name"] == name).unwrap();
    assert_eq!(
        (&host("controller-0")["role"], &host("controller-0")["parts"]),
        (&json!("controller"), &json!({"control-plane": {"versions": [NEW]}, "kubelet": {"versions": [OLD]}}))
    );
    assert_eq!(host("compute-1")["parts"]["control-plane"], json!({"versions": []}));
}
