//! Server processes: started, measured through `/proc`, and ended.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tempfile::TempDir;

use crate::client::Target;
use crate::nothing;
use crate::scenario::{Call, Protocol, Scenario};

/// The servers that can be measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Program {
    /// This project's program.
    Pointsman,
    /// Pointsman's listener with a prepared response.
    Null,
    /// hyper on tokio-rustls with the same response.
    Plain,
    /// `benches/rivals/axum`.
    Axum,
    /// `benches/rivals/controller-runtime`.
    ControllerRuntime,
    /// A server that was started outside this benchmark.
    #[value(skip)]
    Running,
}

impl Program {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pointsman => "pointsman",
            Self::Null => "null",
            Self::Plain => "plain",
            Self::Axum => "axum",
            Self::ControllerRuntime => "controller-runtime",
            Self::Running => "running",
        }
    }

    /// Returns whether the server supports the call. The rivals support conversion only.
    pub(crate) fn answers(self, call: Call) -> bool {
        call == Call::Convert || !matches!(self, Self::Axum | Self::ControllerRuntime)
    }

    fn command(self, port: u16, certs: &Path, scenario: &Scenario) -> Command {
        let rival = |name: &str| {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/rivals").join(name);
            assert!(file.exists(), "{} is missing: benches/rivals/build.sh makes it", file.display());
            let mut command = Command::new(file);
            command.arg(port.to_string()).arg(certs);
            command
        };
        match self {
            Self::Axum => rival("axum"),
            Self::ControllerRuntime => rival("controller-runtime"),
            Self::Null | Self::Plain => {
                let answer = certs.join(format!("answer-{port}"));
                fs::write(&answer, nothing::answer(scenario)).expect("an answer");
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.args(["--be", self.name(), &port.to_string()]).arg(certs).arg(answer);
                command
            }
            Self::Pointsman | Self::Running => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
                command.args(["serve", "--admin-listen", "127.0.0.1:0", "--log-level", "warn"]);
                command.args(["--listen", &format!("127.0.0.1:{port}")]);
                command.arg("--tls-cert-file").arg(certs.join("tls.crt"));
                command.arg("--tls-private-key-file").arg(certs.join("tls.key"));
                // Limits for reviews of 20,000 objects. Unused limits have no cost.
                command.args(["--max-body", "256Mi", "--memory-budget", "2Gi"]);
                command
            }
        }
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) target: Target,
    pid: Option<u32>,
    /// The process, killed when dropped.
    child: Option<Child>,
    started: Instant,
    /// The time from the start to the first response.
    pub(crate) startup: Option<Duration>,
    /// Memory use after the first response, in bytes.
    pub(crate) idle: Option<u64>,
    _certs: Option<TempDir>,
}

impl Server {
    pub(crate) fn running(target: Target, pid: Option<u32>) -> Self {
        let (child, started) = (None, Instant::now());
        Self { program: Program::Running, target, pid, child, started, startup: None, idle: None, _certs: None }
    }

    pub(crate) fn start(program: Program, pin: Option<usize>, scenario: &Scenario) -> Self {
        let certs = TempDir::new().expect("a directory");
        let pair = pointsman_server::prepare_dev_pair(certs.path()).expect("certificates");
        let port = free_port();
        let mut command = program.command(port, certs.path(), scenario);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        // A child inherits the processors of the thread that starts it.
        let child = on(pin, || command.spawn().expect("a server"));
        let target = Target::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &pair.ca);
        let pid = Some(child.id());
        Self { program, target, pid, child: Some(child), started, startup: None, idle: None, _certs: Some(certs) }
    }

    /// Waits for the first response, and repeats requests until caches and counters are warm.
    pub(crate) async fn warm_up(&mut self, scenario: &Scenario, only_start: bool) {
        let mut connection = loop {
            if let Ok(connection) = self.target.connect(Protocol::Http1).await {
                break connection;
            }
            assert!(self.started.elapsed() < Duration::from_secs(20), "{} does not start", self.program.name());
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        self.startup = self.child.as_ref().map(|_| self.started.elapsed());
        self.idle = self.held();
        let times = if only_start || scenario.objects > 1000 { 1 } else { 200_usize.div_ceil(scenario.objects) };
        for time in 0..times {
            let answer = connection.ask(scenario).await.expect("an answer");
            if time == 0 {
                scenario.check(&answer);
            }
        }
    }

    /// The CPU time of the server's threads, kernel time included.
    pub(crate) fn cpu(&self) -> Duration {
        let Some(pid) = self.pid else { return Duration::ZERO };
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let times = tasks.filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
        times.filter_map(|time| time.split(' ').next()?.parse().ok()).map(Duration::from_nanos).sum()
    }

    /// The peak memory use, in bytes.
    pub(crate) fn peak(&self) -> Option<u64> {
        self.memory("VmHWM:")
    }

    /// The current memory use, in bytes.
    pub(crate) fn held(&self) -> Option<u64> {
        self.memory("VmRSS:")
    }

    fn memory(&self, line: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid?)).ok()?;
        let value = status.lines().find_map(|text| text.strip_prefix(line))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Fails if the process has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The load averages of the last 1, 5 and 15 minutes. Latencies are meaningful only at low load.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// An unused port.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Leaves a processor to the servers.
pub(crate) fn keep_off(pin: Option<usize>) {
    let Some(pin) = pin else { return };
    let mut others = sched_getaffinity(None).expect("processors");
    others.unset(pin);
    assert!(others.count() > 0, "--pin {pin} leaves no processor to the client");
    sched_setaffinity(None, &others).expect("processors of the client");
}

/// Runs a function on one processor.
fn on<T>(pin: Option<usize>, run: impl FnOnce() -> T) -> T {
    let Some(pin) = pin else { return run() };
    let before = sched_getaffinity(None).expect("processors");
    let mut only = CpuSet::new();
    only.set(pin);
    sched_setaffinity(None, &only).expect("a processor for the server");
    let done = run();
    sched_setaffinity(None, &before).expect("processors of the client");
    done
}
