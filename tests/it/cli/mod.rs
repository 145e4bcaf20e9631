//! The offline commands, with the binary as a process.

mod connect;
mod convert;
mod crd;
mod doctor;
mod drafts;
mod golden;
mod hash;
mod help;
mod input;
mod kinds;
mod mutations;
mod plan;
mod rollouts;
mod terminal;
mod trial;
mod validate;
mod webhooks;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A directory with a kind for two controllers.
const ELASTICSEARCH: &str = "examples/kinds/elasticsearch";

/// The result of a command.
struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs the command in the repository, as the examples do.
fn pointsman(args: &[&str]) -> Answer {
    with_stdin(args, b"")
}

fn with_stdin(args: &[&str], stdin: &[u8]) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(args)
        .env_clear()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // The command may exit before it reads all input.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Answer {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Answer {
    /// The output of a successful command without any warning.
    #[track_caller]
    fn data(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// The output of a command with warnings about invalid objects only.
    #[track_caller]
    fn data_of_invalid(self) -> String {
        let is_warning = |line: &str| line.starts_with("warning: ") && line.contains("is not valid at");
        assert!(self.code == 0 && self.stderr.lines().all(is_warning), "{}", self.stderr);
        self.stdout
    }

    /// The error of a command without output.
    #[track_caller]
    fn refusal(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{}", self.stderr);
        self.stderr
    }
}

#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn read(file: impl AsRef<Path>) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}
