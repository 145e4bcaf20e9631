//! Installations of an application by an operator, which become objects of another kind: the controllers of Kubernetes
//! are real, the kubelet and both operators are played.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::client::Client;
use super::sample::gone;
use super::scene::{CRDS, JSON, MERGE, Scene};

/// What goes on beside a roll, and what was seen of it.
pub(crate) struct Town {
    ends: Arc<AtomicBool>,
    pub(crate) seen: Arc<Mutex<TownSeen>>,
    works: Vec<JoinHandle<()>>,
}

/// What was seen.
#[derive(Default)]
pub(crate) struct TownSeen {
    /// The fewest Pods that were ready at a time, by installation, since there were as many as it wants.
    pub(crate) fewest: BTreeMap<String, usize>,
    /// Installations that the new operator never makes stable.
    pub(crate) never: Vec<String>,
    /// Installations on which both operators would have acted at a time.
    pub(crate) contested: Vec<String>,
}

impl Town {
    /// Both kinds are known, and everybody is at work.
    pub(crate) fn begins(scene: &Scene<'_>) -> Self {
        scene.install(&scene.crd);
        let source = std::fs::read_to_string(scene.setup.kinds.join("clusterinstallations.crd.yaml")).unwrap();
        let source: Value = serde_saphyr::from_str(&source).unwrap();
        scene.post(CRDS, &source).ok();
        let all = scene.installations();
        scene.eventually(|| scene.call(Method::GET, &all, None).is_ok().then_some(()));
        scene.knows_rolls();
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(TownSeen::default())));
        let pods = format!("/api/v1/namespaces/{}/pods", scene.ns);
        let (targets, deployments) = (scene.all("v1beta1"), scene.deployments());
        let sources = scene.installations();
        let works = [
            works(scene, &ends, {
                let (seen, targets, deployments) = (seen.clone(), targets.clone(), deployments.clone());
                move |client| old_operator(client, &sources, (&targets, &deployments), &seen)
            }),
            works(scene, &ends, {
                let seen = seen.clone();
                move |client| kubelet(client, &pods, &seen)
            }),
            works(scene, &ends, {
                let seen = seen.clone();
                move |client| new_operator(client, &targets, &deployments, &seen)
            }),
        ];
        scene.bed.start_workloads();
        Self { ends, seen, works: works.into_iter().collect() }
    }

    /// The fewest Pods that an installation had ready since it had all of them.
    pub(crate) fn fewest(&self, name: &str) -> usize {
        self.seen.lock().unwrap().fewest.get(name).copied().unwrap_or_default()
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.works.drain(..).for_each(|work| drop(work.join()));
    }
}

fn works(scene: &Scene<'_>, ends: &Arc<AtomicBool>, mut work: impl FnMut(&Client) + Send + 'static) -> JoinHandle<()> {
    let (ended, client) = (ends.clone(), scene.bed.api.client.another());
    thread::spawn(move || {
        while !ended.load(Ordering::Relaxed) {
            let began = Instant::now();
            work(&client);
            // Whoever looks at a thousand of them leaves the API server time for others.
            sleep(began.elapsed().max(Duration::from_millis(100)));
        }
    })
}

/// Pods run, and their readiness is counted.
fn kubelet(client: &Client, pods: &str, seen: &Mutex<TownSeen>) {
    let list = client.call(Method::GET, pods, None).body;
    let mut ready = BTreeMap::<String, usize>::new();
    for pod in list["items"].as_array().into_iter().flatten() {
        let name = pod["metadata"]["name"].as_str().unwrap();
        let is_ready = pod["status"]["conditions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"));
        let is_going = !pod["metadata"]["deletionTimestamp"].is_null();
        if is_ready && !is_going {
            let installation = pod["metadata"]["labels"]["played"].as_str().unwrap_or("none");
            *ready.entry(installation.to_owned()).or_default() += 1;
        }
        if !is_ready && !is_going {
            let at = "2026-11-23T00:00:00Z";
            let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
            let status = json!({
                "phase": "Running", "conditions": [condition("Ready"), condition("ContainersReady")], "startTime": at,
            });
            let body = json!({"status": status}).to_string();
            client.call(Method::PATCH, &format!("{pods}/{name}/status"), Some((MERGE, body)));
        }
    }
    let mut seen = seen.lock().unwrap();
    for (installation, count) in &ready {
        // Counted from when it had all of them.
        if *count >= REPLICAS {
            seen.fewest.entry(installation.clone()).or_insert(*count);
        }
    }
    for (installation, fewest) in &mut seen.fewest {
        *fewest = (*fewest).min(ready.get(installation).copied().unwrap_or_default());
    }
}

