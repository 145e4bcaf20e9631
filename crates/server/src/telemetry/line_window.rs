//! Limits log lines of one kind per second.

use std::time::Duration;

use tokio::time::Instant;

/// The last second with lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineWindow {
    began: Instant,
    lines: u32,
    left_out: u64,
}

impl Default for LineWindow {
    fn default() -> Self {
        Self { began: Instant::now(), lines: 0, left_out: 0 }
    }
}

impl LineWindow {
    /// True if another line may be written; otherwise counts it.
    pub(crate) fn admits(&mut self) -> bool {
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

    /// The number of omitted lines since the last call.
    pub(crate) fn left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

/// Lines of a kind per second: more than a person reads, and little for a disk.
const LINES: u32 = 20;

const SECOND: Duration = Duration::from_secs(1);
