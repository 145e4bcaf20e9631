//! The memory budget of all concurrent requests, in bytes, as a hard limit.
//!
//! A request counts with its body as it *arrives* (an announced length does not count), with body and [`weight`] during
//! the decision, and with its response until that is written. Other memory is part of its connection
//! ([`Memory`](crate::Memory)), which has few streams.
//!
//! The budget has three pools:
//!
//! | pool | of the budget | for |
//! |---|---|---|
//! | own | 3/16, the same for each connection | bodies that arrive; reserved per connection |
//! | small | 1/16 | decisions of small requests, which a kube-apiserver's are |
//! | common | 12/16 | everything |
//!
//! With a budget of 48 MiB and 341 connections, the share is 27 KiB. A body of 13 KiB always arrives, because a body
//! counts twice while it is copied. The common pool has 36 MiB: the decision of one conversion of 3 MiB, the largest
//! possible object, or of fifty of 60 KiB.
//!
//! A request without memory waits for at most [`WAIT`], then is refused with a retry after a second (`Retry-After`).
//! Meanwhile memory is reclaimed from requests with a slow body or an unread response, as chosen by
//! [`MemoryReservations::reclaim`].

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::reservations::{MemoryReservations, Pools};
use crate::telemetry::metrics::Metrics;
use pointsman_core::webhook::{Endpoint, weight};
use pointsman_transport::connections::Requests;

/// The budget of a server.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<SharedBudget>);

#[derive(Debug)]
struct SharedBudget {
    metrics: Arc<Metrics>,
    claims: Mutex<MemoryReservations>,
    /// Wakes waiting requests: memory was freed.
    freed: Notify,
}

impl Budget {
    /// `bytes` in total, for this number of connections. A slow client keeps its memory for `grace`, if others need it.
    pub(crate) fn new(bytes: u64, connections: usize, grace: Duration, metrics: Arc<Metrics>) -> Self {
        metrics.memory.budget(bytes);
        let sixteenth = bytes / 16;
        let own = sixteenth * 3 / (connections as u64).max(1);
        let pools = Pools { own, small: sixteenth, common: common(bytes) };
        Self(Arc::new(SharedBudget {
            metrics,
            claims: Mutex::new(MemoryReservations::new(pools, grace)),
            freed: Notify::new(),
        }))
    }

    /// The largest body that can be decided, if it is one long string.
    pub(crate) fn largest_body(bytes: u64) -> u64 {
        let [least, one] = [&b""[..], b" "].map(|body| weight(Endpoint::Convert, body));
        common(bytes).saturating_sub(least) / (one - least + 1)
    }

    /// An empty reservation for a new request.
    pub(crate) fn claim(&self, requests: &Requests) -> MemoryReservation {
        let (id, give_up) = self.0.claims().add(requests, Instant::now());
        MemoryReservation { id, shared: Arc::clone(&self.0), give_up }
    }

    /// Closes connections that do not read their responses within `deadline`, until dropped.
    pub(crate) async fn write_deadline(self, deadline: Duration) {
        let often = (deadline / 4).clamp(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            sleep(often).await;
            self.0.claims().late(Instant::now(), deadline).for_each(Requests::evict);
        }
    }
}

/// The common pool.
fn common(bytes: u64) -> u64 {
    bytes / 16 * 12
}

/// The memory of one request, until dropped.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    id: u64,
    shared: Arc<SharedBudget>,
    give_up: Arc<Notify>,
}

impl MemoryReservation {
    /// Reserves memory for a body; returns false without a change if the budget is exhausted.
    pub(crate) async fn arrive(&self, bytes: u64) -> bool {
        self.obtain(bytes, |claims| claims.arrive(self.id, bytes)).await
    }

    /// Replaces the memory of the body by that of its decision; returns false without a change if the budget is
    /// exhausted.
    pub(crate) async fn decide(&self, bytes: u64) -> bool {
        let take = |claims: &mut MemoryReservations| claims.decide(self.id, bytes, Instant::now());
        if self.change(take) {
            return true;
        }
        let _waits = Waits::begin(&self.shared);
        self.obtain(bytes, take).await
    }

    /// Replaces the memory of the decision by that of its response; returns false without a change if the budget is
    /// exhausted.
    pub(crate) fn write(&self, bytes: u64) -> bool {
        self.change(|claims| claims.write(self.id, bytes, Instant::now()))
    }

