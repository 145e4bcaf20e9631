//! A server in a separate process with its own memory, with the built-in kinds and limits for 128 MiB. If the machine
//! permits it, the kernel kills the server above that limit.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_server::{CertPaths, LogQueue, Memory, Options, RequestHandler, ServedWebhook, Server, Shutdown};
use tempfile::TempDir;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::prelude::*;

use super::certs::Authority;
use super::client::{Dial, get};
use super::memory_group::MemoryGroup;
use super::{eventually, number};

/// The memory limit of the victim, in MiB. With 842, it has the default limits.
pub(crate) fn limit_mib() -> u64 {
    number("POINTSMAN_ATTACK_MIB", 128)
}

/// The server; dropping it ends the process.
pub(crate) struct Victim {
    pub(crate) addr: SocketAddr,
    pub(crate) admin: SocketAddr,
    authority: Authority,
    child: Child,
    dir: TempDir,
    /// Exists if the machine permits control groups. Dropped after the child has ended.
    group: Option<MemoryGroup>,
}

impl Victim {
    /// Starts this test binary again, with `test` as the test that calls [`serve`].
    pub(crate) async fn start(test: &str) -> Self {
        Self::start_with(test, None).await
    }

    /// Same as [`Self::start`], with an optional limit of open files.
    pub(crate) async fn start_with(test: &str, files: Option<u32>) -> Self {
        Self::launch(test, files, &[]).await
    }

    /// Same as [`Self::start`], with a written log.
    pub(crate) async fn start_with_log(test: &str) -> Self {
        Self::launch(test, None, &[(LOGS, "1")]).await
    }

    async fn launch(test: &str, files: Option<u32>, env: &[(&str, &str)]) -> Self {
        let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
        let pair = authority.issue();
        fs::write(dir.path().join("tls.crt"), &pair.cert).unwrap();
        fs::write(dir.path().join("tls.key"), &pair.key).unwrap();
        let limit = files.map(|files| format!("ulimit -n {files}; ")).unwrap_or_default();
        let mut child = Command::new("sh");
        child.args(["-c", &format!("{limit}exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
        child
            .args(["--exact", test, "--nocapture"])
            .env(DIR, dir.path())
            .envs(of_the_image())
            .envs(env.iter().copied());
        let child = child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let file = dir.path().join(ADDRESSES);
        let text = eventually("the victim listens", || async { fs::read_to_string(&file).ok() }).await;
        let (addr, admin) = text.split_once(' ').unwrap();
        Self {
            addr: addr.parse().unwrap(),
            admin: admin.parse().unwrap(),
            authority,
            group: MemoryGroup::around(child.id(), limit_mib()),
            child,
            dir,
        }
    }

    pub(crate) fn dial(&self) -> Dial {
        Dial::new(self.addr, &self.authority)
    }

    /// True if the kernel has killed the process for its memory.
    pub(crate) fn is_killed(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.kills() > 0)
    }

    /// Peak resident memory, in MiB.
    pub(crate) fn peak_mib(&self) -> u64 {
        self.mib("VmHWM:")
    }

    /// Resident memory, in MiB.
    pub(crate) fn resident_mib(&self) -> u64 {
        self.mib("VmRSS:")
    }

    fn mib(&self, what: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap().div_ceil(1024)
    }

    /// Number of logged lines.
    pub(crate) fn log_lines(&self) -> usize {
        fs::read(self.dir.path().join(LOG)).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
    }

    /// True if a kubelet's probe succeeds.
    pub(crate) async fn is_live(&self) -> bool {
        get(self.admin, "/livez").await.is_ok_and(|answer| answer.status == 200)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The environment variables of the container image.
fn of_the_image() -> Vec<(String, String)> {
    let file = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Dockerfile")).unwrap();
    let set = file.lines().filter_map(|line| line.strip_prefix("ENV ")?.split_once('='));
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// True if this process was started as a victim.
pub(crate) fn is_this_process() -> bool {
    std::env::var_os(DIR).is_some()
}

/// A log reader that has stopped.
pub(crate) struct Stuck;

impl Write for Stuck {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        loop {
            thread::park();
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serves until the process is killed. The log is not read, unless started with a log.
pub(crate) async fn serve() {
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
    let queue = match std::env::var_os(LOGS) {
        Some(_) => LogQueue::start(File::create(dir.join(LOG)).unwrap()).unwrap(),
        None => LogQueue::start(Stuck).unwrap(),
    };
    let (lines, limit) = (queue.clone(), queue.clone());
    let log = tracing_subscriber::fmt().with_writer(move || lines.clone()).finish();
    log.with(dynamic_filter_fn(move |line, _| !line.is_event() || limit.admits(line.target()))).init();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let paths = CertPaths { cert: dir.join("tls.crt"), key: dir.join("tls.key") };
    let memory = Memory::within(limit_mib() << 20);
    let mut options = Options::new(any, any, paths);
    (options.memory_budget, options.max_connections) = (memory.budget, memory.connections);
    options.log_queue = Some(queue);
    let webhook = Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap();
    let bound = Server::bind(options, RequestHandler::new(ServedWebhook::new(webhook))).await.unwrap();
    let addresses = format!("{} {}", bound.local_addr().unwrap(), bound.admin_addr().unwrap());
    publish(&dir, &addresses);
    // No signal is ever sent: the sender stays silent.
    let (_trigger, shutdown) = Shutdown::channel();
    bound.run(shutdown).await.unwrap();
}

/// Publishes the addresses atomically.
fn publish(dir: &Path, addresses: &str) {
    fs::write(dir.join("new"), addresses).unwrap();
    fs::rename(dir.join("new"), dir.join(ADDRESSES)).unwrap();
}

/// Set if a log is written.
const LOGS: &str = "POINTSMAN_TEST_VICTIM_LOGS";
const LOG: &str = "log";
const DIR: &str = "POINTSMAN_TEST_VICTIM";
const ADDRESSES: &str = "addresses";
