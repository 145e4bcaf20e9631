//! The controllers around a replacement of a kind: those of Kubernetes are real, the kubelet and both operators are
//! fakes. The fakes watch each change, as controllers do, and so observe every state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::client::{Client, Heard};
use super::ctx::{CRDS, MERGE, TestContext};
use super::installations::{LABEL, REPLICAS};

/// The fake controllers during a rollout, and their observations.
pub(crate) struct FakeOperators {
    ends: Arc<AtomicBool>,
    pub(crate) seen: Arc<Mutex<OperatorRecord>>,
    works: Vec<JoinHandle<()>>,
}

/// Observations.
#[derive(Default)]
pub(crate) struct OperatorRecord {
    /// The lowest number of ready Pods, by installation, after all desired Pods were ready once.
    pub(crate) fewest: BTreeMap<String, usize>,
    /// Installations that the new operator never reports as stable.
    pub(crate) never: Vec<String>,
    /// Installations on which both operators would have acted at the same time.
    pub(crate) contested: Vec<String>,
}

impl FakeOperators {
    /// Registers both kinds and starts all fakes.
    pub(crate) fn begins(ctx: &TestContext<'_>) -> Self {
        ctx.install(&ctx.crd);
        let source = std::fs::read_to_string(ctx.setup.kinds.join("clusterinstallations.crd.yaml")).unwrap();
        let source: Value = serde_saphyr::from_str(&source).unwrap();
        ctx.post(CRDS, &source).ok();
        let all = ctx.installations();
        ctx.eventually(|| ctx.call(Method::GET, &all, None).is_ok().then_some(()));
        ctx.knows_rollouts();
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(OperatorRecord::default())));
        let pods = format!("/api/v1/namespaces/{}/pods", ctx.ns);
        let followed = [
            (Resource::Pods, pods.clone()),
            (Resource::Deployments, ctx.deployments()),
            (Resource::Sources, ctx.installations()),
            (Resource::Targets, ctx.all("v1beta1")),
        ];
        let (tells, hears) = channel();
        let listens = |(resource, path): (Resource, String)| {
            let (client, ends, tells) = (ctx.test_cluster.api.client.another(), ends.clone(), tells.clone());
            thread::spawn(move || client.follow(&path, &ends, |heard| drop(tells.send((resource, heard)))))
        };
        let mut works: Vec<JoinHandle<()>> = followed.map(listens).into();
        let mut players = Players {
            client: ctx.test_cluster.api.client.another(),
            pods: Pods { path: pods, there: BTreeMap::new(), ready: BTreeMap::new() },
            deployments: BTreeMap::new(),
            sources: BTreeMap::new(),
            targets: BTreeMap::new(),
            paths: [ctx.installations(), ctx.all("v1beta1")],
            seen: seen.clone(),
        };
        let ended = ends.clone();
        works.push(thread::spawn(move || players.work(&hears, &ended)));
        ctx.test_cluster.start_workloads();
        Self { ends, seen, works }
    }

    /// The lowest number of ready Pods of an installation, after all were ready once.
    pub(crate) fn fewest(&self, name: &str) -> usize {
        self.seen.lock().unwrap().fewest.get(name).copied().unwrap_or_default()
    }
}

impl Drop for FakeOperators {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.works.drain(..).for_each(|work| drop(work.join()));
    }
}

/// The resource of an event.
#[derive(Clone, Copy)]
enum Resource {
    Pods,
    Deployments,
    Sources,
    Targets,
}

/// The kubelet and both operators.
struct Players {
    client: Client,
    pods: Pods,
    deployments: BTreeMap<String, Value>,
    sources: BTreeMap<String, Value>,
    targets: BTreeMap<String, Value>,
    /// The paths of sources and targets.
    paths: [String; 2],
    seen: Arc<Mutex<OperatorRecord>>,
}

impl Players {
    fn work(&mut self, hears: &Receiver<(Resource, Heard)>, ends: &AtomicBool) {
        let mut looked = Instant::now();
        while !ends.load(Ordering::Relaxed) {
            match hears.recv_timeout(LOOK) {
                Ok((Resource::Pods, heard)) => self.pods.hears(&self.client, heard, &self.seen),
                Ok((resource, heard)) => self.hears(resource, heard),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // The new operator may have ignored an object that is due now.
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                self.targets.keys().cloned().collect::<Vec<_>>().iter().for_each(|name| self.new_operator(name));
            }
        }
    }

    fn hears(&mut self, resource: Resource, heard: Heard) {
        let all = match resource {
            Resource::Deployments => &mut self.deployments,
            Resource::Sources => &mut self.sources,
            _ => &mut self.targets,
        };
        let names = match heard {
            Heard::All(objects) => {
                *all = objects.into_iter().map(|object| (name(&object), object)).collect();
                all.keys().cloned().collect()
            }
            Heard::Changed(object) => {
                let name = name(&object);
                all.insert(name.clone(), object);
                vec![name]
            }
            Heard::Gone(object) => {
                all.remove(&name(&object));
                Vec::new()
            }
        };
        for name in names {
            self.new_operator(&name);
            self.old_operator(&name);
        }
    }

