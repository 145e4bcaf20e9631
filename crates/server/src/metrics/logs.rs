//! Log lines that were not written.

use prometheus::{Error, IntCounter, IntCounterVec};

use super::registry::Register;

/// The metrics of logs.
#[derive(Clone, Debug)]
pub(crate) struct LogMetrics {
    left_out: IntCounterVec,
}

impl LogMetrics {
    /// The counter of a queue of log lines, which is there before the server that it is registered with.
    pub(crate) fn lost_lines() -> Result<IntCounter, Error> {
        IntCounter::new(
            "log_lines_lost_total",
            "Log lines that were not written because whoever reads them does not keep up.",
        )
    }

    /// `lost` are the lines that found no room in the queue, where there is one.
    pub(super) fn new(new: &Register<'_>, lost: Option<IntCounter>) -> Result<Self, Error> {
        if let Some(lost) = lost {
            new.add(Ok(lost))?;
        }
        let left_out = new.counters(
            "log_lines_left_out_total",
            "Log lines that were not written because there were too many of their kind.",
            &["kind"],
        )?;
        Ok(Self { left_out })
    }

    /// How many lines of a kind there were too many.
    #[cfg(test)]
    pub(crate) fn count(&self, kind: &'static str) -> u64 {
        self.left_out.with_label_values(&[kind]).get()
    }

    pub(crate) fn left_out(&self, kind: &'static str, lines: u64) {
        self.left_out.with_label_values(&[kind]).inc_by(lines);
    }
}
