//! Runs every command in a `console` block of the documents, and compares the output.
//!
//! A line `...` matches any lines. Commands run in a copy of the repository made of links, so that their files are
//! temporary. With `POINTSMAN_BLESS=1`, the test writes the outputs into the documents; read the difference.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

const SERVE: &str = "pointsman serve --dev";

/// A command, and the output in the document.
struct Session {
    document: String,
    /// The line of the command, from 1.
    line: usize,
    command: String,
    output: Vec<String>,
}

/// The pages with console blocks.
fn documents() -> Vec<String> {
    let pages = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap();
    let pages = pages.map(|page| format!("docs/{}", page.unwrap().file_name().to_str().unwrap()));
    let mut pages: Vec<String> = pages.filter(|page| page.ends_with(".md")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// The sessions of a document, in order.
fn sessions(document: &str) -> Vec<Session> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document)).unwrap();
    let mut sessions: Vec<Session> = Vec::new();
    let (mut within, mut goes_on) = (false, false);
    for (index, line) in text.lines().enumerate() {
        match line {
            "```console" => within = true,
            "```" => within = false,
            _ if !within => {}
            _ if line.starts_with("$ ") => {
                goes_on = unfinished(line);
                let (document, command) = (document.to_owned(), line[2..].to_owned());
                sessions.push(Session { document, line: index + 1, command, output: Vec::new() });
            }
            _ => {
                let session = sessions.last_mut().expect("a block begins with `$ `");
                if goes_on {
                    session.command.push('\n');
                    session.command.push_str(line);
                    goes_on = unfinished(line);
                } else {
                    session.output.push(line.to_owned());
                }
            }
        }
    }
    sessions
}

fn unfinished(line: &str) -> bool {
    line.ends_with('\\') || line.ends_with('|')
}

/// Compares shown lines with printed lines.
fn agree(shown: &[String], lines: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any == "..." => (0..=lines.len()).any(|skipped| agree(rest, &lines[skipped..])),
        Some((first, rest)) => lines.split_first().is_some_and(|(line, lines)| line == first && agree(rest, lines)),
    }
}

fn assert_agrees(session: &Session, said: &str) {
    let lines: Vec<&str> = said.trim_end_matches('\n').lines().collect();
    assert!(
        agree(&session.output, &lines),
        "{}:{}: $ {}\nsays\n{said}\nwhere the document shows\n{}",
        session.document,
        session.line,
        session.command,
        session.output.join("\n")
    );
}

/// Writes the output of a command into its document.
fn bless(session: &Session, said: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&session.document);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let start = session.line - 1 + session.command.lines().count();
    lines.splice(start..start + session.output.len(), said.lines());
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// The repository as links, with the binary in PATH.
struct Clone {
    dir: TempDir,
    path: String,
}

impl Clone {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["crates", "docs", "examples", "manifests", "tests"] {
            symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), dir.path().join(name)).unwrap();
        }
        let bin = Path::new(env!("CARGO_BIN_EXE_pointsman")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        Self { dir, path }
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", &self.path)
            .stdin(Stdio::null());
        command
    }
}

#[test]
fn documented_output_is_current() {
    let clone = Clone::new();
    let mut run = 0;
    let blessing = std::env::var_os("POINTSMAN_BLESS").is_some();
    // In reverse order, so that a written output moves no later session.
    let all: Vec<Session> = documents().iter().flat_map(|document| sessions(document)).collect();
    for session in all.into_iter().rev() {
        let Session { command, .. } = &session;
        let elsewhere = command == SERVE || command.starts_with("curl ");
        if elsewhere {
            continue;
        }
        // Both streams in their order, as on a terminal.
        let script = format!("exec 2>&1\n{command}");
        let said = clone.command(&script).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        // An output that agrees keeps its omissions.
        let lines: Vec<&str> = said.lines().collect();
        if blessing && !agree(&session.output, &lines) {
            bless(&session, &said);
        } else {
            assert_agrees(&session, &said);
        }
        run += 1;
    }
    assert!(run >= 9, "only {run} commands are run");
}

/// A server process, killed on drop.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // The process has usually ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn readme_server_responds_as_shown() {
    let clone = Clone::new();
    let sessions = sessions("README.md");
    let serve = sessions.iter().find(|session| session.command == SERVE);
    let serve = serve.unwrap();
    // Its own ports, so that two tests on one machine do not conflict.
    let script = "exec pointsman serve --dev --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0";
    let mut child = clone.command(script).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let _serving = Serving(child);
    let mut said = String::new();
    while !said.contains("pointsman serve --help\n") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended: {said}");
    }
    let address = |before: &str| {
        let (_, after) = said.split_once(before).unwrap();
        let end = after.find([' ', '/', '\n']).unwrap();
        after[..end].to_owned()
    };
    let ports = [(address("serves https://"), "127.0.0.1:8443"), (address("curl 'http://"), "127.0.0.1:8080")];
    let shown = ports.iter().fold(said.clone(), |said, (address, shown)| said.replace(address, shown));
    assert_agrees(serve, &shown);

    let mut curls = 0;
    let all: Vec<Session> = documents().iter().flat_map(|document| self::sessions(document)).collect();
    for session in all.iter().filter(|session| session.command.starts_with("curl ")) {
        let command =
            ports.iter().fold(session.command.clone(), |command, (address, shown)| command.replace(shown, address));
        let output = clone.command(&command).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        assert_agrees(session, &String::from_utf8(output.stdout).unwrap());
        curls += 1;
    }
    assert_eq!(curls, 2);
}

/// Commands that need a cluster have existing subcommands and flags.
#[test]
fn cluster_commands_use_existing_flags() {
    let clone = Clone::new();
    let nowhere = TempDir::new().unwrap();
    // Never the cluster of the user: without HOME, the kubeconfig would be found by the user database.
    let cluster = "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], \
                   clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}";
    let kubeconfig = nowhere.path().join("kubeconfig");
    fs::write(&kubeconfig, cluster).unwrap();
    let mut tried = 0;
    for document in documents() {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&document)).unwrap();
        for line in shell(&text) {
            let commands = line.split('|').map(str::trim).filter(|part| part.starts_with("pointsman "));
            for command in commands {
                // Files and cluster are absent, so the command ends at once, with exit code 2 for an unknown flag.
                let mut command_there = clone.command(command);
                command_there.current_dir(&nowhere).env("HOME", nowhere.path()).env("KUBECONFIG", &kubeconfig);
                let output = command_there.output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.code().is_some_and(|code| code < 2), "{document}: {command}\n{said}");
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "only {tried} commands are tried");
}

/// The complete lines of blocks that need a cluster.
fn shell(text: &str) -> Vec<String> {
    let mut within = false;
    let mut lines: Vec<String> = Vec::new();
    for line in text.replace("\\\n", " ").lines().map(str::trim) {
        match line {
            "```sh" => within = true,
            "```" => within = false,
            _ if within => lines.push(line.to_owned()),
            _ => {}
        }
    }
    lines
}

/// The first block has two commands: the main job, and all tests.
#[test]
fn readme_begins_with_two_commands() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let block = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let [job, tests] = block.lines().collect::<Vec<_>>()[..] else { panic!("{block}") };
    assert_eq!(tests, "cargo test --locked");
    let job = job.strip_prefix("cargo run --locked -- ").unwrap();
    let done = Clone::new().command(&format!("pointsman {job}")).output().unwrap();
    assert!(done.status.success() && !done.stdout.is_empty(), "{done:?}");
}
