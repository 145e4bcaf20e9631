//! How many log lines of a kind are written: what a caller can provoke is written a few times a second, and counted
//! after that. 375,000 lines in 20 seconds help nobody.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

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
    kinds: Mutex<[Window; Line::ALL.len()]>,
    /// Where lines of dependencies pass.
    queue: Option<LogQueue>,
    metrics: LogMetrics,
}

/// Lines of dependencies, such as of `h2` for each frame that it does not expect: one kind, whoever writes them.
#[derive(Debug)]
pub(super) struct DependencyLines(Mutex<Window>);

impl Default for DependencyLines {
    fn default() -> Self {
        Self(Mutex::new(Window { line: Line::Dependency, began: Instant::now(), lines: 0, left_out: 0 }))
    }
}

impl DependencyLines {
    pub(super) fn admits(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).admits()
    }

    pub(super) fn left_out(&self) -> u64 {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).left_out)
    }
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
    pub(super) fn new(queue: Option<LogQueue>, metrics: LogMetrics) -> Self {
        let began = Instant::now();
        for line in Line::ALL {
            metrics.left_out(line.name(), 0);
        }
        let kinds = Line::ALL.map(|line| Window { line, began, lines: 0, left_out: 0 });
        Self { kinds: Mutex::new(kinds), queue, metrics }
    }

    /// Whether a line is to be written; counted where it is not.
    pub(super) fn allow(&self, line: Line) -> bool {
        let mut kinds = self.kinds();
        let Some(window) = kinds.iter_mut().find(|window| window.line == line) else {
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
                .filter(|window| window.left_out > 0)
                .map(|window| (window.line.name(), std::mem::take(&mut window.left_out)))
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
    fn kinds(&self) -> MutexGuard<'_, [Window; Line::ALL.len()]> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    /// Whether another line is to be written; counted where it is not.
    fn admits(&mut self) -> bool {
        if self.began.elapsed() >= SECOND {
            (self.began, self.lines) = (Instant::now(), 0);
        }
        if self.lines < LINES {
            self.lines += 1;
            return true;
        }
        self.left_out += 1;
        false
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
    async fn a_kind_of_line_is_limited_and_the_others_are_not() {
        let limits = LineLimits::new(None, Metrics::new(None, None).unwrap().logs);
        let written = |line| (0..1000).filter(|_| limits.allow(line)).count();
        assert_eq!(written(Line::Failed), 20);
        assert_eq!(written(Line::Failed), 0);
        assert_eq!(written(Line::Denied), 20);
        sleep(SECOND).await;
        assert_eq!(written(Line::Failed), 20);
    }
}
