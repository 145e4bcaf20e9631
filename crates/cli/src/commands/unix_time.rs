//! The time of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time in seconds since 1970.
pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}
