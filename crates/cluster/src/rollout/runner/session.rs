//! The session of a runner: its Lease, and the rate of its calls.

use std::time::{Duration, Instant};

use pointsman_rollout::{ApiCallKind, RolloutStatus};
use serde_json::Value;
use tokio::time::sleep;

use super::event::RolloutEvent;
use super::reporter::EventReporter;
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::rollout::clock::RolloutClock;
use crate::rollout::error::RolloutError;
use crate::rollout::lease::{LeaseState, RolloutLease};
use crate::rollout::status_store::put_status;
use crate::rollout::write_pace::WritePace;

/// Calls of one running rollout. No write happens without the Lease, or faster than the rate allows.
pub(super) struct LeaseSession<'r> {
    pub(super) cluster: &'r Cluster,
    /// The name of the rollout.
    pub(super) name: &'r str,
    pub(super) clock: RolloutClock,
    pub(super) reporter: EventReporter<'r>,
    lease: RolloutLease,
    pace: WritePace,
}

impl<'r> LeaseSession<'r> {
    pub(super) fn new(
        cluster: &'r Cluster,
        name: &'r str,
        (clock, lease): (RolloutClock, RolloutLease),
        reporter: EventReporter<'r>,
    ) -> Self {
        Self { cluster, name, clock, reporter, lease, pace: WritePace::start(clock) }
    }

    pub(super) fn report(&self, event: RolloutEvent) {
        self.reporter.send(event);
    }

    /// Acquires the Lease, or renews it if needed.
    pub(super) async fn hold(&mut self) -> Result<LeaseState, RolloutError> {
        match self.lease.is_fresh() {
            true => Ok(LeaseState::Held),
            false => self.lease.hold(self.cluster).await,
        }
    }

    /// Ensures that the Lease is held before a write.
    pub(super) async fn ensure_held(&mut self) -> Result<(), RolloutError> {
        self.cluster.wait_for_retry_after().await;
        match self.hold().await? {
            LeaseState::Held => Ok(()),
            LeaseState::By { holder: to, .. } => Err(RolloutError::Lost { name: self.name.to_owned(), to }),
        }
    }

    /// Runs a long operation, and renews the Lease meanwhile. See [`RolloutLease::while_renewing`].
    pub(super) async fn while_renewing<T, E: Into<RolloutError>>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, RolloutError> {
        self.lease.while_renewing(self.cluster, work).await
    }

    /// See [`RolloutLease::outlasts_calls`].
    pub(super) fn outlasts_calls(&mut self, sends_requests: bool) {
        self.lease.outlasts_calls(sends_requests);
    }

    /// Releases the Lease, unless `pending` writes without response could conflict with the next holder.
    pub(super) async fn release(&mut self, pending: bool) {
        if !pending {
            self.lease.release(self.cluster).await;
        } else if self.lease.is_held() {
            // Writes the extended duration; if this fails, an earlier write contains it already for runners that create
            // objects.
            let _ = self.lease.hold(self.cluster).await;
        }
    }

    /// Waits until the next write is allowed.
    pub(super) async fn wait_for_turn(&mut self) {
        let change = self.pace.next().await;
        self.reporter.rate(change);
    }

    /// Records a failed call, which may lower the write rate.
    pub(super) fn failed(&mut self, error: &CallError) {
        let change = self.pace.failed(error);
        self.reporter.rate(change);
    }

    /// Records a finished call; slow calls lower the write rate.
    pub(super) fn took(&mut self, call: ApiCallKind, since: Instant) {
        let change = self.pace.took(call, since.elapsed());
        self.reporter.rate(change);
    }

    /// Writes the status.
    pub(super) async fn put_status(&mut self, document: &Value, status: &RolloutStatus) -> Result<Value, CallError> {
        let started = Instant::now();
        let answer = put_status(self.cluster, document, status).await;
        self.took(ApiCallKind::Status, started);
        answer
    }

    /// Reports changes of the status.
    pub(super) async fn report_status(&mut self, document: &Value, status: &RolloutStatus) {
        self.reporter.status_change(self.cluster, self.clock, document, status).await;
    }

    /// Waits after a temporary error. With `once`, every error is returned.
    pub(super) async fn pause_after(&mut self, error: RolloutError, once: bool) -> Result<(), RolloutError> {
        match error {
            RolloutError::Call(call) if call.passes() && !once => {
                let pause = call.retry_after().unwrap_or(INTERVAL).clamp(INTERVAL, LONGEST);
                self.failed(&call);
                self.report(RolloutEvent::Trying(call));
                sleep(pause).await;
                Ok(())
            }
            error => Err(error),
        }
    }
}

/// Shortest interval of plans: changes within a second share one status write.
pub(in crate::rollout) const INTERVAL: Duration = Duration::from_secs(1);

/// Longest interval: a holder without renewal for 15 s loses the rollout.
pub(super) const SELDOM: Duration = Duration::from_secs(5);

/// Maximum pause for `Retry-After`.
const LONGEST: Duration = Duration::from_secs(15);
