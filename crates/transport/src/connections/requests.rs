//! Requests in flight on one connection.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The requests of one connection, and its desired end. Clones refer to the same connection.
#[derive(Clone, Debug)]
pub struct Requests {
    id: u64,
    state: watch::Sender<ConnectionState>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionState {
    /// Requests without response.
    pub(super) under_way: usize,
    /// Of those, requests that are incomplete.
    arriving: usize,
    /// Requests that ended incomplete, since the last complete one.
    broken_off: usize,
    /// True after the first request.
    pub(super) any: bool,
    /// True after the first complete request.
    pub(super) proven: bool,
    /// The last change of `under_way` or `arriving`.
    since: Instant,
    /// True if the connection must end after its responses.
    pub(super) leave: bool,
    /// Since when.
    leave_since: Option<Instant>,
    /// True if the connection must end now.
    pub(super) evicted: bool,
}

impl Default for Requests {
    fn default() -> Self {
        let since = Instant::now();
        let state = ConnectionState {
            under_way: 0,
            arriving: 0,
            broken_off: 0,
            any: false,
            proven: false,
            since,
            leave: false,
            leave_since: None,
            evicted: false,
        };
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), state: watch::Sender::new(state) }
    }
}

/// The number of the next connection.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Requests {
    /// The number of the connection, unique in this process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Begins a request, which ends when the guard is dropped. Subscribers are notified only of the first request of a
    /// connection and of its arrival: three wake-ups per request would cost as much as reading it.
    #[must_use]
    pub fn begin(&self) -> InFlightGuard {
        self.state.send_if_modified(|state| {
            state.under_way += 1;
            state.arriving += 1;
            state.since = Instant::now();
            !std::mem::replace(&mut state.any, true)
        });
        InFlightGuard { requests: self.clone(), arrived: false, answered: false }
    }

    /// Ends the connection without losing a request: in HTTP/2 after requests in flight, in HTTP/1.1 with the next
    /// response.
    pub fn leave(&self) {
        self.state.send_modify(ConnectionState::leave);
    }

    /// Ends the connection: now if idle, otherwise as [`leave`](Self::leave).
    pub fn end(&self) {
        self.state.send_modify(|state| {
            state.leave();
            state.evicted |= state.under_way == 0;
        });
    }

    /// Ends the connection now.
    pub fn evict(&self) {
        self.state.send_modify(|state| state.evicted = true);
    }

    /// True if the connection must end now.
    #[must_use]
    pub fn is_evicted(&self) -> bool {
        self.state.borrow().evicted
    }

    pub(super) fn state(&self) -> ConnectionState {
        *self.state.borrow()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<ConnectionState> {
        self.state.subscribe()
    }
}

impl ConnectionState {
    fn leave(&mut self) {
        self.leave = true;
        self.leave_since.get_or_insert_with(Instant::now);
    }

    /// True if the time to end after responses is over. A client that keeps its connection busy, or does not confirm
    /// `GOAWAY`, could delay the end forever. Complete requests get half of the time in addition.
    fn has_to_end(&self, now: Instant, leaving: Duration) -> bool {
        let left = self.leave_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        left > if self.arriving == self.under_way { leaving } else { leaving * 3 / 2 }
    }

    /// True if the connection can be closed at any time: it has sent no complete request, or none for `patience`, or
    /// should have ended `leaving` ago.
    pub(super) fn can_be_missed(&self, now: Instant, patience: Duration, leaving: Duration) -> bool {
        let stalled = self.arriving > 0
            && self.arriving == self.under_way
            && now.saturating_duration_since(self.since) > patience;
        !self.proven || stalled || self.has_to_end(now, leaving)
    }

    /// The time since when it is idle.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.under_way == 0).then_some(self.since)
    }
}

/// Consecutive incomplete requests after which a connection ends. A client that opens and resets streams causes more
/// work than it spends (CVE-2023-44487). An API server sends a request at once, and aborts few.
const BROKEN_OFF: usize = 32;

/// A request in flight, until dropped.
#[derive(Debug)]
pub struct InFlightGuard {
    requests: Requests,
    arrived: bool,
    answered: bool,
}

impl InFlightGuard {
    /// Records that the request is complete. Idempotent.
    pub fn arrived(&mut self) {
        if std::mem::replace(&mut self.arrived, true) {
            return;
        }
        self.requests.state.send_if_modified(|state| {
            state.arriving -= 1;
            state.broken_off = 0;
            state.since = Instant::now();
            !std::mem::replace(&mut state.proven, true)
        });
    }

    /// Records a response, complete request or not: the client did not abort it.
    pub fn answered(&mut self) {
        self.answered = true;
    }

    /// The requests of its connection.
    #[must_use]
    pub fn requests(&self) -> &Requests {
        &self.requests
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.requests.state.send_if_modified(|state| {
            state.under_way -= 1;
            state.since = Instant::now();
            if self.arrived {
                return false;
            }
            state.arriving -= 1;
            if self.answered {
                return false;
            }
            state.broken_off += 1;
            state.broken_off >= BROKEN_OFF && !std::mem::replace(&mut state.evicted, true)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hasty_client_loses_its_connection() {
        let requests = Requests::default();
        let break_off = |count| (0..count).for_each(|_| drop(requests.begin()));
        break_off(BROKEN_OFF - 1);
        requests.begin().arrived();
        break_off(BROKEN_OFF - 1);
        requests.begin().answered();
        assert!(!requests.is_evicted());
        break_off(1);
        assert!(requests.is_evicted());
    }
}
