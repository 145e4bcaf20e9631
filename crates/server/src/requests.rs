//! What is under way on one connection.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The requests of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests {
    /// Not answered yet.
    pub(super) under_way: usize,
    /// Of those, how many have not arrived whole.
    arriving: usize,
    /// Whether there was any.
    pub(super) any: bool,
    /// Whether one has arrived whole.
    pub(super) proven: bool,
    /// When `under_way` or `arriving` changed last.
    since: Instant,
    /// Whether the connection is to end after its answers.
    pub(super) leave: bool,
    /// Whether the connection has to go.
    pub(super) evicted: bool,
}

impl Default for Requests {
    fn default() -> Self {
        let since = Instant::now();
        Self { under_way: 0, arriving: 0, any: false, proven: false, since, leave: false, evicted: false }
    }
}

impl Requests {
    /// Another request, until it is dropped.
    pub(super) fn begin(requests: &watch::Sender<Self>) -> UnderWay {
        requests.send_modify(|requests| {
            requests.under_way += 1;
            requests.arriving += 1;
            requests.any = true;
            requests.since = Instant::now();
        });
        UnderWay { requests: requests.clone(), arrived: false }
    }

    pub(super) fn leave(&mut self) {
        self.leave = true;
    }

    pub(super) fn evict(&mut self) {
        self.evicted = true;
    }

    /// Whether nobody would miss the connection: it has sent nothing whole yet, or nothing for so long.
    pub(super) fn can_be_missed(&self, now: Instant, patience: Duration) -> bool {
        let stalled = self.arriving > 0
            && self.arriving == self.under_way
            && now.saturating_duration_since(self.since) > patience;
        !self.proven || stalled
    }

    /// Since when it has had no request.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.under_way == 0).then_some(self.since)
    }
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct UnderWay {
    /// Of its connection.
    pub(super) requests: watch::Sender<Requests>,
    arrived: bool,
}

impl UnderWay {
    /// It has arrived whole.
    pub(super) fn arrived(&mut self) {
        if std::mem::replace(&mut self.arrived, true) {
            return;
        }
        self.requests.send_modify(|requests| {
            requests.arriving -= 1;
            requests.proven = true;
            requests.since = Instant::now();
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.requests.send_modify(|requests| {
            requests.under_way -= 1;
            if !self.arrived {
                requests.arriving -= 1;
            }
            requests.since = Instant::now();
        });
    }
}
