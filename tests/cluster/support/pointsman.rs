//! An instance of pointsman, as a process like a user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Method;

use super::client::plain;
use super::process::{Process, SOON, eventually, free_port};

/// How an instance is started.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) kinds: PathBuf,
    pub(crate) log: PathBuf,
    /// A loopback address; instances with the same port need different addresses.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// More flags.
    pub(crate) flags: Vec<String>,
}

/// A running instance.
pub(crate) struct Pointsman {
    process: Process,
    port: u16,
    admin: u16,
}

impl Pointsman {
    /// Starts an instance and waits until it is ready.
    pub(crate) fn start(setup: &Setup) -> Self {
        let admin = free_port();
        let file = |path: &Path| path.display().to_string();
        let mut args = vec![
            "serve".to_owned(),
            format!("--listen={}:{}", setup.host, setup.port),
            format!("--admin-listen=0.0.0.0:{admin}"),
            format!("--tls-cert-file={}", file(&setup.cert)),
            format!("--tls-private-key-file={}", file(&setup.key)),
            format!("--kinds={}", file(&setup.kinds)),
            // Scenarios restart pointsman many times a minute; other tests try the kinds.
            "--try=0".to_owned(),
            "--lame-duck=500ms".to_owned(),
            "--shutdown-grace=5s".to_owned(),
        ];
        args.extend(setup.flags.iter().cloned());
        let program = Path::new(env!("CARGO_BIN_EXE_pointsman"));
        let mut process = Process::start("pointsman", program, &args, &setup.log);
        eventually("pointsman is ready", SOON, || {
            if let Some(obituary) = process.obituary() {
                panic!("{obituary}");
            }
            let (code, _) = plain(Method::GET, admin, "/readyz", String::new())?;
            (code == 200).then_some(())
        });
        let port = setup.port;
        Self { process, port, admin }
    }

    /// The webhook port and the readiness port.
    pub(crate) fn backend(&self) -> (u16, u16) {
        (self.port, self.admin)
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn drain(&mut self) {
        let status = self.process.terminate(Duration::from_secs(10));
        let status = status.expect("pointsman ends after draining");
        assert!(status.success(), "{status}");
    }

    /// The number of answered webhook requests.
    pub(crate) fn answered(&self) -> u64 {
        let page = self.metrics();
        let counts = page.lines().filter(|line| line.starts_with("pointsman_webhook_requests_total{"));
        counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    }

    /// The metrics page.
    pub(crate) fn metrics(&self) -> String {
        let page = plain(Method::GET, self.admin, "/metrics", String::new());
        let (_, page) = page.expect("metrics of pointsman");
        String::from_utf8(page.to_vec()).unwrap()
    }
}

/// Writes a certificate and its key into a directory.
pub(crate) fn write_pair(dir: &Path, (cert, key): &(String, String)) -> (PathBuf, PathBuf) {
    let (cert_file, key_file) = (dir.join("tls.crt"), dir.join("tls.key"));
    fs::write(&cert_file, cert).unwrap();
    fs::write(&key_file, key).unwrap();
    (cert_file, key_file)
}
