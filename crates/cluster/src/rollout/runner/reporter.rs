//! Reports of a running rollout, to the caller and as Kubernetes Events.

use std::collections::BTreeSet;

use pointsman_core::definition::Kind;
use pointsman_rollout::{RateChange, RolloutStatus, steps_not_compared};
use serde_json::Value;

use super::event::RolloutEvent;
use crate::call_error::RIGHTS;
use crate::cluster::Cluster;
use crate::rollout::clock::RolloutClock;
use crate::rollout::events::write_events;

/// Reports events. A missing permission is reported once.
pub(super) struct EventReporter<'r> {
    kind: &'r Kind,
    holder: &'r str,
    report: &'r dyn Fn(RolloutEvent),
    /// Reported missing permissions.
    forbidden: BTreeSet<String>,
}

impl<'r> EventReporter<'r> {
    pub(super) fn new(kind: &'r Kind, holder: &'r str, report: &'r dyn Fn(RolloutEvent)) -> Self {
        Self { kind, holder, report, forbidden: BTreeSet::new() }
    }

    pub(super) fn send(&self, event: RolloutEvent) {
        (self.report)(event);
    }

    pub(super) fn rate(&self, change: Option<RateChange>) {
        if let Some(change) = change {
            self.send(RolloutEvent::Pace(change));
        }
    }

    /// Reports missing permissions, once each.
    pub(super) fn not_allowed(&mut self, why: impl IntoIterator<Item = String>) {
        for why in why {
            if self.forbidden.insert(why.clone()) {
                self.send(RolloutEvent::NotAllowed(why));
            }
        }
    }

    /// Writes Events about the changes between the document and its new status.
    pub(super) async fn status_change(
        &mut self,
        cluster: &Cluster,
        clock: RolloutClock,
        document: &Value,
        status: &RolloutStatus,
    ) {
        if let Some(why) = steps_not_compared(&RolloutStatus::of(document), status) {
            self.send(RolloutEvent::Noted(why));
        }
        let reported = write_events(cluster, self.kind, document, self.holder, clock, status).await;
        self.not_allowed(reported.err().map(|error| format!("{error}: {RIGHTS}")));
    }
}