/// A Mattermost is stable once its Deployment is its own, and rolled out. Its Service is taken over at once.
fn new_operator(client: &Client, targets: &str, deployments: &str, seen: &Mutex<TownSeen>) {
    let list = client.call(Method::GET, targets, None).body;
    for target in list["items"].as_array().into_iter().flatten() {
        let name = target["metadata"]["name"].as_str().unwrap();
        let deployment = client.call(Method::GET, &format!("{deployments}/{name}"), None).body;
        let is_its = deployment["spec"]["selector"]["matchLabels"][LABEL] == name;
        let is_out = deployment["status"]["availableReplicas"] == deployment["spec"]["replicas"];
        let is_never = seen.lock().unwrap().never.iter().any(|never| never == name);
        let state = if is_its && is_out && !is_never { "stable" } else { "reconciling" };
        if target["status"]["state"] != state {
            let body = json!({"status": {"state": state}}).to_string();
            client.call(Method::PATCH, &format!("{targets}/{name}/status"), Some((MERGE, body)));
        }
    }
}

/// A ClusterInstallation that is not to migrate gets stable once its Deployment is its own, and rolled out: one that is
/// made says nothing of that.
fn old_operator(client: &Client, sources: &str, (targets, deployments): (&str, &str), seen: &Mutex<TownSeen>) {
    let list = client.call(Method::GET, sources, None).body;
    for source in list["items"].as_array().into_iter().flatten().filter(|source| source["spec"]["migrate"] != true) {
        let name = source["metadata"]["name"].as_str().unwrap();
        if client.call(Method::GET, &format!("{targets}/{name}"), None).is_ok() {
            seen.lock().unwrap().contested.push(name.to_owned());
        }
        if !source["status"]["state"].is_null() {
            continue;
        }
        let deployment = client.call(Method::GET, &format!("{deployments}/{name}"), None).body;
        let is_its = deployment["spec"]["selector"]["matchLabels"]["v1alpha1.mattermost.com/installation"] == name;
        if is_its && deployment["status"]["availableReplicas"] == deployment["spec"]["replicas"] {
            let body = json!({"status": {"state": "stable"}}).to_string();
            client.call(Method::PATCH, &format!("{sources}/{name}/status"), Some((MERGE, body)));
        }
    }
}

