//! A hostile client next to well-behaved callers: a kept connection and fresh ones that convert one small object at a
//! time, as kube-apiservers do. The server is sized for 128 MiB. The results are printed as a table:
//!
//! ```sh
//! POINTSMAN_ATTACK_SECONDS=5 cargo test -p pointsman-server --test it -- --nocapture attacks_fail_no_call
//! ```
//!
//! `POINTSMAN_ATTACK=Busy` tries that one alone.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::attack::Attack;
use crate::support::callers::{Outcome, call, fresh_call};
use crate::support::victim::{self, Victim, limit_mib};
use crate::support::{eventually, number};

/// Duration of each attack, `POINTSMAN_ATTACK_SECONDS`.
fn lasting() -> Duration {
    Duration::from_secs(number("POINTSMAN_ATTACK_SECONDS", 2))
}

/// In a process of its own, this test is the attacked server; otherwise it checks that the server starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim_of_the_attacks_serves() {
    if victim::is_this_process() {
        return victim::serve().await;
    }
    let victim = Victim::start(VICTIM).await;
    assert!(fresh_call(&victim).await && victim.is_live().await);
    assert!(victim.peak_mib() < limit_mib());
}

/// The test that runs as the victim process.
const VICTIM: &str = "neighbours::the_victim_of_the_attacks_serves";

/// No counter covers memory that the allocator retains: such memory would stay until the process ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_body_memory_is_released() {
    let victim = Victim::start(VICTIM).await;
    assert!(fresh_call(&victim).await);
    let before = victim.resident_mib();
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        let dial = victim.dial();
        callers.spawn(async move {
            let mut client = dial.connect().await.unwrap();
            for call in 0..12 {
                let large = many_objects(4 + (caller + call) % 4 * 6);
                let status = client.post("/convert", large).await.unwrap().status;
                assert!(matches!(status, 200 | 503), "{status}");
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    let most = before + 16;
    // The decision threads end after a while.
    eventually("it is given back", || async { (victim.resident_mib() <= most).then_some(()) }).await;
    assert!(victim.peak_mib() > most, "nothing was taken");
}

/// A review of this many hundreds of objects of 2 KB.
fn many_objects(hundreds: usize) -> Vec<u8> {
    let note = "x".repeat(2000);
    let object = format!(
        "{{\"apiVersion\":\"materialize.cloud/v1alpha1\",\"kind\":\"Materialize\",\"metadata\":\
         {{\"name\":\"a\",\"annotations\":{{\"note\":\"{note}\"}}}},\"spec\":{{}}}}"
    );
    format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":\
         {{\"uid\":\"u\",\"desiredAPIVersion\":\"materialize.cloud/v1alpha2\",\"objects\":[{}]}}}}",
        vec![object; hundreds * 100].join(",")
    )
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attacks_fail_no_call() {
    println!("| attack | kept p99 | failed | fresh p99 | failed | fresh worst | /livez worst | bystander | peak MiB |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let only = std::env::var("POINTSMAN_ATTACK").ok();
    let bystander = Victim::start(VICTIM).await;
    let (mut all_wrong, mut tried) = (Vec::new(), 0);
    for attack in Attack::ALL {
        if only.as_ref().is_some_and(|only| *only != format!("{attack:?}")) {
            continue;
        }
        tried += 1;
        let victim = Victim::start(VICTIM).await;
        let mut kept = victim.dial().connect().await.unwrap();
        assert_eq!(call(&mut kept).await.unwrap().status, 200);
        let running = attack.begin(victim.addr, victim.admin, &victim.dial());
        let outcome = Outcome::of((&victim, &bystander), kept, (lasting(), 1, 20)).await;
        drop(running);
        let peak = victim.peak_mib();
        let wrong = outcome.wrong();
        let Outcome { kept, fresh, probes, bystander, .. } = &outcome;
        println!(
            "| {attack:?} | {:.1?} | {} | {:.1?} | {} | {:.1?} | {:.1?} | {:.1?} | {peak} |",
            kept.percentile(99),
            kept.failed,
            fresh.percentile(99),
            fresh.failed,
            fresh.percentile(100),
            probes.percentile(100),
            bystander.percentile(100),
        );
        if !wrong.is_empty() {
            all_wrong.push(format!("{attack:?}: {wrong:?} slow, or failed"));
        }
        if peak > limit_mib() {
            all_wrong.push(format!("{attack:?}: {peak} MiB"));
        }
    }
    assert!(tried > 0, "there is no attack {only:?}");
    assert!(all_wrong.is_empty(), "{all_wrong:?}");
}