    /// True if a decision of this size could ever fit.
    pub(crate) fn could_hold(&self, bytes: u64) -> bool {
        bytes <= self.shared.claims().pools().common
    }

    /// Waits until the memory of a slow body is reclaimed.
    pub(crate) async fn needed_elsewhere(&self) {
        self.give_up.notified().await;
    }

    /// Reserves memory, and waits for it, until the request itself is reclaimed.
    async fn obtain(&self, bytes: u64, take: impl Fn(&mut MemoryReservations) -> bool) -> bool {
        if self.change(&take) {
            return true;
        }
        loop {
            let begun = Instant::now();
            let mut freed = pin!(self.shared.freed.notified());
            // Before the attempt, so that memory freed afterwards is noticed.
            freed.as_mut().enable();
            if self.change(&take) {
                return true;
            }
            let reclaimed = self.shared.claims().reclaim(self.id, bytes, begun);
            self.shared.metrics.memory.reclaimed(reclaimed);
            tokio::select! {
                () = freed => {}
                () = sleep(RECHECK) => {}
                () = self.needed_elsewhere() => return false,
            }
            if self.shared.claims().wait_of(self.id, begun.elapsed()) > WAIT {
                return false;
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut MemoryReservations) -> bool) -> bool {
        let mut claims = self.shared.claims();
        let before = claims.total();
        let changed = change(&mut claims);
        let held = claims.total();
        drop(claims);
        self.shared.metrics.memory.held(held);
        if held < before {
            self.shared.freed.notify_waiters();
        }
        changed
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.change(|claims| {
            claims.remove(self.id);
            true
        });
    }
}

impl SharedBudget {
    /// No code panics while holding this lock.
    fn claims(&self) -> MutexGuard<'_, MemoryReservations> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A decision that waits for memory, until dropped.
struct Waits<'b>(&'b SharedBudget);

impl<'b> Waits<'b> {
    fn begin(budget: &'b SharedBudget) -> Self {
        budget.claims().wait(true);
        Self(budget)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.claims().wait(false);
    }
}

/// Total waiting time of a request for memory: less than the two seconds of a timely response.
const WAIT: Duration = Duration::from_millis(1500);

/// Clients become late without notification.
const RECHECK: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(grace: Duration) -> Budget {
        Budget::new(16 * MIB, 16, grace, Arc::new(Metrics::new(None, None).unwrap()))
    }

    /// The smallest documented budget, with its number of connections: while others hold the common pool, a body of
    /// 13 KiB arrives at once, in the share of its connection.
    #[tokio::test(start_paused = true)]
    async fn share_holds_a_small_body() {
        let metrics = Arc::new(Metrics::new(None, None).unwrap());
        let budget = Budget::new(48 * MIB, 341, Duration::from_secs(3600), metrics);
        let other = budget.claim(&Requests::default());
        assert!(other.decide(36 * MIB).await);
        let (small, began) = (budget.claim(&Requests::default()), Instant::now());
        assert!(small.arrive(2 * 13 * 1024).await && began.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn needy_request_waits_for_memory() {
        let (budget, requests) = (budget(Duration::from_secs(3600)), Requests::default());
        let (one, other) = (budget.claim(&requests), budget.claim(&Requests::default()));
        assert!(one.decide(12 * MIB).await);
        let began = Instant::now();
        assert!(!other.decide(2 * MIB).await && began.elapsed() > WAIT);
        assert!(!other.decide(2 * MIB).await && began.elapsed() < WAIT * 2, "the waits of one request add up");
        let other = budget.claim(&Requests::default());
        let wait = other.decide(2 * MIB);
        let end = async {
            sleep(WAIT / 2).await;
            drop(one);
        };
        assert!(tokio::join!(wait, end).0);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_memory_moves_to_needy() {
        let (budget, requests) = (budget(Duration::from_millis(250)), Requests::default());
        let (held, other) = (budget.claim(&requests), budget.claim(&Requests::default()));
        assert!(held.arrive(12 * MIB).await);
        let gives_up = async {
            held.needed_elsewhere().await;
            drop(held);
        };
        assert!(tokio::join!(other.decide(4 * MIB), gives_up).0);
    }
}
