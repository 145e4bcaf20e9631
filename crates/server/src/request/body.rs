//! Reads request bodies completely, with a size limit each and a common memory budget.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};

use crate::memory::budget::MemoryReservation;

/// The reason why a body was not read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The budget is exhausted.
    Budget,
    /// The client disconnected, or its framing is broken.
    Broken(hyper::Error),
    /// The computation of the weight panicked.
    Panicked {
        /// For the log: may quote the request.
        message: String,
    },
    /// The decision would exceed the whole budget, in bytes.
    TooHeavy { needed: u64 },
    /// Larger than the limit.
    TooLarge,
    /// The process is ending.
    Stopped,
}

/// A complete body with its weight.
#[derive(Debug)]
pub(crate) struct BufferedBody {
    pub(crate) bytes: Bytes,
    /// The memory of its decision in bytes, without the body.
    pub(crate) weight: u64,
}

/// Reads a body. Reserves at most twice the received bytes: an announced length alone must not exclude other requests.
pub(crate) async fn read(body: &mut Incoming, limit: u64, claim: &MemoryReservation) -> Result<Vec<u8>, BodyError> {
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > limit) {
        return Err(BodyError::TooLarge);
    }
    let most = declared.unwrap_or(limit);
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = claim.needed_elsewhere() => return Err(BodyError::Budget),
        };
        let Some(frame) = frame else {
            return Ok(bytes);
        };
        let Ok(data) = frame.map_err(BodyError::Broken)?.into_data() else {
            continue; // trailers
        };
        let length = (bytes.len() + data.len()) as u64;
        if length > limit {
            return Err(BodyError::TooLarge);
        }
        if length > bytes.capacity() as u64 {
            let capacity = (length * 2).max(FIRST).min(most).max(length);
            // Both buffers exist during the copy.
            let both = capacity + bytes.capacity() as u64;
            claim.arrive(both).await.then_some(()).ok_or(BodyError::Budget)?;
            let more = capacity - bytes.len() as u64;
            bytes.reserve_exact(usize::try_from(more).map_err(|_| BodyError::TooLarge)?);
            claim.arrive(capacity).await.then_some(()).ok_or(BodyError::Budget)?;
        }
        bytes.extend_from_slice(&data);
    }
}

/// Computes the weight of a body, and reserves the memory of its decision. `weigh` returns the message of a panic as
/// its error.
pub(crate) async fn weigh(
    bytes: Vec<u8>,
    claim: &Arc<MemoryReservation>,
    weigh: impl FnOnce(&[u8]) -> Result<u64, String> + Send + 'static,
) -> Result<BufferedBody, BodyError> {
    let (bytes, weight) = if bytes.len() <= WEIGHED_INLINE {
        let weight = weigh(&bytes);
        (bytes, weight)
    } else {
        // Scanning a large body takes as long as hundreds of small requests.
        let held = Arc::clone(claim);
        let weighed = tokio::task::spawn_blocking(move || {
            let weight = weigh(&bytes);
            (held, bytes, weight)
        });
        // Panics are caught inside: the remaining error is a runtime that shuts down.
        let (_, bytes, weight) = weighed.await.map_err(|_| BodyError::Stopped)?;
        (bytes, weight)
    };
    let weight = weight.map_err(|message| BodyError::Panicked { message })?;
    let needed = (bytes.len() as u64).saturating_add(weight);
    if !claim.could_hold(needed) {
        return Err(BodyError::TooHeavy { needed });
    }
    claim.decide(needed).await.then_some(()).ok_or(BodyError::Budget)?;
    Ok(BufferedBody { bytes: bytes.into(), weight })
}

/// Discards the rest of a refused request, within limits. Otherwise a client that writes everything before it reads
/// would see a reset instead of the response. A client that finishes keeps its connection.
pub(crate) async fn discard(body: &mut Incoming) {
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
    // The response follows, even after a timeout.
    let _ = tokio::time::timeout(DISCARD_TIME, drained).await;
}

/// Initial capacity of a body, unless declared smaller: close to the received bytes.
const FIRST: u64 = 1 << 10;

/// Twice the default limit of a body for `/convert`.
const DISCARD_BYTES: usize = 128 << 20;

/// Short: a slower client is not about to finish.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Bodies up to 32 KiB, unless full of tiny values (`decide`), are decided on the reading thread: a typical object
/// takes a tenth of a millisecond, less than the latency of a hand-over. Recorded objects have up to 13 kB, and an
/// update contains two. Others run on a separate thread, so that small requests do not wait for seconds beside a
/// conversion of 20,000 objects.
pub(crate) const INLINE: usize = 32 << 10;

/// The weight of bodies up to 512 KiB is computed on the reading thread: at most a nanosecond for a byte, so half a
/// millisecond.
const WEIGHED_INLINE: usize = 512 << 10;
