//! The stages of a server's life, and which one it is in.

use std::sync::Arc;

use tokio::sync::watch;

/// The stages of a server's life, in order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Phase {
    /// Bound, but not accepting yet.
    Starting,
    /// Serving.
    Ready,
    /// Serving, but no longer ready: callers are being sent elsewhere.
    LameDuck,
    /// Finishing what is under way; nothing new.
    Draining,
}

/// The phase a server is in, shared by all that depend on it.
#[derive(Clone, Debug)]
pub(super) struct Lifecycle(Arc<watch::Sender<Phase>>);

impl Lifecycle {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Phase::Starting)))
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.0.send_replace(phase);
    }

    pub(super) fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Waits until `phase`, or a later one, is reached.
    pub(super) async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as `self`: this cannot fail.
        let _ = receiver.wait_for(|current| *current >= phase).await;
    }
}
