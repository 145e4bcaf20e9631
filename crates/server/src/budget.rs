//! The memory that requests may hold at one time, over all connections: one budget of bytes, and it is a bound.
//!
//! A request is paid for by its body as it *arrives* (an announcement costs nothing), by its body and its [`weight`]
//! while it is decided, and by its answer until that is written. What it costs beside that is part of its connection
//! ([`Memory`](super::Memory)), which has few streams.
//!
//! The budget has three pools:
//!
//! | pool | of the budget | for |
//! |---|---|---|
//! | own | 3/16, the same for each connection | bodies that arrive. No other connection can take it |
//! | small | 1/16 | decisions of small requests, which a kube-apiserver's are |
//! | common | 12/16 | everything |
//!
//! With a budget of 48 MiB and 341 connections, the share is 27 KiB. A body of 13 KiB always arrives, because a body
//! counts twice while it is copied. The common pool has 36 MiB: one conversion of 3 MiB, the largest object there is,
//! while it is decided, or fifty of 60 KiB.
//!
//! Who finds no room waits for [`WAIT`] at most, then it is refused and comes back after a second (`Retry-After`).
//! Meanwhile those lose memory who only hold it, with a body that does not arrive or an answer that is not read:
//! [`MemoryReservations::reclaim`] says who.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::metrics::Metrics;
use super::reservations::{MemoryReservations, Pools};
use pointsman_core::webhook::{Endpoint, weight};
use pointsman_transport::connections::Requests;

/// The budget of a server.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<SharedBudget>);

#[derive(Debug)]
struct SharedBudget {
    metrics: Arc<Metrics>,
    claims: Mutex<MemoryReservations>,
    /// Wakes those who wait: something is free.
    freed: Notify,
}

impl Budget {
    /// `bytes` in all, for so many connections. A client that holds memory without need keeps it for as long as
    /// `grace`, where others need it.
    pub(super) fn new(bytes: u64, connections: usize, grace: Duration, metrics: Arc<Metrics>) -> Self {
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
    pub(super) fn largest_body(bytes: u64) -> u64 {
        let [least, one] = [&b""[..], b" "].map(|body| weight(Endpoint::Convert, body));
        common(bytes).saturating_sub(least) / (one - least + 1)
    }

    /// The claim of a request that has begun: nothing yet.
    pub(super) fn claim(&self, requests: &Requests) -> MemoryReservation {
        let (id, give_up) = self.0.claims().add(requests, Instant::now());
        MemoryReservation { id, shared: Arc::clone(&self.0), give_up }
    }

    /// Closes connections that do not read their answers within `deadline`, until dropped.
    pub(super) async fn write_deadline(self, deadline: Duration) {
        let often = (deadline / 4).clamp(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            sleep(often).await;
            self.0.claims().late(Instant::now(), deadline).for_each(Requests::evict);
        }
    }
}

/// What is for everybody.
fn common(bytes: u64) -> u64 {
    bytes / 16 * 12
}

/// What one request may hold, until it is dropped.
#[derive(Debug)]
pub(super) struct MemoryReservation {
    id: u64,
    shared: Arc<SharedBudget>,
    give_up: Arc<Notify>,
}

impl MemoryReservation {
    /// Holds a body of so many bytes from now on; false, and nothing changed, where there is no room for it.
    pub(super) async fn arrive(&self, bytes: u64) -> bool {
        self.obtain(bytes, |claims| claims.arrive(self.id, bytes)).await
    }

    /// Holds what a decision takes from now on, in place of the body; false, and nothing changed, where there is no
    /// room for it.
    pub(super) async fn decide(&self, bytes: u64) -> bool {
        let take = |claims: &mut MemoryReservations| claims.decide(self.id, bytes, Instant::now());
        if self.change(take) {
            return true;
        }
        let _waits = Waits::begin(&self.shared);
        self.obtain(bytes, take).await
    }

    /// Holds an answer from now on, in place of the decision; false, and nothing changed, where there is no room for
    /// it.
    pub(super) fn write(&self, bytes: u64) -> bool {
        self.change(|claims| claims.write(self.id, bytes, Instant::now()))
    }

    /// Whether there could ever be so many bytes for a decision.
    pub(super) fn could_hold(&self, bytes: u64) -> bool {
        bytes <= self.shared.claims().pools().common
    }

    /// Waits until the memory of a body that does not arrive is needed for others.
    pub(super) async fn needed_elsewhere(&self) {
        self.give_up.notified().await;
    }

    /// Takes memory, and waits for it where there is none, until it is needed for others.
    async fn obtain(&self, bytes: u64, take: impl Fn(&mut MemoryReservations) -> bool) -> bool {
        if self.change(&take) {
            return true;
        }
        loop {
            let begun = Instant::now();
            let mut freed = pin!(self.shared.freed.notified());
            // Before the look: what is freed after it is not missed.
            freed.as_mut().enable();
            if self.change(&take) {
                return true;
            }
            let reclaimed = self.shared.claims().reclaim(self.id, bytes, begun);
            self.shared.metrics.memory.reclaimed(reclaimed);
            tokio::select! {
                () = freed => {}
                () = sleep(LOOK_AGAIN) => {}
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
    /// Nothing in here panics half-way.
    fn claims(&self) -> MutexGuard<'_, MemoryReservations> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A decision waits for memory, until this is dropped.
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

/// How long a request waits for memory, in sum: less than the two seconds within which a call is to be answered.
const WAIT: Duration = Duration::from_millis(1500);

/// Whose time is over changes without a word.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(grace: Duration) -> Budget {
        Budget::new(16 * MIB, 16, grace, Arc::new(Metrics::new(None, None).unwrap()))
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
