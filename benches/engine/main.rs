//! The cost of the core, as ratios within one run: `cargo bench -p pointsman-core --bench engine`.
//!
//! Measures in turn, so that a slower machine affects all rows: pointsman, up and down; a copy of the same bytes; a
//! scan that only checks for valid JSON (`serde_json` into `IgnoredAny`); and a straightforward implementation
//! ([`naive`]). The result is the median of the thread's CPU time, which excludes other load of the machine. `--check`
//! exits with 1 if a ratio is below its floor ([`FLOORS`]).
//!
//! `-- instructions` counts instructions instead: see [`instructions`]. `-- hostile` prints the worst cases: see
//! [`hostile`].

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement talks to its reader, and stops where it cannot measure"
)]

#[path = "../../crates/core/tests/memory/bodies.rs"]
mod bodies;
#[path = "../data/growing.rs"]
mod growing;
mod hostile;
mod instructions;
mod naive;
#[path = "../data/reviews.rs"]
mod reviews;

use std::hint::black_box;
use std::time::Duration;

use pointsman_core::webhook::{Endpoint, Request};
use rustix::time::{ClockId, clock_gettime};
use serde::de::IgnoredAny;

use crate::instructions::{Action, Path};
use crate::reviews::Version;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let good = match words.as_slice() {
        [] => {
            measure();
            true
        }
        ["--check"] => measure(),
        ["hostile"] => hostile::main(),
        ["instructions"] => instructions::main(Action::Compare),
        ["instructions", "--check"] => instructions::main(Action::Check),
        ["instructions", "--bless"] => instructions::main(Action::Bless),
        ["instructions", "run", name, times] => {
            instructions::repeat(name, times);
            true
        }
        _ => {
            println!(
                "usage: cargo bench -p pointsman-core --bench engine [-- --check | hostile | \
                 instructions [--check | --bless]]"
            );
            false
        }
    };
    if !good {
        std::process::exit(1);
    }
}

/// A timed operation: its name, the number of objects and bytes that it reads, and its function.
struct Row<'r> {
    name: String,
    objects: usize,
    bytes: usize,
    run: Box<dyn Fn() + 'r>,
}

/// Prints the tables. Returns whether the floors hold.
fn measure() -> bool {
    println!("{}", machine());
    let mut good = true;
    for (floors, rounds) in FLOORS.iter().zip([4000, 40, 5]) {
        good &= conversions(floors, rounds);
    }
    let rows = Path::ALL.iter().map(|path| {
        let run = path.run();
        Row { name: path.name(), objects: 1, bytes: path.bytes(), run: Box::new(run) }
    });
    println!("\none object per call");
    for (row, time) in timed(rows.collect(), 4000) {
        println!("{}", line(&row, time));
    }
    good
}

/// A conversion and its references. Returns whether the floors hold.
fn conversions(floors: &Floors, rounds: usize) -> bool {
    let objects = floors.objects;
    let webhook = reviews::webhook();
    let (up, down) = (reviews::conversion(Version::Older, objects), reviews::conversion(Version::Newer, objects));
    let convert = |body: &[u8]| webhook.handle(&Request::new(Endpoint::Convert, body)).expect("reply").body;
    naive::compare(&convert(&up), &naive::answer(&up));
    let row = |name: &str, bytes: usize, run: Box<dyn Fn()>| Row { name: name.to_owned(), objects, bytes, run };
    let (up, down): (&'static [u8], &'static [u8]) = (up.leak(), down.leak());
    let webhook: &'static _ = Box::leak(Box::new(webhook));
    let convert = |body: &'static [u8]| -> Box<dyn Fn()> {
        Box::new(move || drop(black_box(webhook.handle(&Request::new(Endpoint::Convert, black_box(body))))))
    };
    let rows = vec![
        row("copy", up.len(), Box::new(|| drop(black_box(black_box(up).to_vec())))),
        row("IgnoredAny", up.len(), Box::new(|| drop(black_box(serde_json::from_slice::<IgnoredAny>(black_box(up)))))),
        row("naive", up.len(), Box::new(|| drop(black_box(naive::answer(black_box(up)))))),
        row("pointsman, up", up.len(), convert(up)),
        row("pointsman, down", down.len(), convert(down)),
    ];
    println!("\n{objects} objects, {} bytes", up.len());
    let times: Vec<(Row<'_>, Duration)> = timed(rows, rounds);
    for (row, time) in &times {
        println!("{}", line(row, *time));
    }
    let seconds = |at: usize| times[at].1.as_secs_f64();
    let (scan, naive) = (seconds(1) / seconds(3), seconds(2) / seconds(3));
    println!("up: {scan:.2} of the scan's speed, {naive:.1} times the naive way");
    scan >= floors.scan && naive >= floors.naive
}

/// Runs all rows in turn, round by round. Returns the median of each.
fn timed(rows: Vec<Row<'_>>, rounds: usize) -> Vec<(Row<'_>, Duration)> {
    let mut times = vec![Vec::with_capacity(rounds); rows.len()];
    for _ in 0..rounds {
        for (row, times) in rows.iter().zip(&mut times) {
            let start = cpu_time();
            (row.run)();
            times.push(cpu_time().saturating_sub(start));
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    rows.into_iter().zip(times.into_iter().map(median)).collect()
}

/// The time that this thread was on a processor.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn line(row: &Row<'_>, time: Duration) -> String {
    let each = time.as_secs_f64() * 1e6 / row.objects as f64;
    let speed = row.bytes as f64 / time.as_secs_f64() / 1e6;
    format!("{:>18} {each:>8.2} us/object {speed:>8.0} MB/s", row.name)
}

/// The processor, because the numbers depend on it.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{}, {cores} cores", model.trim_start_matches([' ', '\t', ':']))
}

/// The minimum speeds of a review.
struct Floors {
    /// The number of objects in the review.
    objects: usize,
    /// Relative to the scan. The goal is 0.45.
    scan: f64,
    /// Relative to the naive conversion. The goal is 8.
    naive: f64,
}

/// Three quarters of the measured ratios, because these differ by a tenth between machines: less is a regression.
const FLOORS: [Floors; 3] = [
    Floors { objects: 1, scan: 0.12, naive: 2.0 },
    Floors { objects: 500, scan: 0.15, naive: 9.3 },
    Floors { objects: 20_000, scan: 0.15, naive: 9.3 },
];
