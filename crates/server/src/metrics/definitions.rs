//! Kind definitions: what became of looks at the files.

use prometheus::{Error, Gauge, IntCounterVec};

use super::registry::{Register, seconds};

/// The metrics of the definitions that are served.
#[derive(Debug)]
pub(crate) struct DefinitionMetrics {
    reloads: IntCounterVec,
    last_look: Gauge,
}

impl DefinitionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let this = Self {
            reloads: new.counters(
                "definition_reloads_total",
                "Kind definitions that changed and were taken over (success), or could not be (error).",
                &["result"],
            )?,
            last_look: new.add(Gauge::new(
                "definition_last_look_timestamp_seconds",
                "When the kind definitions were last looked at, in seconds since the epoch; 0 where none are looked at.",
            ))?,
        };
        for result in [RELOADED, REFUSED] {
            this.reloads.with_label_values(&[result]).inc_by(0);
        }
        Ok(this)
    }

    /// The files have been looked at, whatever was found.
    pub(crate) fn looked(&self, at: u64) {
        self.last_look.set(seconds(at));
    }

    pub(crate) fn reloaded(&self) {
        self.reloads.with_label_values(&[RELOADED]).inc();
    }

    pub(crate) fn refused(&self) {
        self.reloads.with_label_values(&[REFUSED]).inc();
    }
}

const RELOADED: &str = "success";
const REFUSED: &str = "error";
