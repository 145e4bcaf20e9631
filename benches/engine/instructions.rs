//! Instructions of the paths of one object, counted by valgrind: the same on a busy machine as on an idle one.
//!
//! `cargo bench -p pointsman-core --bench engine -- instructions` counts and compares with `benches/instructions.txt`; with `--check` it exits
//! with 1 where a path has become more than 2 % longer, with `--bless` it writes the file. A path is run 10 and 60 times in
//! processes of their own, and the difference counts: starting and loading kinds is no part of it. The processor that
//! valgrind shows has no SHA instructions, so hashing weighs more here than it does outside.

use std::hint::black_box;
use std::process::Command;

use pointsman_core::webhook::Endpoint;

use crate::reviews::{self, Version};

/// A way through the core that one object takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Path {
    Up,
    Down,
    Hash,
    Mutate,
    Validate,
}

impl Path {
    pub(crate) const ALL: [Self; 5] = [Self::Up, Self::Down, Self::Hash, Self::Mutate, Self::Validate];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Hash => "hash",
            Self::Mutate => "mutate",
            Self::Validate => "validate",
        }
    }

    /// How much it reads.
    pub(crate) fn bytes(self) -> usize {
        self.input().len()
    }

    fn input(self) -> Vec<u8> {
        match self {
            Self::Up => reviews::conversion(Version::Older, 1),
            Self::Down => reviews::conversion(Version::Newer, 1),
            Self::Hash => reviews::object(Version::Newer).into_bytes(),
            Self::Mutate | Self::Validate => reviews::update(),
        }
    }

    /// The path, to be walked as often as wanted.
    pub(crate) fn run(self) -> impl Fn() {
        let (webhook, input) = (reviews::webhook(), self.input());
        let text = String::from_utf8(input.clone()).expect("text");
        move || match self {
            Self::Up | Self::Down => drop(black_box(webhook.handle(Endpoint::Convert, black_box(&input)))),
            Self::Hash => drop(black_box(webhook.preimage(black_box(&text)).map(|preimage| preimage.hash()))),
            Self::Mutate => drop(black_box(webhook.handle(Endpoint::Mutate, black_box(&input)))),
            Self::Validate => drop(black_box(webhook.handle(Endpoint::Validate, black_box(&input)))),
        }
    }
}

/// Counts, compares or writes. Returns whether all is as it should be.
pub(crate) fn main(words: &[&str]) -> bool {
    if let ["run", name, times] = words {
        let path = Path::ALL.into_iter().find(|path| path.name() == *name).expect("a path");
        let run = path.run();
        (0..times.parse().expect("a number")).for_each(|_| run());
        return true;
    }
    let known = std::fs::read_to_string(FILE).unwrap_or_default();
    let (mut text, mut good) = (String::new(), true);
    for path in Path::ALL {
        let now = count(path, 60).saturating_sub(count(path, 10)) / 50;
        let before = known.lines().find_map(|line| line.strip_prefix(path.name())?.trim().parse::<u64>().ok());
        let ratio = before.map_or(1.0, |before| now as f64 / before as f64);
        good &= ratio <= MOST;
        println!("{:>10} {now:>9} instructions, {:+.1} %", path.name(), (ratio - 1.0) * 100.0);
        text.push_str(&format!("{} {now}\n", path.name()));
    }
    match words {
        ["--bless"] => std::fs::write(FILE, text).is_ok(),
        ["--check"] => good,
        _ => true,
    }
}

/// The instructions of a process that walks a path so many times.
fn count(path: Path, times: u32) -> u64 {
    let this = std::env::current_exe().expect("this program");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(["instructions", "run", path.name(), &times.to_string()])
        .output()
        .expect("valgrind is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    collected.and_then(|(_, count)| count.trim().parse().ok()).expect("valgrind says what it counted")
}

/// Beside this program's sources.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/instructions.txt");

/// Twice what hash maps with random keys make of it.
const MOST: f64 = 1.02;
