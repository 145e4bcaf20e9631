//! The Lease that separates runners of a rollout. Safety does not depend on it: objects are recorded as in flight
//! before a move, so two runners together move no more than one.
//!
//! Written by hand, because libraries for leader election renew by a timer alone: here a holder that was suspended
//! makes no call, and the duration covers requests that a former holder has sent.

use std::pin::pin;
use std::time::{Duration, Instant, SystemTime};

use pointsman_rollout::{LONGEST_CALL, rfc3339};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::clock::RolloutClock;
use super::error::RolloutError;
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// A Lease, held or not.
pub(super) struct RolloutLease {
    rollout: String,
    path: String,
    holder: String,
    clock: RolloutClock,
    /// The last renewal, if held.
    renewed: Option<Since>,
    /// The last observed state of another holder, and the time.
    seen: Option<(String, Instant)>,
    /// Seconds without renewal until it expires.
    lasts: u64,
    /// The last written value of that.
    written: u64,
}

/// A time on two clocks.
#[derive(Clone, Copy, Debug)]
struct Since(Instant, SystemTime);

impl Since {
    fn now() -> Self {
        Self(Instant::now(), SystemTime::now())
    }

    /// The maximum age: the monotonic clock stops while a machine sleeps, and the wall clock jumps.
    fn at_most(self) -> Duration {
        // A wall clock that was set back is ignored.
        self.0.elapsed().max(self.1.elapsed().unwrap_or_default())
    }
}

/// The result of an attempt to hold it.
pub(super) enum LeaseState {
    /// Held by this process.
    Held,
    /// Held by another process. `is_alive` is true if it was renewed since the first observation.
    By { holder: String, is_alive: bool },
}

impl RolloutLease {
    pub(super) fn new(rollout: &str, namespace: &str, holder: &str, clock: RolloutClock) -> Self {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        let (rollout, holder) = (rollout.to_owned(), holder.to_owned());
        Self { rollout, path, holder, clock, renewed: None, seen: None, lasts: DURATION, written: DURATION }
    }

    /// Sets whether the holder sends requests that must not take effect after a takeover. If so, the Lease outlasts any
    /// request of a suspended or disconnected holder: a late effect would contradict the next holder's work. The new
    /// duration is written before anything else.
    pub(super) fn outlasts_calls(&mut self, sends_requests: bool) {
        self.lasts = if sends_requests { DURATION + LONGEST_CALL } else { DURATION };
    }

    /// True if it was renewed just now, so that no takeover is possible.
    pub(super) fn is_fresh(&self) -> bool {
        self.written == self.lasts && self.renewed.is_some_and(|renewed| renewed.at_most() < RENEW)
    }

    /// True if it was acquired, and neither lost nor released since.
    pub(super) fn is_held(&self) -> bool {
        self.renewed.is_some()
    }

    /// Acquires or renews the Lease. Its time starts before the call, so a slow call shortens it.
    pub(super) async fn hold(&mut self, cluster: &Cluster) -> Result<LeaseState, RolloutError> {
        let before = Since::now();
        let one = format!("{}/pointsman-rollout-{}", self.path, self.rollout);
        let found = match cluster.get(&one).await {
            Ok(found) => found,
            Err(error) if error.code() == Some(404) => {
                self.was_lost("the client that deleted its Lease")?;
                return self.make(cluster, before).await;
            }
            Err(error) => return Err(error.into()),
        };
        let text = |path: &str| found.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (by, version) = (text("/spec/holderIdentity"), text("/metadata/resourceVersion"));
        let lasts = found.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
        let is_alive = self.seen.as_ref().is_some_and(|(seen, _)| *seen != version);
        if by != self.holder {
            // Even if it was released since: earlier plans are stale.
            self.was_lost(if by.is_empty() { "another runner, which has finished" } else { &by })?;
        }
        if by != self.holder && !by.is_empty() && !self.has_expired(version, lasts) {
            return Ok(LeaseState::By { holder: by, is_alive });
        }
        let mut next = found;
        if let Some(members) = next.as_object_mut() {
            members.insert("spec".to_owned(), self.spec(&self.holder));
        }
        let answer = cluster.put(&one, &next).await;
        self.held(answer, before)
    }

    /// The error of a held Lease that another process has or had.
    fn was_lost(&mut self, to: &str) -> Result<(), RolloutError> {
        match self.renewed.take() {
            Some(_) => Err(RolloutError::Lost { name: self.rollout.clone(), to: to.to_owned() }),
            None => Ok(()),
        }
    }

