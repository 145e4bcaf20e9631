//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the seven packages, lowest first.
pub(super) const PACKAGES: [&str; 8] = [
    "crates/core/src",
    "crates/rollout/src",
    "crates/transport/src",
    "crates/server/src",
    "crates/test-support/src",
    "crates/cluster/src",
    "crates/cli/src",
    "src",
];

/// Folders outside of the project.
const OUTSIDE: [&str; 7] = [".git", "artifacts", "corpus", "coverage", "dev", "node_modules", "target"];

pub(super) fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

pub(super) fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// All files below a folder, by their paths in the repository.
pub(super) fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let inside = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().unwrap();
        if kind.is_file() {
            found.push(inside);
        } else if kind.is_dir() && !OUTSIDE.contains(&name.as_str()) {
            found.extend(files(&inside));
        }
    }
    found.sort();
    found
}

/// The Rust files below a folder, without tests.
pub(super) fn sources(folder: &str) -> Vec<String> {
    let is_test = |file: &str| file.ends_with("/tests.rs") || file.contains("/tests/");
    files(folder).into_iter().filter(|file| file.ends_with(".rs") && !is_test(file)).collect()
}

/// The lines of code of all packages, each with its place, such as `src/cli.rs:12`. Comments are excluded.
pub(super) fn lines(packages: &[&str]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for file in packages.iter().flat_map(|package| sources(package)) {
        for (index, line) in read(&file).lines().enumerate() {
            if !line.trim_start().starts_with("//") {
                all.push((format!("{file}:{}", index + 1), line.to_owned()));
            }
        }
    }
    all
}

/// The tests of the repository, as `file::name` with `::` for `/`: functions under `#[test]`, and scenarios.
pub(super) fn tests() -> Vec<String> {
    let mut found = Vec::new();
    for file in files("").iter().filter(|file| file.ends_with(".rs")) {
        let (source, module) = (read(file), file.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::"));
        let functions = ["#[test]", "#[tokio::test"].into_iter().flat_map(|mark| source.split(mark).skip(1));
        let functions = functions.filter_map(|rest| rest.split_once("fn ").map(|(_, rest)| rest));
        let names = functions.chain(source.split("Scenario::new(\"").skip(1));
        found.extend(names.filter_map(|rest| rest.split(['(', '"']).next()).map(|name| format!("{module}::{name}")));
    }
    found
}

/// Fails with all problems at once.
#[track_caller]
pub(super) fn nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
