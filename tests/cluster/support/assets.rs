//! The programs of a cluster, as `assets.sh` provides them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory with etcd, kube-apiserver, kubectl and perhaps more.
#[derive(Clone)]
pub(crate) struct Assets(PathBuf);

impl Assets {
    /// The programs of a Kubernetes version, built if need be, or why there are none.
    pub(crate) fn find(version: &str) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/assets.sh");
        let output = Command::new("bash")
            .arg(script)
            .arg(version)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("bash: {error}"))?;
        let error = String::from_utf8_lossy(&output.stderr);
        let last = error.lines().last().unwrap_or("assets.sh failed");
        if !output.status.success() {
            return Err(last.to_owned());
        }
        let dir = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self(dir.into()))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Whether a program is there: `KUBEBUILDER_ASSETS` may hold the necessary three only.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }
}
