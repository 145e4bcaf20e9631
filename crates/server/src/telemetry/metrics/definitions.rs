//! Metrics of kind definitions: reads of the files.

use prometheus::{Error, Gauge};

use super::registry::{Register, seconds};
use super::reloads::ReloadCounters;

/// Metrics of the served definitions.
#[derive(Debug)]
pub(crate) struct DefinitionMetrics {
    reloads: ReloadCounters,
    last_read: Gauge,
}

impl DefinitionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            reloads: ReloadCounters::new(
                new,
                "definition_reloads_total",
                "Changes of kind definitions that were loaded (success), or rejected (error).",
            )?,
            last_read: new.add(Gauge::new(
                "definition_last_look_timestamp_seconds",
                "Time of the last check of the kind definitions, in seconds since the epoch; 0 without definitions.",
            ))?,
        })
    }

    /// Records a read of the files, whatever its result.
    pub(crate) fn files_read(&self, at: u64) {
        self.last_read.set(seconds(at));
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.reloaded();
    }

    pub(crate) fn refused(&self) {
        self.reloads.refused();
    }
}