    /// Reports a Mattermost as stable once its Deployment has the new selector and is rolled out. Takes over its
    /// Service at once.
    fn new_operator(&mut self, name: &str) {
        let Some(target) = self.targets.get_mut(name) else { return };
        let is_never = self.seen.lock().unwrap().never.iter().any(|never| never == name);
        let is_out = self.deployments.get(name).is_some_and(|one| is_out(one, LABEL, name));
        let state = if is_out && !is_never { "stable" } else { "reconciling" };
        if target["status"]["state"] != state {
            says(&self.client, &self.paths[1], name, state);
            target["status"]["state"] = json!(state);
        }
    }

    /// Reports a ClusterInstallation without `migrate` as stable once its Deployment has the old selector and is rolled
    /// out: a new ClusterInstallation has no such state.
    fn old_operator(&mut self, name: &str) {
        let Some(source) = self.sources.get_mut(name).filter(|source| source["spec"]["migrate"] != true) else {
            return;
        };
        if self.targets.contains_key(name) {
            // The watch of one kind may lag behind the watch of the other.
            let [sources, targets] = &self.paths;
            let get = |path: &str| self.client.call(Method::GET, &format!("{path}/{name}"), None);
            let [before, now, after] = [targets, sources, targets].map(|path| get(path));
            let is_there = before.is_ok() && before.body["metadata"]["uid"] == after.body["metadata"]["uid"];
            if is_there && now.is_ok() && now.body["spec"]["migrate"] != true {
                self.seen.lock().unwrap().contested.push(name.to_owned());
            }
        }
        let label = "v1alpha1.mattermost.com/installation";
        let is_out = self.deployments.get(name).is_some_and(|one| is_out(one, label, name));
        if source["status"]["state"].is_null() && is_out {
            says(&self.client, &self.paths[0], name, "stable");
            source["status"]["state"] = json!("stable");
        }
    }
}

/// The poll interval while no events arrive.
const LOOK: Duration = Duration::from_millis(500);

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// True if a Deployment selects by this label and all its Pods are available.
fn is_out(deployment: &Value, label: &str, name: &str) -> bool {
    deployment["spec"]["selector"]["matchLabels"][label] == name
        && deployment["status"]["availableReplicas"] == deployment["spec"]["replicas"]
}

fn says(client: &Client, path: &str, name: &str, state: &str) {
    let body = json!({"status": {"state": state}}).to_string();
    client.call(Method::PATCH, &format!("{path}/{name}/status"), Some((MERGE, body)));
}

/// Runs Pods and counts ready Pods.
struct Pods {
    path: String,
    /// The installation of each Pod, and its readiness.
    there: BTreeMap<String, (String, bool)>,
    /// The number of ready Pods by installation.
    ready: BTreeMap<String, usize>,
}

impl Pods {
    fn hears(&mut self, client: &Client, heard: Heard, seen: &Mutex<OperatorRecord>) {
        let mut started = Vec::new();
        let of: Vec<String> = match heard {
            Heard::All(pods) => {
                self.there.clear();
                for pod in &pods {
                    self.notes(pod, &mut started);
                }
                self.ready.clear();
                self.there.values().filter(|(_, is_ready)| *is_ready).for_each(|(of, _)| {
                    *self.ready.entry(of.clone()).or_default() += 1;
                });
                seen.lock().unwrap().fewest.keys().cloned().chain(self.ready.keys().cloned()).collect()
            }
            Heard::Changed(pod) => {
                let before = self.there.get(&name(&pod)).is_some_and(|(_, is_ready)| *is_ready);
                let (of, now) = self.notes(&pod, &mut started);
                self.counts(&of, before, now);
                vec![of]
            }
            Heard::Gone(pod) => {
                let (of, before) = self.there.remove(&name(&pod)).unwrap_or_default();
                self.counts(&of, before, false);
                vec![of]
            }
        };
        self.tells(seen, &of);
        started.iter().for_each(|name| runs(client, &format!("{}/{name}/status", self.path)));
    }

    /// Returns the installation of a Pod and its readiness; a Pod that is neither ready nor terminating is to be
    /// started.
    fn notes(&mut self, pod: &Value, started: &mut Vec<String>) -> (String, bool) {
        let says_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
        let is_ready = pod["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(says_ready));
        let stays = pod["metadata"]["deletionTimestamp"].is_null();
        if stays && !is_ready {
            started.push(name(pod));
        }
        let of = pod["metadata"]["labels"]["played"].as_str().unwrap_or("none").to_owned();
        self.there.insert(name(pod), (of.clone(), is_ready && stays));
        (of, is_ready && stays)
    }

    fn counts(&mut self, of: &str, before: bool, now: bool) {
        let ready = self.ready.entry(of.to_owned()).or_default();
        *ready = *ready + usize::from(now) - usize::from(before);
    }

    /// Records the lowest count, once an installation had all of its Pods.
    fn tells(&self, seen: &Mutex<OperatorRecord>, of: &[String]) {
        let mut seen = seen.lock().unwrap();
        for installation in of {
            let ready = self.ready.get(installation).copied().unwrap_or_default();
            if ready >= REPLICAS {
                seen.fewest.entry(installation.clone()).or_insert(ready);
            }
            if let Some(fewest) = seen.fewest.get_mut(installation) {
                *fewest = ready.min(*fewest);
            }
        }
    }
}

fn runs(client: &Client, path: &str) {
    let at = "2026-11-23T00:00:00Z";
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
    let conditions = [condition("Ready"), condition("ContainersReady")];
    let body = json!({"status": {"phase": "Running", "conditions": conditions, "startTime": at}}).to_string();
    client.call(Method::PATCH, path, Some((MERGE, body)));
}
