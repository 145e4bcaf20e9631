//! The binary: flags, output, exit codes and signals.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn pointsman(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
    // Removes variables of the user, such as POINTSMAN_* and RUST_LOG.
    command.env_clear().current_dir(dir).args(args).stdin(Stdio::null());
    command
}

fn fails(args: &[&str], code: i32) -> String {
    let dir = TempDir::new().unwrap();
    let Output { status, stdout, stderr } = pointsman(dir.path(), args).output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(code), 0), "{stderr}");
    stderr
}

#[test]
fn missing_certificate_names_the_flags() {
    let error = fails(&["serve"], 2);
    assert_eq!(error, "error: no certificate to serve: set --tls-cert-file and --tls-private-key-file, or try --dev\n");
    assert_eq!(fails(&["serve", "--tls-cert-file", "tls.crt"], 2), error);
}

#[test]
fn missing_file_names_its_flag() {
    let error = fails(&["serve", "--tls-cert-file", "gone.crt", "--tls-private-key-file", "gone.key"], 1);
    assert_eq!(
        error,
        "error: failed to load the certificate to serve: failed to read gone.crt: No such file or directory (os error \
         2)\nhint: check --tls-cert-file and --tls-private-key-file\n"
    );
}

#[test]
fn wrong_flags_are_exit_code_2() {
    for args in [
        &["serve", "--dev", "--tls-cert-file", "x"][..],
        &["serve", "--dev", "--max-body", "64Ti"],
        &["serve", "--dev", "--shutdown-grace", "soon"],
        &["serve", "--dev", "--log-level", "a=b=c"],
        &["serve", "--dev", "--listen", "localhost"],
        &["serve", "--dev", "--max-body", "0"],
        &["serve", "--dev", "--memory-budget", "1"],
        &["serve", "--dev", "--max-connections", "0"],
        &["serve", "--dev", "--otlp-endpoint", "collector:4317"],
        &["sreve"],
    ] {
        fails(args, 2);
    }
}

#[test]
fn address_error_explains_the_format() {
    let error = fails(&["serve", "--dev", "--admin-listen", "localhost:8080"], 2);
    assert!(error.contains("takes an IP address and a port instead of a name, such as 127.0.0.1:8443"), "{error}");
}

#[test]
fn invalid_collector_is_named() {
    let error = fails(&["serve", "--dev", "--otlp-endpoint", "https://otel:4318"], 2);
    assert_eq!(
        error,
        "error: --otlp-endpoint: https://otel:4318 is no address of a collector: give http://HOST:PORT, such as \
         http://127.0.0.1:4318 (https is not spoken)\n"
    );
}

#[test]
fn log_colours_follow_the_terminal() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Logs the creation of a certificate, and exits.
    let command = format!("{} serve --dev --listen {}", env!("CARGO_BIN_EXE_pointsman"), taken.local_addr().unwrap());
    let coloured = |program: &str, args: &[&str], variable: (&str, &str)| {
        let dir = TempDir::new().unwrap();
        let mut terminal = Command::new(program);
        terminal.env_clear().env(variable.0, variable.1).current_dir(dir.path());
        let Output { stdout, .. } = terminal.args(args).arg(&command).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(stdout).unwrap();
        assert!(text.contains("INFO"), "{text}");
        text.contains('\u{1b}')
    };
    let terminal = ("/usr/bin/script", ["--quiet", "--log-out", "/dev/null", "--command"]);
    assert!(coloured(terminal.0, &terminal.1, ("TERM", "xterm")));
    assert!(!coloured(terminal.0, &terminal.1, ("NO_COLOR", "1")));
    assert!(!coloured(terminal.0, &terminal.1, ("TERM", "dumb")));
    assert!(!coloured("/bin/sh", &["-c", "exec 2>&1; eval \"$0\""], ("TERM", "xterm")));
}

#[test]
fn address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let error = fails(&["serve", "--dev", "--log-level", "error", "--listen", &addr], 1);
    assert!(error.starts_with(&format!("error: failed to listen on {addr}: ")), "{error}");
    assert!(error.ends_with("\nhint: check --listen and --admin-listen\n"), "{error}");
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn unknown_log_level_lists_levels() {
    for filter in ["trce", "info,trce", "3x", "pointsman_server=trce"] {
        let error = fails(&["serve", "--log-level", filter], 2);
        assert!(error.starts_with("error: --log-level: "), "{error}");
        assert!(error.contains("off, error, warn, info, debug or trace"), "{filter}: {error}");
    }
    assert_eq!(
        fails(&["serve", "--log-level", "trce"], 2),
        "error: --log-level: \"trce\" is no level: use off, error, warn, info, debug or trace, or MODULE=LEVEL\n"
    );
    for filter in ["off", "WARN", "info,pointsman_server=trace", "pointsman_server[span]=debug"] {
        let error = fails(&["serve", "--log-level", filter], 2);
        assert!(error.contains("no certificate to serve"), "{filter}: {error}");
    }
}

