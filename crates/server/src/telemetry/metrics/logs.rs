//! Metrics of omitted log lines.

use prometheus::{Error, IntCounter, IntCounterVec};

use super::registry::Register;

/// The metrics of logs.
#[derive(Clone, Debug)]
pub(crate) struct LogMetrics {
    left_out: IntCounterVec,
}

impl LogMetrics {
    /// The counter of a log queue, which exists before its server.
    pub(crate) fn lost_lines() -> Result<IntCounter, Error> {
        IntCounter::new("log_lines_lost_total", "Log lines dropped because their reader is too slow.")
    }

    /// `lost` counts lines lost by the log queue, if any.
    pub(super) fn new(new: &Register<'_>, lost: Option<IntCounter>) -> Result<Self, Error> {
        if let Some(lost) = lost {
            new.add(Ok(lost))?;
        }
        let left_out = new.counters(
            "log_lines_left_out_total",
            "Log lines that were dropped because of too many lines of one kind.",
            &["kind"],
        )?;
        Ok(Self { left_out })
    }

    /// The number of omitted lines of a kind.
    #[cfg(test)]
    pub(crate) fn count(&self, kind: &'static str) -> u64 {
        self.left_out.with_label_values(&[kind]).get()
    }

    pub(crate) fn left_out(&self, kind: &'static str, lines: u64) {
        self.left_out.with_label_values(&[kind]).inc_by(lines);
    }
}
