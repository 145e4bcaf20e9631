//! Errors that come again and again, and are told once an hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What was told, and when.
#[derive(Debug, Default)]
pub(super) struct ToldErrors {
    told: BTreeMap<String, Instant>,
}

impl ToldErrors {
    /// Whether an error is to be told now: nobody was told of it for an hour.
    pub(super) fn is_new(&mut self, error: &str, now: Instant) -> bool {
        self.told.retain(|_, told| now.duration_since(*told) < AGAIN);
        if self.told.contains_key(error) {
            return false;
        }
        self.told.insert(error.to_owned(), now);
        true
    }
}

/// How long an error is not told again.
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
