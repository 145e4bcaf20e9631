//! Commands of ours that act on a cluster, as somebody runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::bed::Route;
use super::scene::Scene;

impl Scene<'_> {
    /// How the server that converts is named.
    pub(crate) fn server(&self) -> String {
        let port = self.setup.port;
        match self.route {
            Route::Service => format!("--service={}/pointsman:{port}", self.ns),
            Route::Url => format!("--url=https://127.0.0.1:{port}"),
        }
    }

    /// A file with the authority that the API server is told to trust.
    pub(crate) fn authority(&self) -> PathBuf {
        let file = self.dir.join("ca.crt");
        fs::write(&file, &self.bed.authority.pem).unwrap();
        file
    }

    /// What a command is given so that it finds the cluster and the kind.
    pub(crate) fn on_the_cluster(&self, args: &[&str]) -> Vec<String> {
        let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        if !args.iter().any(|arg| arg.starts_with("--kubeconfig=")) {
            args.push(format!("--kubeconfig={}", self.bed.api.kubeconfig.display()));
        }
        args.push(format!("--kinds={}", self.setup.kinds.display()));
        args
    }

    /// Exit code, stdout and stderr of a command on this cluster.
    pub(crate) fn command(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(self.on_the_cluster(args))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// The same, where it has to succeed. Returns stdout.
    #[track_caller]
    pub(crate) fn commanded(&self, args: &[&str]) -> String {
        let (code, text, errors) = self.command(args);
        assert_eq!(code, 0, "{args:?}: {text}{errors}");
        text
    }

    /// The same, where it has to say why nothing came of it. Returns stderr.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let (code, text, errors) = self.command(args);
        assert_eq!(code, 1, "{args:?}: {text}{errors}");
        errors
    }

    /// The flag for a kubeconfig of somebody who may do nothing.
    pub(crate) fn as_nobody(&self) -> String {
        let text = fs::read_to_string(&self.bed.api.kubeconfig).unwrap();
        self.kubeconfig("nobody", &text.replace("{token: secret-token}", "{token: secret-token, as: nobody}"))
    }

    fn kubeconfig(&self, name: &str, text: &str) -> String {
        let file = self.dir.join(Path::new(name));
        fs::write(&file, text).unwrap();
        format!("--kubeconfig={}", file.display())
    }
}
