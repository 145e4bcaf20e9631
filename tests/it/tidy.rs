//! The rules of the house, as far as a program can read them. What they are for is in ARCHITECTURE.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The folders of the library and what each may know of the others. What is not named here is binary.
const KNOWS: [(&str, &[&str]); 6] = [
    ("json", &[]),
    ("upgrade", &[]),
    ("definition", &["json", "upgrade"]),
    ("webhook", &["definition", "json", "upgrade"]),
    ("registration", &["definition", "webhook"]),
    ("server", &["webhook"]),
];

/// What decides does so without looking at the world: the same input gives the same bytes.
const PURE: [&str; 5] = ["json", "upgrade", "definition", "webhook", "registration"];
const IMPURE: [&str; 23] = [
    "async fn",
    ".await",
    "static mut",
    "Atomic",
    "Mutex",
    "RwLock",
    "RefCell",
    "OnceLock",
    "LazyLock",
    "Instant",
    "SystemTime",
    "hyper",
    "notify::",
    "prometheus",
    "rustls",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::{",
    "tokio",
    "tracing",
];

/// What the server knows of the core: the types of its one door.
const DOOR: [&str; 6] = ["BadReview", "Endpoint", "Outcome", "Reply", "refusal", "self"];

/// Files that are longer than they should be, and how long they may be. A line here only ever gets smaller.
const LONG: [(&str, usize); 9] = [
    ("src/definition/compare.rs", 425),
    ("src/definition/compile/mod.rs", 350),
    ("src/definition/mod.rs", 350),
    ("src/json/mod.rs", 350),
    ("src/webhook/convert/level.rs", 375),
    ("src/webhook/convert/mod.rs", 375),
    ("src/webhook/convert/status.rs", 375),
    ("src/webhook/mod.rs", 325),
    ("src/webhook/review.rs", 325),
];
const LINES: usize = 300;

/// Folders that are no part of the project.
const OUTSIDE: [&str; 8] = [
    ".git",
    "artifacts",
    "corpus",
    "coverage",
    "dev",
    "node_modules",
    "target",
    "proptest-regressions",
];

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// All files below a folder of the repository, by their paths in it.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    for entry in fs::read_dir(path).unwrap() {
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

fn is_test(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/")
}

/// The Rust files of a folder of `src`, tests aside, with their lines of code. Comments may name anything.
fn code(folder: &str) -> Vec<(String, Vec<(usize, String)>)> {
    let files = files(folder).into_iter();
    let files = files.filter(|file| file.ends_with(".rs") && !is_test(file));
    files
        .map(|file| {
            let lines = read(&file);
            let lines = lines.lines().enumerate();
            let lines = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
            let lines = lines.map(|(index, line)| (index + 1, line.to_owned()));
            (file, lines.collect())
        })
        .collect()
}

/// The names in `text` that follow `before`, those in braces too.
fn names_after<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices(before) {
        let rest = &text[at + before.len()..];
        let all = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap(),
            None => rest,
        };
        for part in all.split(',') {
            let part = part.trim();
            let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
            names.push(&part[..end]);
            if !rest.starts_with('{') {
                break;
            }
        }
    }
    names
}

