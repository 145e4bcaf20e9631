//! How many log lines of a kind are written: what a caller can provoke is written a few times a second, and counted
//! after that. 375,000 lines in 20 seconds help nobody.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::line_window::LineWindow;
use super::log_queue::LogQueue;
use super::metrics::LogMetrics;

/// What a line is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Line {
    Denied,
    /// Of somebody else's code in this process.
    Dependency,
    Failed,
    Handshake,
    Left,
    Notice,
    Panicked,
    Refused,
}

impl Line {
    const ALL: [Self; 8] = [
        Self::Denied,
        Self::Dependency,
        Self::Failed,
        Self::Handshake,
        Self::Left,
        Self::Notice,
        Self::Panicked,
        Self::Refused,
    ];

    /// The `kind` label of what is left out.
    const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Dependency => "dependency",
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
    kinds: Mutex<[(Line, LineWindow); Line::ALL.len()]>,
    /// Where lines of dependencies pass.
    queue: Option<LogQueue>,
    metrics: LogMetrics,
}

impl LineLimits {
    pub(super) fn new(queue: Option<LogQueue>, metrics: LogMetrics) -> Self {
        for line in Line::ALL {
            metrics.left_out(line.name(), 0);
        }
        let kinds = Line::ALL.map(|line| (line, LineWindow::default()));
        Self { kinds: Mutex::new(kinds), queue, metrics }
    }

    /// Whether a line is to be written; counted where it is not.
    pub(super) fn allow(&self, line: Line) -> bool {
        let mut kinds = self.kinds();
        let Some((_, window)) = kinds.iter_mut().find(|(kind, _)| *kind == line) else {
            return true;
        };
        let admits = window.admits();
        if !admits {
            self.metrics.left_out(line.name(), 1);
        }
        admits
    }

    /// Says now and then how many were left out, until dropped.
    pub(super) async fn report(&self) {
        loop {
            sleep(REPORT).await;
            let mut left_out: Vec<_> = self
                .kinds()
                .iter_mut()
                .map(|(line, window)| (line.name(), window.left_out()))
                .filter(|(_, lines)| *lines > 0)
                .collect();
            let of_dependencies = self.queue.as_ref().map_or(0, LogQueue::left_out);
            if of_dependencies > 0 {
                self.metrics.left_out(Line::Dependency.name(), of_dependencies);
                left_out.push((Line::Dependency.name(), of_dependencies));
            }
            for (kind, lines) in left_out {
                tracing::warn!(kind, lines, "log lines left out, there were too many of a kind");
            }
        }
    }

    /// Nothing in here panics half-way.
    fn kinds(&self) -> MutexGuard<'_, [(Line, LineWindow); Line::ALL.len()]> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const REPORT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn lines_of_dependencies_are_limited() {
        let queue = LogQueue::start(std::io::sink()).unwrap();
        let metrics = Metrics::new(None, None).unwrap().logs;
        let limits = LineLimits::new(Some(queue.clone()), metrics.clone());
        assert_eq!((0..1000).filter(|_| queue.admits("h2::proto::streams")).count(), 20);
        assert!((0..1000).all(|_| queue.admits("pointsman_server::log")));
        tokio::select! {
            () = limits.report() => {}
            () = sleep(REPORT + SECOND) => {}
        }
        assert_eq!(metrics.count(Line::Dependency.name()), 980);
    }

    #[tokio::test(start_paused = true)]
    async fn one_line_kind_is_limited() {
        let limits = LineLimits::new(None, Metrics::new(None, None).unwrap().logs);
        let written = |line| (0..1000).filter(|_| limits.allow(line)).count();
        assert_eq!(written(Line::Failed), 20);
        assert_eq!(written(Line::Failed), 0);
        assert_eq!(written(Line::Denied), 20);
        sleep(SECOND).await;
        assert_eq!(written(Line::Failed), 20);
    }
}
