//! A queue of log lines: written by a separate thread, and dropped if that thread is blocked. Serving threads never
//! wait for the log.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use prometheus::IntCounter;

use super::line_window::LineWindow;
use super::metrics::LogMetrics;

/// A queue of log lines. Each call of `write` adds one line, without blocking.
///
/// If the queue is full, lines are lost; their number is in `log_lines_lost_total`, and in a line as soon as there is
/// room.
#[derive(Clone, Debug)]
pub struct LogQueue {
    entries: SyncSender<QueueEntry>,
    lost: IntCounter,
    /// Lines of libraries, such as `h2`'s for each unexpected frame: all count as one kind.
    dependencies: Arc<Mutex<LineWindow>>,
}

#[derive(Debug)]
enum QueueEntry {
    Line(Vec<u8>),
    /// Signals that everything before is written.
    Flush(SyncSender<()>),
}

impl LogQueue {
    /// Starts the thread that writes to `sink`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let lost = LogMetrics::lost_lines().map_err(io::Error::other)?;
        let (entries, queue) = sync_channel(LINES);
        let reported = lost.clone();
        thread::Builder::new().name("log".to_owned()).spawn(move || write_all(sink, &queue, &reported))?;
        Ok(Self { entries, lost, dependencies: Arc::default() })
    }

    /// Waits until the queue is written, for at most `most`.
    pub fn flush(&self, most: Duration) {
        let (written, wait) = sync_channel(1);
        let began = std::time::Instant::now();
        let mut entry = QueueEntry::Flush(written);
        // A full queue may progress, or be blocked.
        while let Err(TrySendError::Full(back)) = self.entries.try_send(entry) {
            if began.elapsed() > most {
                return;
            }
            entry = back;
            thread::sleep(Duration::from_millis(5));
        }
        // After a timeout, no further action is possible.
        let _: Result<(), RecvTimeoutError> = wait.recv_timeout(most.saturating_sub(began.elapsed()));
    }

    /// True if a line of this target may be written. Lines of dependencies that callers can provoke are limited and
    /// counted like others.
    #[must_use]
    pub fn admits(&self, target: &str) -> bool {
        target.starts_with("pointsman") || self.dependencies().admits()
    }

    /// Omitted lines of dependencies since the last call.
    pub(crate) fn left_out(&self) -> u64 {
        self.dependencies().left_out()
    }

    fn dependencies(&self) -> MutexGuard<'_, LineWindow> {
        self.dependencies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counter of lost lines, for the metrics.
    pub(crate) fn lost(&self) -> IntCounter {
        self.lost.clone()
    }
}

impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.entries.try_send(QueueEntry::Line(line.to_vec())).is_err() {
            self.lost.inc();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(mut sink: impl Write, queue: &Receiver<QueueEntry>, lost: &IntCounter) {
    let mut reported = 0;
    while let Ok(entry) = queue.recv() {
        match entry {
            // A closed stderr must not stop the server.
            QueueEntry::Line(line) => drop(sink.write_all(&line)),
            // The receiver may have left.
            QueueEntry::Flush(written) => drop(written.try_send(())),
        }
        let now = lost.get();
        if now > reported {
            // Through the queue, in the same format.
            tracing::warn!(lines = now - reported, "log lines lost, their reader does not keep up");
            reported = now;
        }
    }
}

/// 1024 lines of a few hundred bytes: a burst, at less than a megabyte.
const LINES: usize = 1024;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex, PoisonError};
    use std::time::Instant;

    use super::*;

    /// A blocked reader.
    #[derive(Clone, Default)]
    struct Stuck(Arc<(Mutex<State>, Condvar)>);

    #[derive(Default)]
    struct State {
        moving: bool,
        written: Vec<u8>,
    }

    impl Write for Stuck {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let (state, changed) = &*self.0;
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let mut state = changed.wait_while(state, |state| !state.moving).unwrap();
            state.written.extend_from_slice(line);
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn stalled_reader_blocks_nothing() {
        let reader = Stuck::default();
        let mut queue = LogQueue::start(reader.clone()).unwrap();
        let begun = Instant::now();
        for _ in 0..5000 {
            queue.write_all(b"line\n").unwrap();
        }
        queue.flush(Duration::from_millis(50));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        let lost = queue.lost.get();
        assert!((5000 - 1024 - 1..5000).contains(&lost), "{lost}");

        reader.0.0.lock().unwrap().moving = true;
        reader.0.1.notify_all();
        queue.flush(Duration::from_secs(10));
        let written = reader.0.0.lock().unwrap().written.len() as u64;
        assert_eq!(written, (5000 - lost) * 5, "what was not lost is written");
    }
}
