//! The RBAC permissions of a step.

use super::delete::revisions;
use crate::spec::kinds::SourceAndTargetKind;
use crate::spec::rollout::OwnerReferences;
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::{ObjectAction, StepObject, StepPlace};

/// The resources and RBAC verbs of a step: apply, revert and preflight.
pub(crate) fn rights_of(
    act: &ObjectAction,
    pair: Option<&SourceAndTargetKind>,
    owners: OwnerReferences,
) -> Vec<(ResourceName, &'static [&'static str])> {
    let (source, target) =
        (pair.map(|pair| pair.source.resource.clone()), pair.map(|pair| pair.target.resource.clone()));
    let named = |plural: &str, group: &str| ResourceName { plural: plural.to_owned(), group: group.to_owned() };
    let is_guarded = owners == OwnerReferences::Guarded;
    let some = |resource: Option<ResourceName>, verbs: &'static [&'static str]| resource.map(|it| (it, verbs));
    match act {
        ObjectAction::Wait { on: StepObject::Named { resource, .. }, .. } => vec![(resource.clone(), &["get"])],
        ObjectAction::Wait { on: StepObject::Source, .. } => some(source, &["get"]).into_iter().collect(),
        ObjectAction::Wait { on: StepObject::Target, .. } => some(target, &["get"]).into_iter().collect(),
        ObjectAction::Convert => {
            let has_facts = pair.is_some_and(|pair| !pair.facts.is_empty());
            let secrets = has_facts.then(|| (named("secrets", ""), GET));
            let status_resource =
                pair.is_some_and(SourceAndTargetKind::writes_refusals).then_some(source.clone()).flatten();
            let status_resource = status_resource.map(|it| (named(&format!("{}/status", it.plural), &it.group), PATCH));
            // A revert reads the object before it deletes the replacement.
            let own = some(source, GET);
            some(target, &["get", "create", "delete"])
                .into_iter()
                .chain(own)
                .chain(secrets)
                .chain(status_resource)
                .collect()
        }
        ObjectAction::Recreate(recreation) => {
            let mut all: Vec<(ResourceName, &'static [&'static str])> = vec![
                (recreation.resource.clone(), &["get", "list", "create", "delete", "patch"]),
                (revisions(), &["get", "list", "create", "delete"]),
                // A revert deletes ReplicaSets of the new Deployment.
                (named("replicasets", "apps"), &["list", "delete"]),
                (named("resourcequotas", ""), LIST),
                (named("limitranges", ""), LIST),
                (named("horizontalpodautoscalers", "autoscaling"), LIST),
            ];
            all.extend(source.filter(|_| is_guarded).map(|source| (finalizers(&source), UPDATE)));
            all
        }
        ObjectAction::Adopt(resources) => {
            let verbs = if is_guarded { &["list", "patch", "delete"][..] } else { &["list", "patch"] };
            let all = resources.iter().map(|resource| (resource.clone(), verbs));
            let owners = source.iter().chain(&target).filter(|_| is_guarded);
            let owners = owners.map(finalizers).map(|it| (it, UPDATE)).collect::<Vec<_>>();
            all.chain(some(target, GET)).chain(owners).collect()
        }
        // For another cluster: the Secret with its kubeconfig.
        ObjectAction::WaitForAll(_) | ObjectAction::DeleteNamed(_) => match wherever(act) {
            Some((StepPlace { cluster: Some(_), .. }, _)) => vec![(named("secrets", ""), GET)],
            Some((_, (resource, verbs))) => vec![(resource.clone(), verbs)],
            None => Vec::new(),
        },
        ObjectAction::Readmit(readmission) => vec![(readmission.resource.clone(), &["get", "patch"])],
        ObjectAction::DeleteLabelled { resource, .. } => vec![(resource.clone(), &["list", "delete"])],
        // Dependents are searched among all resources of the namespace, by metadata.
        ObjectAction::DeleteSource => {
            // The replacement receives changed labels of the object, and a write before the deletion.
            [some(source, &["get", "delete"]), some(target, &["get", "patch"]), some(Some(named("*", "*")), LIST)]
                .into_iter()
                .flatten()
                .collect()
        }
    }
}

/// The same in another cluster; `None` if the step acts in none.
pub(crate) fn rights_elsewhere_of(act: &ObjectAction) -> Option<(ResourceName, &'static [&'static str])> {
    let (place, (resource, verbs)) = wherever(act)?;
    place.cluster.as_ref().map(|_| (resource.clone(), verbs))
}

/// The location of objects that may be in another cluster, with resource and verbs.
fn wherever(act: &ObjectAction) -> Option<(&StepPlace, (&ResourceName, &'static [&'static str]))> {
    match act {
        ObjectAction::WaitForAll(wait) => Some((&wait.place, (&wait.resource, LIST))),
        ObjectAction::DeleteNamed(deletion) => Some((&deletion.place, (&deletion.resource, &["get", "delete"]))),
        _ => None,
    }
}

/// With guarded owner references, a reference that blocks the owner's deletion needs `update` on the owner's
/// finalizers, and changed references need `delete` on the dependent. Source: `kubernetes
/// plugin/pkg/admission/gc/gc_admission.go`.
fn finalizers(kind: &ResourceName) -> ResourceName {
    ResourceName { plural: format!("{}/finalizers", kind.plural), group: kind.group.clone() }
}

const UPDATE: &[&str] = &["update"];
const GET: &[&str] = &["get"];
const LIST: &[&str] = &["list"];
const PATCH: &[&str] = &["patch"];
