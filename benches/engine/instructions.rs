//! Instructions per code path for one object, counted by valgrind: equal on busy and idle machines.
//!
//! `cargo bench -p pointsman-core --bench engine -- instructions` counts and compares with `benches/instructions.txt`.
//! With `--check` it exits with 1 if a path has over 2 % more instructions, if the paths differ from those of the file,
//! or if a rule of growth is broken; with `--bless` it writes the file. Each path runs in two processes with different
//! numbers of repetitions. The difference counts, so process start and loading of kinds are excluded. The processor
//! that valgrind emulates has no SHA instructions, so hashing has more weight here than in production.
//!
//! The rules of growth: an object among a thousand costs at most as much as alone; a thousand operations without
//! matching fields cost less than twice as much as no operations; and with twice the size of a part, a unit of it costs
//! at most 10 % more ([`EACH`]).

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Request, Webhook};
use serde_json::{Map, Value, json};

use crate::growing::{self, Grown};
use crate::reviews::{self, Version};

/// A code path of the core.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Path {
    Up,
    Down,
    Hash,
    Mutate,
    Validate,
    /// Conversion up, with this many objects in a review.
    Objects(usize),
    /// Conversion up, with a definition of this many operations on fields that the object lacks.
    Operations(usize),
    /// An object with a part of this size. The first number is an index of [`growing::ALL`].
    Grown(usize, usize),
}

impl Path {
    /// The paths for one object.
    pub(crate) const ALL: [Self; 5] = [Self::Up, Self::Down, Self::Hash, Self::Mutate, Self::Validate];

    /// The paths that show growth of cost.
    const GROWTH: [Self; 5] =
        [Self::Objects(10), Self::Objects(100), Self::Objects(1000), Self::Operations(0), Self::Operations(1000)];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Up => "up".to_owned(),
            Self::Down => "down".to_owned(),
            Self::Hash => "hash".to_owned(),
            Self::Mutate => "mutate".to_owned(),
            Self::Validate => "validate".to_owned(),
            Self::Objects(objects) => format!("objects-{objects}"),
            Self::Operations(operations) => format!("operations-{operations}"),
            Self::Grown(what, count) => format!("{}-{count}", growing::ALL[what].0),
        }
    }

    /// The number of counted units in one run.
    fn units(self) -> usize {
        if let Self::Objects(count) | Self::Grown(_, count) = self { count } else { 1 }
    }

    /// The number of runs, and of additional runs in the second process.
    fn times(self) -> [u32; 2] {
        match self.units() {
            1 => [10, 50],
            10 => [2, 8],
            _ => [1, 1],
        }
    }

    /// The number of bytes that the path reads.
    pub(crate) fn bytes(self) -> usize {
        self.input().len()
    }

    fn input(self) -> Vec<u8> {
        match self {
            Self::Up => reviews::conversion(Version::Older, 1),
            Self::Down => reviews::conversion(Version::Newer, 1),
            Self::Hash => reviews::object(Version::Newer).into_bytes(),
            Self::Mutate | Self::Validate => reviews::update(),
            Self::Objects(objects) => reviews::conversion(Version::Older, objects),
            Self::Operations(_) => {
                let review = String::from_utf8(reviews::conversion(Version::Older, 1)).expect("text");
                let review = review.replace("materialize.cloud/v1alpha", "example.com/v");
                review.replace("\"kind\":\"Materialize\"", "\"kind\":\"Boat\"").into_bytes()
            }
            Self::Grown(what, count) => growing::ALL[what].1(count).object.into_bytes(),
        }
    }

    /// The path as a function for repeated runs.
    pub(crate) fn run(self) -> impl Fn() {
        let (webhook, to) = match self {
            Self::Operations(count) => (with_operations(count), ""),
            Self::Grown(what, count) => {
                let Grown { webhook, to, .. } = growing::ALL[what].1(count);
                (webhook, to)
            }
            _ => (reviews::webhook(), ""),
        };
        let input = self.input();
        let text = String::from_utf8(input.clone()).expect("text");
        move || match self {
            Self::Up | Self::Down | Self::Objects(_) | Self::Operations(_) => {
                drop(black_box(webhook.handle(&Request::new(Endpoint::Convert, black_box(&input)))))
            }
            Self::Grown(..) => drop(black_box(webhook.convert(black_box(&text), to))),
            Self::Hash => drop(black_box(webhook.preimage(black_box(&text)).map(|preimage| preimage.hash()))),
            Self::Mutate => drop(black_box(webhook.handle(&Request::new(Endpoint::Mutate, black_box(&input))))),
            Self::Validate => drop(black_box(webhook.handle(&Request::new(Endpoint::Validate, black_box(&input))))),
        }
    }
}

