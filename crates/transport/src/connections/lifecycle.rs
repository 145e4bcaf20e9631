//! The stages of a server's life, and which one it is in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The stages of a server's life, in order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Phase {
    /// Bound, but not accepting yet.
    Starting,
    /// Serving.
    Ready,
    /// Serving, but no longer ready: callers are being sent elsewhere.
    LameDuck,
    /// Serving those who have not heard of it, one request for each connection.
    Draining,
    /// Finishing what is under way; nothing new.
    Closing,
}

/// The phase a server is in, shared by all that depend on it.
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
    /// A life that begins.
    #[must_use]
    pub fn new() -> Self {
        let phase = watch::Sender::new(Phase::Starting);
        Self(Arc::new(LifecycleState { phase, last_request: Mutex::default() }))
    }

    /// The next phase.
    pub fn enter(&self, phase: Phase) {
        self.0.phase.send_replace(phase);
    }

    /// The phase of this moment.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.0.phase.borrow()
    }

    /// Somebody asked something.
    pub fn asked(&self) {
        *self.last_request() = Some(Instant::now());
    }

    /// Whether nobody has asked anything for so long.
    #[must_use]
    pub fn quiet(&self, time: Duration) -> bool {
        self.last_request().is_none_or(|last| last.elapsed() >= time)
    }

    /// Nothing in here panics half-way.
    fn last_request(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.last_request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `phase`, or a later one, is reached.
    pub async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.phase.subscribe();
        // The sender lives as long as `self`: this cannot fail.
        let _ = receiver.wait_for(|current| *current >= phase).await;
    }
}