    /// Runs a long operation, and renews the Lease meanwhile.
    ///
    /// # Errors
    /// Another process has taken over, or the error of the operation. A failed renewal is no error yet: a later one may
    /// succeed, and no write happens without the Lease.
    pub(super) async fn while_renewing<T, E: Into<RolloutError>>(
        &mut self,
        cluster: &Cluster,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, RolloutError> {
        let mut work = pin!(work);
        loop {
            if let Ok(done) = timeout(RENEW, work.as_mut()).await {
                return done.map_err(Into::into);
            }
            match self.hold(cluster).await {
                Ok(LeaseState::By { holder: to, .. }) => {
                    return Err(RolloutError::Lost { name: self.rollout.clone(), to });
                }
                Err(lost @ RolloutError::Lost { .. }) => return Err(lost),
                Ok(LeaseState::Held) | Err(_) => {}
            }
        }
    }

    async fn make(&mut self, cluster: &Cluster, before: Since) -> Result<LeaseState, RolloutError> {
        let name = format!("pointsman-rollout-{}", self.rollout);
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
            "spec": self.spec(&self.holder),
        });
        let answer = cluster.post(&self.path.clone(), &lease).await;
        self.held(answer, before)
    }

    fn held(&mut self, answer: Result<Value, CallError>, before: Since) -> Result<LeaseState, RolloutError> {
        match answer {
            Ok(_) => {
                (self.renewed, self.seen, self.written) = (Some(before), None, self.lasts);
                Ok(LeaseState::Held)
            }
            // A conflict: the next read shows the holder.
            Err(error) if error.code() == Some(409) => {
                Ok(LeaseState::By { holder: "another runner".to_owned(), is_alive: false })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// True if another holder has not renewed for the Lease's duration. Measures from the first observation, since
    /// clocks may differ.
    fn has_expired(&mut self, version: String, lasts: Option<u64>) -> bool {
        let lasts = lasts.unwrap_or(DURATION).clamp(DURATION, DURATION + LONGEST_CALL);
        match &self.seen {
            Some((known, since)) if *known == version => since.elapsed() > Duration::from_secs(lasts),
            _ => {
                self.seen = Some((version, Instant::now()));
                false
            }
        }
    }

    /// Releases the Lease, so that the next holder need not wait. If this fails, it expires.
    pub(super) async fn release(&mut self, cluster: &Cluster) {
        if self.renewed.take().is_none() {
            return;
        }
        let one = format!("{}/pointsman-rollout-{}", self.path, self.rollout);
        let Ok(mut lease) = cluster.get(&one).await else { return };
        let is_ours = lease.pointer("/spec/holderIdentity").and_then(Value::as_str) == Some(self.holder.as_str());
        if let Some(members) = lease.as_object_mut().filter(|_| is_ours) {
            members.insert("spec".to_owned(), self.spec(""));
            let _ = cluster.put(&one, &lease).await;
        }
    }

    fn spec(&self, holder: &str) -> Value {
        let now = rfc3339(self.clock.now().wall).replace('Z', ".000000Z");
        json!({"holderIdentity": holder, "leaseDurationSeconds": self.lasts, "renewTime": now})
    }
}

/// Seconds without renewal until another process takes over, same as in Kubernetes controllers.
const DURATION: u64 = 15;

/// Renewal interval, also checked before later writes. Less than 10 s, after which no call is made without renewal.
const RENEW: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::tests::beside::{against, says};
    use crate::web::tests::{Manner, SmallServer, answer};

    /// Uses the duration in the holder's Lease, within bounds, so that none blocks forever.
    #[test]
    fn foreign_lease_expires_on_time() {
        let mut lease = RolloutLease::new("a", "default", "me", RolloutClock::start());
        let ago =
            |seconds: u64| Some(("7".to_owned(), Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap()));
        for (duration, seen, is_over) in [
            (None, 14, false),
            (None, 16, true),
            (Some(15), 16, true),
            (Some(80), 79, false),
            (Some(80), 81, true),
            (Some(0), 14, false),
            (Some(u64::MAX), 81, true),
        ] {
            lease.seen = ago(seen);
            assert_eq!(lease.has_expired("7".to_owned(), duration), is_over, "{duration:?} after {seen} s");
            lease.seen = ago(seen);
            assert!(!lease.has_expired("8".to_owned(), duration), "it was renewed");
        }
    }

    /// A suspended laptop, whose monotonic clock stopped, and one whose clock was set.
    #[test]
    fn suspended_holder_rechecks_lease() {
        let long = Duration::from_secs(100);
        let mut lease = RolloutLease::new("a", "default", "me", RolloutClock::start());
        for (steady, wall, is_fresh) in [
            (Duration::ZERO, SystemTime::now() - long, false),
            (long, SystemTime::now(), false),
            (Duration::ZERO, SystemTime::now() + long, true),
        ] {
            lease.renewed = Some(Since(Instant::now().checked_sub(steady).unwrap(), wall));
            assert_eq!(lease.is_fresh(), is_fresh, "{steady:?} {wall:?}");
        }
    }

    /// An intermediate holder may have finished and released the Lease: earlier plans are stale.
    #[test]
    fn released_lease_counts_as_lost() {
        for (holder, is_lost) in [("me", false), ("", true), ("you", true)] {
            let lease = json!({"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": holder}}).to_string();
            let server = SmallServer::start(move |_| Manner::Says(answer(200, &lease)));
            let mut lease = RolloutLease::new("a", "default", "me", RolloutClock::start());
            let first = against(&server, async |cluster| lease.hold(cluster).await);
            assert_eq!(matches!(first, Ok(LeaseState::Held)), holder != "you", "{holder:?}: it was not held");
            lease.renewed = Some(Since::now());
            let again = against(&server, async |cluster| lease.hold(cluster).await);
            assert_eq!(matches!(again, Err(RolloutError::Lost { .. })), is_lost, "{holder:?}");
        }
        let server = SmallServer::start(|_| says(404, "not found"));
        let mut lease = RolloutLease::new("a", "default", "me", RolloutClock::start());
        lease.renewed = Some(Since::now());
        let again = against(&server, async |cluster| lease.hold(cluster).await);
        assert!(matches!(again, Err(RolloutError::Lost { .. })), "deleted by another client");
    }

    #[test]
    fn slow_holder_stops_before_writing() {
        let mut lease = RolloutLease::new("a", "default", "me", RolloutClock::start());
        lease.held(Ok(Value::Null), Since::now()).unwrap();
        assert!(lease.is_fresh());
        lease.outlasts_calls(true);
        assert!(!lease.is_fresh());
        assert_eq!(lease.spec("me")["leaseDurationSeconds"], 80);
        lease.held(Ok(Value::Null), Since::now()).unwrap();
        assert!(lease.is_fresh());
    }
}
