//! Well-behaved callers during an attack: a kept connection and fresh ones that convert one small object at a time, as
//! kube-apiservers do.

use std::time::{Duration, Instant};

use super::client::{Answer, Client};
use super::victim::Victim;

/// A review of one object of this many KB.
fn review(kilobytes: usize) -> Vec<u8> {
    review_of_note(&"x".repeat(kilobytes * 1000))
}

/// A review of one object with this text in an annotation.
pub(crate) fn review_of_note(note: &str) -> Vec<u8> {
    format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":\
         {{\"uid\":\"u\",\"desiredAPIVersion\":\"materialize.cloud/v1alpha2\",\"objects\":[\
         {{\"apiVersion\":\"materialize.cloud/v1alpha1\",\"kind\":\"Materialize\",\"metadata\":\
         {{\"name\":\"a\",\"annotations\":{{\"note\":\"{note}\"}}}},\"spec\":{{}}}}]}}}}"
    )
    .into_bytes()
}

/// One call. client-go would retry after a 503, which would hide a refusal.
pub(crate) async fn call(client: &mut Client) -> hyper::Result<Answer> {
    client.post("/convert", review(20)).await
}

/// A call on a new connection. A connection that closes before the request is dialled again, as Go does.
pub(crate) async fn fresh_call(victim: &Victim) -> bool {
    fresh_call_of(victim, 20).await
}

/// Same as [`fresh_call`], with one object of this many KB.
async fn fresh_call_of(victim: &Victim, kilobytes: usize) -> bool {
    for _ in 0..3 {
        if let Ok(mut client) = victim.dial().connect().await
            && let Ok(answer) = client.post("/convert", review(kilobytes)).await
        {
            return answer.status == 200;
        }
    }
    false
}

/// A kubelet's probe, which may fail twice.
async fn probe(victim: &Victim) -> bool {
    for _ in 0..3 {
        if victim.is_live().await {
            return true;
        }
    }
    false
}

/// Durations of calls, and the number of failures.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) took: Vec<Duration>,
    pub(crate) failed: usize,
}

impl Calls {
    fn add(&mut self, begun: Instant, succeeded: bool) {
        self.took.push(begun.elapsed());
        self.failed += usize::from(!succeeded);
    }

    /// The duration that this percentage of calls stays below.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }
}

/// The results of an attack.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) kept: Calls,
    pub(crate) fresh: Calls,
    /// Occasional fresh calls with an object above the share of a connection.
    pub(crate) large: Calls,
    pub(crate) probes: Calls,
    /// Calls to a second server without attack: the effect of the machine on all servers.
    pub(crate) bystander: Calls,
}

impl Outcome {
    /// Calls both servers for a time and at least a given number of times, one call at a time. `large_every`: a large
    /// call after this many fresh calls; 0 for none.
    pub(crate) async fn of(
        (victim, bystander): (&Victim, &Victim),
        mut kept: Client,
        (lasting, least, large_every): (Duration, usize, usize),
    ) -> Self {
        let mut all = Self::default();
        let begun = Instant::now();
        while begun.elapsed() < lasting || all.kept.took.len() < least {
            let at = Instant::now();
            let succeeded = call(&mut kept).await.is_ok_and(|answer| answer.status == 200);
            all.kept.add(at, succeeded);
            if !succeeded {
                kept = victim.dial().connect().await.unwrap();
            }
            let at = Instant::now();
            all.fresh.add(at, fresh_call(victim).await);
            if large_every > 0 && all.fresh.took.len() % large_every == 1 {
                let at = Instant::now();
                all.large.add(at, fresh_call_of(victim, 300).await);
            }
            let at = Instant::now();
            all.probes.add(at, probe(victim).await);
            let at = Instant::now();
            all.bystander.add(at, fresh_call(bystander).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        all
    }

    /// The kinds of calls that failed or were late: a call after two seconds, a probe after one. The delay of the
    /// bystander is added, because attackers and other tests share the processors.
    pub(crate) fn wrong(&self) -> Vec<&'static str> {
        let noise = self.bystander.percentile(100);
        let limits = [("kept", &self.kept, 2), ("fresh", &self.fresh, 2), ("/livez", &self.probes, 1)];
        let wrong = limits.into_iter().filter_map(|(name, calls, most)| {
            let slow = calls.percentile(100) > Duration::from_secs(most) + noise;
            (slow || calls.failed > 0).then_some(name)
        });
        // A large object needs memory shared by all clients: during list attacks about one in thirty is refused.
        wrong.chain((self.large.failed * 2 > self.large.took.len()).then_some("large")).collect()
    }
}
