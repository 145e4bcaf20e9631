//! Metrics of changed files.

use prometheus::{Error, IntCounterVec};

use super::registry::Register;

/// Counts successful and failed reloads.
#[derive(Debug)]
pub(super) struct ReloadCounters(IntCounterVec);

impl ReloadCounters {
    /// Both start at 0.
    pub(super) fn new(new: &Register<'_>, name: &str, help: &str) -> Result<Self, Error> {
        let counters = new.counters(name, help, &["result"])?;
        for result in [RELOADED, REFUSED] {
            counters.with_label_values(&[result]).inc_by(0);
        }
        Ok(Self(counters))
    }

    pub(super) fn reloaded(&self) {
        self.0.with_label_values(&[RELOADED]).inc();
    }

    pub(super) fn refused(&self) {
        self.0.with_label_values(&[REFUSED]).inc();
    }
}

const RELOADED: &str = "success";
const REFUSED: &str = "error";
