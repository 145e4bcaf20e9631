//! Imports between files of a crate point down, without circles. Cargo enforces this between crates.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Arrow, Sources, circles, paths};
use super::tree::{PACKAGES, nothing, read, sources};

/// The folders of a package, lowest first. Folders of one level do not import each other.
const FLOORS: [(&str, &[&[&str]]); 6] = [
    (
        "crates/core/src",
        &[&["json"], &["apimachinery"], &["definition"], &["draft", "webhook"], &["registration"], &["laws"], &["lib"]],
    ),
    (
        "crates/rollout/src",
        &[
            &["definition"],
            &["lookup"],
            &["spec"],
            &["observe"],
            &["steps"],
            &["evaluate"],
            &["plan"],
            &["report"],
            &["lib"],
        ],
    ),
    (
        "crates/server/src",
        &[&["refusal"], &["telemetry"], &["memory"], &["runtime"], &["request"], &["admin"], &["server"], &["lib"]],
    ),
    ("crates/transport/src", &[&["certificates"], &["connections"], &["lib"]]),
    (
        "crates/cli/src",
        &[&["hint", "plugin", "terminal"], &["commands"], &["exit", "logging", "usage_error"], &["cli"], &["lib"]],
    ),
    ("src", &[&["error_throttle"], &["facts"], &["serve"], &["main"]]),
];

/// The names of the core in the server: the types of `Webhook`, and the spelling of the `?timeout=` of a call.
const DOOR: [&str; 12] = [
    "BadReview",
    "Conversions",
    "Endpoint",
    "Outcome",
    "Reply",
    "Request",
    "HandleError",
    "KnownFacts",
    "Webhook",
    "parse_duration",
    "refusal",
    "weight",
];

fn arrows(folder: &'static str) -> Vec<Arrow> {
    let texts = sources(folder).into_iter().map(|file| (file.clone(), read(&file))).collect();
    Sources { folder, texts }.arrows()
}

/// One line for each pair of files, with the lines and the imported names.
fn shown<'a>(arrows: impl IntoIterator<Item = &'a Arrow>) -> Vec<String> {
    let mut pairs = BTreeMap::<_, Vec<String>>::new();
    for Arrow { from, line, path, to } in arrows {
        pairs.entry((from, to)).or_default().push(format!("{path} ({line})"));
    }
    let shown = pairs.iter().map(|((from, to), names)| format!("  {from} -> {to}: {}", names.join(", ")));
    shown.collect()
}

#[test]
fn no_files_import_in_a_circle() {
    let mut wrong = Vec::new();
    for package in PACKAGES {
        let arrows = arrows(package);
        for circle in circles(&arrows) {
            let files: BTreeSet<&str> = circle.iter().map(|arrow| arrow.from.as_str()).collect();
            wrong.push(format!("a circle of {} files:", files.len()));
            wrong.extend(shown(circle));
        }
    }
    nothing(&wrong);
}

#[test]
fn arrows_point_down() {
    let mut wrong = Vec::new();
    for (folder, floors) in FLOORS {
        let floor = |file: &str| {
            let room = file[folder.len() + 1..].split(['/', '.']).next().unwrap();
            let floor = floors.iter().position(|rooms| rooms.contains(&room));
            (floor.unwrap_or_else(|| panic!("{file} is on no floor")), room.to_owned())
        };
        let up = |arrow: &&Arrow| {
            let ((from, room), (to, other)) = (floor(&arrow.from), floor(&arrow.to));
            room != other && from <= to
        };
        wrong.extend(shown(arrows(folder).iter().filter(up)));
    }
    nothing(&wrong);
}

#[test]
fn server_uses_public_webhook_entry() {
    let mut wrong = Vec::new();
    for file in sources("crates/server/src") {
        let text = read(&file);
        for (line, path) in paths(&text) {
            let name = path.strip_prefix("pointsman_core::");
            let name = name.map(|path| path.strip_prefix("webhook::").unwrap_or(path));
            if name.is_some_and(|name| name != "self" && !DOOR.contains(&name)) {
                wrong.push(format!("{file}:{line}: {path} is behind the door"));
            }
        }
        // After `use pointsman_core::webhook::{self}`.
        for rest in text.split(" webhook::").skip(1) {
            let name = rest.split(|sign: char| !sign.is_alphanumeric()).next().unwrap();
            if !DOOR.contains(&name) {
                wrong.push(format!("{file}: webhook::{name} is behind the door"));
            }
        }
    }
    nothing(&wrong);
}
