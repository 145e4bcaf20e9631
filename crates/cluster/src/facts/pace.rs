//! How long the API server is left alone between two questions about facts.

use std::time::Duration;

/// How long to wait before the next list or watch. `before` is what was waited last, zero at the start; `watched` is
/// how long the watch lasted that came between, zero where there was none; `asked` is for how long the API server wants
/// to be left alone, where it said that. Only a watch that lasted for 10 s shows that things go well again: news alone
/// may come of a list that is allowed, with a watch that is not.
#[must_use]
pub fn next_pause(before: Duration, watched: Duration, asked: Option<Duration>) -> Duration {
    let pause = if watched >= STEADY { SHORTEST } else { before * 2 };
    pause.max(asked.unwrap_or_default()).clamp(SHORTEST, LONGEST)
}

/// A watch that lasts so long is one.
const STEADY: Duration = Duration::from_secs(10);

const SHORTEST: Duration = Duration::from_secs(1);
/// As client-go's reflectors wait at most.
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
        // The API server has the word, as long as it is no long one.
        assert_eq!(next_pause(seconds(1), seconds(0), Some(seconds(5))), seconds(5));
        assert_eq!(next_pause(seconds(4), seconds(0), Some(seconds(1))), seconds(8));
        assert_eq!(next_pause(seconds(1), seconds(0), Some(seconds(3600))), seconds(30));
    }
}
