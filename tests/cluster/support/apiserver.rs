//! kube-apiserver, and its clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Method;

use super::assets::Assets;
use super::client::Client;
use super::etcd::Etcd;
use super::pki;
use super::process::{Process, SOON, eventually, free_port};

pub(crate) struct ApiServer {
    process: Process,
    pub(crate) client: Client,
    /// For kubectl and controllers.
    pub(crate) kubeconfig: PathBuf,
}

impl ApiServer {
    pub(crate) fn start(assets: &Assets, etcd: &Etcd, dir: &Path, logs: &Path, extra: &[&str]) -> Self {
        let (private, public) = pki::signing_key();
        fs::write(dir.join("sa.key"), private).unwrap();
        fs::write(dir.join("sa.pub"), public).unwrap();
        let token = "secret-token,admin,admin,\"system:masters\"\n";
        fs::write(dir.join("tokens.csv"), token).unwrap();
        // The API server cannot choose a free port, and another process may take the chosen one: retry.
        let (mut process, port) = Self::listening(assets, etcd, dir, logs, extra)
            .or_else(|_| Self::listening(assets, etcd, dir, logs, extra))
            .unwrap_or_else(|obituary| panic!("{obituary}"));
        // The self-made certificate file contains its authority.
        let authority = dir.join("certs/apiserver.crt");
        let client = Client::new(port, &fs::read_to_string(&authority).unwrap());
        eventually("kube-apiserver is ready", SOON, || {
            if let Some(obituary) = process.obituary() {
                panic!("{obituary}");
            }
            let answer = client.call(Method::GET, "/readyz", None);
            (answer.code == 200).then_some(())
        });
        let kubeconfig = dir.join("kubeconfig");
        fs::write(&kubeconfig, kubeconfig_of(port, &authority)).unwrap();
        Self { process, client, kubeconfig }
    }

    fn listening(
        assets: &Assets,
        etcd: &Etcd,
        dir: &Path,
        logs: &Path,
        extra: &[&str],
    ) -> Result<(Process, u16), String> {
        let port = free_port();
        let mut args = arguments(etcd.port, port, dir);
        args.extend(extra.iter().map(|flag| (*flag).to_owned()));
        let log = logs.join("kube-apiserver.log");
        let program = assets.path("kube-apiserver");
        let mut process = Process::start("kube-apiserver", &program, &args, &log);
        eventually("kube-apiserver listens", SOON, || {
            if let Some(obituary) = process.obituary() {
                return Some(Err(obituary));
            }
            let listens = std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
            listens.then_some(Ok(()))
        })?;
        Ok((process, port))
    }

    pub(crate) fn stop(&mut self) {
        self.process.terminate(Duration::from_secs(5));
    }
}

fn arguments(etcd: u16, port: u16, dir: &Path) -> Vec<String> {
    let dir = dir.display();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--cert-dir={dir}/certs"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        format!("--token-auth-file={dir}/tokens.csv"),
        "--anonymous-auth=false".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--service-account-issuer=https://127.0.0.1:{port}/"),
        format!("--service-account-key-file={dir}/sa.pub"),
        format!("--service-account-signing-key-file={dir}/sa.key"),
    ]
}

fn kubeconfig_of(port: u16, authority: &Path) -> String {
    let authority = authority.display();
    format!(
        "apiVersion: v1
kind: Config
current-context: it
contexts: [{{name: it, context: {{cluster: it, user: it}}}}]
clusters: [{{name: it, cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority: '{authority}'}}}}]
users: [{{name: it, user: {{token: secret-token}}}}]
"
    )
}
