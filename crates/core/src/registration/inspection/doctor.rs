//! Checks the consistency of a cluster's registration with itself, the kind, and a server's flags.
//!
//! The input is the output of `kubectl get`, and each finding names the line to change. The module has no access to a
//! cluster. Each pointsman document is compared with the one that would be printed for the registered versions, so that
//! unexpected differences are found as well.

use serde_json::Value;

use super::expected_diff::as_printed;
use super::finding::Finding;
use super::policies::Policies;
use super::registrations::{Registered, Selects, is_ours, registered};
use super::selector_gaps::excluded;
use super::server_flags::started;
use super::servers::servers;
use crate::definition::{Kind, missing_crd_paths};
use crate::webhook::{Enforcement, Settings};

/// Checks documents about a kind. `server` are the flags of one of its servers, if known.
#[must_use]
pub fn inspect(kind: &Kind, documents: &[Value], server: Option<&Settings>) -> Vec<Finding> {
    let (documents, mut findings) = once_each(kind, documents);
    let all = registered(kind, &documents);
    let namespaces = namespaces(&all);
    for one in all.iter().filter(|one| one.is_ours) {
        findings.extend(as_printed(kind, one, &namespaces));
    }
    let versions = versions(&all);
    let empty = empty(kind, &documents);
    findings.extend(pairs(&all, &versions, &empty));
    findings.extend(empty);
    findings.extend(twice(&all));
    findings.extend(scale(kind, &all));
    findings.extend(lost_paths(kind, &documents));
    findings.extend(servers(&all));
    findings.extend(foreign(&all, &versions));
    let enforcement = server.map_or(Enforcement::Enforce, |settings| settings.enforcement);
    let policies = Policies { kind, documents: &documents, versions: &versions, namespaces: &namespaces, enforcement };
    findings.extend(policies.inspect());
    findings.extend(labels(kind, &documents, &all));
    // Without a registration for the kind, the flags do not matter.
    if let Some(settings) = server.filter(|_| all.iter().any(|one| one.is_ours)) {
        findings.extend(started(&all, &versions, settings));
    }
    findings
}

/// Printer columns, selectable fields and scale paths of the kind's CRD without a field in their version.
fn lost_paths(kind: &Kind, documents: &[Value]) -> Vec<Finding> {
    let name = format!("{}.{}", kind.plural(), kind.group());
    let is_crd = |document: &&Value| {
        let is_of_kind = document.pointer("/metadata/name").and_then(Value::as_str) == Some(&name);
        is_of_kind && document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
    };
    let crds = documents.iter().filter(is_crd);
    let found =
        crds.flat_map(|document| missing_crd_paths(document).into_iter().map(move |problem| (document, problem)));
    let found = found.map(|(document, problem)| {
        let change = "name a field of this version in the path, or remove the path".to_owned();
        Finding { document: called(document), problem, change }
    });
    found.collect()
}

