//! Request bodies: read whole, under a limit for each and a budget for all.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};

use super::budget::{Claim, REQUEST};
use pointsman_core::webhook::{Endpoint, weight};

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
}

/// A body that was read whole.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    /// What deciding it takes, in bytes, beside its own.
    pub(super) weight: u64,
}

/// Reads a body. What has arrived is what is held: an announcement alone must not shut others out. Read whole, it holds
/// what deciding it takes.
pub(super) async fn read(
    endpoint: Endpoint,
    body: &mut Incoming,
    limit: u64,
    claim: &Claim,
) -> Result<Whole, BodyError> {
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > limit) {
        return Err(BodyError::TooLarge);
    }
    let most = declared.unwrap_or(limit);
    claim.announce(most);
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = claim.needed_elsewhere() => return Err(BodyError::Budget),
        };
        let Some(frame) = frame else {
            break;
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
            hold(claim, capacity)?;
            let more = capacity - bytes.len() as u64;
            bytes.reserve_exact(usize::try_from(more).map_err(|_| BodyError::TooLarge)?);
        }
        bytes.extend_from_slice(&data);
    }
    let weight = weight(endpoint, &bytes);
    let needed = REQUEST.saturating_add(bytes.len() as u64).saturating_add(weight);
    if !claim.could_hold(needed) {
        return Err(BodyError::TooHeavy { needed });
    }
    claim.resize(needed).then_some(()).ok_or(BodyError::Budget)?;
    Ok(Whole { bytes: bytes.into(), weight })
}

fn hold(claim: &Claim, bytes: u64) -> Result<(), BodyError> {
    claim.resize(REQUEST.saturating_add(bytes)).then_some(()).ok_or(BodyError::Budget)
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

/// What a body is given to begin with, where it is not declared to be smaller.
const FIRST: u64 = 4 << 10;

/// Twice the largest body that we would have taken.
const DISCARD_BYTES: usize = 128 << 20;

/// Short: whoever is slower than this is not merely finishing its sentence.
const DISCARD_TIME: Duration = Duration::from_secs(5);
