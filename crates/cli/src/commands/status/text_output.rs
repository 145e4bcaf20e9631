//! The state of a kind as text and as a document.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use pointsman_cluster::{CertificateEnd, EndpointStatus, KindStatus, ReportedError, ReportedErrors};
use serde_json::json;

use crate::commands::json_tree::JsonTree;

/// The text for people. `now` is in seconds since 1970.
pub(super) fn screen(seen: &KindStatus, now: u64) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let no_converter = || "no conversion webhook".to_owned();
    lines.push(("converted by", seen.converted_by.clone().unwrap_or_else(no_converter)));
    lines.push(("served", seen.served.join(", ")));
    lines.push(("stored", format!("{}; objects may be stored as {}", seen.storage, seen.stored.join(", "))));
    let objects = &seen.objects;
    let written = objects
        .written_since
        .map(|count| format!("; {count} of these were written since {} became the storage version", seen.storage));
    lines.push(("objects", format!("{}{}", objects.all, written.unwrap_or_default())));
    let named = |count: &BTreeMap<String, u64>| {
        let texts = count.iter().map(|(name, count)| {
            let name = if name.is_empty() { "no label" } else { name };
            format!("{name}: {count}")
        });
        texts.collect::<Vec<_>>().join(", ")
    };
    if objects.by_controller.keys().any(|label| !label.is_empty()) {
        lines.push(("controllers", named(&objects.by_controller)));
    }
    if !objects.kept.is_empty() {
        lines.push(("kept for", named(&objects.kept)));
    }
    if objects.named.managed.keys().any(|version| *version != seen.storage) {
        lines.push(("fields in", named(&objects.named.managed)));
    }
    if objects.named.applied.keys().any(|version| *version != seen.storage) {
        lines.push(("applied in", named(&objects.named.applied)));
    }
    if objects.named.owned.keys().any(|version| *version != seen.storage) {
        lines.push(("owners in", named(&objects.named.owned)));
    }
    lines.extend(departures(seen).into_iter().map(|line| ("removable", line)));
    lines.extend(seen.authorities.iter().map(|end| ("authority", expires(end, now))));
    lines.extend(seen.endpoints.iter().map(|one| ("endpoint", endpoint(one, now))));
    lines.extend(versions(&seen.errors));
    lines.extend(last_errors(&seen.errors));
    let schemas = if seen.drift.is_empty() { "as in the definition" } else { "not as in the definition" };
    lines.push(("schemas", schemas.to_owned()));
    let mut text = format!("{}\n", seen.crd);
    for (name, value) in lines {
        let _ = writeln!(text, "  {name:<WIDTH$}{value}");
    }
    for finding in &seen.findings {
        let _ = write!(text, "  ! {}\n    fix: {}\n", finding.problem, finding.fix);
    }
    text
}

/// Whether each version other than the storage version can be removed from the CRD, and the required cleanup.
fn departures(seen: &KindStatus) -> Vec<String> {
    let KindStatus { crd, objects, .. } = seen;
    let versions: BTreeSet<&String> =
        seen.served.iter().chain(&seen.stored).filter(|one| **one != seen.storage).collect();
    let lines_by_version = versions.into_iter().map(|version| {
        let named = objects.named.words(version);
        if seen.stored.contains(version) {
            format!("{version}: no, objects may be stored as {version}: pointsman migrate {crd}")
        } else if !named.is_empty() {
            format!(
                "{version}: no, because of {named}: run pointsman disable {crd}, or migrate {crd} --forget {version}"
            )
        } else {
            format!("{version}: yes, after all clients have stopped using the version")
        }
    });
    lines_by_version.collect()
}

fn endpoint(one: &EndpointStatus, now: u64) -> String {
    match &one.certificate {
        Ok(end) => format!("{}, certificate {}", one.endpoint, expires(end, now)),
        Err(reason) => format!("{}: {reason}", one.endpoint),
    }
}