/// The kind and name of a document.
fn called(document: &Value) -> String {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

/// Returns whether a document is a pointsman document about the kind, by its name.
fn is_about(kind: &Kind, document: &Value) -> bool {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    is_ours(document) && name.ends_with(&format!(".{}.{}", kind.plural(), kind.group()))
}

/// Removes duplicates. A cluster has one document of each name, so only one of two can be registered.
fn once_each(kind: &Kind, documents: &[Value]) -> (Vec<Value>, Vec<Finding>) {
    let (mut once, mut findings) = (Vec::<Value>::new(), Vec::<Finding>::new());
    for document in documents {
        let name = called(document);
        if !is_about(kind, document) || !once.iter().any(|other| called(other) == name) {
            once.push(document.clone());
        } else if !findings.iter().any(|found| found.document == name) {
            let problem = "the registered webhook is ambiguous: its name occurs more than once";
            let change = "remove all but one".to_owned();
            findings.push(Finding { document: name, problem: problem.to_owned(), change });
        }
    }
    (once, findings)
}

/// The controller versions with an enforcing webhook.
fn versions(all: &[Registered<'_>]) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    for one in all.iter().filter(|one| one.enforces()) {
        if let Selects::Version(version) = &one.is_for
            && !versions.contains(version)
        {
            versions.push(version.clone());
        }
    }
    versions
}

/// The namespaces that most webhooks exclude by name. All webhooks should exclude the same.
fn namespaces(all: &[Registered<'_>]) -> Vec<String> {
    let enforcing = all.iter().filter(|one| one.enforces());
    let left_out: Vec<Vec<String>> =
        enforcing.filter_map(|one| excluded(one.webhook.get("namespaceSelector"))).collect();
    let count = |names: &&Vec<String>| left_out.iter().filter(|other| other == names).count();
    // Of equal counts, takes the last.
    left_out.iter().rev().max_by_key(count).cloned().unwrap_or_default()
}

/// Configurations without webhooks.
fn empty(kind: &Kind, documents: &[Value]) -> Vec<Finding> {
    let is_empty = |document: &&Value| {
        let is_configuration =
            called(document).split(' ').next().is_some_and(|kind| kind.ends_with("WebhookConfiguration"));
        let webhooks = document.get("webhooks").and_then(Value::as_array);
        is_configuration && is_about(kind, document) && webhooks.is_none_or(Vec::is_empty)
    };
    let found = documents.iter().filter(is_empty).map(|document| {
        let change = "apply the output of `pointsman webhooks` for this name".to_owned();
        Finding { document: called(document), problem: "the configuration has no webhooks".to_owned(), change }
    });
    found.collect()
}

/// Checks that each version has both webhooks.
fn pairs(all: &[Registered<'_>], versions: &[String], empty: &[Finding]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let wanted = versions.iter().map(|version| Selects::Version(version.clone())).chain([Selects::Unlabelled]);
    for selects in wanted {
        let of = |call: &str| all.iter().find(|one| one.enforces() && one.is_for == selects && one.call == call);
        let (problem, one) = match (of("/mutate"), of("/validate")) {
            (None, Some(one)) => {
                ("its objects are validated, but no /mutate webhook writes their labels and annotations", one)
            }
            (Some(one), None) => ("its objects are stamped by /mutate, but no webhook validates them", one),
            _ => continue,
        };
        // A configuration without webhooks is already reported.
        let name = one.document.split_once(' ').map(|(_, name)| name);
        if empty.iter().any(|found| found.document.split_once(' ').map(|(_, name)| name) == name) {
            continue;
        }
        let change = "apply both configurations that `pointsman webhooks` prints".to_owned();
        findings.push(one.finding(problem.to_owned(), change));
    }
    findings
}

/// Checks that no write is sent to two webhooks. Several servers may run in shadow mode.
fn twice(all: &[Registered<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, one) in all.iter().enumerate().filter(|(_, one)| one.is_ours && one.is_for != Selects::Odd) {
        let is_same = |other: &&Registered<'_>| {
            let what = |one: &Registered<'_>| (one.is_ours, one.call, one.is_shadow, one.is_scale);
            what(other) == what(one) && other.is_for == one.is_for && (!one.is_shadow || other.server() == one.server())
        };
        if let Some(other) = all.iter().take(index).find(is_same) {
            let problem = format!(
                "receives the same writes as {} of {}: each write is validated and counted twice",
                other.place, other.document
            );
            findings.push(one.finding(problem, format!("{}: remove one of the two", one.place)));
        }
    }
    findings
}

/// Checks the webhook for scale writes. The kind needs one if it has a scale and a webhook takes objects without a
/// label, such as a `Scale`.
fn scale(kind: &Kind, all: &[Registered<'_>]) -> Option<Finding> {
    let default =
        all.iter().find(|one| one.enforces() && one.is_for == Selects::Unlabelled && one.call == "/validate")?;
    let has_scale = kind.versions.iter().any(|version| version.served && version.replicas.is_some());
    (has_scale && !all.iter().any(|one| one.is_scale)).then(|| {
        let problem = "no webhook receives writes of scale: an autoscaler may write a refused value";
        let change = "apply both configurations that `pointsman webhooks --default` prints".to_owned();
        default.finding(problem.to_owned(), change)
    })
}

/// Webhooks of other projects that receive the objects of all versions.
fn foreign(all: &[Registered<'_>], versions: &[String]) -> Vec<Finding> {
    let is_of_all = |one: &&Registered<'_>| !one.is_ours && one.selects == Selects::Odd && versions.len() > 1;
    let found = all.iter().filter(is_of_all).map(|one| {
        let problem = "one version of an operator receives the objects of all versions".to_owned();
        one.finding(problem, "pointsman webhooks overlay prints a configuration for each version".to_owned())
    });
    found.collect()
}

/// Checks the labels that select all admission documents for deletion in an emergency, without the conversion
/// documents.
fn labels(kind: &Kind, documents: &[Value], all: &[Registered<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for document in documents {
        let name = called(document);
        let is_webhook = all.iter().any(|one| one.is_ours && one.document == name);
        if !is_webhook && !is_about(kind, document) {
            continue;
        }
        let keeps_whole = name.contains(" pointsman-incomplete.");
        let component = if keeps_whole { "conversion" } else { "admission" };
        for (label, wanted) in [("name", "pointsman"), ("component", component)] {
            let found = document.pointer(&format!("/metadata/labels/app.kubernetes.io~1{label}"));
            if found.and_then(Value::as_str) != Some(wanted) {
                let problem = match keeps_whole {
                    true => "the policy keeps objects complete, and could be deleted together with admission",
                    false => "deleting admission by its labels in an emergency would leave this object",
                };
                let change = format!("metadata.labels[app.kubernetes.io/{label}]: {wanted}");
                findings.push(Finding { document: name.clone(), problem: problem.to_owned(), change });
            }
        }
    }
    findings
}
