//! The findings of a cluster.

use pointsman_cluster::{Examined, KindStatus, UnknownCrd};
use pointsman_core::registration::registered_versions;
use pointsman_core::webhook::Settings;

use super::server_flags::settings;
use crate::commands::diagnosis::Diagnosis;
use crate::commands::kinds_dir::LoadedKind;
use crate::commands::webhooks::inspect_all;

/// All findings without duplicates: of the kinds, of the registration, and of the servers. `alone` are the server flags
/// if no Pod has any.
pub(super) fn diagnoses(
    all: &[LoadedKind],
    seen: &[KindStatus],
    examined: &Examined,
    alone: &Settings,
) -> Vec<Diagnosis> {
    let mut found: Vec<Diagnosis> = seen.iter().flat_map(of_kind).collect();
    found.extend(seen.iter().flat_map(|one| unregistered(all, one, examined)));
    let mut servers: Vec<Settings> = examined.servers.iter().filter_map(|server| settings(&server.args)).collect();
    if servers.is_empty() {
        servers.push(alone.clone());
    }
    let misfits = servers.iter().flat_map(|server| inspect_all(all, &examined.documents, server));
    found.extend(Diagnosis::of_both(misfits.collect(), examined.findings.clone()));
    let mut each: Vec<Diagnosis> = Vec::new();
    for one in found {
        if !each.contains(&one) {
            each.push(one);
        }
    }
    each
}

/// A CRD that pointsman converts, of a kind without a definition.
pub(super) fn unknown_kind(unknown: &UnknownCrd) -> Diagnosis {
    Diagnosis {
        document: format!("CustomResourceDefinition {}", unknown.name),
        problem: format!(
            "converts through {}, but was not checked: the kind has no known definition",
            unknown.converted_by
        ),
        change: "pointsman doctor --kinds DIR, with the definition".to_owned(),
    }
}

fn of_kind(seen: &KindStatus) -> impl Iterator<Item = Diagnosis> {
    seen.findings.iter().map(|finding| Diagnosis {
        document: format!("CustomResourceDefinition {}", seen.crd),
        problem: finding.problem.clone(),
        change: finding.fix.clone(),
    })
}

/// Objects of controller versions without a registration, if there is one for others.
fn unregistered(all: &[LoadedKind], seen: &KindStatus, examined: &Examined) -> Vec<Diagnosis> {
    let is_it = |known: &&LoadedKind| format!("{}.{}", known.kind.plural(), known.kind.group()) == seen.crd;
    let Some(kind) = all.iter().find(is_it).map(|known| &known.kind) else { return Vec::new() };
    let Some(registered) = registered_versions(kind, &examined.documents) else { return Vec::new() };
    let labelled = seen.objects.by_controller.iter().filter(|(label, _)| !label.is_empty());
    let nobodys = labelled.filter(|(label, _)| !registered.served.contains(label));
    let diagnoses_of_labels = nobodys.map(|(label, count)| Diagnosis {
        document: format!("CustomResourceDefinition {}", seen.crd),
        problem: format!(
            "{count} objects have the label {}={label}, but this version has no registered webhook: these \
                 objects are not validated",
            kind.version_label()
        ),
        change: format!(
            "pointsman webhooks --kind {} with {label} among the versions, or give the objects another label",
            kind.name()
        ),
    });
    diagnoses_of_labels.collect()
}
