//! The minimal RBAC permissions of a rollout runner.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::workflows::WorkflowStep;
use crate::lookup::request::{LookupRequest, LookupTarget};
use crate::spec::rollout::{OwnerReferences, Rollout};
use crate::steps::actions::step_action;
use crate::steps::step_action::{self, RightsInput};
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::Kind;

/// Verbs by group and plural.
pub type RolloutRights = BTreeMap<(String, String), BTreeSet<&'static str>>;

/// The permissions of a rollout: group and plural, and RBAC verbs. A plural may contain a subresource, such as
/// `rollouts/status`; `*` is every resource of every group. A rollout cannot finish without any of them, apart from
/// events and from version sources in other objects, without which versions stay unknown.
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
        // Deleted objects are found by their replacements, and recreated.
        may(&pair.source.resource.group, &pair.source.resource.plural, &["create"]);
        may(&pair.target.resource.group, &pair.target.resource.plural, &["list", "patch"]);
    }
    let acts = rollout.workflow_steps().filter_map(WorkflowStep::object_step).map(|step| &step.act);
    let of = RightsInput { pair: rollout.pair.as_deref(), owners };
    for (ResourceName { plural, group }, verbs) in acts.flat_map(|act| step_action::rights_here(&*step_action(act), of))
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

/// The permissions of a rollout in other clusters, under the kubeconfigs of its steps; empty without such steps.
#[must_use]
pub fn rights_elsewhere(rollout: &Rollout) -> RolloutRights {
    let mut rights = RolloutRights::new();
    let acts = rollout.workflow_steps().filter_map(WorkflowStep::object_step).map(|step| &step.act);
    // Owner references do not lead to another cluster.
    let of = RightsInput { pair: rollout.pair.as_deref(), owners: OwnerReferences::Free };
    for (ResourceName { plural, group }, verbs) in
        acts.flat_map(|act| step_action::rights_elsewhere(&*step_action(act), of))
    {
        rights.entry((group, plural)).or_default().extend(verbs);
    }
    rights
}
