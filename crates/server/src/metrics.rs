//! Every metric, in one struct, with a registry of its own. No label ever holds what a client chose.

use prometheus::{
    Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder, core::Collector,
};

use super::log::outcome_name;
use pointsman_core::webhook::{Endpoint, Reply};

/// The metrics of one server.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    duration: HistogramVec,
    in_flight: IntGaugeVec,
    outcomes: IntCounterVec,
    panics: IntCounterVec,
    conversions: IntCounterVec,
    notices: IntCounterVec,
    verdicts: IntCounterVec,
    flips: IntCounterVec,
    reloads: IntCounterVec,
    expiry: Gauge,
    /// Connections of the webhook listener, handshakes included.
    pub(super) connections: IntGauge,
    /// Handshakes that failed or took too long.
    pub(super) handshake_failures: IntCounter,
}

impl Metrics {
    pub(super) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let new = Register(&registry);
        let this = Self {
            requests: new.counters(
                "webhook_requests_total",
                "Requests answered, by HTTP status code; webhook is other for paths that are none of ours.",
                &["webhook", "code"],
            )?,
            duration: new.histograms(
                "webhook_request_duration_seconds",
                "Time from a request's head to its answer, the arrival of its body included.",
                &["webhook"],
            )?,
            in_flight: new.gauges(
                "webhook_requests_in_flight",
                "Requests that are being read or decided.",
                &["webhook"],
            )?,
            outcomes: new.counters(
                "webhook_outcomes_total",
                "Reviews answered, by what was decided: allow, convert, deny, fail or patch.",
                &["webhook", "outcome"],
            )?,
            panics: new.counters(
                "webhook_panics_total",
                "Decisions that panicked and were answered with 500.",
                &["webhook"],
            )?,
            conversions: new.counters("conversions_total", "Objects converted.", &["kind", "from", "to"])?,
            notices: new.counters(
                "conversion_notices_total",
                "Events worth knowing that did not change an answer.",
                &["event"],
            )?,
            verdicts: new.counters(
                "admission_verdicts_total",
                "What admission rules led to: deny, warn, or would_deny where they are not enforced.",
                &["kind", "rule", "effect"],
            )?,
            flips: new.counters(
                "controller_version_flips_total",
                "Objects that changed their controller version: entered, left, enter_refused or leave_refused.",
                &["outcome"],
            )?,
            reloads: new.counters(
                "certificate_reloads_total",
                "Certificate files that changed and were taken over (success), or could not be (error).",
                &["result"],
            )?,
            expiry: new.add(Gauge::new(
                "certificate_expiry_timestamp_seconds",
                "When the certificate that is served expires, in seconds since the epoch.",
            ))?,
            connections: new.add(IntGauge::new(
                "webhook_connections",
                "Open connections to the webhook listener.",
            ))?,
            handshake_failures: new.add(IntCounter::new(
                "tls_handshake_failures_total",
                "TLS handshakes that failed, or did not finish in time.",
            ))?,
            registry: registry.clone(),
        };
        let version =
            new.gauges("build_info", "1, labelled with the version that runs.", &["version"])?;
        version.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        this.begin_at_zero();
        Ok(this)
    }

    /// A rate over a counter that appears with its first increment misses that increment.
    fn begin_at_zero(&self) {
        for endpoint in [Endpoint::Convert, Endpoint::Mutate, Endpoint::Validate] {
            let webhook = webhook_name(Some(endpoint));
            self.in_flight.with_label_values(&[webhook]).set(0);
            self.panics.with_label_values(&[webhook]).inc_by(0);
        }
        for result in [RELOADED, REFUSED] {
            self.reloads.with_label_values(&[result]).inc_by(0);
        }
    }

    /// Everything, in Prometheus' text format.
    pub(super) fn text(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// Counts a request as in flight until the result is dropped: also where its client goes away.
    pub(super) fn in_flight(&self, webhook: &'static str) -> InFlight {
        let gauge = self.in_flight.with_label_values(&[webhook]);
        gauge.inc();
        InFlight(gauge)
    }

    pub(super) fn answered(&self, webhook: &'static str, code: u16, seconds: f64) {
        self.requests.with_label_values(&[webhook, &code.to_string()]).inc();
        self.duration.with_label_values(&[webhook]).observe(seconds);
    }

    pub(super) fn decided(&self, webhook: &'static str, reply: &Reply) {
        self.outcomes.with_label_values(&[webhook, outcome_name(reply.outcome)]).inc();
        for done in &reply.conversions {
            // Names from kind definitions, never from the objects.
            self.conversions
                .with_label_values(&[&*done.kind, &*done.from, &*done.to])
                .inc_by(done.objects);
        }
        for verdict in &reply.verdicts {
            self.verdicts.with_label_values(&[&*verdict.kind, &verdict.rule, verdict.effect]).inc();
        }
        if let Some(flip) = reply.flip {
            self.flips.with_label_values(&[flip.name()]).inc();
        }
        for notice in &reply.notices {
            self.notices.with_label_values(&[notice.event]).inc();
        }
    }

    pub(super) fn panicked(&self, webhook: &'static str) {
        self.panics.with_label_values(&[webhook]).inc();
    }

    /// Another certificate is served from now on. The first one of a process is no reload.
    pub(super) fn serving(&self, not_after: u64) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "seconds since the epoch stay far below 2^52"
        )]
        self.expiry.set(not_after as f64);
    }

    pub(super) fn reloaded(&self) {
        self.reloads.with_label_values(&[RELOADED]).inc();
    }

    pub(super) fn reload_refused(&self) {
        self.reloads.with_label_values(&[REFUSED]).inc();
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The `webhook` label of an endpoint.
pub(super) fn webhook_name(endpoint: Option<Endpoint>) -> &'static str {
    match endpoint {
        Some(Endpoint::Convert) => "convert",
        Some(Endpoint::Mutate) => "mutate",
        Some(Endpoint::Validate) => "validate",
        None => "other",
    }
}

/// Makes metrics that are in the registry.
struct Register<'a>(&'a Registry);

impl Register<'_> {
    fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, prometheus::Error> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn gauges(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntGaugeVec, prometheus::Error> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    fn histograms(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<HistogramVec, prometheus::Error> {
        let opts = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
        self.add(HistogramVec::new(opts, labels))
    }

    fn add<C>(&self, metric: Result<C, prometheus::Error>) -> Result<C, prometheus::Error>
    where
        C: Collector + Clone + 'static,
    {
        let metric = metric?;
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}

const RELOADED: &str = "success";
const REFUSED: &str = "error";

/// Seconds. 4 ms is what the API server allows for the conversion of one object (the comment on its latency histogram,
/// apiextensions-apiserver conversion/webhook_converter.go), 10 s the default timeout of admission, 30 s the largest.
const BUCKETS: [f64; 13] =
    [0.0005, 0.001, 0.002, 0.004, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 30.0];
