//! Repeated errors, reported once an hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The reported errors, with their times.
#[derive(Debug, Default)]
pub(crate) struct ErrorThrottle {
    reported: BTreeMap<String, Instant>,
}

impl ErrorThrottle {
    /// Returns whether to report an error: it was not reported in the last hour.
    pub(crate) fn is_new(&mut self, error: &str, now: Instant) -> bool {
        self.reported.retain(|_, reported| now.duration_since(*reported) < AGAIN);
        if self.reported.contains_key(error) {
            return false;
        }
        self.reported.insert(error.to_owned(), now);
        true
    }
}

/// The interval of repeated reports.
const AGAIN: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_repeats_hourly() {
        let (mut reported, start) = (ErrorThrottle::default(), Instant::now());
        assert!(reported.is_new("a", start));
        assert!(reported.is_new("b", start));
        assert!(!reported.is_new("a", start + AGAIN / 2));
        assert!(reported.is_new("a", start + AGAIN));
        assert!(!reported.is_new("a", start + AGAIN));
    }
}
