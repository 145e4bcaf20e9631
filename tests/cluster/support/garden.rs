//! Shoots of Gardener: the cluster that runs their control planes, with the mutations for these shoots, and a second
//! API server that represents every shoot.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use super::apiserver::ApiServer;
use super::ctx::{CRDS, MERGE, TestContext};
use super::pointsman::Pointsman;
use crate::mutations::facts::{NAMES, configuration, example, metric};

/// A cluster with shoots.
pub(crate) struct Landscape<'s> {
    pub(crate) ctx: &'s TestContext<'s>,
    /// The API server of every shoot.
    pub(crate) shoot: ApiServer,
    configuration: Value,
}

impl<'s> Landscape<'s> {
    /// Registers all kinds, serves the mutations with this kubeconfig, and starts a second API server.
    pub(crate) fn begins(ctx: &'s TestContext<'s>, serves_by: &Path) -> Self {
        ctx.post(CRDS, &ctx.crd).ok();
        // An earlier scenario may have created the CRD.
        let planes = ctx.post(CRDS, &control_planes());
        assert!(planes.is_ok() || planes.code == 409, "{}", planes.message());
        ctx.knows_rollouts();
        for path in [clusters(ctx), format!("/apis/{CONTROL_PLANES}/controlplanes")] {
            ctx.eventually(|| ctx.call(Method::GET, &path, None).is_ok().then_some(()));
        }
        let group = format!("clusters.{}", ctx.group);
        let mutations = example("control-plane.yaml").replace("clusters.extensions.gardener.cloud", &group);
        fs::write(ctx.setup.kinds.join("control-plane.yaml"), mutations).unwrap();
        serves(ctx, serves_by);
        let configuration = configuration(ctx);
        ctx.kubectl(&["apply"], &configuration);
        let dir = ctx.dir.join("shoot");
        let logs = ctx.test_cluster.logs.join(format!("{}-shoot", ctx.ns));
        [&dir, &logs].iter().for_each(|dir| fs::create_dir_all(dir).unwrap());
        let apart = format!("--etcd-prefix=/shoot-{}", ctx.ns);
        let shoot = ApiServer::start(&ctx.test_cluster.assets, &ctx.test_cluster.etcd, &dir, &logs, &[&apart]);
        Self { ctx, shoot, configuration }
    }

    /// Creates a shoot with a control plane, in a namespace with the name of its Cluster. Returns the name.
    pub(crate) fn plants(&self, name: &str, more: &Value) -> String {
        let full = self.plants_new(name, more);
        let plane = json!({
            "apiVersion": CONTROL_PLANES, "kind": "ControlPlane", "metadata": {"name": "it"}, "spec": {},
        });
        self.ctx.post(&format!("/apis/{CONTROL_PLANES}/namespaces/{full}/controlplanes"), &plane).ok();
        for deployment in NAMES {
            self.ctx.post(&deployments(&full), &of_example(deployment, &full)).ok();
        }
        self.knows_way(&full, &self.kubeconfig());
        full
    }

    /// Creates a shoot with an empty namespace.
    pub(crate) fn plants_new(&self, name: &str, more: &Value) -> String {
        let full = format!("{}-{name}", self.ctx.ns);
        self.ctx.post("/api/v1/namespaces", &json!({"metadata": {"name": full}})).ok();
        let mut shoot = json!({
            "metadata": {"name": name}, "status": {"lastOperation": {"state": "Succeeded"}},
            "spec": {"provider": {"type": "aws"}, "kubernetes": {"version": "1.18.20"}, "hibernation": {"enabled": false}},
        });
        merge(&mut shoot, more);
        let cluster = json!({
            "apiVersion": format!("{}/v1alpha1", self.ctx.group), "kind": "Cluster", "metadata": {"name": full},
            "spec": {"cloudProfile": {}, "seed": {}, "shoot": shoot},
        });
        self.ctx.post(&clusters(self.ctx), &cluster).ok();
        full
    }

