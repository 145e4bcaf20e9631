//! The phases of a server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The phases of a server, in order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Phase {
    /// Bound, but not accepting yet.
    Starting,
    /// Serving.
    Ready,
    /// Serving, and no longer ready: callers are redirected to other servers.
    LameDuck,
    /// Serving clients without that information, one request per connection.
    Draining,
    /// Finishing requests in flight, without new ones.
    Closing,
}

/// The current phase of a server, shared.
#[derive(Clone, Debug)]
pub struct Lifecycle(Arc<LifecycleState>);

#[derive(Debug)]
struct LifecycleState {
    phase: watch::Sender<Phase>,
    last_request: Mutex<Option<Instant>>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self::new()
    }
}

impl Lifecycle {
    /// A new lifecycle.
    #[must_use]
    pub fn new() -> Self {
        let phase = watch::Sender::new(Phase::Starting);
        Self(Arc::new(LifecycleState { phase, last_request: Mutex::default() }))
    }

    /// Enters the next phase.
    pub fn enter(&self, phase: Phase) {
        self.0.phase.send_replace(phase);
    }

    /// The current phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.0.phase.borrow()
    }

    /// Records a request.
    pub fn record_request(&self) {
        *self.last_request() = Some(Instant::now());
    }

    /// True if no request arrived for this time.
    #[must_use]
    pub fn quiet(&self, time: Duration) -> bool {
        self.last_request().is_none_or(|last| last.elapsed() >= time)
    }

    /// No code panics while holding this lock.
    fn last_request(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.last_request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `phase`, or a later one, is reached.
    pub async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.phase.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = receiver.wait_for(|current| *current >= phase).await;
    }
}
