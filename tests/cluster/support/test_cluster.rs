//! One API server and its environment, shared by many scenarios.

use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::apiserver::ApiServer;
use super::assets::Assets;
use super::etcd::Etcd;
use super::pki::Authority;
use super::process::{Process, remove_at_the_end};

/// The setup of a test cluster.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    /// The Kubernetes version, as `assets.sh` calls it.
    pub(crate) version: &'static str,
    pub(crate) route: Route,
    pub(crate) watch_cache: bool,
}

/// The connection of the API server to pointsman.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Route {
    /// As in production: HTTP/1.1, and the certificate must be for `<service>.<namespace>.svc`. The Service has the
    /// type ExternalName, because there is no kube-proxy.
    Service,
    /// A loopback URL, for which API servers use HTTP/2.
    Url,
}

/// A running instance, or a proxy of one.
pub(crate) type Running = Box<dyn Any + Send>;

pub(crate) struct TestCluster {
    // Dropped in this order: clients before servers.
    controllers: Option<Process>,
    workloads: OnceLock<Process>,
    pub(crate) api: ApiServer,
    /// Servers of finished scenarios, which respond until the API server stops.
    left: Mutex<Vec<Running>>,
    pub(crate) etcd: Etcd,
    pub(crate) dir: TempDir,
    pub(crate) plan: &'static Plan,
    pub(crate) assets: Assets,
    pub(crate) authority: Authority,
    pub(crate) logs: PathBuf,
    pub(crate) started_in: Duration,
    /// The time of the installation of StagedRollouts.
    pub(crate) rollouts_since: OnceLock<Instant>,
}

impl TestCluster {
    /// The names of its logs contain `name`.
    pub(crate) fn start(plan: &'static Plan, name: &str, assets: Assets) -> Self {
        let began = Instant::now();
        let logs = log_dir(name);
        let _ = fs::remove_dir_all(&logs);
        fs::create_dir_all(&logs).unwrap();
        let dir = TempDir::with_prefix("pointsman-test_cluster-").unwrap();
        remove_at_the_end(dir.path());
        let etcd = Etcd::start(&assets, dir.path(), &logs);
        let policy = dir.path().join("audit-policy.yaml");
        fs::write(&policy, AUDIT_POLICY).unwrap();
        let audit = [
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", logs.join(AUDIT_LOG).display()),
        ];
        let mut extra: Vec<&str> = audit.iter().map(String::as_str).collect();
        if !plan.watch_cache {
            extra.push("--watch-cache=false");
        }
        let migrates = assets.has("kube-controller-manager");
        if migrates {
            extra.push("--runtime-config=storagemigration.k8s.io/v1beta1=true");
            extra.push("--feature-gates=StorageVersionMigrator=true");
        }
        let api = ApiServer::start(&assets, &etcd, dir.path(), &logs, &extra);
        let controllers = migrates.then(|| controllers(&assets, &api, &logs));
        Self {
            controllers,
            workloads: OnceLock::new(),
            api,
            left: Mutex::default(),
            etcd,
            dir,
            plan,
            assets,
            authority: Authority::new(),
            logs,
            started_in: began.elapsed(),
            rollouts_since: OnceLock::new(),
        }
    }

    /// The audit log so far. Requests appear there before their response.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.logs.join(AUDIT_LOG)).unwrap();
        let parse = |line: &str| serde_json::from_str(line).ok();
        text.lines().filter_map(parse).collect()
    }

    pub(crate) fn leave_running(&self, what: impl Iterator<Item = Running>) {
        self.left.lock().unwrap().extend(what);
    }

    /// Starts the controllers of Deployments and ReplicaSets once: two instances would create twice the Pods.
    pub(crate) fn start_workloads(&self) {
        self.workloads.get_or_init(|| {
            let names = "deployment-controller,replicaset-controller,resourcequota-controller";
            controller_manager(&self.assets, &self.api, &self.logs.join("workloads.log"), names, &[])
        });
    }

    /// Stops controllers that watch every kind, before a measurement of calls.
    pub(crate) fn stop_controllers(&mut self) {
        self.controllers = None;
        self.workloads.take();
    }

    /// Stops clients before servers, so that the logs contain no errors.
    pub(crate) fn stop(&mut self) {
        self.stop_controllers();
        self.api.stop();
        self.left.lock().unwrap().clear();
        self.etcd.stop();
    }
}

/// Only writes, without their contents.
const AUDIT_POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [admin], verbs: [create, update, patch, delete]}
- {level: None}
";

const AUDIT_LOG: &str = "audit.log";

fn controllers(assets: &Assets, api: &ApiServer, logs: &Path) -> Process {
    let names = "storage-version-migrator-controller,garbage-collector-controller,namespace-controller";
    let log = logs.join("kube-controller-manager.log");
    controller_manager(assets, api, &log, names, &["--feature-gates=StorageVersionMigrator=true"])
}

fn controller_manager(assets: &Assets, api: &ApiServer, log: &Path, controllers: &str, more: &[&str]) -> Process {
    let mut args = vec![
        format!("--kubeconfig={}", api.kubeconfig.display()),
        format!("--controllers={controllers}"),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    args.extend(more.iter().map(|flag| (*flag).to_owned()));
    let name = "kube-controller-manager";
    Process::start(name, &assets.path(name), &args, log)
}

/// The directory for the logs of a failed scenario.
pub(crate) fn log_dir(test_cluster: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("cluster-logs").join(test_cluster)
}