/// A `serve --dev` process on its own ports, killed on drop.
pub(crate) struct Dev {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Dev {
    /// Starts the process, and reads its output up to the last line of the start.
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        Self::spawn(pointsman(dir, &Self::ARGS).args(args))
    }

    const ARGS: [&str; 6] = ["serve", "--dev", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut dev = Self { child, stderr, said: String::new() };
        dev.says("pointsman serve --help\n");
        dev
    }

    /// Reads until the output contains a text.
    fn says(&mut self, what: &str) {
        self.says_so_often(what, 1);
    }

    fn says_so_often(&mut self, what: &str, times: usize) {
        while self.said.matches(what).count() < times {
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert!(read > 0, "it ended without {what}: {}", self.said);
        }
    }

    fn signal(&self) {
        self.kill("-TERM");
    }

    fn kill(&self, signal: &str) {
        let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        let addr = self.said.split_once("pointsman serves https://").unwrap().1;
        format!("https://{}{path}", addr.split_once(' ').unwrap().0)
    }

    /// The URL of the page.
    pub(crate) fn page(&self) -> String {
        self.said.lines().map(str::trim).find(|line| line.ends_with("/dev")).unwrap().to_owned()
    }

    /// The printed curl commands.
    fn commands(&self) -> Vec<String> {
        self.said.lines().map(str::trim).filter(|line| line.starts_with("curl ")).map(str::to_owned).collect()
    }

    pub(crate) fn terminate(self) -> (Option<i32>, String) {
        self.signal();
        self.ended()
    }

    /// Waits for the end, and returns the exit code and the remaining output.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // The process has usually ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn dev_commands_work_as_printed() {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("manifests/examples")).unwrap();
    fs::write(dir.path().join("manifests/examples/review.json"), "{}").unwrap();
    let dev = Dev::start(dir.path(), &[]);
    let commands = dev.commands();
    assert_eq!(commands.len(), 3, "{}", dev.said);
    let answers: Vec<_> = commands
        .iter()
        .map(|command| {
            let Output { status, stdout, stderr } =
                Command::new("sh").current_dir(dir.path()).args(["-c", command]).output().unwrap();
            assert!(status.success(), "{command}: {}", String::from_utf8_lossy(&stderr));
            String::from_utf8(stdout).unwrap()
        })
        .collect();
    // An empty object is an invalid review. Relevant here: the response is JSON, over TLS that curl trusts.
    let answer: serde_json::Value = serde_json::from_str(&answers[0]).unwrap();
    assert!(answer["kind"].is_string(), "{answer}");
    assert!(answers[1].contains("readyz check passed"), "{}", answers[1]);
    assert!(answers[2].contains("webhook_requests_total{"), "{}", answers[2]);
    let (code, rest) = dev.terminate();
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("SIGTERM"), "{rest}");
}

/// The printed commands name files of the repository.
#[test]
fn dev_names_only_existing_files() {
    let dir = TempDir::new().unwrap();
    let dev = Dev::start(dir.path(), &[]);
    assert!(!dev.said.contains("manifests/examples"), "{}", dev.said);
    assert!(dev.said.contains("--data @review.json"), "{}", dev.said);
}

