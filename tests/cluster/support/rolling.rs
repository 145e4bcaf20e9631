//! StagedRollouts on a real API server, and the controllers of their objects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::acting::Told;
use super::client::Heard;
use super::ctx::{MERGE, TestContext};
use super::process::{Process, SOON};
use super::side_by_side::{A, B};

/// The decision of a controller about an object, from its name and version: healthy or not. `None` ignores the object.
type Finds = fn(&str, &str) -> Option<bool>;

/// The field manager of the controller of a version.
type Manager = fn(&str) -> &'static str;

/// Fake controllers of all versions: each new label of an object gets one write of the status.
pub(crate) struct Controllers {
    ends: Arc<AtomicBool>,
    works: Vec<JoinHandle<()>>,
}

impl Controllers {
    pub(crate) fn start(ctx: &TestContext<'_>, finds: Finds) -> Self {
        Self::start_after(ctx, ANSWERS, |_| "engine-controller", finds)
    }

    /// The same, with another field manager.
    pub(crate) fn start_as(ctx: &TestContext<'_>, manager: Manager, finds: Finds) -> Self {
        Self::start_after(ctx, ANSWERS, manager, finds)
    }

    /// The same, with a delay after the watch event of the label.
    pub(crate) fn start_after(ctx: &TestContext<'_>, delay: Duration, manager: Manager, finds: Finds) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (all, label) = (ctx.all(ctx.sample.new), ctx.label_key());
        let (sends, hears) = mpsc::channel::<Seen>();
        let follows = {
            let (client, ends, all) = (ctx.test_cluster.api.client.another(), ends.clone(), all.clone());
            let seen = move |object: &Value| Seen {
                name: object["metadata"]["name"].as_str().unwrap().to_owned(),
                uid: object["metadata"]["uid"].as_str().unwrap().to_owned(),
                version: object["metadata"]["labels"][&label].as_str().unwrap_or("none").to_owned(),
            };
            thread::spawn(move || {
                client.follow(&all, &ends, |heard| match heard {
                    Heard::All(objects) => objects.iter().for_each(|object| drop(sends.send(seen(object)))),
                    Heard::Changed(object) => drop(sends.send(seen(&object))),
                    Heard::Gone(_) => {}
                });
            })
        };
        let answers = {
            let (client, ended) = (ctx.test_cluster.api.client.another(), ends.clone());
            thread::spawn(move || {
                let (mut known, mut due) = (BTreeMap::<String, String>::new(), Vec::<(Instant, Instant, Seen)>::new());
                while !ended.load(Ordering::Relaxed) {
                    let wait = if due.is_empty() { 50 } else { 1 };
                    for seen in hears.recv_timeout(Duration::from_millis(wait)).into_iter().chain(hears.try_iter()) {
                        if known.insert(seen.uid.clone(), seen.version.clone()).as_ref() != Some(&seen.version) {
                            due.retain(|(.., one)| one.uid != seen.uid);
                            due.push((Instant::now() + delay, Instant::now(), seen));
                        }
                    }
                    let now = Instant::now();
                    let (ready, later) = std::mem::take(&mut due).into_iter().partition(|(at, ..)| *at <= now);
                    due = later;
                    for (_, since, seen) in ready {
                        let answered = finds(&seen.name, &seen.version).is_some_and(|healthy| {
                            let status = status(healthy, &format!("{:?}", since.elapsed())).to_string();
                            let by = manager(&seen.version);
                            let path = format!("{all}/{}/status?fieldManager={by}", seen.name);
                            client.call(Method::PATCH, &path, Some((MERGE, status))).is_ok()
                        });
                        if !answered && since.elapsed() < LOOKS {
                            due.push((now + Duration::from_millis(200), since, seen));
                        }
                    }
                }
            })
        };
        Self { ends, works: vec![follows, answers] }
    }
}

/// An object as observed by a controller.
struct Seen {
    name: String,
    uid: String,
    version: String,
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for works in self.works.drain(..) {
            let _ = works.join();
        }
    }
}

/// Ends a background task on drop.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The time for repeated failed writes.
const LOOKS: Duration = Duration::from_millis(2_500);

/// The reaction time of an idle controller.
const ANSWERS: Duration = Duration::from_millis(20);

