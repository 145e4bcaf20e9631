//! When to say that the certificate that is served will expire: renewal is overdue, and somebody has to look.

use std::time::Duration;

use tokio::time::Instant;

use super::leaf::Leaf;

/// What was said of the certificate that is served.
#[derive(Debug, Default)]
pub struct ExpiryWarnings {
    crossed: usize,
    said: Option<Instant>,
}

impl ExpiryWarnings {
    /// Says so at 30 days, 7 days and 1 day before the end, and every hour after it.
    pub fn look(&mut self, leaf: &Leaf, now: u64) {
        let crossed = crossed(leaf, now);
        let again = crossed == STAGES && self.said.is_some_and(|said| said.elapsed() >= HOUR);
        if crossed > self.crossed || again {
            let expires = &leaf.expires;
            if crossed == STAGES {
                tracing::warn!(expires, "the certificate that is served has expired");
            } else {
                let days = leaf.not_after.saturating_sub(now) / DAY;
                tracing::warn!(expires, days, "the certificate that is served expires soon");
            }
            self.said = Some(Instant::now());
        }
        self.crossed = crossed;
    }
}

/// How many of the stages are behind us. Each is at most a quarter of the lifetime before the end: one that is valid
/// for a day is not overdue from its first hour. (cert-manager renews when a third is left.)
fn crossed(leaf: &Leaf, now: u64) -> usize {
    let left = leaf.not_after.saturating_sub(now);
    let quarter = leaf.not_after.saturating_sub(leaf.not_before) / 4;
    [30 * DAY, 7 * DAY, DAY, 0].into_iter().filter(|stage| left <= quarter.min(*stage)).count()
}

const STAGES: usize = 4;

const DAY: u64 = 24 * 60 * 60;

const HOUR: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_is_crossed_once_and_none_too_early() {
        let at = |lifetime, left| {
            let leaf = Leaf::valid(1_000_000, 1_000_000 + lifetime);
            crossed(&leaf, 1_000_000 + lifetime - left)
        };
        let year = 365 * DAY;
        for (left, stages) in [(31 * DAY, 0), (30 * DAY, 1), (8 * DAY, 1), (7 * DAY, 2), (DAY, 3), (1, 3), (0, 4)] {
            assert_eq!(at(year, left), stages, "{left}");
        }
        // Renewed every 16 hours.
        assert_eq!((at(DAY, DAY), at(DAY, DAY / 3), at(DAY, DAY / 4)), (0, 0, 3));
    }
}
