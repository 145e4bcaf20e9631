//! Calls the core: its thread, and the handling of panics.

use std::any::Any;
use std::fmt;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use pointsman_core::webhook::{BadReview, Endpoint, HandleError, Reply, Request};

use super::body::{BufferedBody, INLINE};
use crate::memory::budget::MemoryReservation;
use crate::runtime::decide::Decide;
use crate::telemetry::metrics::InFlight;

/// Calls [`Decide`] on the right thread. A panic results in status 500 and affects no other request. Missing facts
/// result in 503 with `Retry-After`, and an API server retries.
#[derive(Clone)]
pub struct RequestHandler {
    decide: Arc<dyn Decide>,
    /// Limits concurrent decisions about bodies that are larger than any object.
    turns: Arc<Semaphore>,
}

impl RequestHandler {
    /// Decides with `decide`: usually a [`ServedWebhook`](crate::ServedWebhook).
    #[must_use]
    pub fn new(decide: impl Decide) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self { decide: Arc::new(decide), turns: Arc::new(Semaphore::new(cores)) }
    }

    /// Decides with a function: for tests, and for servers without definitions.
    #[must_use]
    pub fn from_fn(decide: impl Fn(&Request<'_>) -> Result<Reply, HandleError> + Send + Sync + 'static) -> Self {
        Self::new(DecideFn(decide))
    }

    /// The memory of a decision about the body, in bytes. The error is the message of a panic.
    pub(crate) fn weigh(&self, endpoint: Endpoint, body: &[u8]) -> Result<u64, String> {
        caught(|| self.decide.weight(endpoint, body))
    }

    /// Decides one request. Its memory is held until the decision ends, even if the client left, and until then it
    /// counts as in flight. If the future is dropped or `deadline` has passed, the decision ends at its next check.
    pub(crate) async fn decide(
        &self,
        endpoint: Endpoint,
        body: BufferedBody,
        (claim, in_flight): (&Arc<MemoryReservation>, &mut Option<InFlight>),
        deadline: Instant,
    ) -> Result<Reply, HandlerError> {
        let BufferedBody { bytes, weight } = body;
        if bytes.len() <= INLINE && weight <= INLINE_WEIGHT {
            // Ends sooner than a check for a client that left would take effect.
            return self.contained(&Request::new(endpoint, &bytes));
        }
        // A client that disconnects while waiting consumes no turn.
        let turn = match bytes.len() > ONE_OBJECT {
            true => timeout_at(deadline, Arc::clone(&self.turns).acquire_owned())
                .await
                .map_err(|_| HandlerError::Expired)?
                .ok(),
            false => None,
        };
        let waiting = Awaited::default();
        let is_awaited = waiting.check();
        let (this, held) = (self.clone(), (Arc::clone(claim), in_flight.take(), turn));
        let decided = tokio::task::spawn_blocking(move || {
            // The client has left: do not begin.
            let decided = match is_awaited() {
                true => this.contained(&Request::new(endpoint, &bytes).while_awaited(&is_awaited)),
                false => Err(HandlerError::Expired),
            };
            drop(held);
            decided
        });
        match timeout_at(deadline, decided).await {
            // Panics are caught inside: the remaining error is a runtime that shuts down.
            Ok(decided) => decided.unwrap_or(Err(HandlerError::Stopped)),
            Err(_) => Err(HandlerError::Expired),
        }
    }

    /// Decides, and catches a panic.
    fn contained(&self, request: &Request<'_>) -> Result<Reply, HandlerError> {
        match caught(|| self.decide.handle(request)) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(HandleError::BadReview(bad))) => Err(HandlerError::Bad(bad)),
            Ok(Err(HandleError::ClientDisconnected)) => Err(HandlerError::Expired),
            Ok(Err(unknown)) => Err(HandlerError::Unknown { reason: unknown.to_string() }),
            Err(message) => Err(HandlerError::Panicked { message }),
        }
    }
}

/// A function that decides.
struct DecideFn<F>(F);

impl<F: Fn(&Request<'_>) -> Result<Reply, HandleError> + Send + Sync + 'static> Decide for DecideFn<F> {
    fn handle(&self, request: &Request<'_>) -> Result<Reply, HandleError> {
        (self.0)(request)
    }
}

impl fmt::Debug for RequestHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHandler").finish_non_exhaustive()
    }
}

/// The reason of a missing reply.
#[derive(Debug)]
pub(crate) enum HandlerError {
    /// The body is not a review.
    Bad(BadReview),
    /// The deadline passed before the decision, or the client left, and nobody receives this.
    Expired,
    /// The core panicked.
    Panicked {
        /// For the log: may quote the request.
        message: String,
    },
    /// The process is ending.
    Stopped,
    /// A fact is not known yet.
    Unknown {
        /// The reason.
        reason: String,
    },
}

/// A client that waits for a decision, until dropped.
#[derive(Default)]
struct Awaited(Arc<AtomicBool>);

impl Awaited {
    /// A check that can be sent to another thread.
    fn check(&self) -> impl Fn() -> bool + Send + 'static {
        let abandoned = Arc::clone(&self.0);
        // The exact time of observation is irrelevant.
        move || !abandoned.load(Ordering::Relaxed)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls the core, and returns the message of a panic as the error.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Unwind safe: the core is shared and immutable, so a panic leaves no partial state.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| text(payload.as_ref()))
}

fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// Larger than any review of one object: etcd accepts objects of 1.5 MiB, and an admission review has two, old and new.
/// Larger bodies are limited to one thread for each core, and run for seconds: two more threads remain for single
/// objects (`runtime` in `server/process.rs`).
const ONE_OBJECT: usize = 4 << 20;

/// A typical body of 32 KiB (`INLINE`), with a comma per 30 bytes, has a weight of 450 KiB. A greater weight means more
/// values, and time is proportional to these: it could block the thread for milliseconds.
const INLINE_WEIGHT: u64 = 512 << 10;
