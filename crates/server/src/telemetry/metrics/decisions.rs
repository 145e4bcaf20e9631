//! Metrics of decisions about reviews.

use pointsman_core::webhook::{Conversions, Endpoint, Outcome, Reply};
use prometheus::{Error, Histogram, HistogramOpts, IntCounter, IntCounterVec};

use super::registry::{BUCKETS, Register};
use crate::telemetry::labels::{EVENTS, NOT_ENFORCED, outcome_name, webhook_name};

/// Metrics of decisions.
#[derive(Debug)]
pub(crate) struct DecisionMetrics {
    outcomes: IntCounterVec,
    conversions: IntCounterVec,
    failures: IntCounterVec,
    notices: IntCounterVec,
    verdicts: IntCounterVec,
    disagreements: IntCounter,
    flips: IntCounterVec,
    object_duration: Histogram,
}

impl DecisionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            outcomes: new.counters(
                "webhook_outcomes_total",
                "Reviews answered, by decision: allow, convert, deny, fail or patch.",
                &["webhook", "outcome"],
            )?,
            conversions: new.counters("conversions_total", "Objects converted.", &["kind", "from", "to"])?,
            failures: new.counters(
                "conversion_failures_total",
                "Objects that could not be converted; unknown if kind or version are not served.",
                &["kind", "from", "to"],
            )?,
            notices: new.counters(
                "conversion_notices_total",
                "Notable events that did not change a response.",
                &["event"],
            )?,
            verdicts: new.counters(
                "admission_verdicts_total",
                "Results of admission rules: deny, warn, would_deny without enforcement, or overridden.",
                &["kind", "rule", "effect"],
            )?,
            disagreements: new.add(IntCounter::new(
                "admission_disagreements_total",
                "Accepted reviews that enforced rules would have denied.",
            ))?,
            flips: new.counters(
                "controller_version_flips_total",
                "Objects that changed their controller version: entered, enter_refused, leave_refused, or \
                     let_go by the old version. Dry runs do not count.",
                &["outcome"],
            )?,
            object_duration: new.add(Histogram::with_opts(
                HistogramOpts::new(
                    "conversion_object_duration_seconds",
                    "Time of a conversion review from the last byte of its body to the decision, for each of \
                         its objects.",
                )
                .buckets(BUCKETS.to_vec()),
            ))?,
        })
    }

    /// Initializes these counters with 0: a rate over a counter that appears with its first increment misses that
    /// increment.
    pub(crate) fn expect(&self, conversions: &[Conversions]) {
        for Conversions { kind, from, to, .. } in conversions {
            for counters in [&self.conversions, &self.failures] {
                counters.with_label_values(&[&**kind, &**from, &**to]).inc_by(0);
            }
        }
        self.failures.with_label_values(&["unknown"; 3]).inc_by(0);
        for event in EVENTS {
            self.notices.with_label_values(&[event]).inc_by(0);
        }
        for endpoint in [Endpoint::Convert, Endpoint::Mutate, Endpoint::Validate] {
            for outcome in [Outcome::Allow, Outcome::Convert, Outcome::Deny, Outcome::Fail, Outcome::Patch] {
                self.outcomes.with_label_values(&[webhook_name(Some(endpoint)), outcome_name(outcome)]).inc_by(0);
            }
        }
    }

    /// Records the duration of a review with converted objects. Failed reviews are excluded: their number of processed
    /// objects is unknown.
    #[expect(clippy::cast_precision_loss, reason = "a body holds far less than 2^52 objects")]
    pub(crate) fn took(&self, reply: &Reply, seconds: f64) {
        let objects: u64 = reply.conversions.iter().map(|counted| counted.objects).sum();
        if objects > 0 {
            self.object_duration.observe(seconds / objects as f64);
        }
    }

    pub(crate) fn decided(&self, webhook: &'static str, reply: &Reply) {
        self.outcomes.with_label_values(&[webhook, outcome_name(reply.outcome)]).inc();
        for done in &reply.conversions {
            // Names from kind definitions, never from objects.
            self.conversions.with_label_values(&[&*done.kind, &*done.from, &*done.to]).inc_by(done.objects);
        }
        for failed in &reply.failures {
            self.failures.with_label_values(&[&*failed.kind, &*failed.from, &*failed.to]).inc_by(failed.objects);
        }
        for verdict in &reply.verdicts {
            self.verdicts.with_label_values(&[&*verdict.kind, &verdict.rule, verdict.effect]).inc();
        }
        if reply.verdicts.iter().any(|verdict| verdict.effect == NOT_ENFORCED) {
            self.disagreements.inc();
        }
        if let Some(flip) = reply.flip {
            self.flips.with_label_values(&[flip.name()]).inc();
        }
        for notice in &reply.notices {
            self.notices.with_label_values(&[notice.event]).inc();
        }
    }
}