/// All that is wrong, at once.
fn nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn arrows_point_down() {
    let folders: Vec<&str> = KNOWS.iter().map(|(folder, _)| *folder).collect();
    let mut wrong = Vec::new();
    for (folder, knows) in KNOWS {
        for (file, lines) in code(&format!("src/{folder}")) {
            for (line, text) in lines {
                for name in names_after(&text, "crate::") {
                    if name != folder && folders.contains(&name) && !knows.contains(&name) {
                        wrong.push(format!("{file}:{line}: {folder} does not know {name}"));
                    }
                }
                if text.contains("crate::{") {
                    wrong.push(format!("{file}:{line}: one `use` for each module"));
                }
                let top = file == format!("src/{folder}/mod.rs");
                if top && text.contains("super::") || text.contains("super::super::") {
                    wrong.push(format!("{file}:{line}: say `crate::` instead"));
                }
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn the_server_comes_through_the_door() {
    let mut wrong = Vec::new();
    for (file, lines) in code("src/server") {
        for (line, text) in lines {
            // After `use crate::webhook::{self}` things are called `webhook::name`.
            for name in names_after(&text, "webhook::") {
                if !DOOR.contains(&name) {
                    wrong.push(format!("{file}:{line}: {name} is behind the door"));
                }
            }
            if text.contains("serde_json") || text.contains("clap") {
                wrong.push(format!(
                    "{file}:{line}: the server looks into no body and reads no flags"
                ));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn the_binary_uses_public_names() {
    let binary = ["src/commands", "src/cli.rs", "src/logging.rs", "src/main.rs"];
    let mut wrong = Vec::new();
    for (file, lines) in code("src") {
        if !binary.iter().any(|part| file.starts_with(part)) {
            for (line, text) in &lines {
                if text.contains("anyhow") {
                    wrong.push(format!("{file}:{line}: anyhow is for the binary"));
                }
            }
            continue;
        }
        for (line, text) in lines {
            for name in names_after(&text, "crate::") {
                if KNOWS.iter().any(|(folder, _)| *folder == name) {
                    wrong.push(format!("{file}:{line}: say `pointsman::{name}`"));
                }
            }
            for name in ["hyper", "rustls", "notify::"] {
                if text.contains(name) {
                    wrong.push(format!("{file}:{line}: {name} is for the server"));
                }
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn what_decides_is_pure() {
    let mut wrong = Vec::new();
    for folder in PURE {
        for (file, lines) in code(&format!("src/{folder}")) {
            for (line, text) in lines {
                for name in IMPURE.iter().filter(|name| text.contains(**name)) {
                    wrong.push(format!("{file}:{line}: {name}"));
                }
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn kinds_are_data() {
    let definitions: Vec<String> = files("src/kinds")
        .into_iter()
        .filter(|file| file.ends_with(".yaml") && !file.ends_with(".crd.yaml"))
        .collect();
    let mut words = BTreeSet::new();
    for file in definitions {
        let text = read(&file);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let text = lines.collect::<Vec<_>>().join("\n");
        for start in ["spec.", "status."] {
            for name in names_after(&text, start) {
                // Of one word are fields that many kinds have, such as `version`.
                if name.contains(char::is_uppercase) {
                    words.insert(name.to_owned());
                }
            }
        }
        let folder = file.split('/').nth(2).unwrap();
        words.insert(folder.to_owned());
    }
    assert!(words.len() > 15, "{words:?}");
    let mut wrong = Vec::new();
    for (file, lines) in code("src") {
        // Examples in help texts name a kind, for people.
        let examples = file.starts_with("src/commands/");
        for (line, text) in lines {
            let embeds = file == "src/definition/mod.rs" && text.contains(".yaml\"");
            if examples || embeds {
                continue;
            }
            let small = text.to_lowercase();
            for word in &words {
                let alone = |text: &str| {
                    text.split(|c: char| !c.is_alphanumeric()).any(|other| other == word.as_str())
                };
                if alone(&text) || alone(&small) {
                    wrong.push(format!("{file}:{line}: {word} belongs in a definition"));
                }
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn files_are_short() {
    let mut wrong = Vec::new();
    let all = files("src");
    for file in all.iter().filter(|file| file.ends_with(".rs")) {
        let lines = read(file).lines().count();
        match LONG.iter().find(|(long, _)| long == file) {
            Some((_, ceiling)) if lines > *ceiling => {
                wrong.push(format!("{file}: {lines} lines, and it had to shrink"));
            }
            Some(_) if lines <= LINES => {
                wrong.push(format!("{file}: short now, take it off the list in LONG"));
            }
            None if lines > LINES => wrong.push(format!("{file}: {lines} lines, split it")),
            _ => {}
        }
    }
    for (file, _) in LONG {
        if !all.iter().any(|other| other == file) {
            wrong.push(format!("{file}: gone, take it off the list in LONG"));
        }
    }
    nothing(&wrong);
}

#[test]
fn nothing_is_left_for_later() {
    // In two halves, or this file would be wrong itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("dbg", "!("),
        concat!("#[ign", "ore"),
    ];
    let ours = [".ci/", "benches/", "docs/", "fuzz/", "manifests/", "src/", "tests/"];
    let mut wrong = Vec::new();
    for file in files("") {
        let text = [".rs", ".md", ".yaml", ".sh", "/run"].iter().any(|end| file.ends_with(end));
        let inside = !file.contains('/') || ours.iter().any(|part| file.starts_with(part));
        if !text || !inside {
            continue;
        }
        for (index, line) in read(&file).lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{file}:{}: {word}", index + 1));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn every_metric_is_documented() {
    let source = read("src/server/metrics.rs");
    // The names are the literals of several words; labels have one.
    let names: Vec<&str> =
        source.split('"').skip(1).step_by(2).filter(|text| is_name(text, 2)).collect();
    assert!(names.len() > 10, "{names:?}");
    let readme = read("README.md");
    let table = readme.split("### Metrics").nth(1).unwrap();
    let table = table.split("\n### ").next().unwrap();
    let missing: Vec<String> = names
        .iter()
        .filter(|name| !table.contains(&format!("\n| `{name}` |")))
        .map(|name| format!("README.md, Metrics: {name} is missing"))
        .collect();
    nothing(&missing);
    for row in table.split("\n| `").skip(1) {
        let name = row.split('`').next().unwrap();
        assert!(names.contains(&name), "{name} is no metric");
    }
}

/// Whether it is a name of so many words, or more.
fn is_name(text: &str, words: usize) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(plain) && text.split('_').filter(|word| !word.is_empty()).count() >= words
}

fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(command)
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_variable_is_documented() {
    let all = help(&[]);
    let commands = all.split("Commands:\n").nth(1).unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter(|line| !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"serve"), "{commands:?}");
    let readme = read("README.md");
    let mut wrong = BTreeSet::new();
    let mut known = BTreeSet::new();
    for command in commands {
        let mut flag = String::new();
        for line in help(&[command]).lines() {
            if let Some(at) = line.find("--").filter(|_| line.trim().starts_with('-')) {
                let end = line[at..].find(' ').map_or(line.len(), |end| at + end);
                line[at..end].clone_into(&mut flag);
            }
            for name in names_after(line, "[env: ") {
                known.insert(name.to_owned());
                if !readme.contains(&format!("| `{name}` | `{flag}` |")) {
                    wrong.insert(format!("README.md, Environment: | `{name}` | `{flag}` |"));
                }
            }
        }
    }
    nothing(&wrong.into_iter().collect::<Vec<_>>());
    for row in readme.split("\n| `POINTSMAN_").skip(1) {
        let name = format!("POINTSMAN_{}", row.split('`').next().unwrap());
        assert!(known.contains(&name), "no flag reads {name}");
    }
}

#[test]
fn tests_that_are_named_exist() {
    let mut sources = String::new();
    for file in [files("src"), files("tests")].concat() {
        if file.ends_with(".rs") {
            sources.push_str(&read(&file));
        }
    }
    let mut wrong = Vec::new();
    let mut named = 0;
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for (index, line) in read(document).lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2) {
                // Tests are clauses; nothing else that is named here has five words.
                if !is_name(name, 5) {
                    continue;
                }
                named += 1;
                let function = sources.contains(&format!("fn {name}("));
                let scenario = sources.contains(&format!("\"{name}\""));
                if !function && !scenario {
                    wrong.push(format!("{document}:{}: no test {name}", index + 1));
                }
            }
        }
    }
    nothing(&wrong);
    assert!(named > 30, "only {named} tests are named");
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for file in files("").iter().filter(|file| file.ends_with(".md")) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let folder = folder.parent().unwrap();
        for (index, line) in read(file).lines().enumerate() {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap();
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                if path.starts_with("http") {
                    continue;
                }
                let target = if path.is_empty() {
                    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
                } else {
                    folder.join(path)
                };
                if !target.exists() {
                    wrong.push(format!("{file}:{}: {link}", index + 1));
                } else if !anchor.is_empty() {
                    let text = fs::read_to_string(target).unwrap();
                    let heads = text.lines().filter(|line| line.starts_with('#'));
                    if !heads.map(anchor_of).any(|head| head == anchor) {
                        wrong.push(format!("{file}:{}: no heading {link}", index + 1));
                    }
                }
            }
        }
    }
    nothing(&wrong);
}

/// The anchor of a heading, as GitHub makes it.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn no_key_is_kept_here() {
    let marker = concat!("PRIVATE", " KEY-----");
    for file in files("") {
        let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let ignored = file.starts_with("certs/") && !file.ends_with(".md");
        assert!(ignored || !text.contains(marker), "{file} holds a key");
    }
    let ignored = read(".gitignore");
    for pattern in ["/certs/*.key", "/certs/*.pem", "/certs/dev"] {
        let found = ignored.lines().any(|line| line == pattern);
        assert!(found, ".gitignore: {pattern} is missing");
    }
}

#[test]
fn unsafe_code_is_forbidden() {
    let manifest = read("Cargo.toml");
    let lints = manifest.split("[lints.rust]").nth(1).unwrap();
    assert!(lints.contains("\nunsafe_code = \"forbid\"\n"));
}

/// A section of the manifest: its lines that say something.
fn dependencies() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let section = manifest.split("[dependencies]\n").nth(1).unwrap();
    let section = section.split("\n[").next().unwrap();
    let lines = section.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn dependencies_say_what_they_are_for() {
    let architecture = read("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for line in dependencies() {
        let name = line.split_whitespace().next().unwrap().to_owned();
        if !line.contains(" # ") {
            wrong.push(format!("Cargo.toml: what is {name} for?"));
        }
        if !architecture.contains(&format!("`{name}`")) {
            wrong.push(format!("ARCHITECTURE.md, Dependencies: {name} is missing"));
        }
    }
    nothing(&wrong);
    let lock = read("Cargo.lock");
    for name in ["axum", "tower", "openssl", "serde_yaml"] {
        let found = lock.contains(&format!("\nname = \"{name}\"\n"));
        assert!(!found, "{name} came in: see ARCHITECTURE.md, Decisions");
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

#[test]
fn a_log_line_has_one_message() {
    for (file, lines) in code("src") {
        for (line, text) in lines {
            let log = text.contains("tracing::");
            let second = [", message,", "(message,", ", message =", ", %message"]
                .iter()
                .any(|field| text.contains(field));
            assert!(!(log && second), "{file}:{line}: name the field otherwise");
        }
    }
}

/// What people search for at night has to be what they were told.
#[test]
fn messages_that_are_explained_are_said() {
    const MESSAGES: [&str; 11] = [
        "a client certificate is required for admission reviews",
        "certificate files cannot be used, the last good certificate goes on",
        "certificate reloaded",
        "decision panicked",
        "is not served here; known are",
        "is promoting this object: wait until the rollout is completed",
        "review failed",
        "staged_taken_as_completed",
        "the server holds as many requests as it can, try again",
        "the server is shutting down, try again",
        "with what the other version cannot say",
    ];
    let page = read("docs/running.md");
    let sources: String = files("src").iter().map(|file| read(file)).collect();
    for message in MESSAGES {
        assert!(page.contains(message), "docs/running.md: {message}");
        assert!(sources.contains(message), "nothing says {message}");
    }
}