fn last_errors(seen: &ReportedErrors) -> Vec<(&'static str, String)> {
    let mut lines: Vec<_> = seen.errors.iter().take(SHOWN).map(|one| ("last error", last_error(one))).collect();
    let more = seen.errors.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(("last errors", format!("and {more} more: see -o json")));
    }
    if seen.errors.is_empty() && !seen.reported_by.is_empty() {
        let all: Vec<&str> = seen.reported_by.keys().map(String::as_str).collect();
        lines.push(("last errors", format!("none of {}", all.join(", "))));
    }
    lines.extend(seen.unknown.iter().map(|reason| ("last errors", format!("not known: {reason}"))));
    lines
}

/// The pointsman versions of the endpoints, if one differs from this version.
fn versions(seen: &ReportedErrors) -> Option<(&'static str, String)> {
    let other = seen.reported_by.values().any(|version| version != THIS);
    let all: Vec<String> =
        seen.reported_by.iter().map(|(endpoint, version)| format!("{version} at {endpoint}")).collect();
    other.then(|| {
        (
            "pointsman",
            format!(
                "{}; this program is {THIS}: install the same version everywhere, see docs/upgrade.md",
                all.join(", ")
            ),
        )
    })
}

fn last_error(one: &ReportedError) -> String {
    let times = if one.times == 1 { String::new() } else { format!(" ({} times since {})", one.times, one.first) };
    format!("{}{times}, {}, {}: {}", one.last, one.endpoint, one.webhook, one.reason)
}

fn expires(end: &CertificateEnd, now: u64) -> String {
    match end.days_left(now) {
        Some(days) => format!("expires in {days} days, at {}", end.text),
        None => format!("has expired at {}", end.text),
    }
}

/// The state, for programs.
pub(super) fn document(seen: &KindStatus) -> anyhow::Result<JsonTree> {
    let endpoints = seen.endpoints.iter().map(|one| {
        let (expires, problem) = match &one.certificate {
            Ok(end) => (Some(&end.text), None),
            Err(reason) => (None, Some(reason)),
        };
        json!({"endpoint": one.endpoint, "expires": expires, "problem": problem, "reached": one.reached})
    });
    let findings = seen.findings.iter().map(|one| json!({"problem": one.problem, "fix": one.fix}));
    let errors = seen.errors.errors.iter().map(|one| {
        json!({
            "endpoint": one.endpoint, "webhook": one.webhook, "kind": one.kind, "from": one.from, "to": one.to,
            "object": one.object, "path": one.path, "reason": one.reason, "times": one.times, "first": one.first,
            "last": one.last,
        })
    });
    let value = json!({
        "crd": seen.crd,
        "convertedBy": seen.converted_by,
        "served": seen.served,
        "storage": seen.storage,
        "storedVersions": seen.stored,
        "objects": seen.objects.all,
        "writtenSinceStored": seen.objects.written_since,
        "controllerVersions": seen.objects.by_controller,
        "kept": seen.objects.kept,
        "managedFields": seen.objects.named.managed,
        "lastApplied": seen.objects.named.applied,
        "ownerReferences": seen.objects.named.owned,
        "unread": seen.unread,
        "authorities": seen.authorities.iter().map(|end| &end.text).collect::<Vec<_>>(),
        "endpoints": endpoints.collect::<Vec<_>>(),
        "lastErrors": {
            "toldBy": seen.errors.reported_by,
            "errors": errors.collect::<Vec<_>>(),
            "unknown": seen.errors.unknown,
        },
        "drift": seen.drift,
        "findings": findings.collect::<Vec<_>>(),
    });
    JsonTree::from_json(&value.to_string())
}

const THIS: &str = env!("CARGO_PKG_VERSION");

/// The maximum number of errors in the text.
const SHOWN: usize = 5;

/// The width of the left column in characters.
const WIDTH: usize = 14;

#[cfg(test)]
mod tests {
    use pointsman_cluster::{ObjectCounts, StatusFinding};

    use super::*;

