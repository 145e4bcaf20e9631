//! Request bodies: read whole, under a limit for each and a budget for all.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The request bytes that may be held at one time, over all connections.
///
/// Nobody waits for a place: a caller that is refused comes back after a second (`Retry-After`), so the queue stands in
/// the API servers, where it costs us nothing, and no two requests can wait for each other.
#[derive(Debug)]
pub(super) struct Budget(Arc<Semaphore>);

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        let permits = usize::try_from(bytes / KIB).unwrap_or(Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS))))
    }

    fn reserve(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let permits = u32::try_from(bytes.div_ceil(KIB)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(permits).ok()
    }
}

/// A body, and its share of the budget for as long as it is held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: Bytes,
    pub(super) share: OwnedSemaphorePermit,
}

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The budget is used up.
    Budget,
    /// The client went away, or broke its framing.
    Broken(hyper::Error),
    /// Larger than the limit.
    TooLarge,
}

/// Reads a body. A declared length is reserved before the first byte is read, so that a body once begun is not refused
/// half-way; an undeclared one (chunked: no API server sends that) is reserved as it grows, so that a small one does
/// not hold what the largest would need.
pub(super) async fn read(body: &mut Incoming, limit: u64, budget: &Budget) -> Result<Held, Unread> {
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > limit) {
        return Err(Unread::TooLarge);
    }
    // What has arrived is what is held: an announcement alone must not shut others out.
    let mut reserved = declared.unwrap_or(CHUNK).min(CHUNK).min(limit);
    let mut share = budget.reserve(reserved).ok_or(Unread::Budget)?;
    let mut bytes = Vec::with_capacity(usize::try_from(reserved).unwrap_or(0));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Unread::Broken)?.into_data() else {
            continue; // trailers
        };
        bytes.extend_from_slice(&data);
        let length = bytes.len() as u64;
        if length > limit {
            return Err(Unread::TooLarge);
        }
        if length > reserved {
            // Doubling, as the buffer itself does.
            let most = declared.unwrap_or(limit).min(limit);
            let wanted = (length * 2).min(most).max(length);
            // Permits are whole: each must be asked for once only.
            let whole = |bytes: u64| bytes.div_ceil(KIB) * KIB;
            let more = whole(wanted) - whole(reserved);
            share.merge(budget.reserve(more).ok_or(Unread::Budget)?);
            reserved = wanted;
        }
    }
    Ok(Held { bytes: bytes.into(), share })
}

/// Reads on and throws away what a refused client is still sending, within bounds. A client that writes everything
/// before it reads would otherwise be reset and never see the answer; one that is through keeps its connection.
pub(super) async fn discard(body: &mut Incoming) {
    let drained = async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else {
                return;
            };
            left = rest;
        }
    };
    // Out of time or not, the answer goes out next.
    let _ = tokio::time::timeout(DISCARD_TIME, drained).await;
}

/// The grain of the budget.
const KIB: u64 = 1024;

/// What a body of unknown length is given to begin with.
const CHUNK: u64 = 64 * KIB;

/// Twice the largest body that we would have taken.
const DISCARD_BYTES: usize = 128 << 20;

/// Short: whoever is slower than this is not merely finishing its sentence.
const DISCARD_TIME: Duration = Duration::from_secs(5);