pub(crate) fn status(healthy: bool, reason: &str) -> Value {
    let status = if healthy { "True" } else { "False" };
    json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason}]}})
}

impl TestContext<'_> {
    /// Installs the CRD of StagedRollouts and the kind.
    pub(crate) fn knows_rollouts(&self) {
        let documents = self.pointsman_prints_plainly(&["rollout", "crd"]);
        let documents: Vec<Value> = serde_saphyr::from_multiple(&documents).unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": documents});
        self.kubectl(&["apply", "--server-side", "--force-conflicts"], &list);
        self.eventually(|| self.call(Method::GET, "/apis/pointsman.dev/v1/stagedrollouts", None).is_ok().then_some(()));
        self.test_cluster.rollouts_since.get_or_init(Instant::now);
    }

    /// The output of a command without definitions.
    pub(crate) fn pointsman_prints_plainly(&self, args: &[&str]) -> String {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }

    /// Creates healthy engines of a version, or without a label.
    pub(crate) fn engines(&self, names: &[String], label: Option<&str>) {
        let new = self.sample.new;
        for name in names {
            self.create(new, &self.labelled(new, name, label)).ok();
            self.report(name, true);
        }
    }

    /// Writes the health of an engine, as its controller.
    pub(crate) fn report(&self, name: &str, healthy: bool) {
        let path = format!("{}/status?fieldManager=engine-controller", self.one(self.sample.new, name));
        self.call(Method::PATCH, &path, Some((MERGE, status(healthy, "Said").to_string()))).ok();
    }

    /// A file with a StagedRollout, named like the scenario.
    pub(crate) fn rollout_file(&self, more: &Value) -> PathBuf {
        let mut spec = json!({
            "kind": self.crd_name(), "from": A, "to": B, "waves": [{"name": "all", "maxInFlight": 3}], "timeout": "30s",
        });
        for (name, value) in more.as_object().unwrap() {
            spec[name] = value.clone();
            if value.is_null() {
                spec.as_object_mut().unwrap().remove(name);
            }
        }
        let name = spec.as_object_mut().unwrap().remove("name").unwrap_or_else(|| json!(self.ns));
        let rollout = json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": name}, "spec": spec});
        let file = self.dir.join(format!("{}.yaml", name.as_str().unwrap()));
        fs::write(&file, rollout.to_string()).unwrap();
        file
    }

    pub(crate) fn starts_rollout(&self, more: &Value) {
        let file = self.rollout_file(more);
        self.commanded(&["rollout", "start", "-f", &file.display().to_string()]);
    }

    /// Runs the rollout of this scenario until it ends or waits.
    pub(crate) fn runs_rollout(&self, more: &[&str]) -> Told {
        let own = ["rollout", "run", &self.ns, "--holder=test", &format!("--namespace={}", self.ns)];
        self.command(&[&own, more].concat())
    }

    /// The same, in the background.
    pub(crate) fn rollouts_on(&self, holder: &str) -> Process {
        let (holder, namespace) = (format!("--holder={holder}"), format!("--namespace={}", self.ns));
        let args = self.on_the_cluster(&["rollout", "run", &self.ns, &holder, &namespace]);
        Process::start("rollout", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &self.dir.join("rollout.log"))
    }

    /// The same for all rollouts of the cluster with a kind of this scenario.
    pub(crate) fn rollouts_all_on(&self, holder: &str) -> Process {
        let (holder, namespace) = (format!("--holder={holder}"), format!("--namespace={}", self.ns));
        let args = self.on_the_cluster(&["rollout", "run", &holder, &namespace]);
        Process::start("rollout", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &self.dir.join("rollout.log"))
    }

    /// The same through another kubeconfig, with a log named by the holder.
    pub(crate) fn rollouts_through(&self, holder: &str, kubeconfig: &Path) -> Process {
        let (held_by, namespace) = (format!("--holder={holder}"), format!("--namespace={}", self.ns));
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let args = self.on_the_cluster(&["rollout", "run", &self.ns, &held_by, &namespace, &kubeconfig]);
        let log = self.dir.join(format!("{holder}.log"));
        Process::start("rollout", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log)
    }

    pub(crate) fn does(&self, what: &[&str]) -> String {
        // `list` takes no name.
        let own = if what[0] == "list" { vec!["rollout", "list"] } else { vec!["rollout", what[0], &self.ns] };
        // Commands without definitions need no flag for kinds.
        let kubeconfig = format!("--kubeconfig={}", self.test_cluster.api.kubeconfig.display());
        let args: Vec<String> = match what[0] {
            "approve" | "clean" | "objects" => self.on_the_cluster(&[&own, &what[1..]].concat()),
            _ => [&own[..], &what[1..], &[&kubeconfig]].concat().iter().map(|arg| (*arg).to_owned()).collect(),
        };
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what:?}: {text}");
        text
    }

    /// The status of a StagedRollout.
    pub(crate) fn rollout_status(&self) -> Value {
        self.call_get(&format!("/apis/pointsman.dev/v1/stagedrollouts/{}", self.ns))["status"].clone()
    }

    /// Waits until phase, reason or message of the rollout contain this text.
    #[track_caller]
    pub(crate) fn rollout_says(&self, said: &str) -> Value {
        let mut last = Value::Null;
        let place = std::panic::Location::caller();
        let found = eventually_or(Duration::from_secs(180), || {
            last = self.rollout_status();
            let text = format!("{}: {} ({})", last["phase"], last["message"], last["reason"]);
            text.contains(said).then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("{place}: {said:?} in {last:#}"))
    }

    /// The number of engines of each label.
    pub(crate) fn versions(&self) -> BTreeMap<String, usize> {
        let mut versions = BTreeMap::new();
        for object in self.list(self.sample.new).ok()["items"].as_array().unwrap() {
            let label = object["metadata"]["labels"][self.label_key()].as_str().unwrap_or("none");
            *versions.entry(label.to_owned()).or_default() += 1;
        }
        versions
    }

    /// The names of accepted patches of engines by a rollout, from the audit log.
    pub(crate) fn rollout_writes(&self) -> Vec<String> {
        let is_one = |event: &&Value| {
            let of = &event["objectRef"];
            event["verb"] == "patch"
                && of["resource"] == self.sample.plural
                && of["namespace"] == self.ns.as_str()
                && of["subresource"].is_null()
                && event["responseStatus"]["code"] == 200
                && event["requestURI"]
                    .as_str()
                    .is_some_and(|uri| uri.contains("pointsman-rollout") && !uri.contains("dryRun"))
        };
        let audit = self.test_cluster.audit();
        let names = audit.iter().filter(is_one).map(|event| event["objectRef"]["name"].as_str().unwrap().to_owned());
        names.collect()
    }

    /// Events of the rollout and of its objects: object, reason and note.
    fn rollout_events(&self) -> Vec<(String, String, String)> {
        let mut told = Vec::new();
        for namespace in ["default", &self.ns] {
            let list = self.call_get(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
            for event in list["items"].as_array().unwrap() {
                if event["reportingController"] == "pointsman.dev/rollout" {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    told.push((text(&event["regarding"]["name"]), text(&event["reason"]), text(&event["note"])));
                }
            }
        }
        told
    }

    /// Waits for an event of this object with this reason and note, which follows the status.
    #[track_caller]
    pub(crate) fn rollout_tells(&self, about: &str, reason: &str, said: &str) {
        let mut told = Vec::new();
        let place = std::panic::Location::caller();
        let found = eventually_or(SOON, || {
            told = self.rollout_events();
            let is_it = |(name, why, note): &(String, String, String)| {
                (&name[..], &why[..]) == (about, reason) && note.contains(said)
            };
            told.iter().any(is_it).then_some(())
        });
        found.unwrap_or_else(|| panic!("{place}: {about} {reason} {said:?} in {told:?}"));
    }

    /// Removes a rollout completely.
    pub(crate) fn forgets_rollout(&self) {
        let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", self.ns);
        let over = json!({"status": {"phase": "Complete"}}).to_string();
        self.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, over)));
        self.eventually(|| matches!(self.call(Method::DELETE, &path, None).code, 200 | 404).then_some(()));
    }
}

fn eventually_or<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if let Some(found) = ask() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(100));
    }
    None
}