    /// Writes the Secret with the kubeconfig of a shoot.
    pub(crate) fn knows_way(&self, full: &str, kubeconfig: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gardener", "namespace": full},
            "data": {"kubeconfig": STANDARD.encode(kubeconfig)},
        });
        self.ctx.kubectl(&["apply"], &secret);
    }

    /// A self-contained kubeconfig for the shoot.
    pub(crate) fn kubeconfig(&self) -> String {
        let text = fs::read_to_string(&self.shoot.kubeconfig).unwrap();
        let file = self.ctx.dir.join("shoot/certs/apiserver.crt");
        let authority = STANDARD.encode(fs::read(&file).unwrap());
        text.replace(
            &format!("certificate-authority: '{}'", file.display()),
            &format!("certificate-authority-data: {authority}"),
        )
    }

    /// Creates a node of the shoot with this kubelet version.
    pub(crate) fn node(&self, name: &str, kubelet: &str) {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        let made = self.shoot.client.call(Method::POST, "/api/v1/nodes", Some(("application/json", node.to_string())));
        assert!(made.is_ok() || made.code == 409, "{}", made.message());
        let info = json!({"status": {"nodeInfo": {
            "kubeletVersion": kubelet, "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "",
            "osImage": "", "containerRuntimeVersion": "", "kubeProxyVersion": "", "operatingSystem": "",
            "architecture": "",
        }}});
        let path = format!("/api/v1/nodes/{name}/status");
        self.shoot.client.call(Method::PATCH, &path, Some((MERGE, info.to_string()))).ok();
    }

    /// Creates a storage class of the shoot with this provisioner, unless the class exists.
    pub(crate) fn class(&self, name: &str, provisioner: &str) {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner,
        });
        let body = Some(("application/json", class.to_string()));
        let made = self.shoot.client.call(Method::POST, CLASSES, body);
        assert!(made.is_ok() || made.code == 409, "{}", made.message());
    }

    /// The names of the storage classes of the shoot.
    pub(crate) fn classes(&self) -> Vec<String> {
        let list = self.shoot.client.call(Method::GET, CLASSES, None).ok();
        let name = |class: &Value| class["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).collect()
    }

    /// The Cluster of a shoot.
    pub(crate) fn cluster(&self, full: &str) -> Value {
        self.ctx.call_get(&format!("{}/{full}", clusters(self.ctx)))
    }

    /// Changes the copy of the shoot in its Cluster, as Gardener does.
    pub(crate) fn changes(&self, full: &str, shoot: &Value) {
        let patch = json!({"spec": {"shoot": shoot}}).to_string();
        let path = format!("{}/{full}", clusters(self.ctx));
        self.ctx.call(Method::PATCH, &path, Some((MERGE, patch))).ok();
    }

    /// True if this annotation of a Cluster is `true`.
    pub(crate) fn says(&self, full: &str, key: &str) -> bool {
        self.cluster(full)["metadata"]["annotations"][key] == "true"
    }

    pub(crate) fn deployment(&self, full: &str, name: &str) -> Value {
        self.ctx.call_get(&format!("{}/{name}", deployments(full)))
    }

    /// Starts a StagedRollout over all shoots.
    pub(crate) fn rollouts(&self, name: &str, more: &Value) {
        let file = self.rollout_file(name, more);
        self.ctx.commanded(&["rollout", "start", "-f", &file.display().to_string()]);
    }

    /// The file of a StagedRollout over all shoots.
    pub(crate) fn rollout_file(&self, name: &str, more: &Value) -> PathBuf {
        let mut spec = json!({
            "name": name, "workflow": "csi-migration", "from": null, "to": "csi", "timeout": "3m", "maxUnhealthy": 20,
            "acceptedRisks": ["old-classes", "hand-over", "control-plane", "finished"],
            "waves": [{"name": "all", "maxInFlight": 1}],
        });
        merge(&mut spec, more);
        self.ctx.rollout_file(&spec)
    }

    /// The path of the Clusters.
    pub(crate) fn clusters(&self) -> String {
        clusters(self.ctx)
    }

    /// Deletes the configuration and these StagedRollouts, and stops the API server of the shoots.
    pub(crate) fn ends(mut self, rollouts: &[&str]) {
        self.ctx.kubectl(&["delete"], &self.configuration);
        for name in rollouts {
            let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{name}");
            let over = json!({"status": {"phase": "Complete"}}).to_string();
            self.ctx.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, over)));
            self.ctx.eventually(|| matches!(self.ctx.call(Method::DELETE, &path, None).code, 200 | 404).then_some(()));
        }
        self.ctx.call(Method::DELETE, &format!("{CRDS}/controlplanes.extensions.gardener.cloud"), None);
        self.shoot.stop();
    }
}

/// Serves mutations, with a kubeconfig.
pub(crate) fn serves(ctx: &TestContext<'_>, kubeconfig: &Path) {
    ctx.stop_pointsman();
    let mut setup = ctx.setup.clone();
    setup.flags.push(format!("--kubeconfig={}", kubeconfig.display()));
    *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&setup));
    let known = format!("pointsman_fact_known{{resource=\"clusters.{}\"}} 1\n", ctx.group);
    ctx.eventually(|| metric(ctx, &known).then_some(()));
}

/// A Deployment of the example in a namespace.
pub(crate) fn of_example(name: &str, namespace: &str) -> Value {
    let mut object: Value = serde_saphyr::from_str(&example(&format!("{name}.yaml"))).unwrap();
    object["metadata"]["namespace"] = json!(namespace);
    object
}

pub(crate) fn deployments(namespace: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/deployments")
}

fn clusters(ctx: &TestContext<'_>) -> String {
    format!("/apis/{}/v1alpha1/clusters", ctx.group)
}

/// The kind whose objects mark a shoot as existing.
fn control_planes() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "controlplanes.extensions.gardener.cloud"},
        "spec": {
            "group": "extensions.gardener.cloud", "scope": "Namespaced",
            "names": {"kind": "ControlPlane", "listKind": "ControlPlaneList", "plural": "controlplanes", "singular": "controlplane"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

const CONTROL_PLANES: &str = "extensions.gardener.cloud/v1alpha1";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
