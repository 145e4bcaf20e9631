//! Requests: how many, how long, with which answer.

use pointsman_core::webhook::Endpoint;
use prometheus::{Error, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec};

use super::registry::Register;
use crate::labels::webhook_name;

/// The metrics of requests, whatever was decided.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    answered: IntCounterVec,
    duration: HistogramVec,
    decision: HistogramVec,
    in_flight: IntGaugeVec,
    panics: IntCounterVec,
}

impl RequestMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let this = Self {
            answered: new.counters(
                "webhook_requests_total",
                "Requests answered, by HTTP status code; webhook is other for paths that are none of ours.",
                &["webhook", "code"],
            )?,
            duration: new.histograms(
                "webhook_request_duration_seconds",
                "Time from a request's head to its answer, the arrival of its body included.",
                &["webhook"],
            )?,
            decision: new.histograms(
                "webhook_decision_duration_seconds",
                "Time from the last byte of a body to the decision: what we take ourselves.",
                &["webhook"],
            )?,
            in_flight: new.gauges(
                "webhook_requests_in_flight",
                "Requests that are being read or decided.",
                &["webhook"],
            )?,
            panics: new.counters(
                "webhook_panics_total",
                "Decisions that panicked and were answered with 500.",
                &["webhook"],
            )?,
        };
        // A rate over a counter that appears with its first increment misses that increment.
        for endpoint in [Endpoint::Convert, Endpoint::Mutate, Endpoint::Validate] {
            let webhook = webhook_name(Some(endpoint));
            this.in_flight.with_label_values(&[webhook]).set(0);
            this.panics.with_label_values(&[webhook]).inc_by(0);
            for code in ["200", "500", "503"] {
                this.answered.with_label_values(&[webhook, code]).inc_by(0);
            }
        }
        Ok(this)
    }

    /// Counts a request as in flight until the result is dropped: also where its client goes away.
    pub(crate) fn in_flight(&self, webhook: &'static str) -> InFlight {
        let gauge = self.in_flight.with_label_values(&[webhook]);
        gauge.inc();
        InFlight(gauge)
    }

    pub(crate) fn answered(&self, webhook: &'static str, code: u16, seconds: f64) {
        self.answered.with_label_values(&[webhook, &code.to_string()]).inc();
        self.duration.with_label_values(&[webhook]).observe(seconds);
    }

    pub(crate) fn decided(&self, webhook: &'static str, seconds: f64) {
        self.decision.with_label_values(&[webhook]).observe(seconds);
    }

    pub(crate) fn panicked(&self, webhook: &'static str) {
        self.panics.with_label_values(&[webhook]).inc();
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
