//! Processes that never outlive the test run, however the test run ends.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A program that runs until the value is dropped. Its output is written to a file.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    ended: bool,
}

impl Process {
    pub(crate) fn start(name: &str, program: &Path, args: &[String], log: &Path) -> Self {
        let out = File::options().create(true).append(true).open(log).unwrap();
        let err = out.try_clone().unwrap();
        let child = Command::new(program)
            .args(args)
            // Go programs collect garbage four times less often than by default, up to a soft limit: garbage collection
            // is a sixth of the work of a kube-apiserver here.
            .envs([("GOGC", "400"), ("GOMEMLIMIT", "1500MiB")])
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // Ctrl-C reaches the test run alone; at the end of the test run the watchdog kills the program.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        tell_watchdog("add", child.id());
        Self { name: name.to_owned(), child, log: log.to_owned(), ended: false }
    }

    /// The end of the log and the exit status, if the program has ended.
    pub(crate) fn obituary(&mut self) -> Option<String> {
        let status = self.child.try_wait().unwrap()?;
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(12)..].join("\n");
        Some(format!("{} ended with {status}:\n{tail}", self.name))
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.ask();
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.bury();
                return Some(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        None
    }

    /// Sends SIGTERM and does not wait.
    pub(crate) fn ask(&self) {
        self.signal("TERM");
    }

    /// The peak memory in KiB; `None` once the program has ended (proc(5), `VmHWM`).
    pub(crate) fn most_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// SIGSTOP: suspends the program, without its knowledge, until [`Self::thaw`].
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.signal("INT");
    }

    fn signal(&self, name: &str) {
        // std can send SIGKILL only.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args([&format!("-{name}"), &pid]).status();
    }

    /// Waits for the end. Returns the exit code, or `None` while the program still runs.
    pub(crate) fn end(&mut self, patience: Duration) -> Option<i32> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.bury();
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.bury();
        }
    }

    fn bury(&mut self) {
        self.ended = true;
        tell_watchdog("drop", self.child.id());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A shell that reads the list of processes. When this end of the pipe closes, because the test run ended or was
/// killed, the shell kills the processes and removes their directories. A parent-death signal would need unsafe code,
/// and would follow the thread instead of the process.
static WATCHDOG: LazyLock<Mutex<Child>> = LazyLock::new(|| {
    let child = Command::new("sh").args(["-c", WATCH]).stdin(Stdio::piped()).process_group(0).spawn().unwrap();
    Mutex::new(child)
});

const WATCH: &str = r#"
pids= dirs=
while read -r what it; do
    case $what in
        add) pids="$pids $it " ;;
        drop) pids=$(echo "$pids" | sed "s/ $it / /") ;;
        dir) dirs="$dirs $it" ;;
    esac
done
[ -z "${pids# }" ] || kill -9 $pids 2>/dev/null
sleep 1
[ -z "$dirs" ] || rm -rf $dirs
"#;

/// Removes a directory at the end of the test run.
pub(crate) fn remove_at_the_end(dir: &Path) {
    tell_watchdog("dir", dir.display());
}

fn tell_watchdog(what: &str, it: impl Display) {
    let mut watchdog = WATCHDOG.lock().unwrap();
    let pipe = watchdog.stdin.as_mut().unwrap();
    writeln!(pipe, "{what} {it}").unwrap();
}

/// A free loopback port, reserved for the caller. Linux takes the ports of outgoing connections, and ports that it
/// chooses for listeners, from 32768 up (net.ipv4.ip_local_port_range). A connection of a busy test cluster could take
/// such a port between its choice and its use.
pub(crate) fn free_port() -> u16 {
    static NEXT: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(std::process::id() * 1000));
    const FIRST: u16 = 12_000;
    let mut next = NEXT.lock().unwrap();
    for _ in FIRST..32_768 {
        *next = next.wrapping_add(1);
        let port = FIRST + u16::try_from(*next % u32::from(32_768 - FIRST)).unwrap();
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
    panic!("no port from {FIRST} to 32767 is free");
}

/// The time limit for expected events, and for the end of a busy program, where the duration is not under test. Only
/// failing tests wait that long. Five minutes suit loaded machines: test clusters run in parallel, and Go compiles at
/// the same time. Three migrations of 120 objects take a few seconds when alone, and have taken more than one minute.
pub(crate) const SOON: Duration = Duration::from_secs(300);

/// Polls until there is a result: often at first, then less often, since frequent polling slows the API server down.
///
/// # Panics
/// If the time limit passes, with the name of the expected event.
pub(crate) fn eventually<T>(what: &str, patience: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(20);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what}: not within {patience:?}");
        thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(100));
    }
}
