//! The documents agree with the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::tree::{PACKAGES, files, nothing, path, read, sources, tests};
use crate::commands::HELPS;

#[test]
fn every_metric_is_documented() {
    let files = sources("crates/server/src").into_iter();
    let files = files.filter(|file| file.contains("/metrics"));
    let source: String = files.map(|file| read(&file)).collect();
    // Metric names are literals with several words; labels have one.
    let names: Vec<&str> = source.split('"').skip(1).step_by(2).filter(|text| is_name(text, 2)).collect();
    assert!(names.len() > 10, "{names:?}");
    let reference = read("docs/reference.md");
    let table = reference.split("## Metrics").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let missing: Vec<String> = names
        .iter()
        .filter(|name| !table.contains(&format!("\n| `pointsman_{name}` |")))
        .map(|name| format!("docs/reference.md, Metrics: {name} is missing"))
        .collect();
    nothing(&missing);
    for row in table.split("\n| `").skip(1) {
        let name = row.split('`').next().unwrap();
        let ours = name.strip_prefix("pointsman_");
        assert!(ours.is_some_and(|ours| names.contains(&ours)), "{name} is no metric");
    }
}

/// An operator searches the pages for the name of an alert.
#[test]
fn every_alert_is_named() {
    let (rules, page) = (read("manifests/alerts.rules.yaml"), read("docs/running.md"));
    let alerts: Vec<&str> = rules.split("alert: ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    let missing: Vec<_> = alerts.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(alerts.len() > 10 && missing.is_empty(), "docs/running.md does not name {missing:?}");
}

/// True for a snake_case name with at least this number of words.
fn is_name(text: &str, words: usize) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(plain) && text.split('_').filter(|word| !word.is_empty()).count() >= words
}

#[test]
fn every_variable_is_documented() {
    let reference = read("docs/reference.md");
    let mut wrong = BTreeSet::new();
    let mut known = BTreeSet::new();
    for help in HELPS.values() {
        let mut flag = String::new();
        for line in help.lines() {
            if let Some(at) = line.find("--").filter(|_| line.trim().starts_with('-')) {
                let end = line[at..].find(' ').map_or(line.len(), |end| at + end);
                line[at..end].clone_into(&mut flag);
            }
            for rest in line.split("[env: ").skip(1) {
                let name = rest.split(['=', ']']).next().unwrap();
                known.insert(name.to_owned());
                if !reference.contains(&format!("| `{name}` | `{flag}` |")) {
                    wrong.insert(format!("docs/reference.md, Environment: | `{name}` | `{flag}` |"));
                }
            }
        }
    }
    nothing(&wrong.into_iter().collect::<Vec<_>>());
    for row in reference.split("\n| `POINTSMAN_").skip(1) {
        let name = format!("POINTSMAN_{}", row.split('`').next().unwrap());
        assert!(known.contains(&name), "no flag reads {name}");
    }
}

#[test]
fn tests_that_are_named_exist() {
    let mut sources = String::new();
    for file in files("").iter().filter(|file| file.ends_with(".rs")) {
        sources.push_str(&read(file));
    }
    let mut wrong = Vec::new();
    let mut named = 0;
    // The page of API calls uses words of the API server.
    let documents = files("").into_iter().filter(|file| file.ends_with(".md") && !file.contains("tests/data/"));
    for document in documents {
        for (index, line) in read(&document).lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2) {
                // Metrics and labels are named in the same form, and are literals.
                if !is_name(name, 4) {
                    continue;
                }
                named += 1;
                let name = name.strip_prefix("pointsman_").or_else(|| name.strip_prefix("process_")).unwrap_or(name);
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

/// A documented `cargo test` command selects a test: each filter is a part of the name of one, with its file as the
/// module.
#[test]
fn test_filters_select_tests() {
    let names = tests();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for document in files("").into_iter().filter(|file| file.ends_with(".md") || file.ends_with(".rs")) {
        for (index, line) in read(&document).lines().enumerate() {
            let is_prose = document.ends_with(".md") || line.trim_start().starts_with("//");
            for command in line.split("cargo test ").skip(1).filter(|_| is_prose) {
                let command = command.split(['`', '#', '>', '"']).next().unwrap_or_default();
                for filter in filters(command) {
                    found += 1;
                    if !names.iter().any(|name| name.contains(filter)) {
                        wrong.push(format!("{document}:{}: {filter} selects no test", index + 1));
                    }
                }
            }
        }
    }
    nothing(&wrong);
    assert!(found > 15, "only {found} filters are documented");
}

/// The words of a `cargo test` command that select tests: neither a flag nor the value of one.
fn filters(command: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--test" | "--manifest-path" | "--target" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            filter => found.push(filter),
        }
    }
    found
}