#[test]
fn dev_certificate_is_private_and_reused() {
    let dir = TempDir::new().unwrap();
    let file = |name: &str| dir.path().join("certs/dev").join(name);
    let (code, _) = Dev::start(dir.path(), &[]).terminate();
    assert_eq!(code, Some(0));
    assert_eq!(fs::metadata(file("tls.key")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(file(".gitignore")).unwrap(), "*\n");
    let files: Vec<_> = fs::read_dir(dir.path().join("certs/dev")).unwrap().collect();
    assert_eq!(files.len(), 4, "the authority's key is not written: {files:?}");
    let ca = fs::read_to_string(file("ca.crt")).unwrap();

    Dev::start(dir.path(), &[]).terminate();
    assert_eq!(fs::read_to_string(file("ca.crt")).unwrap(), ca);

    // A damaged certificate is created again.
    fs::write(file("tls.crt"), "").unwrap();
    Dev::start(dir.path(), &[]).terminate();
    assert_ne!(fs::read_to_string(file("ca.crt")).unwrap(), ca);
}

#[test]
fn json_logs_are_lines() {
    let dir = TempDir::new().unwrap();
    let dev = Dev::start(dir.path(), &["--log-format", "json"]);
    let said: Vec<serde_json::Value> = dev
        .said
        .lines()
        .take_while(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(said.last().unwrap()["message"], "listening");
    let (code, rest) = dev.terminate();
    assert_eq!(code, Some(0));
    let rest: Vec<serde_json::Value> =
        rest.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rest[0]["signal"], "SIGTERM");
}

/// The server compares its registration with its flags. A mismatch is logged, and stops no request.
#[test]
fn misfit_registration_is_logged() {
    let dir = TempDir::new().unwrap();
    let printed = ["webhooks", "--kind", "materialize", "--side-by-side", "2.16.0,2.17.0", "--default", "2.16.0"];
    let printed =
        [&printed[..], &["--service", "pointsman/pointsman-{version}", "--cert-manager", "pointsman/tls"]].concat();
    let Output { stdout, stderr, .. } = pointsman(dir.path(), &printed).output().unwrap();
    assert!(!stdout.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    fs::write(dir.path().join("registered.yaml"), stdout).unwrap();
    let started = |flags: &[&str]| {
        let server = ["--registered", "registered.yaml", "--log-format", "json", "--controller-version", "2.16.0"];
        let dev = Dev::start(dir.path(), &[&server[..], flags].concat());
        let lines = dev.said.lines().filter(|line| line.starts_with('{'));
        let lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let told: Vec<_> = lines.filter(|line| line["level"] == "WARN").collect();
        assert_eq!(dev.terminate().0, Some(0));
        told
    };
    assert_eq!(started(&["--default-version", "--served-versions", "2.16.0,2.17.0"]), [serde_json::Value::Null; 0]);
    let told = started(&["--served-versions", "2.16.0,2.17.0"]);
    let changes: Vec<_> = told.iter().map(|line| &line["change"]).collect();
    assert_eq!(changes, ["start the server with --default-version"], "{told:?}");
    let error = fails(&["serve", "--dev", "--registered", "gone.yaml"], 1);
    assert!(error.contains("gone.yaml"), "{error}");
}

/// Changed definitions are loaded without a restart. An invalid definition changes nothing.
#[test]
fn changed_definitions_are_reloaded() {
    let dir = TempDir::new().unwrap();
    let kinds = dir.path().join("kinds");
    fs::create_dir(&kinds).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinds");
    for name in ["widgets.yaml", "widgets.crd.yaml"] {
        fs::copy(data.join(name), kinds.join(name)).unwrap();
    }
    let mut dev = Dev::start(dir.path(), &["--kinds", "kinds", "--no-built-in"]);
    assert!(dev.said.contains("kinds=\"Widget.example.com v1 v2\""), "{}", dev.said);
    let good = fs::read_to_string(kinds.join("widgets.yaml")).unwrap();
    fs::write(kinds.join("widgets.yaml"), good.replace("spec.port", "spec.prot")).unwrap();
    dev.says("definitions not reloaded; still serving the previous version");
    // A definition deeper than the stack limit is only invalid.
    let deep = good.replace("operations:", &format!("operations: {}{}\n    more:", "[".repeat(120), "]".repeat(120)));
    fs::write(kinds.join("widgets.yaml"), deep).unwrap();
    dev.says_so_often("still serving the previous version", 2);
    fs::write(kinds.join("widgets.yaml"), good).unwrap();
    dev.says("definitions reloaded");
    let metrics = Command::new("sh").args(["-c", &dev.commands()[2]]).output().unwrap().stdout;
    let metrics = String::from_utf8(metrics).unwrap();
    for line in ["pointsman_definition_reloads_total{result=\"error\"} 2", "{result=\"success\"} 1"] {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert_eq!(dev.terminate().0, Some(0));
}

#[test]
fn the_second_signal_aborts() {
    let dir = TempDir::new().unwrap();
    let mut dev = Dev::start(dir.path(), &["--lame-duck", "1h"]);
    dev.signal();
    dev.says("not ready any more");
    dev.signal();
    let (code, rest) = dev.ended();
    assert_eq!(code, Some(1), "{rest}");
    assert!(rest.contains("error: aborted by a second signal"), "{rest}");
}

/// More connections than file descriptors, on both ports: the server reserves some descriptors for other connections
/// and for files.
#[test]
fn server_survives_file_descriptor_exhaustion() {
    let dir = TempDir::new().unwrap();
    let mut limited = Command::new("sh");
    limited.env_clear().current_dir(dir.path()).stdin(Stdio::null());
    limited.args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_pointsman")]).args(Dev::ARGS);
    let dev = Dev::spawn(&mut limited);
    assert!(dev.said.contains("fewer connections than configured"), "{}", dev.said);
    let [_, livez, metrics] = <[String; 3]>::try_from(dev.commands()).unwrap();
    let addr: SocketAddr = dev.url("").trim_start_matches("https://").parse().unwrap();
    let admin = livez.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let admin: SocketAddr = admin.parse().unwrap();
    let connect = |addr| (0..60).map(|_| TcpStream::connect(addr).unwrap()).collect::<Vec<_>>();
    let crowd = [connect(addr), connect(admin)];
    let curl = format!(
        "curl --silent --max-time 5 --cacert certs/dev/ca.crt --output /dev/null --write-out '%{{http_code}}' {}",
        dev.url("/convert")
    );
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        let Output { stdout, .. } = shell.current_dir(dir.path()).args(["-c", command]).output().unwrap();
        String::from_utf8(stdout).unwrap()
    };
    assert_eq!(run(&curl), "405");
    assert!(run(&livez).contains("readyz check passed"));
    assert!(run(&metrics).contains("certificate_reloads_total{result=\"error\"} 0"));
    drop(crowd);
    let (code, rest) = dev.terminate();
    assert_eq!(code, Some(0));
    assert!(!rest.contains("failed to"), "{rest}");
}

#[test]
fn descriptor_limit_is_raised() {
    let dir = TempDir::new().unwrap();
    let mut limited = Command::new("sh");
    limited.env_clear().current_dir(dir.path()).stdin(Stdio::null());
    limited
        .args(["-c", "ulimit -Sn 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_pointsman")])
        .args(Dev::ARGS)
        .args(["--max-connections", "300"]);
    let dev = Dev::spawn(&mut limited);
    let limits = fs::read_to_string(format!("/proc/{}/limits", dev.id())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(soft, 300 + 64 + 32);
    assert_eq!(dev.terminate().0, Some(0));
}

/// If no process reads stderr and the pipe is full, requests continue and SIGTERM ends the process.
#[test]
fn unread_log_blocks_nothing() {
    let dir = TempDir::new().unwrap();
    let mut dev = Dev::start(dir.path(), &["--log-level", "trace", "--lame-duck", "100ms"]);
    let url = dev.url("/convert");
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -s --max-time 10 --cacert certs/dev/ca.crt -o /dev/null \
                  -w '%{http_code}\n' \"$0/[1-100]\" | sort | uniq -c; done";
    let Output { stdout, .. } = Command::new("sh").current_dir(dir.path()).args(["-c", script, &url]).output().unwrap();
    let answered = String::from_utf8(stdout).unwrap();
    let counts: Vec<_> = answered.lines().map(str::trim).collect();
    assert_eq!(counts, ["100 404"; 12], "{answered}");
    let metrics = dev.commands().pop().unwrap();
    let Output { stdout, .. } = Command::new("sh").args(["-c", &metrics]).output().unwrap();
    let metrics = String::from_utf8(stdout).unwrap();
    let lost = metrics.lines().find_map(|line| line.strip_prefix("pointsman_log_lines_lost_total ")).unwrap();
    assert_ne!(lost, "0");

    let begun = Instant::now();
    dev.signal();
    assert_eq!(dev.child.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn odd_start_is_logged_sighup_ignored() {
    let dir = TempDir::new().unwrap();
    let ports = ["--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"];
    let mut dev = Dev::spawn(pointsman(dir.path(), &["serve", "--dev"]).args(ports));
    assert!(dev.said.contains("--dev is reachable from other machines"), "{}", dev.said);
    assert!(!dev.said.contains("every user can read"), "{}", dev.said);
    dev.kill("-HUP");
    dev.says("SIGHUP");
    let (code, rest) = dev.terminate();
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("SIGTERM"), "{rest}");

    let key = dir.path().join("certs/dev/tls.key");
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap();
    let dev = Dev::start(dir.path(), &[]);
    assert!(dev.said.contains("every user can read the private key"), "{}", dev.said);
    assert_eq!(dev.terminate().0, Some(0));
}
