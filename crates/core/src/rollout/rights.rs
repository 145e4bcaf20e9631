//! What whoever runs a rollout has to be allowed in the cluster, and no more.

use std::collections::{BTreeMap, BTreeSet};

use super::steps::{rights_elsewhere_of, rights_of};
use super::fleet_rollout::Rollout;
use super::owner_references::OwnerReferences;
use super::lookup_request::{LookupRequest, LookupTarget};
use crate::apimachinery::ResourceName;
use crate::definition::{WorkflowStep, Kind};

/// Verbs by resource, in its order.
pub type RolloutRights = BTreeMap<(String, String), BTreeSet<&'static str>>;

/// What a rollout does to which resources: group and plural, and the verbs of RBAC. A plural may name a subresource,
/// such as `rollouts/status`; `*` is every resource of every group. Without any of them it does not come to its end,
/// but for events, and for what others say runs: what is not known of that is not said.
#[must_use]
pub fn rights(rollout: &Rollout, kind: &Kind, owners: OwnerReferences) -> RolloutRights {
    let mut rights = RolloutRights::new();
    let mut may = |group: &str, plural: &str, verbs: &[&'static str]| {
        rights.entry((group.to_owned(), plural.to_owned())).or_default().extend(verbs);
    };
    may("pointsman.dev", "stagedrollouts", &["get", "list"]);
    may("pointsman.dev", "stagedrollouts/status", &["update"]);
    may("apiextensions.k8s.io", "customresourcedefinitions", &["get"]);
    may("coordination.k8s.io", "leases", &["get", "create", "update"]);
    may("events.k8s.io", "events", &["create"]);
    let (plural, group) = rollout.source().unwrap_or_else(|| (kind.plural(), kind.group()));
    may(group, plural, &["get", "list", "patch", "watch"]);
    if let Some(pair) = rollout.pair.as_deref().filter(|_| rollout.returns()) {
        // Objects that are there no more are found by what they have become, and made anew.
        may(&pair.source.resource.group, &pair.source.resource.plural, &["create"]);
        may(&pair.target.resource.group, &pair.target.resource.plural, &["list", "patch"]);
    }
    let acts = rollout.workflow_steps().filter_map(WorkflowStep::beside).map(|step| &step.act);
    for (ResourceName { plural, group }, verbs) in acts.flat_map(|act| rights_of(act, rollout.pair.as_deref(), owners))
    {
        may(&group, &plural, verbs);
    }
    for list in rollout.workflow_steps().filter_map(|step| step.if_any.as_ref()) {
        may(&list.resource.group, &list.resource.plural, &["list"]);
    }
    if rollout.runs_jobs() {
        may("batch", "jobs", &["get", "create"]);
    }
    if !rollout.templates().is_empty() {
        may("", "configmaps", &["get"]);
    }
    for LookupRequest { group, plural, wanted, .. } in
        rollout.checks.at_start().into_iter().chain(rollout.checks.on_the_way())
    {
        may(&group, &plural, if matches!(wanted, LookupTarget::Named(_)) { &["get"] } else { &["list"] });
    }
    for source in rollout.others() {
        may(&source.resource.group, &source.resource.plural, &["list"]);
    }
    if !rollout.freezes.is_empty() {
        may("admissionregistration.k8s.io", "validatingadmissionpolicies", &["get"]);
        may("admissionregistration.k8s.io", "validatingadmissionpolicybindings", &["get"]);
    }
    rights
}

/// What a rollout does in other clusters, by the kubeconfigs that its steps name; empty where it does nothing there.
#[must_use]
pub fn rights_elsewhere(rollout: &Rollout) -> RolloutRights {
    let mut rights = RolloutRights::new();
    let acts = rollout.workflow_steps().filter_map(WorkflowStep::beside).map(|step| &step.act);
    for (ResourceName { plural, group }, verbs) in acts.filter_map(rights_elsewhere_of) {
        rights.entry((group, plural)).or_default().extend(verbs);
    }
    rights
}
