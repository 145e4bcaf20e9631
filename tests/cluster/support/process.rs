//! Processes that never outlive the test run, however it ends.

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

/// A program that runs until it is dropped. What it prints goes to a file.
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
            // Programs in Go collect garbage four times less often than by default, up to a soft limit: a sixth of
            // what a kube-apiserver does here is that.
            .envs([("GOGC", "400"), ("GOMEMLIMIT", "1500MiB")])
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // Not ours to interrupt: Ctrl-C reaches the test run, and its end the watchdog.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        tell_watchdog("add", child.id());
        Self { name: name.to_owned(), child, log: log.to_owned(), ended: false }
    }

    /// The end of the log and the exit status, where the program is gone already.
    pub(crate) fn obituary(&mut self) -> Option<String> {
        let status = self.child.try_wait().unwrap()?;
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(12)..].join("\n");
        Some(format!("{} ended with {status}:\n{tail}", self.name))
    }

    /// Asks it to end, and waits.
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

    /// The most memory that it had so far, in KiB; nothing once it has ended (proc(5), `VmHWM`).
    pub(crate) fn most_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// SIGSTOP: it does nothing until it is thawed, and does not know.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// What Ctrl-C sends.
    pub(crate) fn interrupt(&self) {
        self.signal("INT");
    }

    fn signal(&self, name: &str) {
        // std knows only SIGKILL.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args([&format!("-{name}"), &pid]).status();
    }

    /// Waits for its end: its exit code, or nothing where it goes on.
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

/// A shell that reads which processes there are. When our end of its pipe closes, because we ended or were killed, it
/// kills them and removes
/// their directories. A parent-death signal would need unsafe code, and would follow the thread instead of the process.
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

/// Has a directory removed when all is over.
pub(crate) fn remove_at_the_end(dir: &Path) {
    tell_watchdog("dir", dir.display());
}

fn tell_watchdog(what: &str, it: impl Display) {
    let mut watchdog = WATCHDOG.lock().unwrap();
    let pipe = watchdog.stdin.as_mut().unwrap();
    writeln!(pipe, "{what} {it}").unwrap();
}

/// A loopback port that nobody listens on, and that nobody gets but who asks for it here: Linux takes the ports of
/// outgoing connections, and those of whoever lets it choose, from 32768 up (net.ipv4.ip_local_port_range), and a
/// connection of a busy test_cluster would have one of these between its choice and its use.
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

/// How long is waited for what comes by itself, and for a program that has much to do before it ends, where how fast
/// that is is not what is tested. It costs only those who fail. Five minutes is for machines that have much else to
/// do: beds run beside each other, and Go compiles beside them; three migrations of 120 objects, a few seconds when
/// alone, have taken more than one.
pub(crate) const SOON: Duration = Duration::from_secs(300);

/// Asks again and again until there is an answer: soon at first, and less often the longer it takes, since an API
/// server that many ask all the time has less time for what they wait for.
///
/// # Panics
/// When there is none in time, with what was waited for.
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
