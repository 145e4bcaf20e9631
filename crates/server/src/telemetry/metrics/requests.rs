//! Metrics of requests: number, duration and status.

use pointsman_core::webhook::Endpoint;
use prometheus::{Error, Histogram, IntCounter, IntCounterVec, IntGauge};

use super::registry::Register;
use crate::telemetry::labels::webhook_name;

/// Metrics of requests. Metrics needed by every request are resolved once at the start, since the lookup by labels
/// takes a lock.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    convert: WebhookMetrics,
    mutate: WebhookMetrics,
    validate: WebhookMetrics,
    other: WebhookMetrics,
}

/// Metrics of one webhook, or of all unknown paths.
#[derive(Debug)]
pub(crate) struct WebhookMetrics {
    webhook: &'static str,
    answered: IntCounterVec,
    ok: IntCounter,
    duration: Histogram,
    decision: Histogram,
    in_flight: IntGauge,
    panics: IntCounter,
    expired: IntCounter,
    left: IntCounter,
}

impl RequestMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let answered = new.counters(
            "webhook_requests_total",
            "Responses by HTTP status code; webhook is other for unknown paths.",
            &["webhook", "code"],
        )?;
        let duration = new.histograms(
            "webhook_request_duration_seconds",
            "Time from the head of a request to its response, including the arrival of its body.",
            &["webhook"],
        )?;
        let decision = new.histograms(
            "webhook_decision_duration_seconds",
            "Time from the last byte of a body to the decision.",
            &["webhook"],
        )?;
        let in_flight =
            new.gauges("webhook_requests_in_flight", "Requests that are being read or decided.", &["webhook"])?;
        let panics =
            new.counters("webhook_panics_total", "Decisions that panicked, with a response of 500.", &["webhook"])?;
        let given_up = new.counters(
            "webhook_decisions_given_up_total",
            "Decisions that were abandoned after their deadline or a disconnected caller.",
            &["webhook", "reason"],
        )?;
        let of = |endpoint: Option<Endpoint>| {
            let webhook = webhook_name(endpoint);
            // A rate over a counter that appears with its first increment misses that increment.
            for code in endpoint.map_or(&[][..], |_| &["500", "503"]) {
                answered.with_label_values(&[webhook, code]).inc_by(0);
            }
            WebhookMetrics {
                webhook,
                answered: answered.clone(),
                ok: answered.with_label_values(&[webhook, "200"]),
                duration: duration.with_label_values(&[webhook]),
                decision: decision.with_label_values(&[webhook]),
                in_flight: in_flight.with_label_values(&[webhook]),
                panics: panics.with_label_values(&[webhook]),
                expired: given_up.with_label_values(&[webhook, "deadline"]),
                left: given_up.with_label_values(&[webhook, "left"]),
            }
        };
        let [convert, mutate, validate] = [Endpoint::Convert, Endpoint::Mutate, Endpoint::Validate].map(Some).map(of);
        Ok(Self { convert, mutate, validate, other: of(None) })
    }

    /// The metrics of an endpoint, or of unknown paths.
    pub(crate) fn of(&self, endpoint: Option<Endpoint>) -> &WebhookMetrics {
        match endpoint {
            Some(Endpoint::Convert) => &self.convert,
            Some(Endpoint::Mutate) => &self.mutate,
            Some(Endpoint::Validate) => &self.validate,
            None => &self.other,
        }
    }
}

impl WebhookMetrics {
    /// Counts a request as in flight until the result is dropped, also if its client disconnects.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(crate) fn answered(&self, code: u16, seconds: f64) {
        match code {
            200 => self.ok.inc(),
            _ => self.answered.with_label_values(&[self.webhook, &code.to_string()]).inc(),
        }
        self.duration.observe(seconds);
    }

    pub(crate) fn decided(&self, seconds: f64) {
        self.decision.observe(seconds);
    }

    pub(crate) fn given_up(&self, why: GivenUp) {
        match why {
            GivenUp::ClientDisconnected => self.left.inc(),
            GivenUp::Deadline => self.expired.inc(),
        }
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }
}

/// The reason why a decision is abandoned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum GivenUp {
    /// The caller has left.
    ClientDisconnected,
    /// Its deadline has passed.
    Deadline,
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
