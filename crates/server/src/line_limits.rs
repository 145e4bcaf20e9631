//! How many log lines of a kind are written: what a caller can provoke is written a few times a second, and counted
//! after that. 375,000 lines in 20 seconds help nobody.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::metrics::LogMetrics;

/// What a line is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Line {
    Denied,
    Failed,
    Handshake,
    Left,
    Notice,
    Panicked,
    Refused,
}

impl Line {
    const ALL: [Self; 7] =
        [Self::Denied, Self::Failed, Self::Handshake, Self::Left, Self::Notice, Self::Panicked, Self::Refused];

    /// The `kind` label of what is left out.
    const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Handshake => "handshake",
            Self::Left => "left",
            Self::Notice => "notice",
            Self::Panicked => "panicked",
            Self::Refused => "refused",
        }
    }
}

/// The limits of one server.
#[derive(Debug)]
pub(super) struct LineLimits {
    kinds: Mutex<[Window; Line::ALL.len()]>,
    metrics: LogMetrics,
}

/// The last second in which there were lines.
#[derive(Clone, Copy, Debug)]
struct Window {
    line: Line,
    began: Instant,
    lines: u32,
    left_out: u64,
}

impl LineLimits {
    pub(super) fn new(metrics: LogMetrics) -> Self {
        let began = Instant::now();
        for line in Line::ALL {
            metrics.left_out(line.name(), 0);
        }
        let kinds = Line::ALL.map(|line| Window { line, began, lines: 0, left_out: 0 });
        Self { kinds: Mutex::new(kinds), metrics }
    }

    /// Whether a line is to be written; counted where it is not.
    pub(super) fn allow(&self, line: Line) -> bool {
        let mut kinds = self.kinds();
        let Some(window) = kinds.iter_mut().find(|window| window.line == line) else {
            return true;
        };
        if window.began.elapsed() >= SECOND {
            (window.began, window.lines) = (Instant::now(), 0);
        }
        if window.lines < LINES {
            window.lines += 1;
            return true;
        }
        window.left_out += 1;
        self.metrics.left_out(line.name(), 1);
        false
    }

    /// Says now and then how many were left out, until dropped.
    pub(super) async fn report(&self) {
        loop {
            sleep(REPORT).await;
            let left_out: Vec<_> = self
                .kinds()
                .iter_mut()
                .filter(|window| window.left_out > 0)
                .map(|window| (window.line.name(), std::mem::take(&mut window.left_out)))
                .collect();
            for (kind, lines) in left_out {
                tracing::warn!(kind, lines, "log lines left out, there were too many of a kind");
            }
        }
    }

    /// Nothing in here panics half-way.
    fn kinds(&self) -> MutexGuard<'_, [Window; Line::ALL.len()]> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lines of a kind in a second: more than a person reads, less than a disk minds.
const LINES: u32 = 20;

const SECOND: Duration = Duration::from_secs(1);

const REPORT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn a_kind_of_line_is_limited_and_the_others_are_not() {
        let limits = LineLimits::new(Metrics::new(None, None).unwrap().logs);
        let written = |line| (0..1000).filter(|_| limits.allow(line)).count();
        assert_eq!(written(Line::Failed), 20);
        assert_eq!(written(Line::Failed), 0);
        assert_eq!(written(Line::Denied), 20);
        sleep(SECOND).await;
        assert_eq!(written(Line::Failed), 20);
    }
}