impl Scene<'_> {
    /// Where the objects are that become others.
    pub(crate) fn installations(&self) -> String {
        format!("/apis/{}/v1alpha1/namespaces/{}/clusterinstallations", gone(&self.group), self.ns)
    }

    pub(crate) fn deployments(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/deployments", self.ns)
    }

    /// An installation, with all that the old operator has made for it. Returns it.
    pub(crate) fn installs(&self, name: &str, more: &Value) -> Value {
        let mut spec = json!({"ingressName": "a.example.com", "replicas": REPLICAS, "version": "5.31.0"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let object = json!({
            "apiVersion": format!("{}/v1alpha1", gone(&self.group)), "kind": "ClusterInstallation",
            "metadata": {"name": name, "namespace": self.ns, "labels": {"one": name}}, "spec": spec,
        });
        self.post(&self.installations(), &object).ok();
        let state = json!({"status": {"state": "stable"}}).to_string();
        let path = format!("{}/{name}/status", self.installations());
        let made = self.call(Method::PATCH, &path, Some((MERGE, state))).ok();
        self.post(&self.deployments(), &self.old_deployment(&made)).ok();
        let owners = owners(&made);
        let metadata = json!({"name": name, "ownerReferences": owners});
        let ports = json!({"clusterIP": "None", "ports": [{"port": 80}], "selector": {"app": "mattermost"}});
        let core = format!("/api/v1/namespaces/{}", self.ns);
        self.post(&format!("{core}/services"), &json!({"metadata": metadata, "spec": ports})).ok();
        let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        self.post(&format!("{core}/persistentvolumeclaims"), &json!({"metadata": metadata, "spec": claim})).ok();
        made
    }

    /// As the old operator makes it.
    pub(crate) fn old_deployment(&self, installation: &Value) -> Value {
        let name = installation["metadata"]["name"].as_str().unwrap();
        let selector = json!({
            "app": "mattermost", "v1alpha1.mattermost.com/installation": name, "v1alpha1.mattermost.com/resource": name,
        });
        let mut labels = selector.clone();
        labels["played"] = json!(name);
        let pod = json!({"containers": [{"name": "mattermost", "image": "mattermost:5.31.0"}]});
        json!({
            "metadata": {"name": name, "labels": selector, "ownerReferences": owners(installation)},
            "spec": {
                "replicas": installation["spec"]["replicas"], "revisionHistoryLimit": 3, "selector": {"matchLabels": selector},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        })
    }

    /// Waits until all Pods of an installation are ready.
    pub(crate) fn serves(&self, town: &Town, name: &str) {
        self.eventually(|| (town.fewest(name) >= REPLICAS).then_some(()));
        let path = format!("{}/{name}", self.deployments());
        self.eventually(|| (self.call_get(&path)["status"]["availableReplicas"] == REPLICAS).then_some(()));
    }

    /// The file of a Roll that migrates installations: all of them, or some by their labels.
    pub(crate) fn migration(&self, name: &str, more: &Value) -> std::path::PathBuf {
        let mut spec = json!({
            "name": name, "journey": "migrate", "from": "v1alpha1", "to": "v1beta1", "timeout": "2m",
            "accept": ["old-object"], "waves": [{"name": "all", "atOnce": 4}],
            "select": {"namespaces": [self.ns]},
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.roll_file(&spec)
    }

    /// Objects of a namespaced resource.
    pub(crate) fn items(&self, path: &str) -> Vec<Value> {
        self.call_get(path)["items"].as_array().unwrap().clone()
    }

    /// Whatever belongs to a uid, by plural and name.
    pub(crate) fn belonging(&self, uid: &str) -> Vec<String> {
        let mut all = Vec::new();
        for (group, plural) in [
            ("/api/v1", "services"),
            ("/api/v1", "persistentvolumeclaims"),
            ("/api/v1", "configmaps"),
            ("/apis/apps/v1", "deployments"),
            ("/apis/apps/v1", "replicasets"),
            ("/apis/apps/v1", "controllerrevisions"),
        ] {
            for object in self.items(&format!("{group}/namespaces/{}/{plural}", self.ns)) {
                let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                if owners.iter().any(|owner| owner["uid"] == uid) {
                    all.push(format!("{plural} {}", object["metadata"]["name"].as_str().unwrap()));
                }
            }
        }
        all
    }

    /// Ends rolls for good, and the kind that went.
    pub(crate) fn leaves_town(&self, rolls: &[&str]) {
        for name in rolls {
            let path = format!("/apis/pointsman.dev/v1/rolls/{name}");
            let over = json!({"status": {"phase": "Complete"}}).to_string();
            self.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, over)));
            self.eventually(|| matches!(self.call(Method::DELETE, &path, None).code, 200 | 404).then_some(()));
        }
        let orphan = json!({"propagationPolicy": "Background"}).to_string();
        let path = format!("{CRDS}/clusterinstallations.{}", gone(&self.group));
        self.call(Method::DELETE, &path, Some((JSON, orphan)));
        self.call(Method::DELETE, &self.deployments(), None);
    }
}

fn owners(installation: &Value) -> Value {
    json!([{
        "apiVersion": installation["apiVersion"], "kind": "ClusterInstallation", "name": installation["metadata"]["name"],
        "uid": installation["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }])
}

/// Pods of an installation.
pub(crate) const REPLICAS: usize = 2;

/// A label by which the new Deployments select their Pods.
pub(crate) const LABEL: &str = "installation.mattermost.com/installation";
