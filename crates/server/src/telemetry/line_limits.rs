//! Limits of log lines per kind: lines that callers can provoke are written a few times per second, then only counted.
//! 375,000 lines in 20 seconds are useless.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::line_window::LineWindow;
use super::log_queue::LogQueue;
use super::metrics::LogMetrics;

/// The kind of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Line {
    Denied,
    /// From a dependency.
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

    /// The `kind` label of omitted lines.
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
pub(crate) struct LineLimits {
    kinds: Mutex<[(Line, LineWindow); Line::ALL.len()]>,
    /// The queue that lines of dependencies pass.
    queue: Option<LogQueue>,
    metrics: LogMetrics,
}

impl LineLimits {
    pub(crate) fn new(queue: Option<LogQueue>, metrics: LogMetrics) -> Self {
        for line in Line::ALL {
            metrics.left_out(line.name(), 0);
        }
        let kinds = Line::ALL.map(|line| (line, LineWindow::default()));
        Self { kinds: Mutex::new(kinds), queue, metrics }
    }

    /// True if a line may be written; otherwise counts it.
    pub(crate) fn allow(&self, line: Line) -> bool {
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

    /// Reports the number of omitted lines periodically, until dropped.
    pub(crate) async fn report(&self) {
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
                tracing::warn!(kind, lines, "log lines were dropped: too many of one kind");
            }
        }
    }

    /// No code panics while holding this lock.
    fn kinds(&self) -> MutexGuard<'_, [(Line, LineWindow); Line::ALL.len()]> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const REPORT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::Metrics;

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
