//! The programs of a cluster, as `assets.sh` provides them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory with etcd, kube-apiserver, kubectl and perhaps more.
#[derive(Clone)]
pub(crate) struct Assets(PathBuf);

impl Assets {
    /// The programs of a Kubernetes version, built if need be, or why there are none.
    pub(crate) fn find(version: &str) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/assets.sh");
        let mut child = Command::new("bash")
            .arg(script)
            .arg(version)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("bash: {error}"))?;
        // It takes minutes where something has to be built, and says so meanwhile.
        // One line late: the last one is the reason, where there is one.
        let mut last = String::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
            if !last.is_empty() {
                eprintln!("{last}");
            }
            last = line;
        }
        let output = child.wait_with_output().unwrap();
        if !output.status.success() {
            return Err(last);
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