    #[test]
    fn a_kind_is_one_screen() {
        let end = CertificateEnd { seconds: 10 * 86_400, text: "day 10".to_owned() };
        let error = |times| ReportedError {
            endpoint: "h:1".to_owned(),
            webhook: "convert".to_owned(),
            reason: "no".to_owned(),
            times,
            first: "day 8".to_owned(),
            last: "day 9".to_owned(),
            ..ReportedError::default()
        };
        let seen = KindStatus {
            crd: "widgets.example.com".to_owned(),
            converted_by: Some("Service n/s:443/convert".to_owned()),
            served: vec!["v1".to_owned(), "v2".to_owned()],
            storage: "v2".to_owned(),
            stored: vec!["v1".to_owned(), "v2".to_owned()],
            objects: ObjectCounts {
                all: 7,
                written_since: Some(3),
                by_controller: [(String::new(), 1), ("2.16.0".to_owned(), 6)].into(),
                kept: [("v1".to_owned(), 2)].into(),
                ..ObjectCounts::default()
            },
            authorities: vec![end.clone()],
            endpoints: vec![EndpointStatus { endpoint: "h:1".to_owned(), certificate: Ok(end), reached: true }],
            errors: ReportedErrors {
                reported_by: [("h:1".to_owned(), THIS.to_owned())].into(),
                errors: (1..=7).map(error).collect(),
                unknown: vec!["h:2: away".to_owned()],
            },
            findings: vec![StatusFinding { problem: "bad".to_owned(), fix: "better".to_owned() }],
            ..KindStatus::default()
        };
        let text = "\
widgets.example.com
  converted by  Service n/s:443/convert
  served        v1, v2
  stored        v2; objects may be stored as v1, v2
  objects       7; 3 of these were written since v2 became the storage version
  controllers   no label: 1, 2.16.0: 6
  kept for      v1: 2
  removable     v1: no, objects may be stored as v1: pointsman migrate widgets.example.com
  authority     expires in 9 days, at day 10
  endpoint      h:1, certificate expires in 9 days, at day 10
  last error    day 9, h:1, convert: no
  last error    day 9 (2 times since day 8), h:1, convert: no
  last error    day 9 (3 times since day 8), h:1, convert: no
  last error    day 9 (4 times since day 8), h:1, convert: no
  last error    day 9 (5 times since day 8), h:1, convert: no
  last errors   and 2 more: see -o json
  last errors   not known: h:2: away
  schemas       as in the definition
  ! bad
    fix: better
";
        assert_eq!(screen(&seen, 86_400), text);
    }

    #[test]
    fn version_that_is_named_stays() {
        let mut seen = KindStatus {
            crd: "ws.e.com".to_owned(),
            served: vec!["v1".to_owned(), "v2".to_owned()],
            storage: "v2".to_owned(),
            stored: vec!["v2".to_owned()],
            ..KindStatus::default()
        };
        assert_eq!(departures(&seen), ["v1: yes, after all clients have stopped using the version"]);
        seen.objects.named.managed = [("v1".to_owned(), 2), ("v2".to_owned(), 9)].into();
        seen.objects.named.owned = [("v1".to_owned(), 3)].into();
        let expected = "v1: no, because of managedFields of 2, owner references of 3: run pointsman disable ws.e.com, or \
                    migrate ws.e.com --forget v1";
        assert_eq!(departures(&seen), [expected]);
    }

    #[test]
    fn foreign_server_is_reported() {
        let reported_by = [("h:1".to_owned(), THIS.to_owned()), ("h:2".to_owned(), "0.0.9".to_owned())].into();
        let errors = ReportedErrors { reported_by, ..ReportedErrors::default() };
        let text = screen(&KindStatus { errors, ..KindStatus::default() }, 0);
        assert!(text.contains("  last errors   none of h:1, h:2\n"), "{text}");
        let words = format!(
            "  pointsman     {THIS} at h:1, 0.0.9 at h:2; this program is {THIS}: install the same version everywhere"
        );
        assert!(text.contains(&words), "{text}");
        assert!(!screen(&KindStatus::default(), 0).contains("last error"));
    }
}
