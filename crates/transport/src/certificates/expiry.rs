//! Warnings about the expiry of the serving certificate: its renewal is overdue.

use std::time::Duration;

use tokio::time::Instant;

use super::leaf::Leaf;

/// The warnings about the serving certificate so far.
#[derive(Debug, Default)]
pub struct ExpiryWarnings {
    crossed: usize,
    warned_at: Option<Instant>,
}

impl ExpiryWarnings {
    /// Warns 30 days, 7 days and 1 day before the expiry, and every hour after it.
    pub fn check(&mut self, leaf: &Leaf, now: u64) {
        let crossed = crossed(leaf, now);
        let again = crossed == STAGES && self.warned_at.is_some_and(|text| text.elapsed() >= HOUR);
        if crossed > self.crossed || again {
            let expires = &leaf.expires;
            if crossed == STAGES {
                tracing::warn!(expires, "the served certificate has expired");
            } else {
                let days = leaf.not_after.saturating_sub(now) / DAY;
                tracing::warn!(expires, days, "the served certificate expires soon");
            }
            self.warned_at = Some(Instant::now());
        }
        self.crossed = crossed;
    }
}

/// The number of stages passed. Each is at most a quarter of the lifetime before the end, so a certificate for one day
/// is not overdue from its first hour. (cert-manager renews when a third is left.)
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
    use std::io::{Read, pipe};
    use std::sync::Arc;

    use super::*;

    /// Literal numbers: a test with the tested constants would accept any value.
    const DAY: u64 = 86_400;
    const YEAR: u64 = 365 * DAY;

    #[test]
    fn each_expiry_stage_occurs_once() {
        let at = |lifetime, left| {
            let leaf = Leaf::valid(1_000_000, 1_000_000 + lifetime);
            crossed(&leaf, 1_000_000 + lifetime - left)
        };
        for (left, stages) in [
            (31 * DAY, 0),
            (30 * DAY + 1, 0),
            (30 * DAY, 1),
            (8 * DAY, 1),
            (7 * DAY, 2),
            (DAY + 1, 2),
            (DAY, 3),
            (1, 3),
            (0, 4),
        ] {
            assert_eq!(at(YEAR, left), stages, "{left}");
        }
        // Renewed every 16 hours.
        assert_eq!((at(DAY, DAY), at(DAY, DAY / 3), at(DAY, DAY / 4)), (0, 0, 3));
    }

    /// The warning at this number of seconds before the end of a year.
    fn warning(warnings: &mut ExpiryWarnings, left: u64) -> String {
        let (mut log, writer) = pipe().unwrap();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(Arc::new(writer)).finish();
        tracing::subscriber::with_default(lines, || warnings.check(&Leaf::valid(0, YEAR), YEAR - left));
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        text
    }

    #[tokio::test(start_paused = true)]
    async fn expiry_warns_once_then_hourly() {
        let mut warnings = ExpiryWarnings::default();
        let (soon, over) = (|days| format!("expires soon expires=\"at {YEAR}\" days={days}\n"), "has expired");
        for (left, line) in [
            (31 * DAY, String::new()),
            (30 * DAY, soon(30)),
            (30 * DAY - 1, String::new()),
            // Infrequent checks report only the last stage.
            (3 * DAY + 5, soon(3)),
            (DAY, soon(1)),
            (1, String::new()),
            // Renewed, and overdue again.
            (200 * DAY, String::new()),
            (7 * DAY, soon(7)),
        ] {
            let text = warning(&mut warnings, left);
            assert!(text.ends_with(&line) && text.is_empty() == line.is_empty(), "{left}: {text}");
        }
        // Each stage is reported once, the expiry repeatedly.
        tokio::time::advance(Duration::from_secs(7200)).await;
        assert_eq!(warning(&mut warnings, 6 * DAY), "");
        for (minutes, is_warned) in [(0, true), (0, false), (59, false), (1, true), (1, false), (59, true)] {
            tokio::time::advance(Duration::from_secs(60 * minutes)).await;
            assert_eq!(warning(&mut warnings, 0).contains(over), is_warned, "{minutes} minutes later");
        }
    }
}
