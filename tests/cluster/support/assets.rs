//! The programs of a cluster, from `assets.sh`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory with etcd, kube-apiserver, kubectl and optional programs.
#[derive(Clone)]
pub(crate) struct Assets(PathBuf);

impl Assets {
    /// The programs of a Kubernetes version, built if necessary, or the reason for their absence.
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
        // A build takes minutes and prints its progress. Printing is one line behind, because the last line is the
        // reason of a failure.
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

    /// True if a program exists: `KUBEBUILDER_ASSETS` may have only the three required ones.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }
}
