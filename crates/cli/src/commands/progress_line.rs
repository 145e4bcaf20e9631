//! One line on a terminal that says how far something is, drawn anew in its place.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::terminal::escaped;

/// Says how far long work is. What is over sooner than a second says nothing, and nor does anything where nobody
/// watches. The line goes with it.
pub(crate) struct ProgressLine {
    /// When it is drawn next; never where stderr is no terminal.
    due: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { due: io::stderr().is_terminal().then(|| Instant::now() + PATIENCE) }
    }

    /// Draws the line, where it is time to.
    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
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

/// Draws it at once.
pub(crate) fn draw(line: &str) {
    SHOWN.store(true, Ordering::Relaxed);
    // Nobody is left to tell where stderr is closed.
    let _ = write!(io::stderr().lock(), "\r{}\u{1b}[K", escaped(line));
}

/// Takes it away, to make room for what comes next.
pub(crate) fn clear() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
    }
}

/// There is one terminal, and one such line on it.
static SHOWN: AtomicBool = AtomicBool::new(false);

const PATIENCE: Duration = Duration::from_secs(1);
const OFTEN: Duration = Duration::from_millis(200);
