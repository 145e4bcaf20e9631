//! Repeats a lasting warning once per hour, instead of every few seconds.

use std::time::{Duration, Instant};

/// The last warning, and its time.
#[derive(Debug, Default)]
pub(crate) struct WarningThrottle(Option<(String, Instant)>);

impl WarningThrottle {
    /// True if this warning is due: another one was written last, or this one an hour ago. Counts as written.
    pub(crate) fn is_due(&mut self, what: &str) -> bool {
        let is_repeated = self.0.as_ref().is_some_and(|(last, at)| last == what && at.elapsed() < HOUR);
        if !is_repeated {
            self.0 = Some((what.to_owned(), Instant::now()));
        }
        !is_repeated
    }

    /// The problem is solved.
    pub(crate) fn is_over(&mut self) {
        self.0 = None;
    }
}

const HOUR: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_repeats_hourly() {
        let mut complaint = WarningThrottle::default();
        assert!(complaint.is_due("a") && !complaint.is_due("a") && complaint.is_due("b") && complaint.is_due("a"));
        complaint.is_over();
        assert!(complaint.is_due("a"));
        complaint.0 = complaint.0.and_then(|(last, at)| Some((last, at.checked_sub(HOUR)?)));
        assert!(complaint.is_due("a"));
    }
}
