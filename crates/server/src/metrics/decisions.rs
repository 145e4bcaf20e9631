//! Decisions: what became of the reviews.

use pointsman_core::webhook::{Conversions, Endpoint, Outcome, Reply};
use prometheus::{Error, IntCounterVec};

use super::registry::Register;
use crate::labels::{outcome_name, webhook_name};

/// The metrics of what was decided.
#[derive(Debug)]
pub(crate) struct DecisionMetrics {
    outcomes: IntCounterVec,
    conversions: IntCounterVec,
    failures: IntCounterVec,
    notices: IntCounterVec,
    verdicts: IntCounterVec,
    flips: IntCounterVec,
}

impl DecisionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            outcomes: new.counters(
                "webhook_outcomes_total",
                "Reviews answered, by what was decided: allow, convert, deny, fail or patch.",
                &["webhook", "outcome"],
            )?,
            conversions: new.counters("conversions_total", "Objects converted.", &["kind", "from", "to"])?,
            failures: new.counters(
                "conversion_failures_total",
                "Objects that could not be converted; unknown where kind or version are not ours.",
                &["kind", "from", "to"],
            )?,
            notices: new.counters(
                "conversion_notices_total",
                "Events worth knowing that did not change an answer.",
                &["event"],
            )?,
            verdicts: new.counters(
                "admission_verdicts_total",
                "What admission rules led to: deny, warn, would_deny where they are not enforced, or overridden.",
                &["kind", "rule", "effect"],
            )?,
            flips: new.counters(
                "controller_version_flips_total",
                "Objects that changed their controller version: entered, enter_refused, leave_refused, or let_go by the version that is left. Dry runs do not count.",
                &["outcome"],
            )?,
        })
    }

    /// Counts these from 0: a rate over a counter that appears with its first increment misses that increment.
    pub(crate) fn expect(&self, conversions: &[Conversions]) {
        for Conversions { kind, from, to, .. } in conversions {
            for counters in [&self.conversions, &self.failures] {
                counters.with_label_values(&[&**kind, &**from, &**to]).inc_by(0);
            }
        }
        self.failures.with_label_values(&["unknown"; 3]).inc_by(0);
        for endpoint in [Endpoint::Convert, Endpoint::Mutate, Endpoint::Validate] {
            for outcome in [Outcome::Allow, Outcome::Convert, Outcome::Deny, Outcome::Fail, Outcome::Patch] {
                self.outcomes.with_label_values(&[webhook_name(Some(endpoint)), outcome_name(outcome)]).inc_by(0);
            }
        }
    }

    pub(crate) fn decided(&self, webhook: &'static str, reply: &Reply) {
        self.outcomes.with_label_values(&[webhook, outcome_name(reply.outcome)]).inc();
        for done in &reply.conversions {
            // Names from kind definitions, never from the objects.
            self.conversions.with_label_values(&[&*done.kind, &*done.from, &*done.to]).inc_by(done.objects);
        }
        for failed in &reply.failures {
            self.failures.with_label_values(&[&*failed.kind, &*failed.from, &*failed.to]).inc_by(failed.objects);
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
}
