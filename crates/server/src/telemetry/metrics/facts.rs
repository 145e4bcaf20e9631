//! Metrics of facts, which mutations depend on.

use prometheus::{Error, IntCounterVec, IntGaugeVec};

use super::registry::Register;
use crate::telemetry::fact_source::{FollowedFact, FollowedFacts};

/// Metrics of known facts.
#[derive(Debug)]
pub(crate) struct FactMetrics {
    followed: Option<FollowedFacts>,
    known: IntGaugeVec,
    objects: IntGaugeVec,
    failures: IntCounterVec,
    last_contact: IntGaugeVec,
}

impl FactMetrics {
    pub(super) fn new(new: &Register<'_>, followed: Option<FollowedFacts>) -> Result<Self, Error> {
        Ok(Self {
            followed,
            known: new.gauges(
                "fact_known",
                "1 if the facts of a resource are known, 0 if dependent requests get 503.",
                &["resource"],
            )?,
            objects: new.gauges("fact_objects", "Objects of which a fact of a mutation is true.", &["resource"])?,
            failures: new.counters(
                "fact_watch_failures_total",
                "Failed reads and watches of fact objects.",
                &["resource"],
            )?,
            last_contact: new.gauges(
                "fact_last_heard_timestamp_seconds",
                "Time of the last message about facts from the API server, in seconds since the epoch; 0 for never.",
                &["resource"],
            )?,
        })
    }

    /// Updates the metrics.
    pub(super) fn update(&self) {
        for fact in self.followed.iter().flat_map(FollowedFacts::state) {
            let FollowedFact { resource, is_known, objects, failures, last_contact } = fact;
            let of = [resource.as_str()];
            let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            self.known.with_label_values(&of).set(i64::from(is_known));
            self.objects.with_label_values(&of).set(whole(objects));
            self.last_contact.with_label_values(&of).set(whole(last_contact));
            let counter = self.failures.with_label_values(&of);
            counter.inc_by(failures.saturating_sub(counter.get()));
        }
    }
}
