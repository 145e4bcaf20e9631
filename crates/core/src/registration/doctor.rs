//! Whether what is registered in a cluster fits itself, the kind, and the server that is asked.
//!
//! What is read is what `kubectl get` prints, and what is said names the line to change. Nothing here knows a cluster.

use serde_json::Value;

use super::finding::Finding;
use super::guard::guard_name;
use super::leaves_out::leaves_out;
use super::registered::{Registered, Selects, registered};
use super::servers::servers;
use crate::definition::Kind;
use crate::webhook::{ControllerVersion, Settings};

/// Looks for what does not fit in documents about a kind. `server` is how one of its servers is started, if that is
/// known.
#[must_use]
pub fn inspect(kind: &Kind, documents: &[Value], server: Option<&Settings>) -> Vec<Finding> {
    let all = registered(kind, documents);
    let mut findings = Vec::new();
    for one in all.iter().filter(|one| one.is_ours) {
        findings.extend(by_itself(kind, one));
        findings.extend(leaves_out(kind, one));
    }
    let versions = versions(&all);
    findings.extend(pairs(&all, &versions));
    findings.extend(servers(&all));
    findings.extend(foreign(&all, &versions));
    findings.extend(the_guard(kind, documents, &versions));
    // A kind that nobody registered is none of this server's admission.
    if let Some(settings) = server.filter(|_| all.iter().any(|one| one.is_ours)) {
        findings.extend(the_server(&all, &versions, settings));
    }
    findings
}

/// The controller versions whose objects are judged by somebody with a say.
fn versions(all: &[Registered<'_>]) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    for one in all.iter().filter(|one| one.is_ours && !one.only_looks) {
        if let Selects::Version(version) = &one.selects
            && !versions.contains(version)
        {
            versions.push(version.clone());
        }
    }
    versions
}

/// What is wrong with a webhook whatever else there is.
fn by_itself(kind: &Kind, one: &Registered<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |problem: String, line: &str, value: &str| {
        findings.push(one.finding(problem, format!("{}.{line}: {value}", one.place)));
    };
    if let Selects::Odd = one.selects {
        let key = kind.version_label();
        let problem =
            format!("it does not select by {key} alone: objects of several versions, or of none, come to one server");
        find(problem, "objectSelector.matchExpressions", &format!("[{{key: {key}, operator: In, values: [VERSION]}}]"));
    }
    let (path, wanted) = (one.path(), one.call);
    // A proxy may take a prefix off a URL; of a Service's path nobody does.
    let is_right = if path.starts_with('/') { path == wanted } else { path.ends_with(wanted) };
    if !is_right {
        find(format!("path {path:?} leads to another webhook than {wanted}"), "clientConfig.service.path", wanted);
    }
    let served: Vec<&str> =
        kind.versions.iter().filter(|version| version.served).map(|version| version.name.as_ref()).collect();
    let missing: Vec<&str> = served.iter().filter(|version| !one.has("apiVersions", version)).copied().collect();
    if !missing.is_empty() {
        let problem = format!("writes at {} are converted for the call, or pass", missing.join(", "));
        find(problem, "rules[0].apiVersions", &format!("[{}]", served.join(", ")));
    }
    for operation in ["CREATE", "UPDATE"].into_iter().filter(|operation| !one.has("operations", operation)) {
        find(format!("nobody is asked about {operation}"), "rules[0].operations", "[CREATE, UPDATE]");
    }
    if one.webhook.get("failurePolicy").and_then(Value::as_str) == Some("Ignore") && !one.only_looks {
        find("while the server is down, writes pass unjudged".to_owned(), "failurePolicy", "Fail");
    }
    if one.webhook.get("failurePolicy").and_then(Value::as_str) != Some("Ignore") && one.only_looks {
        find("it only looks on, and while its server is down writes are refused".to_owned(), "failurePolicy", "Ignore");
    }
    if !one.trusts() {
        let problem = "it names no authority, and no cert-manager certificate that would bring one: every call fails";
        find(
            problem.to_owned(),
            "clientConfig.caBundle",
            "the authority, base64 (webhooks --ca-file or --cert-manager)",
        );
    }
    findings
}

