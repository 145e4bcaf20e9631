//! A progress line on a terminal, redrawn in place.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::terminal::escaped;

/// Shows the progress of long work, after one second, on a terminal only. The line is removed on drop.
pub(crate) struct ProgressLine {
    /// The time of the next redraw. `None` if stderr is no terminal.
    due: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { due: io::stderr().is_terminal().then(|| Instant::now() + PATIENCE) }
    }

    /// Redraws the line if it is due.
    pub(crate) fn update(&mut self, line: impl FnOnce() -> String) {
        if self.due.is_some_and(|due| Instant::now() >= due) {
            draw(&line());
            self.due = Some(Instant::now() + OFTEN);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        clear();
    }
}

/// Draws the line immediately.
pub(crate) fn draw(line: &str) {
    SHOWN.store(true, Ordering::Relaxed);
    // If stderr is closed, there is no other output.
    let _ = write!(io::stderr().lock(), "\r{}\u{1b}[K", escaped(line));
}

/// Removes the line before other output.
pub(crate) fn clear() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
    }
}

/// The process has one terminal with one progress line.
static SHOWN: AtomicBool = AtomicBool::new(false);

const PATIENCE: Duration = Duration::from_secs(1);
const OFTEN: Duration = Duration::from_millis(200);
