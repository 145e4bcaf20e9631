//! The files of the repository, its dependencies and its history.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::tree::{PACKAGES, files, nothing, path, read};

/// Crates with I/O, which the core must not use.
const IMPURE: [&str; 8] = ["clap", "hyper", "k8s-openapi", "kube", "notify", "prometheus", "rustls", "tokio"];

/// Maximum number of crates for a user of the core as a library, including the core. Three of them are `regex`, for
/// patterns, and sixteen the parser of `cel`, for expressions.
const CRATES: usize = 69;

/// The parent of the first checked commit.
const BASE: &str = "10baba7";

/// The output of a program, or `None` after a failure.
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

/// The dependency lines in a section of a manifest.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let text = read(manifest);
    let section = text.split(&format!("\n[{section}]\n")).nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap();
    section.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// `--locked` checks of the other workspaces fail if their lock files lack a dependency of these crates.
#[test]
fn lock_files_follow_manifests() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for file in ["examples/Cargo.lock", "fuzz/Cargo.lock"] {
        for package in read(file).split("[[package]]\n") {
            // The name, the version and, for crates of this repository, the dependencies.
            let mut words = package.split('"').skip(1).step_by(2).map(|word| word.split(' ').next().unwrap());
            let manifest = match words.next() {
                Some("pointsman-core") => "crates/core/Cargo.toml",
                Some("pointsman-rollout") => "crates/rollout/Cargo.toml",
                _ => continue,
            };
            let locked: BTreeSet<&str> = words.skip(1).collect();
            let lines = dependencies(manifest, "dependencies");
            let named: BTreeSet<&str> = lines.iter().map(|line| line.split([' ', '.']).next().unwrap()).collect();
            if locked != named {
                wrong.push(format!("{file}: not as {manifest}: run cargo metadata beside the file"));
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 3, "the examples use the core, the fuzz targets also rollouts");
    nothing(&wrong);
}

#[test]
fn dependencies_have_reasons() {
    let mut wrong = Vec::new();
    for package in PACKAGES {
        let manifest = package.replace("src", "Cargo.toml");
        for line in dependencies(&manifest, "dependencies") {
            let name = line.split([' ', '.']).next().unwrap();
            if !line.contains(" # ") {
                wrong.push(format!("{manifest}: {name} has no reason"));
            }
        }
    }
    nothing(&wrong);
    let lock = read("Cargo.lock");
    for name in ["axum", "openssl", "serde_yaml"] {
        let found = lock.contains(&format!("\nname = \"{name}\"\n"));
        assert!(!found, "{name} came in: see docs/decisions.md");
    }
}

/// The server has no rights in a cluster, and no framework between sockets and the `Webhook`.
#[test]
fn the_server_knows_no_cluster() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let args = ["tree", "-p", "pointsman-server", "-e", "normal", "--prefix", "none", "--offline"];
    let tree = said(&cargo, &args).expect("cargo tree");
    assert!(tree.contains("hyper "), "{tree}");
    for name in ["k8s-openapi", "kube", "pointsman-cluster", "tower"] {
        let found = tree.lines().any(|line| line.split(' ').next() == Some(name));
        assert!(!found, "{name} came into the server: see docs/decisions.md");
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

/// CI runs the same tests in parts, fast tests first, and omits none.
#[test]
fn everybody_runs_the_same_tests() {
    let ci = read(".ci/run");
    let command = "cargo test --locked";
    let pieces: Vec<&str> = ci.lines().filter_map(|line| line.strip_prefix(&format!("run {command} "))).collect();
    assert!(ci.trim_end().ends_with(pieces.last().unwrap()), ".ci/run ends with the tests");
    let run: BTreeSet<String> =
        pieces.iter().flat_map(|flags| flags.split("--")).map(|flag| flag.trim().to_owned()).collect();
    let packages = ["".to_owned()]
        .into_iter()
        .chain(PACKAGES.iter().filter_map(|sources| sources.strip_suffix("src")).map(str::to_owned));
    let targets = packages.flat_map(|package| files_of_tests(&package));
    let all: BTreeSet<String> = ["", "lib", "bins", "doc"]
        .into_iter()
        .map(str::to_owned)
        .chain(targets.map(|name| format!("test {name}")))
        .collect();
    assert_eq!(run, all);
    for document in ["README.md", "CONTRIBUTING.md"] {
        assert!(read(document).contains(command), "{document}: {command}");
    }
}

/// The test targets of a package for cargo: a file below `tests`, or a folder with a `main.rs`. Cargo.toml may give the
/// folder another name.
fn files_of_tests(package: &str) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(path(&format!("{package}tests"))) else { return BTreeSet::new() };
    let manifest = read(&format!("{package}Cargo.toml"));
    let names = entries.map(|entry| entry.unwrap()).filter_map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        let named = manifest.split_once(&format!("\"\npath = \"tests/{name}/main.rs\"")).map(|(before, _)| before);
        let named = named.and_then(|before| before.rsplit_once("name = \"")).map(|(_, named)| named.to_owned());
        let is_folder = entry.path().join("main.rs").exists();
        name.strip_suffix(".rs").map(str::to_owned).or_else(|| is_folder.then(|| named.unwrap_or(name)))
    });
    names.collect()
}

/// Commit messages contain no local path.
#[test]
fn commit_messages_name_no_place_outside() {
    // A copy without history is not checked.
    let history = said("git", &["log", "--format=%h %B", &format!("{BASE}..HEAD")]);
    let history = history.unwrap_or_default();
    let wrong = history.lines().filter(|line| {
        let words = line.split(|sign: char| sign.is_whitespace() || "'\"`(".contains(sign));
        let outside = ["/home/", "/root/", "/tmp/", "/work/"];
        words.into_iter().any(|word| outside.iter().any(|start| word.starts_with(start)))
    });
    nothing(&wrong.map(str::to_owned).collect::<Vec<_>>());
}

/// Each pattern of `.cargo/mutants.toml` matches a source file: cargo-mutants skips a moved file without an error.
#[test]
fn mutation_scope_exists() {
    let scope = read(".cargo/mutants.toml");
    let (_, globs) = scope.split_once("examine_globs = [").unwrap();
    let (globs, _) = globs.split_once(']').unwrap();
    let globs: Vec<&str> = globs.split('"').skip(1).step_by(2).collect();
    assert!(!globs.is_empty());
    let matches = |glob: &str| match glob.strip_suffix("/*.rs") {
        Some(folder) => path(folder).is_dir() && files(folder).iter().any(|file| file.ends_with(".rs")),
        None => path(glob).is_file(),
    };
    nothing(&globs.into_iter().filter(|glob| !matches(glob)).map(str::to_owned).collect::<Vec<_>>());
}

/// Each planted bug matches the source once. A run of the laws needs a build for each bug.
#[test]
fn bugs_can_be_planted() {
    // Ignores white space and commas, because the formatter changes both.
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
