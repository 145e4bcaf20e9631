//! A hostile neighbour beside callers that behave: a kept connection and fresh ones that ask for one small object at a
//! time, as kube-apiservers do, of a server that is made for 128 MiB. What came of it is printed as a table:
//!
//! ```sh
//! POINTSMAN_ATTACK_SECONDS=5 cargo test -p pointsman-server --test it -- --nocapture no_attack
//! ```

use std::time::{Duration, Instant};

use crate::support::attack::Attack;
use crate::support::client::{Answer, Client};
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
    fn percentile(&mut self, percent: usize) -> Duration {
        self.took.sort_unstable();
        self.took[(self.took.len() * percent / 100).min(self.took.len() - 1)]
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_attack_fails_a_kept_call_or_holds_off_a_fresh_one() {
    println!("| attack | kept p99 | failed | fresh p99 | failed | /livez worst | peak MiB |");
    println!("|---|---|---|---|---|---|---|");
    let mut wrong = Vec::new();
    for attack in Attack::ALL {
        let victim = Victim::start(VICTIM).await;
        let mut kept = victim.dial().connect().await.unwrap();
        assert_eq!(call(&mut kept).await.unwrap().status, 200);
        let running = attack.begin(victim.addr, victim.admin, &victim.dial());
        let [mut kept_calls, mut fresh_calls, mut probes] = [const { Calls { took: Vec::new(), failed: 0 } }; 3];
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds()) {
            let at = Instant::now();
            let answer = call(&mut kept).await;
            let succeeded = answer.is_ok_and(|answer| answer.status == 200);
            kept_calls.add(at, succeeded);
            if !succeeded {
                kept = victim.dial().connect().await.unwrap();
            }
            let at = Instant::now();
            fresh_calls.add(at, fresh_call(&victim).await);
            let at = Instant::now();
            probes.add(at, probe(&victim).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(running);
        let peak = victim.peak_mib();
        println!(
            "| {attack:?} | {:.1?} | {} | {:.1?} | {} | {:.1?} | {peak} |",
            kept_calls.percentile(99),
            kept_calls.failed,
            fresh_calls.percentile(99),
            fresh_calls.failed,
            probes.percentile(100),
        );
        // Alone on two cores it is half a second. The attackers and all other tests are on them as well.
        let slow = [(&mut kept_calls, 4), (&mut fresh_calls, 4), (&mut probes, 2)];
        if slow.into_iter().any(|(calls, most)| calls.failed > 0 || calls.percentile(100) > Duration::from_secs(most)) {
            wrong.push(format!("{attack:?}: slow, or failed"));
        }
        if peak > LIMIT_MIB {
            wrong.push(format!("{attack:?}: {peak} MiB"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
