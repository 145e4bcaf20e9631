//! Calling the core: where it runs, and what a panic in it becomes.

use std::any::Any;
use std::fmt;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hyper::body::Bytes;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::body::{BufferedBody, INLINE};
use super::budget::MemoryReservation;
use super::metrics::InFlight;
use pointsman_core::webhook::{BadReview, Endpoint, HandleError, Reply, weight};

/// What is asked to decide: usually `move |endpoint, body, is_awaited| webhook.handle_while(endpoint, &body, …)`.
#[derive(Clone)]
pub struct RequestHandler {
    deciding: Arc<Deciding>,
    weighing: Arc<Weighing>,
    /// Turns of bodies that are larger than any object.
    turns: Arc<Semaphore>,
}

type Deciding = dyn Fn(Endpoint, Bytes, &dyn Fn() -> bool) -> Result<Reply, HandleError> + Send + Sync;

type Weighing = dyn Fn(Endpoint, &[u8]) -> u64 + Send + Sync;

impl RequestHandler {
    /// Wraps a function that takes time in proportion to the body and does no I/O. It may be called from several
    /// threads at once; a panic in it is answered with 500 and leaves everything else alone. What it has to know first
    /// and nobody has seen yet is answered with 503 and `Retry-After`, and an API server asks again.
    #[must_use]
    pub fn new(decide: impl Fn(Endpoint, Bytes) -> Result<Reply, HandleError> + Send + Sync + 'static) -> Self {
        Self::awaited(move |endpoint, body, _| decide(endpoint, body))
    }

    /// The same, of a function that asks now and then whether somebody still waits for its answer, and ends with
    /// [`HandleError::CallerGone`] where nobody does. To ask is as cheap as it can be.
    #[must_use]
    pub fn awaited(
        decide: impl Fn(Endpoint, Bytes, &dyn Fn() -> bool) -> Result<Reply, HandleError> + Send + Sync + 'static,
    ) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self { deciding: Arc::new(decide), weighing: Arc::new(weight), turns: Arc::new(Semaphore::new(cores)) }
    }

    /// The same, where deciding a body takes other memory than [`weight`] says: usually
    /// `move |endpoint, body| webhook.weight(endpoint, body)`.
    #[must_use]
    pub fn weighing(self, weigh: impl Fn(Endpoint, &[u8]) -> u64 + Send + Sync + 'static) -> Self {
        Self { weighing: Arc::new(weigh), ..self }
    }

    /// The memory that deciding a body takes, in bytes.
    pub(super) fn weigh(&self, endpoint: Endpoint, body: &[u8]) -> u64 {
        (self.weighing)(endpoint, body)
    }

    /// Decides one request. What it holds is held until that is done, even where the client has left, and until then
    /// it counts as in flight. Dropped, or when `deadline` has passed, the decision ends as soon as it asks.
    pub(super) async fn decide(
        &self,
        endpoint: Endpoint,
        body: BufferedBody,
        (claim, in_flight): (&Arc<MemoryReservation>, &mut Option<InFlight>),
        deadline: Instant,
    ) -> Result<Reply, HandlerError> {
        let BufferedBody { bytes, weight } = body;
        if bytes.len() <= INLINE && weight <= INLINE_WEIGHT {
            // Over before anybody could be gone.
            return self.contained(endpoint, bytes, &|| true);
        }
        // Whoever is gone while it waits for its turn takes nothing along.
        let turn = match bytes.len() > ONE_OBJECT {
            true => timeout_at(deadline, Arc::clone(&self.turns).acquire_owned())
                .await
                .map_err(|_| HandlerError::Expired)?
                .ok(),
            false => None,
        };
        let waiting = Awaited::default();
        let is_awaited = waiting.told();
        let (this, held) = (self.clone(), (Arc::clone(claim), in_flight.take(), turn));
        let decided = tokio::task::spawn_blocking(move || {
            // Nobody waits for an answer any more: do not begin.
            let decided = match is_awaited() {
                true => this.contained(endpoint, bytes, &is_awaited),
                false => Err(HandlerError::Expired),
            };
            drop(held);
            decided
        });
        match timeout_at(deadline, decided).await {
            // A panic is contained in there: what is left is a runtime that shuts down.
            Ok(decided) => decided.unwrap_or(Err(HandlerError::Stopped)),
            Err(_) => Err(HandlerError::Expired),
        }
    }

    fn contained(
        &self,
        endpoint: Endpoint,
        bytes: Bytes,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<Reply, HandlerError> {
        // Unwind safe: the core is shared and never changed, so there is nothing that a panic could leave half done.
        match catch_unwind(AssertUnwindSafe(|| (self.deciding)(endpoint, bytes, is_awaited))) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(HandleError::BadReview(bad))) => Err(HandlerError::Bad(bad)),
            Ok(Err(HandleError::CallerGone)) => Err(HandlerError::Expired),
            Ok(Err(unknown)) => Err(HandlerError::Unknown { reason: unknown.to_string() }),
            Err(payload) => Err(HandlerError::Panicked { message: text(payload.as_ref()) }),
        }
    }
}

impl fmt::Debug for RequestHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decide").finish_non_exhaustive()
    }
}

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum HandlerError {
    /// The body is no review.
    Bad(BadReview),
    /// The deadline passed before it was decided.
    Expired,
    /// The core panicked.
    Panicked {
        /// For the log: it may quote the request.
        message: String,
    },
    /// The process is ending.
    Stopped,
    /// It hangs on something that nobody has seen yet.
    Unknown {
        /// What that is.
        reason: String,
    },
}

/// Somebody waits for a decision, until this is dropped.
#[derive(Default)]
struct Awaited(Arc<AtomicBool>);

impl Awaited {
    /// Whether somebody does, to be asked elsewhere.
    fn told(&self) -> impl Fn() -> bool + Send + 'static {
        let gone = Arc::clone(&self.0);
        // Nothing hangs on when exactly it is seen.
        move || !gone.load(Ordering::Relaxed)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// What no review of one object is larger than: etcd takes objects of 1.5 MiB, and an admission has two, before and
/// after. What is larger is decided by no more threads than there are cores, and runs for seconds: the two threads that
/// are left (`process`) are for those that one object waits for.
const ONE_OBJECT: usize = 4 << 20;

/// 32 KiB (`INLINE`) as Kubernetes writes objects, with a comma for each 30 bytes, weigh 450 KiB. What weighs more for
/// its length has more values, and time goes with these: it could hold the thread for milliseconds.
const INLINE_WEIGHT: u64 = 512 << 10;
