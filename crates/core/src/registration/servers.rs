//! Which server is called for which controller version: each has one, and no two have the same.

use super::finding::Finding;
use super::names::dashed;
use super::registered::{Registered, Selects};
use crate::webhook::ControllerVersion;

/// Looks for webhooks that call a server which is not that of their objects.
pub(super) fn servers(all: &[Registered<'_>]) -> Vec<Finding> {
    let asked: Vec<&Registered<'_>> = all.iter().filter(|one| one.is_ours && !one.only_looks).collect();
    let mut findings: Vec<Finding> = asked.iter().filter_map(|one| of_another(one, &asked)).collect();
    // Where a version's own are wrong, its server may only seem to be nobody's.
    if findings.is_empty() {
        findings.extend(asked.iter().filter_map(|one| of_nobody(one, &asked)));
    }
    for one in asked.iter().filter(|one| one.call == "/validate") {
        let is_pair = |other: &&&Registered<'_>| other.call == "/mutate" && other.selects == one.selects;
        let Some(other) = asked.iter().find(is_pair).filter(|other| other.server() != one.server()) else {
            continue;
        };
        let known = findings.iter().any(|found| [&one.document, &other.document].contains(&&found.document));
        if !known {
            let problem = format!("it calls another server than {}: one of the two is the wrong one", other.document);
            findings.push(one.finding(problem, format!("{}: as in {}", address(one), other.document)));
        }
    }
    findings
}

/// A server that is another version's: of the version that calls it most, or whose name it has, or that comes first.
fn of_another(one: &Registered<'_>, asked: &[&Registered<'_>]) -> Option<Finding> {
    let version = version(one)?;
    let server = one.server();
    let here =
        || asked.iter().filter(|other| other.server() == server).filter_map(|one| Some((one, self::version(one)?)));
    let calls = |version: &str| here().filter(|(_, other)| *other == version).count();
    // The last of those that are equal is taken.
    let (first, owner) = here().rev().max_by_key(|(_, version)| (calls(version), in_name(version, &server)))?;
    (owner != version).then(|| {
        let problem =
            format!("it calls the server that {} calls for {owner}: one server has one version", first.document);
        one.finding(problem, format!("{}: the Service of {version}", address(one)))
    })
}

/// Objects without a label are for one of the versions.
fn of_nobody(one: &Registered<'_>, asked: &[&Registered<'_>]) -> Option<Finding> {
    let mut versions: Vec<&str> = asked.iter().filter_map(|one| version(one)).collect();
    versions.dedup();
    let is_known = || asked.iter().any(|other| version(other).is_some() && other.server() == one.server());
    (one.selects == Selects::Unlabelled && !versions.is_empty() && !is_known()).then(|| {
        let problem = "objects without a label are sent to a server that is no version's: new ones are refused there, or get \
                       a label that nobody serves";
        one.finding(problem.to_owned(), format!("{}: the Service of one of {}", address(one), versions.join(", ")))
    })
}

fn version<'r>(one: &'r Registered<'_>) -> Option<&'r str> {
    match &one.selects {
        Selects::Version(version) => Some(version),
        Selects::Odd | Selects::Unlabelled => None,
    }
}

/// How much of a server's name is the version.
fn in_name(version: &str, server: &str) -> usize {
    let name = version.parse().map(|version: ControllerVersion| dashed(&version));
    name.ok().filter(|name| server.contains(name)).map_or(0, |name| name.len())
}

/// The line that says where a webhook is.
fn address(one: &Registered<'_>) -> String {
    let has_url = one.webhook.pointer("/clientConfig/url").is_some();
    format!("{}.clientConfig.{}", one.place, if has_url { "url" } else { "service.name" })
}