/// A webhook for a kind of two versions, with this many fields that are renamed in the newer version.
fn with_operations(count: usize) -> Webhook {
    let version = |name: &str, prefix: &str, stored: bool| {
        let fields = (0..count).map(|index| (format!("{prefix}{index}"), json!({"type": "string"})));
        let spec = json!({"type": "object", "properties": fields.collect::<Map<_, _>>()});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": schema}})
    };
    let versions = [version("v1", "old", true), version("v2", "new", false)];
    let names = json!({"kind": "Boat", "plural": "boats"});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.example.com"},
        "spec": {"group": "example.com", "names": names, "versions": versions},
    });
    let rename = |index| json!({"rename": {"from": format!("spec.old{index}"), "to": format!("spec.new{index}")}});
    let operations: Vec<Value> = (0..count).map(rename).collect();
    let definition = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "boats.crd.yaml",
        "steps": [{"from": "v1", "to": "v2", "operations": operations}],
    });
    let kind = Kind::from_crd(&definition.to_string(), &crd.to_string()).expect("definition");
    Webhook::new(vec![kind], Metadata::Identity).expect("one kind")
}

/// What to do with the counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// Print them beside the expected ones.
    Compare,
    /// The same, and fail beyond the limits.
    Check,
    /// Write the file of expected counts.
    Bless,
}

/// Runs the path of this name so many times: the process that valgrind observes.
pub(crate) fn repeat(name: &str, times: &str) {
    let run = paths().find(|path| path.name() == name).expect("a path").run();
    (0..times.parse().expect("a number")).for_each(|_| run());
}

/// Counts, compares or writes. Returns whether the counts are within the limits.
pub(crate) fn main(action: Action) -> bool {
    let file = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut expected: BTreeMap<&str, u64> = file
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, count)| (name, count.parse().expect(FILE)))
        .collect();
    let (mut text, mut counts, mut wrong) = (String::new(), BTreeMap::new(), Vec::new());
    for path in paths() {
        let [few, more] = path.times();
        let now = count(path, few + more).saturating_sub(count(path, few)) / (u64::from(more) * path.units() as u64);
        let name = path.name();
        text.push_str(&format!("{name} {now}\n"));
        match expected.remove(name.as_str()) {
            Some(before) => {
                let ratio = now as f64 / before as f64;
                println!("{name:>22} {now:>9} instructions, {:+.1} %", (ratio - 1.0) * 100.0);
                wrong.extend((ratio > MOST).then(|| format!("{name} has {before} instructions in the file")));
            }
            None => {
                println!("{name:>22} {now:>9} instructions");
                wrong.push(format!("{name} is missing from the file"));
            }
        }
        counts.insert(name, now);
    }
    wrong.extend(expected.keys().map(|name| format!("{name} is no path of this program")));
    wrong.extend(broken_rules(&counts));
    if action == Action::Bless {
        std::fs::write(FILE, text).expect(FILE);
        return true;
    }
    wrong.iter().for_each(|line| println!("{line}"));
    action == Action::Compare || wrong.is_empty()
}

/// The broken rules of growth.
fn broken_rules(counts: &BTreeMap<String, u64>) -> Vec<String> {
    let at_most = |path: Path, factor: f64, base: Path| {
        let (path, base) = (path.name(), base.name());
        let is_within = counts[&path] as f64 <= counts[&base] as f64 * factor;
        (!is_within).then(|| format!("{path} has more than {factor} times the instructions of {base}"))
    };
    let many = at_most(Path::Objects(1000), 1.0, Path::Up);
    let operations = at_most(Path::Operations(1000), 2.0, Path::Operations(0));
    let grown = (0..growing::ALL.len())
        .filter_map(|what| at_most(Path::Grown(what, LARGE), EACH, Path::Grown(what, LARGE / 2)));
    many.into_iter().chain(operations).chain(grown).collect()
}

fn paths() -> impl Iterator<Item = Path> {
    let grown = (0..growing::ALL.len()).flat_map(|what| [LARGE / 2, LARGE].map(|count| Path::Grown(what, count)));
    Path::ALL.into_iter().chain(Path::GROWTH).chain(grown)
}

/// The instructions of a process that runs a path this many times.
fn count(path: Path, times: u32) -> u64 {
    let this = std::env::current_exe().expect("this program");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(["instructions", "run", &path.name(), &times.to_string()])
        .output()
        .expect("valgrind is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    collected.and_then(|(_, count)| count.trim().parse().ok()).expect("valgrind prints its count")
}

/// The file of expected counts.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/instructions.txt");

/// The maximum growth of a count: twice the variation caused by hash maps with random keys.
const MOST: f64 = 1.02;

/// The larger size of a variable part; the smaller one is half of it.
const LARGE: usize = 2000;

/// The maximum cost per unit after a doubling of the size, relative to before: 10 % more, because maps get deeper.
const EACH: f64 = 1.1;