/// The rows of the index of tests: each names a room, tests, and the files with these tests.
#[test]
fn invariants_name_room_and_files() {
    let page = read("ARCHITECTURE.md");
    let (_, table) = page.split_once("| invariant | room | tests | in |").unwrap();
    let quoted = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let (mut wrong, mut rows) = (Vec::new(), 0);
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        rows += 1;
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let &[_, room, tests, within] = cells.as_slice() else {
            wrong.push(format!("not four cells: {row}"));
            continue;
        };
        wrong.extend(quoted(room).into_iter().filter(|room| !path(room).exists()).map(|room| format!("no {room}")));
        let texts: Vec<String> = quoted(within).iter().map(|file| read(file)).collect();
        for test in quoted(tests) {
            let names = [format!("fn {test}("), format!("\"{test}\"")];
            if !texts.iter().any(|text| names.iter().any(|name| text.contains(name))) {
                wrong.push(format!("{test} is not in {within}"));
            }
        }
    }
    assert!(rows > 60, "{rows} rows");
    nothing(&wrong);
}

/// Paths and names of source files in backticks, such as `crates/rollout/src` or `plan.rs`.
#[test]
fn named_source_files_exist() {
    let all = files("");
    let exists = |name: &str| {
        let folder = format!("{}/", name.trim_end_matches('/'));
        all.iter().any(|file| file == name || file.starts_with(&folder) || file.ends_with(&format!("/{name}")))
    };
    let (mut wrong, mut named) = (Vec::new(), 0);
    for document in all.iter().filter(|file| file.ends_with(".md") && !file.contains("tests/data/")) {
        for (index, line) in read(document).lines().enumerate() {
            for name in line.split('`').skip(1).step_by(2) {
                let is_path = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-/.".contains(c));
                if is_path && (name.ends_with(".rs") || name.starts_with("crates/")) {
                    named += 1;
                    if !exists(name) {
                        wrong.push(format!("{document}:{}: no file {name}", index + 1));
                    }
                }
            }
        }
    }
    nothing(&wrong);
    assert!(named > 50, "only {named} files are named");
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for file in files("").iter().filter(|file| file.ends_with(".md")) {
        let folder = path(file);
        let folder = folder.parent().unwrap();
        for (index, line) in read(file).lines().enumerate() {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap();
                let (to, anchor) = link.split_once('#').unwrap_or((link, ""));
                if to.starts_with("http") {
                    continue;
                }
                let target = if to.is_empty() { path(file) } else { folder.join(to) };
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

/// The anchor of a heading on GitHub.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The messages of docs/running.md and docs/rotate.md exist in the source.
#[test]
fn explained_messages_exist() {
    const MESSAGES: [&str; 12] = [
        "a client certificate is required for admission reviews",
        "cannot represent this object",
        "certificate files cannot be used; still serving the last good certificate",
        "certificate reloaded",
        "decision panicked",
        "is not served here; known kinds:",
        "is promoting this object: wait until the rollout is completed",
        "review failed",
        "staged_taken_as_completed",
        "the server has reached its limit of requests, try again",
        "the server is shutting down, try again",
        "this write would lose",
    ];
    let page = read("docs/running.md") + &read("docs/rotate.md");
    let code: String = PACKAGES.iter().flat_map(|package| sources(package)).map(|file| read(&file)).collect();
    for message in MESSAGES {
        assert!(page.contains(message), "docs/running.md and docs/rotate.md: {message}");
        assert!(code.contains(message), "nothing says {message}");
    }
}

/// docs/troubleshooting.md quotes every reason for a failed command, with the words of the program.
#[test]
fn command_messages_are_explained() {
    let page = read("docs/troubleshooting.md");
    let code: String = PACKAGES.iter().flat_map(|package| sources(package)).map(|file| plain(&read(&file))).collect();
    let mut wrong = Vec::new();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let said = rows.flat_map(|row| row.split(" | ").next().unwrap().split('`').skip(1).step_by(2));
    let mut count = 0;
    for part in said.flat_map(|text| text.split('…')).filter(|part| part.trim().len() > 3) {
        count += 1;
        if !code.contains(part.trim()) {
            wrong.push(format!("docs/troubleshooting.md: nothing says {part:?}"));
        }
    }
    assert!(count > 60, "{count}");
    // The message begins with, or contains, a text of the page.
    let explained: Vec<&str> =
        page.split('`').skip(1).step_by(2).flat_map(|text| text.split('…')).map(str::trim).collect();
    let ending = ["crates/cluster/src", "crates/server/src", "crates/transport/src", "crates/core/src/webhook/review"];
    for file in ending.iter().flat_map(|package| sources(package)) {
        let text = plain(&read(&file));
        for error in text.split("#[error(").skip(1).filter(|error| error.trim_start().starts_with('"')) {
            let message = error.trim_start().trim_start_matches('"').split('"').next().unwrap();
            let words = message.split(['{', '}']).step_by(2).any(|part| part.trim().len() > 8);
            if words && !explained.iter().any(|one| one.len() > 8 && message.contains(one)) {
                wrong.push(format!("{file}: docs/troubleshooting.md does not explain {message:?}"));
            }
        }
    }
    nothing(&wrong);
}

/// docs/troubleshooting.md quotes every logged warning and error.
#[test]
fn logged_warnings_are_explained() {
    let page = read("docs/troubleshooting.md");
    let explained: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in PACKAGES.iter().flat_map(|package| sources(package)) {
        let text = plain(&read(&file));
        for message in logged(&text) {
            count += 1;
            if !explained.contains(message) {
                wrong.push(format!("{file}: docs/troubleshooting.md does not explain {message:?}"));
            }
        }
    }
    nothing(&wrong);
    assert!(count > 20, "only {count} messages are logged");
}

/// The messages of the warnings and errors in a source: the last literal of the macro call, or the variable's literal.
fn logged(text: &str) -> Vec<&str> {
    let mut messages = Vec::new();
    for level in ["warn!(", "error!("] {
        for (at, _) in text.match_indices(level) {
            let (before, call) = text.split_at(at);
            if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') || before.ends_with('`') {
                continue;
            }
            // A message can contain brackets and semicolons; the call ends after the message.
            let ends = ["\");", "\"\n"].iter().filter_map(|end| call.find(end));
            let end = ends.min().map_or(call.len(), |end| end + 1);
            let last = |text: &'_ str| text.rmatch_indices('"').nth(1).map(|(at, _)| at + 1);
            let message = last(&call[..end]).map(|at| &call[at..end - 1]).unwrap_or_default();
            let named = message.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
            let said = named.map(|name| before.rsplit(&format!("let {name} = \"")).next().unwrap());
            messages.push(said.map_or(message, |said| said.split('"').next().unwrap()));
        }
    }
    messages
}

#[test]
fn log_macros_are_all_recognised() {
    let source = "
tracing::warn!(%error, \"one (see it); two\");
        tracing::error!(
            error = \"no\",
            \"three\"
        );
let what = \"four\";
return warn!(%error, ?pause, \"{what}\");
my_warn!(\"five\");
info!(\"six\");
";
    assert_eq!(logged(source), ["one (see it); two", "four", "three"]);
}

/// A source with each string literal on one line, as printed.
fn plain(source: &str) -> String {
    let mut lines = source.lines();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while let Some(rest) = line.strip_suffix('\\') {
            line = format!("{rest}{}", lines.next().unwrap_or_default().trim_start());
        }
        text.push_str(&line.replace("\\\"", "\""));
        text.push('\n');
    }
    text
}

/// Every claim names its tests.
#[test]
fn threat_claims_name_tests() {
    let page = read("docs/threat-model.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")).collect();
    assert!(rows.len() > 20, "{}", rows.len());
    let without = |row: &&&str| !row.split('`').skip(1).step_by(2).any(|name| is_name(name, 4));
    let without: Vec<String> = rows.iter().filter(without).map(|row| format!("docs/threat-model.md: {row}")).collect();
    nothing(&without);
}

/// A supported requirement has tests in tests/data/requirements.txt, and the page has one row for each number.
#[test]
fn requirements_name_state_and_tests() {
    const PAGE: &str = "docs/requirements.md";
    const TESTS: &str = "tests/data/requirements.txt";
    let all = tests();
    let exists = |name: &str| all.iter().any(|test| test.ends_with(&format!("::{name}")));
    let listed = read(TESTS);
    let mut tests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in listed.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        tests.insert(words.next().unwrap_or_default(), words.collect());
    }
    let (mut wrong, mut ids) = (Vec::new(), BTreeSet::new());
    for story in read(PAGE).split("\n## ").skip(1) {
        let rows = story.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id |"));
        for (index, row) in rows.enumerate() {
            let cells: Vec<&str> = row.trim_matches('|').split(" |").map(str::trim).collect();
            let &[id, requirement, state, support] = cells.as_slice() else {
                wrong.push(format!("{PAGE}: {} cells instead of four: {row}", cells.len()));
                continue;
            };
            let names = tests.remove(id).unwrap_or_default();
            let is_proven = match state {
                "yes" | "partly" => !names.is_empty(),
                "no" | "not ours" => names.is_empty(),
                _ => false,
            };
            let is_next = id.get(2..) == Some(&(index + 1).to_string()) && ids.insert(id.to_owned());
            if !is_next || requirement.is_empty() || support.is_empty() || !is_proven {
                wrong.push(format!("{PAGE}: {row}"));
            }
            wrong
                .extend(names.iter().filter(|name| !exists(name)).map(|name| format!("{TESTS}: {id}: no test {name}")));
        }
    }
    wrong.extend(tests.keys().map(|id| format!("{TESTS}: {id} is no requirement")));
    nothing(&wrong);
    assert!(ids.len() > 100, "only {} requirements", ids.len());
}