/// Each version is stamped and judged.
fn pairs(all: &[Registered<'_>], versions: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let wanted = versions.iter().map(|version| Selects::Version(version.clone())).chain([Selects::Unlabelled]);
    for selects in wanted {
        let of = |call: &str| {
            all.iter().find(|one| one.is_ours && one.selects == selects && one.call == call && !one.only_looks)
        };
        let (problem, one) = match (of("/mutate"), of("/validate")) {
            (None, Some(one)) => ("its objects are judged, and nobody stamps them", one),
            (Some(one), None) => ("its objects are stamped, and nobody judges them", one),
            _ => continue,
        };
        let change = "apply both configurations that `pointsman webhooks` prints".to_owned();
        findings.push(one.finding(problem.to_owned(), change));
    }
    findings
}

/// Webhooks of others that are asked about the objects of all versions.
fn foreign(all: &[Registered<'_>], versions: &[String]) -> Vec<Finding> {
    let is_of_all = |one: &&Registered<'_>| !one.is_ours && one.selects == Selects::Odd && versions.len() > 1;
    let found = all.iter().filter(is_of_all).map(|one| {
        let problem = "one version of an operator is asked about the objects of all".to_owned();
        one.finding(problem, "pointsman webhooks overlay prints one configuration for each version".to_owned())
    });
    found.collect()
}

/// The guard accepts what is judged, and nothing else.
fn the_guard(kind: &Kind, documents: &[Value], versions: &[String]) -> Vec<Finding> {
    let name = guard_name(kind);
    let named = |document: &&Value| document.pointer("/metadata/name").and_then(Value::as_str) == Some(name.as_str());
    let is_a = |document: &Value, what: &str| document.get("kind").and_then(Value::as_str) == Some(what);
    let of = |what: &str| documents.iter().filter(named).find(|document| is_a(document, what));
    let finding = |document: String, problem: String, change: String| Finding { document, problem, change };
    let Some(policy) = of("ValidatingAdmissionPolicy") else {
        if versions.is_empty() {
            return Vec::new();
        }
        let problem = "there is no guard: an object with a label that nobody serves is judged by nobody".to_owned();
        let change = format!("apply what `pointsman webhooks --served {}` prints", versions.join(","));
        return vec![finding(format!("ValidatingAdmissionPolicy {name}"), problem, change)];
    };
    let document = format!("ValidatingAdmissionPolicy {name}");
    let mut findings = Vec::new();
    let variables = policy.pointer("/spec/variables").and_then(Value::as_array);
    let found = variables
        .into_iter()
        .flatten()
        .enumerate()
        .find(|(_, one)| one.get("name").is_some_and(|name| name == "served"));
    let list = found.and_then(|(at, one)| Some((at, one.get("expression")?.as_str()?)));
    let served = list.and_then(|(at, text)| Some((at, serde_json::from_str::<Vec<String>>(text).ok()?)));
    let Some((at, served)) = served else {
        let change = "apply the policy that `pointsman webhooks --served` prints".to_owned();
        return vec![finding(document, "which versions it takes cannot be read".to_owned(), change)];
    };
    let line = |served: &[String]| {
        let list: Vec<String> = served.iter().map(|version| Value::from(version.as_str()).to_string()).collect();
        format!("spec.variables[{at}].expression: '[{}]'", list.join(", "))
    };
    for version in versions.iter().filter(|version| !served.contains(version)) {
        let problem = format!("{version} is registered, and the guard refuses every object that would get it");
        let all: Vec<String> = served.iter().chain([version]).cloned().collect();
        findings.push(finding(document.clone(), problem, line(&all)));
    }
    for version in served.iter().filter(|version| !versions.contains(version)) {
        let problem = format!("it takes {version}, and nobody judges the objects of {version}");
        let all: Vec<String> = served.iter().filter(|other| *other != version).cloned().collect();
        findings.push(finding(document.clone(), problem, line(&all)));
    }
    let binds = |document: &&Value| document.pointer("/spec/policyName").and_then(Value::as_str) == Some(name.as_str());
    if !documents.iter().filter(binds).any(|document| is_a(document, "ValidatingAdmissionPolicyBinding")) {
        let problem = "no binding names it: the policy is not in force".to_owned();
        let change = "apply the binding that `pointsman webhooks` prints with it".to_owned();
        findings.push(finding(document, problem, change));
    }
    findings
}

/// A server gets what it is started for.
fn the_server(all: &[Registered<'_>], versions: &[String], settings: &Settings) -> Vec<Finding> {
    let Some(own) = settings.controller.as_ref().map(ControllerVersion::as_str) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut find = |problem: String, change: String| {
        findings.push(Finding { document: format!("the server of {own}"), problem, change });
    };
    if !versions.iter().any(|version| version == own) {
        let problem = format!("nobody asks it about the objects of {own}: no configuration selects them");
        find(problem, format!("apply what `pointsman webhooks --controller-version {own}` prints"));
    }
    let server_of = |selects: &Selects| {
        all.iter().find(|one| one.is_ours && !one.only_looks && one.selects == *selects).map(Registered::server)
    };
    let (mine, default) = (server_of(&Selects::Version(own.to_owned())), server_of(&Selects::Unlabelled));
    match (settings.default, &default) {
        (true, None) => find(
            "it takes objects without a label, and no configuration sends it any".to_owned(),
            format!(
                "apply what `pointsman webhooks --controller-version {own} --default {own}` prints, or leave --default-version out"
            ),
        ),
        (true, Some(_)) if default != mine => find(
            "it takes objects without a label, and the configuration sends them to another server".to_owned(),
            format!(
                "apply what `pointsman webhooks --controller-version {own} --default {own}` prints, or leave --default-version out"
            ),
        ),
        (false, Some(_)) if default == mine => find(
            "objects without a label are sent to it, and it refuses them".to_owned(),
            "start it with --default-version".to_owned(),
        ),
        _ => {}
    }
    let served: Vec<&str> = settings.served.iter().map(ControllerVersion::as_str).collect();
    let mut wanted: Vec<&str> = versions.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    let mut told = served.clone();
    told.sort_unstable();
    told.dedup();
    if !wanted.is_empty() && told != wanted {
        let is = if served.is_empty() { "none".to_owned() } else { served.join(", ") };
        find(
            format!("it was told that {is} are served, and {} are registered", wanted.join(", ")),
            format!("start it with --served-versions {}", wanted.join(",")),
        );
    }
    for shadowed in settings.shadowed.iter().map(ControllerVersion::as_str) {
        let looks = |one: &&Registered<'_>| {
            one.is_ours && one.only_looks && one.selects == Selects::Version(shadowed.to_owned())
        };
        if !all.iter().any(|one| looks(&one)) {
            let problem = format!("it looks on at {shadowed}, and no configuration sends it those objects");
            find(
                problem,
                format!("apply what `pointsman webhooks --controller-version {own} --shadow {shadowed}` prints"),
            );
        }
    }
    findings
}
