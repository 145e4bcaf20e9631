//! What a step has to be allowed.

use super::delete::revisions;
use crate::apimachinery::ResourceName;
use crate::definition::{ObjectAction, StepObject, StepPlace};
use crate::rollout::kinds::SourceAndTargetKind;
use crate::rollout::owner_references::OwnerReferences;

/// What a step does to which resources, in the verbs of RBAC: done, undone, and what is looked at before.
pub(in crate::rollout) fn rights_of(
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
            let told = pair.is_some_and(SourceAndTargetKind::tells_owners).then_some(source.clone()).flatten();
            let told = told.map(|it| (named(&format!("{}/status", it.plural), &it.group), PATCH));
            // Going back looks at the object before what it had become goes.
            let own = some(source, GET);
            some(target, &["get", "create", "delete"]).into_iter().chain(own).chain(secrets).chain(told).collect()
        }
        ObjectAction::Recreate(recreation) => {
            let mut all: Vec<(ResourceName, &'static [&'static str])> = vec![
                (recreation.resource.clone(), &["get", "list", "create", "delete", "patch"]),
                (revisions(), &["get", "list", "create", "delete"]),
                // Going back takes away those of the new one.
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
        // Of what is in another cluster, the Secret that says how that is reached.
        ObjectAction::WaitForAll(_) | ObjectAction::DeleteNamed(_) => match wherever(act) {
            Some((StepPlace { cluster: Some(_), .. }, _)) => vec![(named("secrets", ""), GET)],
            Some((_, (resource, verbs))) => vec![(resource.clone(), verbs)],
            None => Vec::new(),
        },
        ObjectAction::Readmit(readmission) => vec![(readmission.resource.clone(), &["get", "patch"])],
        ObjectAction::DeleteLabelled { resource, .. } => vec![(resource.clone(), &["list", "delete"])],
        // What belongs to the object is looked for among everything that a namespace holds: of each, its metadata.
        ObjectAction::DeleteSource => {
            // What it has become gets what somebody has changed of its labels, and is written once more before it goes.
            [some(source, &["get", "delete"]), some(target, &["get", "patch"]), some(Some(named("*", "*")), LIST)]
                .into_iter()
                .flatten()
                .collect()
        }
    }
}

/// The same in another cluster: nothing where the step is about none.
pub(in crate::rollout) fn rights_elsewhere_of(act: &ObjectAction) -> Option<(ResourceName, &'static [&'static str])> {
    let (place, (resource, verbs)) = wherever(act)?;
    place.cluster.as_ref().map(|_| (resource.clone(), verbs))
}

/// Where the objects of a step are that may be in another cluster, and what it does to which of them there.
fn wherever(act: &ObjectAction) -> Option<(&StepPlace, (&ResourceName, &'static [&'static str]))> {
    match act {
        ObjectAction::WaitForAll(wait) => Some((&wait.place, (&wait.resource, LIST))),
        ObjectAction::DeleteNamed(deletion) => Some((&deletion.place, (&deletion.resource, &["get", "delete"]))),
        _ => None,
    }
}

/// Where owner references are guarded, whoever sets one that holds up the deletion of its owner has to be allowed to
/// write the finalizers of that, and whoever changes those of an object to delete the object.
/// Source: `kubernetes plugin/pkg/admission/gc/gc_admission.go`.
fn finalizers(kind: &ResourceName) -> ResourceName {
    ResourceName { plural: format!("{}/finalizers", kind.plural), group: kind.group.clone() }
}

const UPDATE: &[&str] = &["update"];
const GET: &[&str] = &["get"];
const LIST: &[&str] = &["list"];
const PATCH: &[&str] = &["patch"];
