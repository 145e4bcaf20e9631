//! A hostile neighbour beside callers that behave: a kept connection and fresh ones that ask for one small object at a
//! time, as kube-apiservers do, of a server that is made for 128 MiB. What came of it is printed as a table:
//!
//! ```sh
//! POINTSMAN_ATTACK_SECONDS=5 cargo test -p pointsman-server --test it -- --nocapture no_attack
//! ```
//!
//! `POINTSMAN_ATTACK=Busy` tries that one alone.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::support::attack::Attack;
use crate::support::client::{Answer, Client};
use crate::support::eventually;
use crate::support::victim::{self, LIMIT_MIB, Victim};

/// How long each attack lasts, in seconds.
fn seconds() -> u64 {
    std::env::var("POINTSMAN_ATTACK_SECONDS").ok().map_or(2, |seconds| seconds.parse().unwrap())
}

/// A review of one object of 20 KB.
fn review() -> Vec<u8> {
    let note = "x".repeat(20_000);
    format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":\
         {{\"uid\":\"u\",\"desiredAPIVersion\":\"materialize.cloud/v1alpha2\",\"objects\":[\
         {{\"apiVersion\":\"materialize.cloud/v1alpha1\",\"kind\":\"Materialize\",\"metadata\":\
         {{\"name\":\"a\",\"annotations\":{{\"note\":\"{note}\"}}}},\"spec\":{{}}}}]}}}}"
    )
    .into_bytes()
}

/// A call as client-go makes it: 503 with `Retry-After` is asked again, up to ten times.
async fn call(client: &mut Client) -> hyper::Result<Answer> {
    for _ in 0..10 {
        let answer = client.post("/convert", review()).await?;
        if answer.status != 503 {
            return Ok(answer);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    client.post("/convert", review()).await
}

/// A call on a connection of its own. One that is closed before anything was sent on it is dialled again, as Go does.
async fn fresh_call(victim: &Victim) -> bool {
    for _ in 0..3 {
        if let Ok(mut client) = victim.dial().connect().await
            && let Ok(answer) = call(&mut client).await
        {
            return answer.status == 200;
        }
    }
    false
}

/// A kubelet's probe, which may miss twice.
async fn probe(victim: &Victim) -> bool {
    for _ in 0..3 {
        if victim.is_live().await {
            return true;
        }
    }
    false
}

/// How long calls took, and how many failed.
#[derive(Default)]
struct Calls {
    took: Vec<Duration>,
    failed: usize,
}

impl Calls {
    fn add(&mut self, begun: Instant, succeeded: bool) {
        self.took.push(begun.elapsed());
        self.failed += usize::from(!succeeded);
    }

    /// So many of a hundred were faster.
    fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }
}

/// As a process of its own this is the server that the attacks are on; here, whether there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim_of_the_attacks_serves() {
    if victim::is_this_process() {
        return victim::serve().await;
    }
    let victim = Victim::start(VICTIM).await;
    assert!(fresh_call(&victim).await && victim.is_live().await);
    assert!(victim.peak_mib() < LIMIT_MIB);
}

/// The test that a victim is.
const VICTIM: &str = "neighbours::the_victim_of_the_attacks_serves";

/// What came of an attack.
#[derive(Default)]
struct Outcome {
    kept: Calls,
    fresh: Calls,
    probes: Calls,
    /// Calls of a server beside it that nobody attacks: what the machine does to everybody.
    bystander: Calls,
}

impl Outcome {
    /// Calls both for a while, one call at a time.
    async fn of(victim: &Victim, bystander: &Victim, mut kept: Client) -> Self {
        let mut all = Self::default();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds()) {
            let at = Instant::now();
            let succeeded = call(&mut kept).await.is_ok_and(|answer| answer.status == 200);
            all.kept.add(at, succeeded);
            if !succeeded {
                kept = victim.dial().connect().await.unwrap();
            }
            let at = Instant::now();
            all.fresh.add(at, fresh_call(victim).await);
            let at = Instant::now();
            all.probes.add(at, probe(victim).await);
            let at = Instant::now();
            all.bystander.add(at, fresh_call(bystander).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        all
    }

    /// What must not be: a failure, a call that is held off for more than two seconds, a probe for more than one. What
    /// the bystander has to wait is added, as the attackers and all other tests are on the same processors.
    fn wrong(&self) -> Vec<&'static str> {
        let noise = self.bystander.percentile(100);
        let limits = [("kept", &self.kept, 2), ("fresh", &self.fresh, 2), ("/livez", &self.probes, 1)];
        let wrong = limits.into_iter().filter_map(|(name, calls, most)| {
            let slow = calls.percentile(100) > Duration::from_secs(most) + noise;
            (slow || calls.failed > 0).then_some(name)
        });
        wrong.collect()
    }
}

/// What the allocator keeps of it nobody counts: it would be there until the process ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_large_bodies_took_goes_back_to_the_kernel() {
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
    // The threads that decided end after a while.
    eventually("it is given back", || async { (victim.resident_mib() <= most).then_some(()) }).await;
    assert!(victim.peak_mib() > most, "nothing was taken");
}

/// A review of so many hundreds of objects of 2 KB.
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
async fn no_attack_fails_a_kept_call_or_holds_off_a_fresh_one() {
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
        let outcome = Outcome::of(&victim, &bystander, kept).await;
        drop(running);
        let peak = victim.peak_mib();
        let wrong = outcome.wrong();
        let Outcome { kept, fresh, probes, bystander } = &outcome;
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
        if peak > LIMIT_MIB {
            all_wrong.push(format!("{attack:?}: {peak} MiB"));
        }
    }
    assert!(tried > 0, "there is no attack {only:?}");
    assert!(all_wrong.is_empty(), "{all_wrong:?}");
}
