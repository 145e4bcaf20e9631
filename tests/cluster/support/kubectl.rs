//! The real kubectl, for tests of the behaviour of a user's tool.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::ctx::TestContext;

impl TestContext<'_> {
    /// Runs kubectl with a manifest in a file, and returns the output. Retries once after a timeout of the API server,
    /// as an operator would.
    #[track_caller]
    pub(crate) fn kubectl(&self, args: &[&str], manifest: &Value) -> String {
        let (mut ok, mut text) = self.try_kubectl(args, manifest);
        if !ok && args.first() == Some(&"apply") && text.contains("Error from server (Timeout)") {
            (ok, text) = self.try_kubectl(args, manifest);
        }
        assert!(ok, "kubectl {args:?}: {text}");
        text
    }

    pub(crate) fn try_kubectl(&self, args: &[&str], manifest: &Value) -> (bool, String) {
        let file = self.dir.join("manifest.json");
        fs::write(&file, manifest.to_string()).unwrap();
        let test_cluster = self.test_cluster;
        let output = Command::new(test_cluster.assets.path("kubectl"))
            .arg(format!("--kubeconfig={}", test_cluster.api.kubeconfig.display()))
            .arg(format!("--cache-dir={}/kubectl-cache", self.dir.display()))
            .args(args)
            .arg("-f")
            .arg(file)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}
