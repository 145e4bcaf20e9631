//! Clients that hold connections, streams, bodies and responses, in any number, next to well-behaved callers: named
//! attacks, and random ones by seed.
//!
//! ```sh
//! POINTSMAN_ATTACK_SEEDS=200 cargo test -p pointsman-server --test it -- --nocapture held_streams
//! ```
//!
//! `POINTSMAN_ATTACK_CALLS` is how often each caller calls at least, `POINTSMAN_SEED` the first seed, and
//! `POINTSMAN_ATTACK` a part of the names of those that are tried. With 300 calls, what is left of an attack after ten
//! seconds counts as well. `POINTSMAN_ATTACK_MIB=842` gives the server its default limits, and
//! `POINTSMAN_ATTACK_TIMES=6` multiplies the connections of each attack.

use std::time::{Duration, Instant};

use crate::support::callers::{Outcome, call};
use crate::support::held_streams::{CALLERS, HeldStreams, STRANGER};
use crate::support::number;
use crate::support::victim::{Victim, limit_mib};

/// The test that runs as the victim process.
const VICTIM: &str = "neighbours::the_victim_of_the_attacks_serves";

const HEAD: &str =
    "| attack | calls | kept worst | failed | fresh worst | failed | large worst | failed | /livez worst | bystander | peak MiB | MiB after | lines/s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Runs one attack and prints a line of the table. Returns the errors.
async fn attacked(name: &str, attack: HeldStreams, bystander: &Victim, after: Duration) -> Option<String> {
    if std::env::var("POINTSMAN_ATTACK").is_ok_and(|only| !name.contains(&only)) {
        return None;
    }
    let times = usize::try_from(number("POINTSMAN_ATTACK_TIMES", 1)).unwrap();
    let attack = HeldStreams { connections: attack.connections * times, ..attack };
    let victim = Victim::start_with_log(VICTIM).await;
    let begun = Instant::now();
    let mut kept = victim.dial().connect().await.unwrap();
    assert_eq!(call(&mut kept).await.unwrap().status, 200);
    let running = attack.begin(&victim.dial());
    let calls = usize::try_from(number("POINTSMAN_ATTACK_CALLS", 40)).unwrap();
    let outcome = Outcome::of((&victim, bystander), kept, (Duration::from_secs(2), calls, 8)).await;
    drop(running);
    let (peak, seconds) = (victim.peak_mib(), begun.elapsed().as_secs_f64());
    let lines = victim.log_lines() as f64 / seconds;
    tokio::time::sleep(after).await;
    let left = victim.resident_mib();
    let wrong = outcome.wrong();
    let Outcome { kept, fresh, large, probes, bystander } = &outcome;
    println!(
        "| {name} | {} | {:.1?} | {} | {:.1?} | {} | {:.1?} | {}/{} | {:.1?} | {:.1?} | {peak} | {left} | {lines:.0} |",
        kept.took.len(),
        kept.percentile(100),
        kept.failed,
        fresh.percentile(100),
        fresh.failed,
        large.percentile(100),
        large.failed,
        large.took.len(),
        probes.percentile(100),
        bystander.percentile(100),
    );
    let too_much = victim.is_killed() || peak > limit_mib() || after >= AFTER && left > LEFT_MIB || lines > LINES;
    (!wrong.is_empty() || too_much)
        .then(|| format!("{name}: {wrong:?}, {peak} MiB, then {left} MiB, {lines:.0} lines a second: {attack:?}"))
}

/// Time after an attack at which its remaining memory is measured.
const AFTER: Duration = Duration::from_secs(10);
const LEFT_MIB: u64 = 40;

/// Log lines per second: at most 20 of each of eight kinds, and one per second with the number of dropped lines.
const LINES: f64 = 8.0 * 21.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_holders_fail_no_call() {
    println!("{HEAD}");
    let bystander = Victim::start(VICTIM).await;
    let thorough = number("POINTSMAN_ATTACK_CALLS", 0) >= 300;
    let after = if thorough { AFTER } else { Duration::ZERO };
    let mut wrong = Vec::new();
    for (who, address) in [("stranger", STRANGER), ("caller", CALLERS)] {
        for connections in [24, 60, 150, 320] {
            let name = format!("one byte of {connections} x 250, {who}");
            wrong.extend(attacked(&name, HeldStreams::one_byte(connections, address), &bystander, after).await);
        }
        // The streams that a client may open before it receives the limit.
        let hasty = HeldStreams { streams: 100, ..HeldStreams::one_byte(320, address) };
        wrong.extend(attacked(&format!("one byte of 320 x 100, {who}"), hasty, &bystander, after).await);
        wrong.extend(attacked(&format!("last byte, {who}"), HeldStreams::last_byte(address), &bystander, after).await);
        wrong.extend(attacked(&format!("unread, {who}"), HeldStreams::unread(address), &bystander, after).await);
        let all_unread = HeldStreams::all_unread(address);
        wrong.extend(attacked(&format!("all unread, {who}"), all_unread, &bystander, after).await);
        let all_bodies = HeldStreams::all_bodies(address);
        wrong.extend(attacked(&format!("all bodies, {who}"), all_bodies, &bystander, after).await);
        let all_pieces = HeldStreams::all_pieces(address);
        wrong.extend(attacked(&format!("all pieces, {who}"), all_pieces, &bystander, after).await);
        wrong.extend(attacked(&format!("lists, {who}"), HeldStreams::lists(address), &bystander, after).await);
        let open_heads = HeldStreams::open_heads(address);
        wrong.extend(attacked(&format!("open heads, {who}"), open_heads, &bystander, after).await);
        let full_heads = HeldStreams { fields: 1800, ..HeldStreams::one_byte(320, address) };
        wrong.extend(attacked(&format!("full heads, {who}"), full_heads, &bystander, after).await);
        wrong.extend(attacked(&format!("resets, {who}"), HeldStreams::resets(address), &bystander, after).await);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_holders_fail_no_call() {
    println!("{HEAD}");
    let bystander = Victim::start(VICTIM).await;
    let first = number("POINTSMAN_SEED", 0);
    let mut wrong = Vec::new();
    for seed in first..first + number("POINTSMAN_ATTACK_SEEDS", 4) {
        let attack = HeldStreams::random(seed);
        wrong.extend(attacked(&format!("seed {seed}"), attack, &bystander, Duration::ZERO).await);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
