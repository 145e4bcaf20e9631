//! Checks the assignment of servers to controller versions: each version has one server, and no two share one.

use std::collections::{BTreeMap, HashMap};

use super::finding::Finding;
use super::registrations::{Registered, Selects};
use crate::registration::names::dashed;
use crate::webhook::ControllerVersion;

/// An enforcing webhook with its server.
struct Asking<'r> {
    one: &'r Registered<'r>,
    server: String,
    version: Option<&'r str>,
}

/// Finds webhooks that call the server of another version.
pub(in crate::registration) fn servers(all: &[Registered<'_>]) -> Vec<Finding> {
    let enforcing: Vec<Asking<'_>> = all.iter().filter(|one| one.enforces()).map(Asking::new).collect();
    let mut calling = HashMap::<&str, Vec<&Asking<'_>>>::new();
    for one in &enforcing {
        calling.entry(&one.server).or_default().push(one);
    }
    let owners: HashMap<&str, _> =
        calling.iter().filter_map(|(server, here)| Some((*server, owner(server, here)?))).collect();
    let owner = |one: &Asking<'_>| owners.get(one.server.as_str()).copied();
    let mut findings: Vec<Finding> = enforcing.iter().filter_map(|one| of_another(one, owner(one))).collect();
    // If the webhooks of a version are wrong, its server may only seem unassigned.
    if findings.is_empty() {
        findings.extend(enforcing.iter().filter_map(|one| unassigned(one, owner(one).is_some(), &enforcing)));
    }
    for Asking { one, server, .. } in enforcing.iter().filter(|enforcing| enforcing.one.call == "/validate") {
        let is_pair = |other: &&Asking<'_>| other.one.call == "/mutate" && other.one.is_for == one.is_for;
        let Some(Asking { one: other, .. }) = enforcing.iter().find(is_pair).filter(|other| other.server != *server)
        else {
            continue;
        };
        let known = findings.iter().any(|found| [&one.document, &other.document].contains(&&found.document));
        if !known {
            let problem = format!("calls another server than {}: one of the two is wrong", other.document);
            findings.push(one.finding(problem, format!("{}: as in {}", address(one), other.document)));
        }
    }
    for one in all.iter().filter(|one| one.is_scale) {
        let is_pair = |other: &&Asking<'_>| other.one.call == one.call && other.one.is_for == one.is_for;
        if let Some(Asking { one: other, .. }) =
            enforcing.iter().find(is_pair).filter(|other| other.server != one.server())
        {
            let problem = format!("calls another server than {} of {}", other.place, other.document);
            findings.push(one.finding(problem, format!("{}: as in {}", address(one), other.place)));
        }
    }
    if findings.is_empty() {
        findings.extend(named_after_others(&enforcing));
    }
    findings
}

/// Detects swapped servers: each is called for one version only, but its name contains another version.
fn named_after_others(enforcing: &[Asking<'_>]) -> Vec<Finding> {
    let names: BTreeMap<&str, String> =
        enforcing.iter().filter_map(|one| one.version).map(|version| (version, in_names(version))).collect();
    let found = enforcing.iter().filter_map(|Asking { one, server, version }| {
        let (own, server) = ((*version)?, without_the_place(server));
        let others = names.iter().map(|(version, name)| (in_name(name, server), *version));
        let (named, other) = others.max_by_key(|(named, _)| *named)?;
        (named > names.get(own).map_or(0, |name| in_name(name, server))).then(|| {
            let problem = format!("calls the server of {other}, for the objects of {own}");
            one.finding(problem, format!("{}: the Service of {own}", address(one)))
        })
    });
    found.collect()
}

/// The version of a server, and the webhook that shows it: the version that calls it most often, else the version in
/// its name, else the first.
fn owner<'r>(server: &str, here: &[&Asking<'r>]) -> Option<(&'r Registered<'r>, &'r str)> {
    let server = without_the_place(server);
    let mut ranks = HashMap::<&str, (usize, usize)>::new();
    for version in here.iter().filter_map(|other| other.version) {
        ranks.entry(version).or_insert_with(|| (0, in_name(&in_names(version), server))).0 += 1;
    }
    // Of equal ranks, takes the last.
    let all = here.iter().rev().filter_map(|other| Some((other.one, other.version?)));
    all.max_by_key(|(_, version)| ranks.get(version).copied())
}

/// A server of another version.
fn of_another(Asking { one, version, .. }: &Asking<'_>, owner: Option<(&Registered<'_>, &str)>) -> Option<Finding> {
    let (version, (first, owner)) = ((*version)?, owner?);
    (owner != version).then(|| {
        let problem = format!("calls the server that {} calls for {owner}: a server has one version", first.document);
        one.finding(problem, format!("{}: the Service of {version}", address(one)))
    })
}

/// Objects without a label must belong to one of the versions.
fn unassigned(Asking { one, .. }: &Asking<'_>, is_known: bool, enforcing: &[Asking<'_>]) -> Option<Finding> {
    let mut versions: Vec<&str> = enforcing.iter().filter_map(|one| one.version).collect();
    versions.dedup();
    (one.is_for == Selects::Unlabelled && !versions.is_empty() && !is_known).then(|| {
        let problem = "objects without a label reach a server without a version: new objects are refused, or get a label \
             without a server";
        one.finding(problem.to_owned(), format!("{}: the Service of one of {}", address(one), versions.join(", ")))
    })
}

impl<'r> Asking<'r> {
    fn new(one: &'r Registered<'r>) -> Self {
        let version = match &one.is_for {
            Selects::Version(version) => Some(version.as_str()),
            Selects::Odd | Selects::Unlabelled => None,
        };
        Self { one, server: one.server(), version }
    }
}

/// A version in names of servers. Empty for an invalid version.
fn in_names(version: &str) -> String {
    version.parse().map(|version: ControllerVersion| dashed(&version)).unwrap_or_default()
}

/// A server without the namespace and the port of a Service.
fn without_the_place(server: &str) -> &str {
    let server = server.rsplit_once('/').map_or(server, |(_, name)| name);
    server.rsplit_once(':').map_or(server, |(name, _)| name)
}

/// The length of the version in a server's name. Parts of numbers do not match: 2.1 is not in `p-12-1`.
fn in_name(name: &str, server: &str) -> usize {
    let is_whole = |(at, _): (usize, &str)| {
        let (before, after) = (server.get(..at), server.get(at + name.len()..));
        let ends = |text: Option<&str>, last: fn(&str) -> Option<char>| {
            text.and_then(last).is_none_or(|sign| !sign.is_ascii_alphanumeric())
        };
        ends(before, |text| text.chars().next_back()) && ends(after, |text| text.chars().next())
    };
    if server.match_indices(name).any(is_whole) { name.len() } else { 0 }
}

/// The line with the address of a webhook.
fn address(one: &Registered<'_>) -> String {
    let has_url = one.webhook.pointer("/clientConfig/url").is_some();
    format!("{}.clientConfig.{}", one.place, if has_url { "url" } else { "service.name" })
}
