//! Checks that a server receives the requests that its flags expect.

use super::finding::Finding;
use super::registrations::{Registered, Selects};
use crate::webhook::{ControllerVersion, Settings};

/// Compares the flags of a server with the registration of these versions.
pub(in crate::registration) fn started(
    all: &[Registered<'_>],
    versions: &[String],
    settings: &Settings,
) -> Vec<Finding> {
    let Some(own) = settings.controller.as_ref().map(ControllerVersion::as_str) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut find = |problem: String, change: String| {
        findings.push(Finding { document: format!("the server of {own}"), problem, change });
    };
    if !versions.iter().any(|version| version == own) {
        let problem = format!("the server gets no requests for objects of {own}: no configuration selects these");
        find(problem, format!("apply the output of `pointsman webhooks --controller-version {own}`"));
    }
    let server_of =
        |selects: &Selects| all.iter().find(|one| one.enforces() && one.is_for == *selects).map(Registered::server);
    let (mine, default) = (server_of(&Selects::Version(own.to_owned())), server_of(&Selects::Unlabelled));
    match (settings.default, &default) {
        (true, None) => find(
            "the server handles objects without a label, but no configuration selects these".to_owned(),
            format!(
                "apply the output of `pointsman webhooks --controller-version {own} --default {own}`, or remove \
                     --default-version"
            ),
        ),
        (true, Some(_)) if default != mine => find(
            "the server handles objects without a label, but the configuration selects another server".to_owned(),
            format!(
                "apply the output of `pointsman webhooks --controller-version {own} --default {own}`, or remove \
                     --default-version"
            ),
        ),
        (false, Some(_)) if default == mine => find(
            "the server gets objects without a label, and refuses these".to_owned(),
            "start the server with --default-version".to_owned(),
        ),
        _ => {}
    }
    let served: Vec<&str> = settings.served.iter().map(ControllerVersion::as_str).collect();
    let mut wanted: Vec<&str> = versions.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    let mut flagged = served.clone();
    flagged.sort_unstable();
    flagged.dedup();
    if !wanted.is_empty() && flagged != wanted {
        let is = if served.is_empty() { "none".to_owned() } else { served.join(", ") };
        find(
            format!("its flags name {is} as served, but {} are registered", wanted.join(", ")),
            format!("start the server with --served-versions {}", wanted.join(",")),
        );
    }
    for shadowed in settings.shadowed.iter().map(ControllerVersion::as_str) {
        let is_shadowing =
            |one: &&Registered<'_>| one.is_ours && one.is_shadow && one.is_for == Selects::Version(shadowed.to_owned());
        if !all.iter().any(|one| is_shadowing(&one)) {
            let problem = format!("the server audits {shadowed}, but no configuration selects these objects");
            find(
                problem,
                format!("apply the output of `pointsman webhooks --controller-version {own} --shadow {shadowed}`"),
            );
        }
    }
    findings
}
