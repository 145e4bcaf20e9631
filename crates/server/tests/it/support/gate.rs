//! A decision whose duration the test controls.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pointsman_server::RequestHandler;

use super::eventually;
use super::server::echo_reply;

#[derive(Default)]
struct State {
    open: bool,
    entered: usize,
}

/// Holds every decision on a body that starts with `wait`, until the gate is opened or dropped; other bodies are echoed
/// at once.
///
/// Only bodies above 32 KiB: smaller ones are decided on the thread that the test itself may need.
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

impl Gate {
    pub(crate) fn new() -> (Self, RequestHandler) {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let inside = Arc::clone(&shared);
        let decide = RequestHandler::from_fn(move |request| {
            if request.body().starts_with(b"wait") {
                let (state, opened) = &*inside;
                let mut state = state.lock().unwrap();
                state.entered += 1;
                // Bounded, so that a test whose only thread is blocked here fails instead of hanging.
                let closed = |state: &mut State| !state.open;
                let (state, waited) = opened.wait_timeout_while(state, LONGEST, closed).unwrap();
                drop(state);
                assert!(!waited.timed_out(), "the gate stayed closed");
            }
            Ok(echo_reply(request.body()))
        });
        (Self(shared), decide)
    }

    /// Waits until `count` decisions have started.
    pub(crate) async fn entered(&self, count: usize) {
        eventually("a decision began", || async { (self.entries() >= count).then_some(()) }).await;
    }

    /// Number of started decisions.
    pub(crate) fn entries(&self) -> usize {
        self.0.0.lock().unwrap().entered
    }

    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }
}

impl Drop for Gate {
    // A runtime waits for its blocking threads: a failing test would hang.
    fn drop(&mut self) {
        self.open();
    }
}

/// A body that waits at the gate, of `kib` KiB.
pub(crate) fn waiting(kib: usize) -> Vec<u8> {
    let mut body = b"wait".to_vec();
    body.resize(kib * 1024, b' ');
    body
}

const LONGEST: Duration = Duration::from_secs(20);
