//! Back-off between requests about facts.

use std::time::Duration;

/// The pause before the next list or watch. `before` is the last pause, zero at the start; `watched` is the duration of
/// the watch since then, zero if none; the last argument is the `Retry-After` value. Only a watch of at least 10 s
/// resets the back-off: events alone are no proof, since a list may be allowed without the watch.
#[must_use]
pub fn next_pause(before: Duration, watched: Duration, retry_after: Option<Duration>) -> Duration {
    let pause = if watched >= STEADY { SHORTEST } else { before * 2 };
    pause.max(retry_after.unwrap_or_default()).clamp(SHORTEST, LONGEST)
}

/// Minimum duration of a successful watch.
const STEADY: Duration = Duration::from_secs(10);

const SHORTEST: Duration = Duration::from_secs(1);
/// Same as the maximum of client-go's reflectors.
const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_watch_does_not_reset_backoff() {
        let seconds = Duration::from_secs;
        let mut pause = Duration::ZERO;
        let mut waited = Vec::new();
        for _ in 0..7 {
            pause = next_pause(pause, seconds(9), None);
            waited.push(pause.as_secs());
        }
        assert_eq!(waited, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(next_pause(pause, seconds(10), None), seconds(1));
        // `Retry-After` applies, up to the limit.
        assert_eq!(next_pause(seconds(1), seconds(0), Some(seconds(5))), seconds(5));
        assert_eq!(next_pause(seconds(4), seconds(0), Some(seconds(1))), seconds(8));
        assert_eq!(next_pause(seconds(1), seconds(0), Some(seconds(3600))), seconds(30));
    }
}
