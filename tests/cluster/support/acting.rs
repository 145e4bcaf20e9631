//! pointsman commands on the cluster, as operators run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::ctx::{CRDS, TestContext};
use super::process::Process;
use super::proxy::{Fate, Proxy};
use super::test_cluster::Route;

/// Exit code, stdout and stderr.
pub(crate) type Told = (i32, String, String);

impl TestContext<'_> {
    /// The arguments of `pointsman migrate`.
    pub(crate) fn migrate_args(&self, kubeconfig: &Path, more: &[&str]) -> Vec<String> {
        let own = ["migrate".to_owned(), self.crd_name()];
        let more = more.iter().map(|arg| (*arg).to_owned());
        own.into_iter().chain(self.cluster_args(kubeconfig)).chain(more).collect()
    }

    pub(crate) fn migrate(&self, more: &[&str]) -> Told {
        run(&self.migrate_args(&self.test_cluster.api.kubeconfig, more))
    }

    pub(crate) fn migrate_at(&self, kubeconfig: &Path, more: &[&str]) -> Told {
        run(&self.migrate_args(kubeconfig, more))
    }

    /// The arguments of `pointsman enable` for this scenario's server.
    pub(crate) fn enable_args(&self, kubeconfig: &Path, more: &[&str]) -> Vec<String> {
        let given = |flag: &str| more.iter().any(|arg| arg.starts_with(flag));
        let mut args = vec!["enable".to_owned(), self.crd_name()];
        if !given("--service") && !given("--url") {
            args.push(self.server());
        }
        if !given("--ca-file") {
            args.push(format!("--ca-file={}", self.authority().display()));
        }
        args.extend(self.cluster_args(kubeconfig));
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        args
    }

    pub(crate) fn enables(&self, more: &[&str]) -> Told {
        run(&self.enable_args(&self.test_cluster.api.kubeconfig, more))
    }

    pub(crate) fn enables_at(&self, kubeconfig: &Path, more: &[&str]) -> Told {
        run(&self.enable_args(kubeconfig, more))
    }

    /// The flags that name the conversion server.
    pub(crate) fn server(&self) -> String {
        let port = self.setup.port;
        match self.route {
            Route::Service => format!("--service={}/pointsman:{port}", self.ns),
            Route::Url => format!("--url=https://127.0.0.1:{port}"),
        }
    }

    /// A file with the authority that the API server should trust.
    pub(crate) fn authority(&self) -> PathBuf {
        let file = self.dir.join("ca.crt");
        fs::write(&file, &self.test_cluster.authority.pem).unwrap();
        file
    }

    /// Adds the flags for cluster and kind to a command.
    pub(crate) fn on_the_cluster(&self, args: &[&str]) -> Vec<String> {
        let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let [kubeconfig, kinds] = self.cluster_args(&self.test_cluster.api.kubeconfig);
        if !args.iter().any(|arg| arg.starts_with("--kubeconfig=")) {
            args.push(kubeconfig);
        }
        args.push(kinds);
        args
    }

    /// Runs a command on this cluster.
    pub(crate) fn command(&self, args: &[&str]) -> Told {
        run(&self.on_the_cluster(args))
    }

    /// The same; the command must succeed. Returns stdout.
    #[track_caller]
    pub(crate) fn commanded(&self, args: &[&str]) -> String {
        let (code, text, errors) = self.command(args);
        assert_eq!(code, 0, "{args:?}: {text}{errors}");
        text
    }

    /// The same; the command must fail with a reason. Returns stderr.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let (code, text, errors) = self.command(args);
        assert_eq!(code, 1, "{args:?}: {text}{errors}");
        errors
    }

    /// The flag for a kubeconfig without rights.
    pub(crate) fn as_nobody(&self) -> String {
        let text = fs::read_to_string(&self.test_cluster.api.kubeconfig).unwrap();
        let file = self.dir.join("nobody");
        fs::write(&file, text.replace("{token: secret-token}", "{token: secret-token, as: nobody}")).unwrap();
        format!("--kubeconfig={}", file.display())
    }

    fn cluster_args(&self, kubeconfig: &Path) -> [String; 2] {
        [format!("--kubeconfig={}", kubeconfig.display()), format!("--kinds={}", self.setup.kinds.display())]
    }

    /// A kubeconfig for another server, or with other credentials.
    pub(crate) fn kubeconfig(&self, name: &str, cluster: &Value, user: &Value) -> PathBuf {
        let file = self.dir.join(name);
        let it = |what: &str, value: &Value| json!([{"name": "it", what: value}]);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": it("cluster", cluster), "users": it("user", user),
            "contexts": it("context", &json!({"cluster": "it", "user": "it"})),
        });
        fs::write(&file, config.to_string()).unwrap();
        file
    }

    /// A kubeconfig that connects through a proxy.
    pub(crate) fn through(&self, port: u16) -> PathBuf {
        let server = json!({"server": format!("http://127.0.0.1:{port}")});
        self.kubeconfig(&format!("through-{port}"), &server, &json!({"token": "secret-token"}))
    }

    /// Starts a command, and kills it after a call (counted from 0) was sent and before its response arrives. Returns
    /// the exit code, if the command ended earlier, and the calls.
    pub(crate) fn killed_after(&self, last: usize, args: impl Fn(&Path) -> Vec<String>) -> (Option<i32>, Vec<String>) {
        let proxy = Proxy::start(&self.test_cluster.api.client, move |at, _, _| match at {
            at if at == last => Fate::HeldAfter,
            _ => Fate::Pass,
        });
        let mut process = self.started("killed", &args(&self.through(proxy.port)));
        let mut ended = None;
        self.eventually(|| {
            ended = process.end(Duration::from_millis(50));
            (ended.is_some() || proxy.calls().len() > last).then_some(())
        });
        // The API server completes the call without a client.
        thread::sleep(Duration::from_millis(100));
        process.kill();
        (ended, proxy.calls())
    }

    /// Starts a command with its output in a file of this name.
    pub(crate) fn started(&self, name: &str, args: &[String]) -> Process {
        Process::start(name, env!("CARGO_BIN_EXE_pointsman").as_ref(), args, &self.log_of(name))
    }

    /// The file with the output of such a command.
    pub(crate) fn log_of(&self, name: &str) -> PathBuf {
        // Next to the log of pointsman, which remains after a failed scenario.
        self.setup.log.with_extension(format!("{name}.log"))
    }

    /// The current CRD.
    pub(crate) fn crd_now(&self) -> Value {
        self.call_get(&format!("{CRDS}/{}", self.crd_name()))
    }

    pub(crate) fn stored_versions(&self) -> Value {
        self.crd_now()["status"]["storedVersions"].clone()
    }

    /// Serves one version alone, and stops pointsman: objects stored in that version need no conversion.
    pub(crate) fn leave_alone(&self, version: &str, other: &str) {
        self.change_crd(|crd| {
            for each in crd["spec"]["versions"].as_array_mut().unwrap() {
                each["served"] = json!(each["name"] == version);
            }
        });
        self.eventually(|| (self.list(other).code == 404).then_some(()));
        self.stop_pointsman();
        // Handlers of the old CRD may still call the webhook in vain; new handlers take a moment.
        self.eventually(|| self.list(version).is_ok().then_some(()));
    }
}

/// Runs pointsman to its end.
pub(crate) fn run(args: &[String]) -> Told {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}
