//! Request bodies: read whole, under a limit for each and a budget for all.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};

use super::budget::MemoryReservation;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The budget is used up.
    Budget,
    /// The client went away, or broke its framing.
    Broken(hyper::Error),
    /// Deciding it would take more memory than there is for all requests, in bytes.
    TooHeavy { needed: u64 },
    /// Larger than the limit.
    TooLarge,
    /// The process is ending.
    Stopped,
}

/// A body that was read whole, and weighed.
#[derive(Debug)]
pub(super) struct BufferedBody {
    pub(super) bytes: Bytes,
    /// What deciding it takes, in bytes, beside its own.
    pub(super) weight: u64,
}

/// Reads a body. What has arrived is what is held: an announcement alone must not shut others out.
pub(super) async fn read(body: &mut Incoming, limit: u64, claim: &MemoryReservation) -> Result<Vec<u8>, BodyError> {
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
            // Both are there while what has arrived is copied.
            let both = capacity + bytes.capacity() as u64;
            claim.arrive(both).await.then_some(()).ok_or(BodyError::Budget)?;
            let more = capacity - bytes.len() as u64;
            bytes.reserve_exact(usize::try_from(more).map_err(|_| BodyError::TooLarge)?);
            claim.arrive(capacity).await.then_some(()).ok_or(BodyError::Budget)?;
        }
        bytes.extend_from_slice(&data);
    }
}

/// Weighs a body, which holds what deciding it takes from then on.
pub(super) async fn weigh(
    bytes: Vec<u8>,
    claim: &Arc<MemoryReservation>,
    weigh: impl FnOnce(&[u8]) -> u64 + Send + 'static,
) -> Result<BufferedBody, BodyError> {
    let (bytes, weight) = if bytes.len() <= WEIGHED_INLINE {
        let weight = weigh(&bytes);
        (bytes, weight)
    } else {
        // To look at each byte of a large one takes as long as hundreds of small requests do.
        let held = Arc::clone(claim);
        let weighed = tokio::task::spawn_blocking(move || {
            let weight = weigh(&bytes);
            (held, bytes, weight)
        });
        let (_, bytes, weight) = weighed.await.map_err(|_| BodyError::Stopped)?;
        (bytes, weight)
    };
    let needed = (bytes.len() as u64).saturating_add(weight);
    if !claim.could_hold(needed) {
        return Err(BodyError::TooHeavy { needed });
    }
    claim.decide(needed).await.then_some(()).ok_or(BodyError::Budget)?;
    Ok(BufferedBody { bytes: bytes.into(), weight })
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

/// What a body is given to begin with, where it is not declared to be smaller: hardly more than a byte that arrives.
const FIRST: u64 = 1 << 10;

/// Twice the largest body that we would have taken.
const DISCARD_BYTES: usize = 128 << 20;

/// Short: whoever is slower than this is not merely finishing its sentence.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Bodies up to 32 KiB, and not full of tiny values (`decide`), are decided where they were read: with an object as API
/// servers send it a tenth of a millisecond, less than handing it over would cost in latency. Recorded objects have up
/// to 13 kB, and an update has two of them. Others go to a thread of their own, or a small request behind them would
/// wait its turn: 99 % of small calls beside conversions of 20,000 objects within 7 ms on one core, against 1.7 s.
pub(super) const INLINE: usize = 32 << 10;

/// Bodies that are weighed where they were read: each byte is looked at, a nanosecond each at most.
const WEIGHED_INLINE: usize = 512 << 10;
