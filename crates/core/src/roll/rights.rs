//! What whoever runs a roll has to be allowed in the cluster, and no more.

use std::collections::{BTreeMap, BTreeSet};

use super::beside::{rights_elsewhere_of, rights_of};
use super::fleet_roll::FleetRoll;
use super::owner_references::OwnerReferences;
use super::questions::{RollQuestion, WantedObjects};
use crate::apimachinery::ResourceName;
use crate::definition::{JourneyStep, Kind};

/// Verbs by resource, in its order.
pub type RollRights = BTreeMap<(String, String), BTreeSet<&'static str>>;

/// What a roll does to which resources: group and plural, and the verbs of RBAC. A plural may name a subresource, such
/// as `rolls/status`; `*` is every resource of every group. Without any of them it does not come to its end, but for
/// events, and for what others say runs: what is not known of that is not said.
#[must_use]
pub fn rights(roll: &FleetRoll, kind: &Kind, owners: OwnerReferences) -> RollRights {
    let mut rights = RollRights::new();
    let mut may = |group: &str, plural: &str, verbs: &[&'static str]| {
        rights.entry((group.to_owned(), plural.to_owned())).or_default().extend(verbs);
    };
    may("pointsman.dev", "rolls", &["get", "list"]);
    may("pointsman.dev", "rolls/status", &["update"]);
    may("apiextensions.k8s.io", "customresourcedefinitions", &["get"]);
    may("coordination.k8s.io", "leases", &["get", "create", "update"]);
    may("events.k8s.io", "events", &["create"]);
    let (plural, group) = roll.source().unwrap_or_else(|| (kind.plural(), kind.group()));
    may(group, plural, &["get", "list", "patch", "watch"]);
    if let Some(pair) = roll.pair.as_deref().filter(|_| roll.returns()) {
        // Objects that are there no more are found by what they have become, and made anew.
        may(&pair.source.resource.group, &pair.source.resource.plural, &["create"]);
        may(&pair.target.resource.group, &pair.target.resource.plural, &["list", "patch"]);
    }
    let acts = roll.journey_steps().filter_map(JourneyStep::beside).map(|step| &step.act);
    for (ResourceName { plural, group }, verbs) in acts.flat_map(|act| rights_of(act, roll.pair.as_deref(), owners)) {
        may(&group, &plural, verbs);
    }
    for list in roll.journey_steps().filter_map(|step| step.if_any.as_ref()) {
        may(&list.resource.group, &list.resource.plural, &["list"]);
    }
    if roll.runs_jobs() {
        may("batch", "jobs", &["get", "create"]);
    }
    if !roll.templates().is_empty() {
        may("", "configmaps", &["get"]);
    }
    for RollQuestion { group, plural, wanted, .. } in roll.checks.at_start().into_iter().chain(roll.checks.on_the_way())
    {
        may(&group, &plural, if matches!(wanted, WantedObjects::Named(_)) { &["get"] } else { &["list"] });
    }
    for source in roll.others() {
        may(&source.resource.group, &source.resource.plural, &["list"]);
    }
    if !roll.freezes.is_empty() {
        may("admissionregistration.k8s.io", "validatingadmissionpolicies", &["get"]);
        may("admissionregistration.k8s.io", "validatingadmissionpolicybindings", &["get"]);
    }
    rights
}

/// What a roll does in other clusters, by the kubeconfigs that its steps name; empty where it does nothing there.
#[must_use]
pub fn rights_elsewhere(roll: &FleetRoll) -> RollRights {
    let mut rights = RollRights::new();
    let acts = roll.journey_steps().filter_map(JourneyStep::beside).map(|step| &step.act);
    for (ResourceName { plural, group }, verbs) in acts.filter_map(rights_elsewhere_of) {
        rights.entry((group, plural)).or_default().extend(verbs);
    }
    rights
}
