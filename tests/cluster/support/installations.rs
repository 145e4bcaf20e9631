//! Installations of an application by an operator, which a rollout replaces by objects of another kind.

use std::collections::BTreeMap;

use hyper::Method;
use serde_json::{Value, json};

use super::ctx::{CRDS, JSON, MERGE, TestContext};
use super::fake_operators::FakeOperators;
use super::sample::gone;

/// The objects of a namespace at one time, without the installations.
pub(crate) struct Belongings {
    /// ReplicaSets.
    pub(crate) sets: Vec<Value>,
    /// ControllerRevisions.
    pub(crate) saved: Vec<Value>,
    /// Plural and name of owned objects, by the uid of the owner.
    owned: BTreeMap<String, Vec<String>>,
}

impl Belongings {
    /// Plural and name of the objects of an owner.
    pub(crate) fn of(&self, uid: &str) -> Vec<String> {
        self.owned.get(uid).cloned().unwrap_or_default()
    }
}

impl TestContext<'_> {
    /// The path of the source objects.
    pub(crate) fn installations(&self) -> String {
        format!("/apis/{}/v1alpha1/namespaces/{}/clusterinstallations", gone(&self.group), self.ns)
    }

    pub(crate) fn deployments(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/deployments", self.ns)
    }

    /// Creates an installation, with all objects that the old operator creates. Returns the installation.
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

    /// A Deployment as the old operator creates it.
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
    pub(crate) fn serves(&self, fake_operators: &FakeOperators, name: &str) {
        self.eventually(|| (fake_operators.fewest(name) >= REPLICAS).then_some(()));
        let path = format!("{}/{name}", self.deployments());
        self.eventually(|| (self.call_get(&path)["status"]["availableReplicas"] == REPLICAS).then_some(()));
    }

    /// Waits until the garbage collector has observed the owner of every ReplicaSet. The collector deletes ReplicaSets
    /// with an absent owner, and receives ReplicaSets in order.
    pub(crate) fn collector_hears(&self) {
        let all = format!("/apis/apps/v1/namespaces/{}/replicasets", self.ns);
        let labels = json!({"nobodys": "own"});
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody",
            "uid": "00000000-0000-4000-8000-000000000000",
        });
        let set = json!({
            "metadata": {"name": "nobodys-own", "ownerReferences": [owner]},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "none", "image": "none"}]}},
            },
        });
        self.post(&all, &set).ok();
        self.eventually(|| (self.call(Method::GET, &format!("{all}/nobodys-own"), None).code == 404).then_some(()));
    }

    /// ReplicaSets of a Deployment.
    pub(crate) fn sets_of(&self, uid: &Value) -> Vec<Value> {
        let mut all = self.items(&format!("/apis/apps/v1/namespaces/{}/replicasets", self.ns));
        all.retain(|set| set["metadata"]["ownerReferences"][0]["uid"] == *uid);
        all
    }

    /// The file of a StagedRollout that migrates installations: all, or some by their labels.
    pub(crate) fn migration(&self, name: &str, more: &Value) -> std::path::PathBuf {
        let mut spec = json!({
            "name": name, "workflow": "migrate", "from": "v1alpha1", "to": "v1beta1", "timeout": "2m",
            "acceptedRisks": ["old-object"], "waves": [{"name": "all", "maxInFlight": 4}],
            "selector": {"namespaces": [self.ns]},
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.rollout_file(&spec)
    }

    /// Objects of a namespaced resource.
    pub(crate) fn items(&self, path: &str) -> Vec<Value> {
        self.call_get(path)["items"].as_array().unwrap().clone()
    }

    /// Plural and name of the objects of an owner.
    pub(crate) fn belonging(&self, uid: &str) -> Vec<String> {
        self.belongings().of(uid)
    }

    /// The objects of the namespace, without the installations.
    pub(crate) fn belongings(&self) -> Belongings {
        let (core, apps) = (format!("/api/v1/namespaces/{}", self.ns), format!("/apis/apps/v1/namespaces/{}", self.ns));
        let items = |group: &str, plural: &str| self.items(&format!("{group}/{plural}"));
        let (sets, saved) = (items(&apps, "replicasets"), items(&apps, "controllerrevisions"));
        let mut owned = BTreeMap::<String, Vec<String>>::new();
        let mut notes = |plural: &str, objects: &[Value]| {
            for object in objects {
                let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
                for uid in owners.filter_map(|owner| owner["uid"].as_str()) {
                    let title = format!("{plural} {}", object["metadata"]["name"].as_str().unwrap());
                    owned.entry(uid.to_owned()).or_default().push(title);
                }
            }
        };
        for plural in ["services", "persistentvolumeclaims", "configmaps"] {
            notes(plural, &items(&core, plural));
        }
        notes("deployments", &items(&apps, "deployments"));
        notes("replicasets", &sets);
        notes("controllerrevisions", &saved);
        Belongings { sets, saved, owned }
    }

    /// Completes and deletes the rollouts, and deletes the source kind.
    pub(crate) fn leaves_fake_operators(&self, rollouts: &[&str]) {
        for name in rollouts {
            let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{name}");
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

/// The number of Pods of an installation.
pub(crate) const REPLICAS: usize = 2;

/// The label that selects the Pods of new Deployments.
pub(crate) const LABEL: &str = "installation.mattermost.com/installation";
