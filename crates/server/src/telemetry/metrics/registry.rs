//! Creates registered metrics.

use prometheus::core::Collector;
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

/// Creates registered metrics.
pub(super) struct Register<'a>(pub(super) &'a Registry);

impl Register<'_> {
    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, Error> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, Error> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    pub(super) fn histograms(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, Error> {
        let opts = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
        self.add(HistogramVec::new(opts, labels))
    }

    pub(super) fn add<C>(&self, metric: Result<C, Error>) -> Result<C, Error>
    where
        C: Collector + Clone + 'static,
    {
        let metric = metric?;
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}

/// Seconds since the epoch, as gauge value.
#[expect(clippy::cast_precision_loss, reason = "seconds since the epoch stay far below 2^52")]
pub(super) fn seconds(since_epoch: u64) -> f64 {
    since_epoch as f64
}

/// Seconds. 4 ms is the API server's target for the conversion of one object (comment on its latency histogram,
/// apiextensions-apiserver conversion/webhook_converter.go), 10 s the default timeout of admission, 30 s the maximum.
pub(super) const BUCKETS: [f64; 13] = [0.0005, 0.001, 0.002, 0.004, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 30.0];
