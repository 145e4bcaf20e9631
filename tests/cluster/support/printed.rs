//! The output of pointsman commands for a kind.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::ctx::TestContext;
use super::test_cluster::Route;

impl TestContext<'_> {
    /// The output of a command for this kind, as one JSON document.
    pub(crate) fn pointsman_prints(&self, args: &[&str]) -> String {
        let ca = self.dir.join("ca.crt");
        fs::write(&ca, &self.test_cluster.authority.pem).unwrap();
        let calls = !args.contains(&"--no-conversion");
        let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(args)
            .arg(format!("--kinds={}", self.setup.kinds.display()))
            .arg(format!("--kind={}", self.crd_name()))
            .args(calls.then(|| format!("--ca-file={}", ca.display())))
            .arg("--output=json")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pointsman {args:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The CRD as `pointsman crd` prints it for this scenario.
    pub(crate) fn printed_crd(&self, more: &[&str]) -> Value {
        let mut printed = self.printed_with_crd(more);
        printed.pop().expect("a CRD")
    }

    /// The policy and its binding, as printed with the CRD for this storage version.
    pub(crate) fn printed_policy(&self, storage: &str) -> Value {
        let mut printed = self.printed_with_crd(&["--storage", storage]);
        printed.pop();
        assert_eq!(printed.len(), 2, "a policy and its binding");
        json!({"apiVersion": "v1", "kind": "List", "items": printed})
    }

    /// Deletes the policy and its binding.
    pub(crate) fn forget_policy(&self, storage: &str) {
        let policy = self.printed_policy(storage);
        self.kubectl(&["delete"], &policy);
    }

    fn printed_with_crd(&self, more: &[&str]) -> Vec<Value> {
        self.conversion();
        let port = self.setup.port;
        let client = match self.route {
            Route::Service => format!("--service={}/pointsman:{port}", self.ns),
            Route::Url => format!("--url=https://127.0.0.1:{port}"),
        };
        let args = [&["crd", &client][..], more].concat();
        let mut printed: Value = serde_json::from_str(&self.pointsman_prints(&args)).unwrap();
        match printed["items"].take() {
            Value::Array(items) => items,
            _ => vec![printed],
        }
    }

    /// The hash that `pointsman hash` prints for an object.
    pub(crate) fn printed_hash(&self, object: &Value) -> String {
        let (_, text, _) = self.told_of(&["hash"], object);
        text.split_whitespace().next().expect("a hash").to_owned()
    }

    /// Runs a pointsman command with an object on stdin. Returns the exit code, stdout and stderr.
    pub(crate) fn told_of(&self, args: &[&str], object: &Value) -> (i32, String, String) {
        let file = self.dir.join("told.json");
        fs::write(&file, object.to_string()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(args)
            .arg(format!("--kinds={}", self.setup.kinds.display()))
            .stdin(fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }
}
