//! The last errors of servers, as reported by their admin ports.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use x509_cert::der::DateTime;

/// The last errors of servers about this kind, or about an unknown kind.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReportedErrors {
    /// The reporting servers as `host:port`, with their pointsman versions.
    pub reported_by: BTreeMap<String, String>,
    /// Latest first.
    pub errors: Vec<ReportedError>,
    /// Servers without report, with reasons.
    pub unknown: Vec<String>,
}

/// An error in a server's memory. Contains only the name and a field of an object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReportedError {
    /// The server, as `host:port`.
    pub endpoint: String,
    /// `convert`, `mutate`, `validate` or `other`.
    pub webhook: String,
    /// The kind, as spelled in its definition.
    pub kind: Option<String>,
    /// The source version of the object.
    pub from: Option<String>,
    /// The requested version.
    pub to: Option<String>,
    /// The object, as `namespace/name`.
    pub object: Option<String>,
    /// The field with the problem.
    pub path: Option<String>,
    /// The message in the response.
    pub reason: String,
    /// The number of occurrences.
    pub times: u64,
    /// First occurrence, in RFC 3339.
    pub first: String,
    /// Last occurrence, in RFC 3339.
    pub last: String,
}

impl ReportedErrors {
    /// Adds the report of an endpoint.
    pub(super) fn take(&mut self, endpoint: &str, kind: &str, response: Result<&Value, &String>) {
        let listed = response.map_err(|reason| plain(reason)).and_then(|response| {
            let version = response.get("version").and_then(Value::as_str);
            let errors = response.get("errors").and_then(Value::as_array);
            let (version, errors) = version.zip(errors).ok_or_else(|| NO_LIST.to_owned())?;
            let all = errors.iter().take(MOST).filter_map(|one| reported(endpoint, one));
            let is_about_it = |one: &ReportedError| one.kind.as_ref().is_none_or(|of| of == kind || of == UNKNOWN);
            Ok((plain(version), all.filter(is_about_it).collect::<Vec<_>>()))
        });
        match listed {
            Ok((version, errors)) => {
                self.reported_by.insert(endpoint.to_owned(), version);
                self.errors.extend(errors);
            }
            Err(reason) => self.unknown.push(format!("{endpoint}: {reason}")),
        }
    }
}

/// One error. The listener may be another program.
fn reported(endpoint: &str, one: &Value) -> Option<ReportedError> {
    let text = |name: &str| one.get(name).and_then(Value::as_str).map(plain);
    let time = |name: &str| {
        let seconds = one.get(name).and_then(Value::as_u64).unwrap_or_default();
        DateTime::from_unix_duration(Duration::from_secs(seconds)).map(|time| time.to_string()).unwrap_or_default()
    };
    Some(ReportedError {
        endpoint: endpoint.to_owned(),
        webhook: text("webhook")?,
        kind: text("kind"),
        from: text("from"),
        to: text("to"),
        object: text("object"),
        path: text("path"),
        reason: text("reason")?,
        times: one.get("times").and_then(Value::as_u64).unwrap_or(1),
        first: time("first"),
        last: time("last"),
    })
}

/// Untrusted text: reduced to one line of limited length.
pub(super) fn plain(text: &str) -> String {
    text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The error of an unusable response.
pub(super) const NO_LIST: &str = "the response has no list of errors; check that this is the admin port";

/// A server's name for an unknown kind.
const UNKNOWN: &str = "unknown";

/// Per endpoint. A server keeps fewer.
const MOST: usize = 64;

/// In characters. A server truncates to fewer.
const LONGEST: usize = 2000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn foreign_errors_are_left_out() {
        let mut seen = ReportedErrors::default();
        let one = |kind: Value| json!({"webhook": "convert", "kind": kind, "reason": "a\u{1b}\nb", "last": 86_400, "times": 3});
        let response = json!({"version": "0.1.0\n", "errors": [one(json!("Widget")), one(json!("Other")), one(Value::Null), one(json!("unknown")), 7]});
        seen.take("h:1", "Widget", Ok(&response));
        let kinds: Vec<_> = seen.errors.iter().map(|one| one.kind.as_deref()).collect();
        assert_eq!(kinds, [Some("Widget"), None, Some("unknown")]);
        let first = &seen.errors[0];
        assert_eq!((first.reason.as_str(), first.last.as_str(), first.times), ("a  b", "1970-01-02T00:00:00Z", 3));
        assert_eq!((seen.reported_by, seen.unknown), ([("h:1".to_owned(), "0.1.0 ".to_owned())].into(), Vec::new()));
    }

    #[test]
    fn foreign_server_is_named() {
        let mut seen = ReportedErrors::default();
        seen.take("h:1", "Widget", Ok(&json!({"kind": "Status"})));
        seen.take("h:2", "Widget", Err(&"no\nway".to_owned()));
        seen.take("h:3", "Widget", Ok(&json!({"errors": []})));
        assert_eq!(seen.unknown, [format!("h:1: {NO_LIST}"), "h:2: no way".to_owned(), format!("h:3: {NO_LIST}")]);
        assert!(seen.reported_by.is_empty() && seen.errors.is_empty());
    }
}
