//! Rules for the code that neither Cargo nor clippy checks.

use std::collections::BTreeSet;

use super::tree::{PACKAGES, files, lines, nothing, read, sources};

/// Decisions depend on their input only: without I/O crates, and without interior mutability. A `OnceCell` is filled
/// once.
const IMPURE: [&str; 20] = [
    "async ",
    "static mut",
    "Atomic",
    " Cell<",
    "<Cell<",
    "RefCell",
    "cell::Cell",
    "Instant",
    "LazyLock",
    "Mutex",
    "OnceLock",
    "RwLock",
    "SystemTime",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::{",
    "thread_local",
];

/// Number of functions above the limit of clippy.toml, each with its reason.
const LONG: usize = 5;

#[test]
fn decision_code_is_pure() {
    let mut wrong = Vec::new();
    for (place, line) in lines(&["crates/core/src"]) {
        let found = IMPURE.iter().filter(|name| line.contains(**name));
        wrong.extend(found.map(|name| format!("{place}: {name}")));
    }
    nothing(&wrong);
}

/// Words of the built-in kinds: their names, and the fields in their definitions.
fn words_of_kinds() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for file in files("crates/core/kinds") {
        if !file.ends_with(".yaml") || file.ends_with(".crd.yaml") {
            continue;
        }
        words.insert(file.split('/').nth(3).unwrap().to_owned());
        for line in read(&file).lines().filter(|line| !line.starts_with('#')) {
            for part in ["spec.", "status."].iter().flat_map(|start| line.split(start).skip(1)) {
                let name = part.split(|sign: char| !sign.is_alphanumeric()).next().unwrap();
                // Many kinds have fields of one word, such as `version`.
                if name.contains(char::is_uppercase) {
                    words.insert(name.to_owned());
                }
            }
        }
    }
    assert!(words.len() > 15, "{words:?}");
    words
}

#[test]
fn kinds_are_data() {
    let words = words_of_kinds();
    let mut wrong = Vec::new();
    for (place, line) in lines(&PACKAGES) {
        // Examples in help texts name a kind, and so does the list of embedded files.
        if place.starts_with("crates/cli/src/commands/") || line.contains(".yaml\"") {
            continue;
        }
        for word in line.split(|sign: char| !sign.is_alphanumeric()) {
            if words.contains(word) || words.contains(&word.to_lowercase()) {
                wrong.push(format!("{place}: {word} belongs in a definition"));
            }
        }
    }
    nothing(&wrong);
}

/// Methods are in the file of their type.
#[test]
fn impls_stand_with_their_types() {
    let mut wrong = Vec::new();
    for file in PACKAGES.iter().flat_map(|package| sources(package)) {
        let text = read(&file);
        let declared = |name: &str| {
            let kinds = ["struct", "enum", "union", "dyn"].iter();
            let places = kinds.flat_map(|kind| text.split(&format!("{kind} {name}")).skip(1).collect::<Vec<_>>());
            places.into_iter().any(|rest| !rest.starts_with(|sign: char| sign.is_alphanumeric()))
        };
        for (index, line) in text.lines().enumerate() {
            let Some(rest) = line.strip_prefix("impl").filter(|rest| !rest.contains(" for ")) else {
                continue;
            };
            let subject = match rest.strip_prefix('<') {
                Some(generics) => generics.split_once("> ").map_or("", |(_, subject)| subject),
                None => rest.trim_start(),
            };
            let name = subject.split(['<', ' ', '{']).next().unwrap();
            if !declared(name) {
                wrong.push(format!("{file}:{}: {name} is declared elsewhere", index + 1));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn long_functions_are_few() {
    let code = lines(&PACKAGES);
    let exempt: Vec<String> = code
        .into_iter()
        .filter(|(_, line)| line.contains("too_many_lines"))
        .map(|(place, line)| format!("{place}: {}", line.trim()))
        .collect();
    assert!(exempt.len() <= LONG, "\n{}\n", exempt.join("\n"));
}

/// The formatter does not wrap comments.
#[test]
fn comments_have_at_most_120_columns() {
    let mut wrong = Vec::new();
    for file in files("").iter().filter(|file| file.ends_with(".rs")) {
        for (index, line) in read(file).lines().enumerate() {
            // A comment after code, outside of a string.
            let behind = line.split_once(" // ").is_some_and(|(code, _)| code.matches('"').count() % 2 == 0);
            if (behind || line.trim_start().starts_with("//")) && line.chars().count() > 120 {
                wrong.push(format!("{file}:{}: wrap it", index + 1));
            }
        }
    }
    nothing(&wrong);
}

#[test]
fn no_todo_is_left() {
    // In two halves, so that this file passes.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("unimpl", "emented!("), concat!("#[ign", "ore")];
    let mut wrong = Vec::new();
    for file in files("") {
        if ![".rs", ".md", ".yaml", ".sh", "/run"].iter().any(|end| file.ends_with(end)) {
            continue;
        }
        for (index, line) in read(&file).lines().enumerate() {
            let found = words.iter().filter(|word| line.contains(**word));
            wrong.extend(found.map(|word| format!("{file}:{}: {word}", index + 1)));
        }
    }
    nothing(&wrong);
}

#[test]
fn a_log_line_has_one_message() {
    let second = [", message,", "(message,", ", message =", ", %message"];
    let logs = lines(&PACKAGES).into_iter().filter(|(_, line)| line.contains("tracing::"));
    let wrong = logs.filter(|(_, line)| second.iter().any(|field| line.contains(field)));
    nothing(&wrong.map(|(place, _)| format!("{place}: name the field otherwise")).collect::<Vec<_>>());
}
