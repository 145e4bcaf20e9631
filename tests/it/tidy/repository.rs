//! What is in the repository, what it depends on, and what is said of it in its history.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::tree::{PACKAGES, files, nothing, path, read};

/// Crates that decide nothing: they look at the world, or talk to it.
const IMPURE: [&str; 8] = ["clap", "hyper", "k8s-openapi", "kube", "notify", "prometheus", "rustls", "tokio"];

/// How many crates somebody gets who uses the core as a library, the core itself with them.
const CRATES: usize = 50;

/// The first commit before the messages that are read.
const BASE: &str = "10baba7";

/// What a program says, or `None` where it fails.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).current_dir(path("")).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_core_depends_on_little() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let args = ["tree", "-p", "pointsman-core", "-e", "normal", "--prefix", "none", "--offline"];
    let tree = said(&cargo, &args).expect("cargo tree");
    let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    assert!(crates.len() <= CRATES, "{} crates:\n{tree}", crates.len());
    for line in crates {
        let name = line.split(' ').next().unwrap();
        let impure = IMPURE.contains(&name) || name.starts_with("tracing");
        assert!(!impure, "{name} came into the core");
    }
}

/// The lines of a section of a manifest that name a dependency.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let text = read(manifest);
    let section = text.split(&format!("\n[{section}]\n")).nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap();
    section.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn dependencies_say_what_they_are_for() {
    let architecture = read("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for package in PACKAGES {
        let manifest = package.replace("src", "Cargo.toml");
        for line in dependencies(&manifest, "dependencies") {
            let name = line.split([' ', '.']).next().unwrap();
            if !line.contains(" # ") {
                wrong.push(format!("{manifest}: what is {name} for?"));
            }
            if !name.starts_with("pointsman") && !architecture.contains(&format!("`{name}`")) {
                wrong.push(format!("ARCHITECTURE.md, Dependencies: {name} is missing"));
            }
        }
    }
    nothing(&wrong);
    let lock = read("Cargo.lock");
    for name in ["axum", "openssl", "serde_yaml"] {
        let found = lock.contains(&format!("\nname = \"{name}\"\n"));
        assert!(!found, "{name} came in: see ARCHITECTURE.md, Decisions");
    }
}

/// What serves has no rights in a cluster, and no framework between a socket and the door.
#[test]
fn the_server_knows_no_cluster() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let args = ["tree", "-p", "pointsman-server", "-e", "normal", "--prefix", "none", "--offline"];
    let tree = said(&cargo, &args).expect("cargo tree");
    assert!(tree.contains("hyper "), "{tree}");
    for name in ["k8s-openapi", "kube", "pointsman-cluster", "tower"] {
        let found = tree.lines().any(|line| line.split(' ').next() == Some(name));
        assert!(!found, "{name} came into the server: see ARCHITECTURE.md, Decisions");
    }
}

#[test]
fn unsafe_code_is_forbidden() {
    let lints = dependencies("Cargo.toml", "workspace.lints.rust");
    assert!(lints.iter().any(|line| line == "unsafe_code = \"forbid\""), "{lints:?}");
    for package in PACKAGES {
        let lints = dependencies(&package.replace("src", "Cargo.toml"), "lints");
        assert_eq!(lints, ["workspace = true"], "{package}");
    }
}

#[test]
fn no_key_is_kept_here() {
    let marker = concat!("PRIVATE", " KEY-----");
    for file in files("") {
        let bytes = fs::read(path(&file)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let ignored = file.starts_with("certs/") && !file.ends_with(".md");
        assert!(ignored || !text.contains(marker), "{file} holds a key");
    }
    let ignored = read(".gitignore");
    for pattern in ["/certs/*.key", "/certs/*.pem", "/certs/dev"] {
        assert!(ignored.lines().any(|line| line == pattern), ".gitignore: {pattern} is missing");
    }
}

#[test]
fn everybody_runs_the_same_test_command() {
    let ci = read(".ci/run");
    let last = ci.lines().rev().find(|line| !line.is_empty()).unwrap();
    let command = last.strip_prefix("run ").unwrap();
    assert!(command.starts_with("cargo test"), ".ci/run ends with the tests");
    for document in ["README.md", "CONTRIBUTING.md"] {
        assert!(read(document).contains(command), "{document}: {command}");
    }
}

/// A path of somebody's machine says nothing to anybody else.
#[test]
fn commit_messages_name_no_place_outside() {
    // A copy without its history has nothing to say.
    let history = said("git", &["log", "--format=%h %B", &format!("{BASE}..HEAD")]);
    let history = history.unwrap_or_default();
    let wrong = history.lines().filter(|line| {
        let words = line.split(|sign: char| sign.is_whitespace() || "'\"`(".contains(sign));
        let outside = ["/home/", "/root/", "/tmp/", "/work/"];
        words.into_iter().any(|word| outside.iter().any(|start| word.starts_with(start)))
    });
    nothing(&wrong.map(str::to_owned).collect::<Vec<_>>());
}

/// Whether the laws find a planted bug takes a build each; whether it can be planted does not.
#[test]
fn bugs_can_be_planted() {
    // The formatter adds and drops white space and commas.
    let dense = |text: &str| -> String { text.chars().filter(|sign| !sign.is_whitespace() && *sign != ',').collect() };
    let mut wrong = Vec::new();
    for bug in files("tests/mutants") {
        let text = read(&bug);
        let (source, rest) = text.split_once("\n--- instead of\n").unwrap();
        let (piece, _) = rest.split_once("\n+++ planted\n").unwrap();
        let found = match fs::read_to_string(path(source)) {
            Ok(code) => dense(&code).matches(&dense(piece)).count(),
            Err(_) => 0,
        };
        if found != 1 {
            wrong.push(format!("{bug}: stands {found} times in {source}"));
        }
    }
    nothing(&wrong);
}
