//! The interface of a step: one file per step implements it.

use super::context::StepContext;
use super::objects::obstacles::PodSet;
use super::outcome::{ObjectStepInput, PreflightFailure, StepOutcome};
use crate::definition::workflows::{StepDirection, StepPlace};
use crate::lookup::request::{LookupRequest, ResolvedLocation};
use crate::lookup::results::LookupResults;
use crate::spec::kinds::SourceAndTargetKind;
use crate::spec::rollout::OwnerReferences;
use pointsman_core::apimachinery::ResourceName;

/// A step on other objects than the object of the rollout. No state is kept in memory: the observed objects show
/// whether the step is applied or reverted, and a partial step continues in either direction.
pub(crate) trait StepAction {
    /// The lookups that determine the progress in a direction. `step` is its index. For a revert, called only for steps
    /// that write then.
    fn lookups(&self, context: StepContext<'_>, step: usize, way: StepDirection) -> Vec<LookupRequest>;

    /// The progress in forward direction.
    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome;

    /// The progress of a revert. By default, the step has no effect to revert.
    fn back(&self, _: ObjectStepInput<'_>) -> StepOutcome {
        StepOutcome::Done
    }

    /// Lookups before the first step of an object.
    fn preflight_lookups(&self, _: StepContext<'_>) -> Vec<LookupRequest> {
        Vec::new()
    }

    /// The reason why an object must not begin its workflow, or must wait. `others` are Pods about to start in the same
    /// namespace.
    fn preflight(&self, _: StepContext<'_>, _: &LookupResults, _: &[PodSet]) -> Option<PreflightFailure> {
        None
    }

    /// The permissions for apply, revert and preflight, in the cluster of its objects.
    fn rights(&self, of: RightsInput<'_>) -> Vec<Right>;

    /// The place of its objects, if they can be in another cluster.
    fn place(&self) -> Option<&StepPlace> {
        None
    }

    /// The effect of the step, as a phrase for plans. `target` is the resource of the replacement, if any.
    fn description(&self, target: &str) -> String;
}

/// A resource with its RBAC verbs.
pub(crate) type Right = (ResourceName, &'static [&'static str]);

/// The input of permissions.
#[derive(Clone, Copy)]
pub(crate) struct RightsInput<'r> {
    pub(crate) pair: Option<&'r SourceAndTargetKind>,
    pub(crate) owners: OwnerReferences,
}

impl RightsInput<'_> {
    /// The resource of the object of the rollout, if its kind changes.
    pub(super) fn source(self) -> Option<ResourceName> {
        self.pair.map(|pair| pair.source.resource.clone())
    }

    /// The resource of its replacement.
    pub(super) fn target(self) -> Option<ResourceName> {
        self.pair.map(|pair| pair.target.resource.clone())
    }

    /// True if the cluster guards owner references.
    pub(super) fn is_guarded(self) -> bool {
        self.owners == OwnerReferences::Guarded
    }
}

/// A resource of Kubernetes.
pub(super) fn resource(plural: &str, group: &str) -> ResourceName {
    ResourceName { plural: plural.to_owned(), group: group.to_owned() }
}

/// With guarded owner references, a reference that blocks the owner's deletion needs `update` on the owner's
/// finalizers, and changed references need `delete` on the dependent. Source: `kubernetes
/// plugin/pkg/admission/gc/gc_admission.go`.
pub(super) fn finalizers(kind: &ResourceName) -> Right {
    (resource(&format!("{}/finalizers", kind.plural), &kind.group), &["update"])
}

/// True if the objects of a step are in another cluster.
fn is_elsewhere(step: &dyn StepAction) -> bool {
    step.place().is_some_and(|place| place.cluster.is_some())
}

/// The permissions of a step in the cluster of the rollout. For another cluster: to read the Secret with its
/// kubeconfig.
pub(crate) fn rights_here(step: &dyn StepAction, of: RightsInput<'_>) -> Vec<Right> {
    if is_elsewhere(step) { vec![(resource("secrets", ""), &["get"])] } else { step.rights(of) }
}

/// The permissions of a step in another cluster.
pub(crate) fn rights_elsewhere(step: &dyn StepAction, of: RightsInput<'_>) -> Vec<Right> {
    if is_elsewhere(step) { step.rights(of) } else { Vec::new() }
}

/// The location of a step's objects, as the end of a phrase.
pub(crate) fn described_place(place: &StepPlace) -> String {
    let within = place.namespace.as_ref().map_or_else(String::new, |namespace| format!(" of {namespace}"));
    let elsewhere = ResolvedLocation::of(place, &str::to_owned).cluster.map(|cluster| format!(" in {cluster}"));
    within + &elsewhere.unwrap_or_default()
}
