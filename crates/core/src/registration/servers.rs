//! Which server is called for which controller version: each has one, and no two have the same.

use super::finding::Finding;
use super::names::dashed;
use super::registered::{Registered, Selects};
use crate::webhook::ControllerVersion;

/// Looks for webhooks that call a server which is not that of their objects.
pub(super) fn servers(all: &[Registered<'_>]) -> Vec<Finding> {
    let asked: Vec<&Registered<'_>> = all.iter().filter(|one| one.has_a_say()).collect();
    let mut findings: Vec<Finding> = asked.iter().filter_map(|one| of_another(one, &asked)).collect();
    // Where a version's own are wrong, its server may only seem to be nobody's.
    if findings.is_empty() {
        findings.extend(asked.iter().filter_map(|one| of_nobody(one, &asked)));
    }
    for one in asked.iter().filter(|one| one.call == "/validate") {
        let is_pair = |other: &&&Registered<'_>| other.call == "/mutate" && other.is_for == one.is_for;
        let Some(other) = asked.iter().find(is_pair).filter(|other| other.server() != one.server()) else {
            continue;
        };
        let known = findings.iter().any(|found| [&one.document, &other.document].contains(&&found.document));
        if !known {
            let problem = format!("it calls another server than {}: one of the two is the wrong one", other.document);
            findings.push(one.finding(problem, format!("{}: as in {}", address(one), other.document)));
        }
    }
    for one in all.iter().filter(|one| one.is_scale) {
        let is_pair = |other: &&&Registered<'_>| other.call == one.call && other.is_for == one.is_for;
        if let Some(other) = asked.iter().find(is_pair).filter(|other| other.server() != one.server()) {
            let problem = format!("it calls another server than {} of {}", other.place, other.document);
            findings.push(one.finding(problem, format!("{}: as in {}", address(one), other.place)));
        }
    }
    if findings.is_empty() {
        findings.extend(asked.iter().filter_map(|one| named_after_another(one, &asked)));
    }
    findings
}

/// Where the servers of two versions have changed places, each is called for one version only; their names tell.
fn named_after_another(one: &Registered<'_>, asked: &[&Registered<'_>]) -> Option<Finding> {
    let (own, server) = (version(one)?, one.server());
    let others = asked.iter().filter_map(|other| version(other));
    let (named, other) = others.map(|other| (in_name(other, &server), other)).max_by_key(|(named, _)| *named)?;
    (named > in_name(own, &server)).then(|| {
        let problem = format!("it calls a server that is named after {other}, for the objects of {own}");
        one.finding(problem, format!("{}: the Service of {own}", address(one)))
    })
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
    (one.is_for == Selects::Unlabelled && !versions.is_empty() && !is_known()).then(|| {
        let problem = "objects without a label are sent to a server that is no version's: new ones are refused there, or get \
                       a label that nobody serves";
        one.finding(problem.to_owned(), format!("{}: the Service of one of {}", address(one), versions.join(", ")))
    })
}

fn version<'r>(one: &'r Registered<'_>) -> Option<&'r str> {
    match &one.is_for {
        Selects::Version(version) => Some(version),
        Selects::Odd | Selects::Unlabelled => None,
    }
}

/// How much of a server's name is the version. A part of a number is none of it: 2.1 is not in `p-12-1`.
fn in_name(version: &str, server: &str) -> usize {
    let Ok(name) = version.parse().map(|version: ControllerVersion| dashed(&version)) else {
        return 0;
    };
    // Without the namespace and the port of a Service.
    let server = server.rsplit_once('/').map_or(server, |(_, name)| name);
    let server = server.rsplit_once(':').map_or(server, |(name, _)| name);
    let is_whole = |(at, _): (usize, &str)| {
        let (before, after) = (server.get(..at), server.get(at + name.len()..));
        let ends = |text: Option<&str>, last: fn(&str) -> Option<char>| {
            text.and_then(last).is_none_or(|sign| !sign.is_ascii_alphanumeric())
        };
        ends(before, |text| text.chars().next_back()) && ends(after, |text| text.chars().next())
    };
    if server.match_indices(&name).any(is_whole) { name.len() } else { 0 }
}

/// The line that says where a webhook is.
fn address(one: &Registered<'_>) -> String {
    let has_url = one.webhook.pointer("/clientConfig/url").is_some();
    format!("{}.clientConfig.{}", one.place, if has_url { "url" } else { "service.name" })
}
