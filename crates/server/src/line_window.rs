//! How many lines of one kind are written in a second.

use std::time::Duration;

use tokio::time::Instant;

/// The last second in which there were lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineWindow {
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
    /// Whether another line is to be written; counted where it is not.
    pub(super) fn admits(&mut self) -> bool {
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

    /// How many were left out since this was asked last.
    pub(super) fn left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}

/// Lines of a kind in a second: more than a person reads, less than a disk minds.
const LINES: u32 = 20;

const SECOND: Duration = Duration::from_secs(1);
