//! A real cert-manager, and a replacement for the kubelet that mounts the issued Secrets.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use super::ctx::TestContext;
use super::process::{Process, free_port};

/// Installs the CRDs of cert-manager.
pub(crate) fn install(ctx: &TestContext<'_>) {
    let test_cluster = ctx.test_cluster;
    let output = Command::new(test_cluster.assets.path("kubectl"))
        .arg(format!("--kubeconfig={}", test_cluster.api.kubeconfig.display()))
        .args(["apply", "--server-side", "-f"])
        .arg(test_cluster.assets.path("cert-manager-crds"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Starts cert-manager and its CA injector as plain processes, with the CRDs.
pub(crate) fn start(ctx: &TestContext<'_>) -> [Process; 2] {
    let test_cluster = ctx.test_cluster;
    let kubeconfig = format!("--kubeconfig={}", test_cluster.api.kubeconfig.display());
    install(ctx);
    let run = |name: &str, more: &[String]| {
        let args = [&[kubeconfig.clone(), "--leader-elect=false".to_owned()], more].concat();
        let log = test_cluster.logs.join(format!("{name}.log"));
        Process::start(name, &test_cluster.assets.path(name), &args, &log)
    };
    let metrics = format!("--metrics-listen-address=127.0.0.1:{}", free_port());
    let controller = run("cert-manager-controller", &["--cluster-resource-namespace=cert-manager".to_owned(), metrics]);
    [controller, run("cert-manager-cainjector", &[])]
}

/// The data of an issued Secret.
pub(crate) fn secret(ctx: &TestContext<'_>, name: &str) -> Option<Value> {
    let path = format!("/api/v1/namespaces/{}/secrets/{name}", ctx.ns);
    let answer = ctx.call(Method::GET, &path, None);
    let data = answer.is_ok().then(|| answer.body["data"].clone())?;
    (data["tls.crt"].as_str()?.len() > 10).then_some(data)
}

/// Renews a certificate, as `cmctl renew` does.
pub(crate) fn renew(ctx: &TestContext<'_>, certificate: &str) {
    let path = format!("/apis/cert-manager.io/v1/namespaces/{}/certificates/{certificate}", ctx.ns);
    let issuing = json!([{"op": "add", "path": "/status/conditions/-", "value": {
        "type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renew",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }}]);
    let patch = Some(("application/json-patch+json", issuing.to_string()));
    // The condition of an earlier renewal may still exist.
    let settled = |certificate: &Value| {
        let conditions = certificate["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
            && !conditions.iter().any(|it| it["type"] == "Issuing" && it["status"] == "True")
    };
    ctx.eventually(|| settled(&ctx.call_get(&path)).then_some(()));
    ctx.call(Method::PATCH, &format!("{path}/status"), patch).ok();
}

/// A volume as the kubelet mounts it: `tls.crt -> ..data/tls.crt`, `..data -> ..7` (kubernetes `atomic_writer.go`).
pub(crate) struct Volume {
    dir: PathBuf,
    generation: u32,
}

impl Volume {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), generation: 0 }
    }

    /// The paths of certificate and key.
    pub(crate) fn pair(&self) -> (PathBuf, PathBuf) {
        (self.dir.join("tls.crt"), self.dir.join("tls.key"))
    }

    /// Writes the current data of a Secret.
    pub(crate) fn project(&mut self, secret: &Value) {
        self.generation += 1;
        let name = format!("..{}", self.generation);
        fs::create_dir_all(self.dir.join(&name)).unwrap();
        for (file, value) in secret.as_object().unwrap() {
            let bytes = STANDARD.decode(value.as_str().unwrap()).unwrap();
            fs::write(self.dir.join(&name).join(file), bytes).unwrap();
            if self.generation == 1 {
                symlink(Path::new("..data").join(file), self.dir.join(file)).unwrap();
            }
        }
        symlink(&name, self.dir.join("..data_tmp")).unwrap();
        fs::rename(self.dir.join("..data_tmp"), self.dir.join("..data")).unwrap();
        if self.generation > 1 {
            let old = format!("..{}", self.generation - 1);
            fs::remove_dir_all(self.dir.join(old)).unwrap();
        }
    }
}
