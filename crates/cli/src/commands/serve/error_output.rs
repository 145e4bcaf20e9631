//! Repeated errors, reported once an hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The reported errors, with their times.
#[derive(Debug, Default)]
pub(super) struct ToldErrors {
    told: BTreeMap<String, Instant>,
}

impl ToldErrors {
    /// Returns whether to report an error: it was not reported in the last hour.
    pub(super) fn is_new(&mut self, error: &str, now: Instant) -> bool {
        self.told.retain(|_, told| now.duration_since(*told) < AGAIN);
        if self.told.contains_key(error) {
            return false;
        }
        self.told.insert(error.to_owned(), now);
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
        let (mut told, start) = (ToldErrors::default(), Instant::now());
        assert!(told.is_new("a", start));
        assert!(told.is_new("b", start));
        assert!(!told.is_new("a", start + AGAIN / 2));
        assert!(told.is_new("a", start + AGAIN));
        assert!(!told.is_new("a", start + AGAIN));
    }
}
