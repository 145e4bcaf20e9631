//! Metrics of lost spans.

use prometheus::{Error, IntCounterVec};

use super::registry::Register;

/// The metrics of spans.
#[derive(Clone, Debug)]
pub(crate) struct SpanMetrics {
    lost: IntCounterVec,
}

impl SpanMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let lost = new.counters(
            "spans_lost_total",
            "Spans that were dropped: the queue was full, or the collector refused the spans.",
            &["reason"],
        )?;
        for reason in [NO_ROOM, NOT_TAKEN] {
            lost.with_label_values(&[reason]).inc_by(0);
        }
        Ok(Self { lost })
    }

    pub(crate) fn found_no_room(&self) {
        self.lost.with_label_values(&[NO_ROOM]).inc();
    }

    pub(crate) fn not_taken(&self, spans: u64) {
        self.lost.with_label_values(&[NOT_TAKEN]).inc_by(spans);
    }
}

const NO_ROOM: &str = "queue";

const NOT_TAKEN: &str = "collector";
