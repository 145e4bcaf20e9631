//! Calling the core: where it runs, and what a panic in it becomes.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hyper::body::Bytes;
use tokio::time::Instant;

use super::body::{INLINE, Whole};
use super::budget::{Claim, Stage};
use pointsman_core::webhook::{BadReview, Endpoint, Reply, Unanswered, weight};

/// What is asked to decide: usually `move |endpoint, body| webhook.handle(endpoint, &body)`.
#[derive(Clone)]
pub struct Decide {
    decide: Arc<Deciding>,
    weigh: Arc<Weighing>,
}

type Deciding = dyn Fn(Endpoint, Bytes) -> Result<Reply, Unanswered> + Send + Sync;

type Weighing = dyn Fn(Endpoint, &[u8]) -> u64 + Send + Sync;

impl Decide {
    /// Wraps a function that takes time in proportion to the body and does no I/O. It may be called from several
    /// threads at once; a panic in it is answered with 500 and leaves everything else alone.
    #[must_use]
    pub fn new(decide: impl Fn(Endpoint, Bytes) -> Result<Reply, BadReview> + Send + Sync + 'static) -> Self {
        Self::knowing(move |endpoint, body| Ok(decide(endpoint, body)?))
    }

    /// The same, of a function that may have to know something first which nobody has seen yet. Then the answer is 503
    /// with `Retry-After`, and an API server asks again.
    #[must_use]
    pub fn knowing(decide: impl Fn(Endpoint, Bytes) -> Result<Reply, Unanswered> + Send + Sync + 'static) -> Self {
        Self { decide: Arc::new(decide), weigh: Arc::new(weight) }
    }

    /// The same, where deciding a body takes other memory than [`weight`] says: usually
    /// `move |endpoint, body| webhook.weight(endpoint, body)`.
    #[must_use]
    pub fn weighing(self, weigh: impl Fn(Endpoint, &[u8]) -> u64 + Send + Sync + 'static) -> Self {
        Self { weigh: Arc::new(weigh), ..self }
    }

    /// The memory that deciding a body takes, in bytes.
    pub(super) fn weigh(&self, endpoint: Endpoint, body: &[u8]) -> u64 {
        (self.weigh)(endpoint, body)
    }

    /// Decides one request. What it holds is held until that is done, even where the client has left.
    pub(super) async fn decide(
        &self,
        endpoint: Endpoint,
        body: Whole,
        claim: &Arc<Claim>,
        deadline: Instant,
    ) -> Result<Reply, Undecided> {
        claim.enter(Stage::Deciding);
        let Whole { bytes, weight } = body;
        if bytes.len() <= INLINE && weight <= INLINE_WEIGHT {
            return self.contained(endpoint, bytes);
        }
        let (this, claim) = (self.clone(), Arc::clone(claim));
        let decided = tokio::task::spawn_blocking(move || {
            // Nobody waits for an answer any more: do not begin.
            if Instant::now() >= deadline {
                return Err(Undecided::Expired);
            }
            let decided = this.contained(endpoint, bytes);
            drop(claim);
            decided
        });
        // A panic is contained in there: what is left is a runtime that shuts down.
        decided.await.unwrap_or(Err(Undecided::Stopped))
    }

    fn contained(&self, endpoint: Endpoint, bytes: Bytes) -> Result<Reply, Undecided> {
        // Unwind safe: the core is shared and never changed, so there is nothing that a panic could leave half done.
        match catch_unwind(AssertUnwindSafe(|| (self.decide)(endpoint, bytes))) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(Unanswered::BadReview(bad))) => Err(Undecided::Bad(bad)),
            Ok(Err(unknown)) => Err(Undecided::Unknown { reason: unknown.to_string() }),
            Err(payload) => Err(Undecided::Panicked { message: text(payload.as_ref()) }),
        }
    }
}

impl fmt::Debug for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decide").finish_non_exhaustive()
    }
}

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum Undecided {
    /// The body is no review.
    Bad(BadReview),
    /// The deadline passed before the turn came.
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

fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// An object of 90 KiB as Kubernetes writes them, or one of 6 KiB that is nothing but values.
const INLINE_WEIGHT: u64 = 1 << 20;
