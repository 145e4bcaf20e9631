//! What is under way on one connection.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The requests of one connection, and whether it is wanted any longer. A clone speaks of the same connection.
#[derive(Clone, Debug)]
pub struct Requests {
    id: u64,
    state: watch::Sender<ConnectionState>,
}

/// How they stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionState {
    /// Not answered yet.
    pub(super) under_way: usize,
    /// Of those, how many have not arrived whole.
    arriving: usize,
    /// How many have ended before they had arrived whole, since one did arrive.
    broken_off: usize,
    /// Whether there was any.
    pub(super) any: bool,
    /// Whether one has arrived whole.
    pub(super) proven: bool,
    /// When `under_way` or `arriving` changed last.
    since: Instant,
    /// Whether the connection is to end after its answers.
    pub(super) leave: bool,
    /// Since when.
    leave_since: Option<Instant>,
    /// Whether the connection has to go.
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
    /// The number of the connection: no other one of this process has it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Another request, until it is dropped. Whoever waits for changes hears of the first one of a connection only, and
    /// of its arrival: to wake a task three times for each request would cost as much as reading it.
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

    /// Ends the connection without a request lost: in HTTP/2 after those that are under way, in HTTP/1.1 with the next
    /// answer.
    pub fn leave(&self) {
        self.state.send_modify(ConnectionState::leave);
    }

    /// Ends the connection: now where nothing is under way, else as [`leave`](Self::leave) does.
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

    /// Whether the connection was told to end at once.
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

    /// Whether the time to end after answers is over. A client that keeps its connection busy, or does not confirm
    /// `GOAWAY`, could delay the end for ever. Requests that have arrived get half of the time in addition.
    fn has_to_end(&self, now: Instant, leaving: Duration) -> bool {
        let left = self.leave_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        left > if self.arriving == self.under_way { leaving } else { leaving * 3 / 2 }
    }

    /// Whether the connection can be closed at any time: it has sent no complete request yet, or none for `patience`,
    /// or it was told to end `leaving` ago.
    pub(super) fn can_be_missed(&self, now: Instant, patience: Duration, leaving: Duration) -> bool {
        let stalled = self.arriving > 0
            && self.arriving == self.under_way
            && now.saturating_duration_since(self.since) > patience;
        !self.proven || stalled || self.has_to_end(now, leaving)
    }

    /// Since when it has had no request.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.under_way == 0).then_some(self.since)
    }
}

/// How many requests in a row a client may break off before its connection ends. One that opens streams and resets them
/// costs more than it spends (CVE-2023-44487); an API server sends a request at once, and breaks off few.
const BROKEN_OFF: usize = 32;

/// A request under way, until it is dropped.
#[derive(Debug)]
pub struct InFlightGuard {
    requests: Requests,
    arrived: bool,
    answered: bool,
}

impl InFlightGuard {
    /// It has arrived whole. Saying so twice says nothing more.
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

    /// It is answered, whether it has arrived or not: its client did not break it off.
    pub fn answered(&mut self) {
        self.answered = true;
    }

    /// Those of its connection.
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
