//! Results as SARIF 2.1.0, for code scanning of forges: a rule for each kind of finding, and a result with its line.
//!
//! Source: OASIS, Static Analysis Results Interchange Format, 3.13 (log file), 3.27 (result). The output is
//! deterministic: it contains no date.

use std::collections::BTreeMap;

use crate::commands::json_tree::JsonTree;

/// A finding of a command.
pub(super) struct SarifFinding {
    pub(super) rule: &'static str,
    /// The purpose of the rule.
    pub(super) about: &'static str,
    pub(super) is_error: bool,
    pub(super) file: String,
    /// 0 if there is none.
    pub(super) line: u64,
    pub(super) message: String,
}

/// The document.
pub(super) fn document(findings: &[SarifFinding]) -> String {
    let rules: BTreeMap<&str, &str> = findings.iter().map(|finding| (finding.rule, finding.about)).collect();
    let rules = rules.into_iter().map(|(id, about)| {
        JsonTree::object([
            ("id", JsonTree::string(id)),
            ("shortDescription", JsonTree::object([("text", JsonTree::string(about))])),
        ])
    });
    let driver = JsonTree::object([
        ("name", JsonTree::string("pointsman")),
        ("semanticVersion", JsonTree::string(env!("CARGO_PKG_VERSION"))),
        ("rules", JsonTree::Array(rules.collect())),
    ]);
    let run = JsonTree::object([
        ("tool", JsonTree::object([("driver", driver)])),
        ("results", JsonTree::Array(findings.iter().map(result).collect())),
    ]);
    let log = JsonTree::object([
        ("$schema", JsonTree::string("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", JsonTree::string("2.1.0")),
        ("runs", JsonTree::Array(vec![run])),
    ]);
    format!("{log:#}\n")
}

fn result(finding: &SarifFinding) -> JsonTree {
    let file = JsonTree::object([("uri", JsonTree::string(uri(&finding.file)))]);
    let mut place = JsonTree::object([("artifactLocation", file)]);
    if finding.line > 0 {
        let line = JsonTree::Number(finding.line.to_string());
        place.set("region", JsonTree::object([("startLine", line)]));
    }
    let location = JsonTree::object([("physicalLocation", place)]);
    JsonTree::object([
        ("ruleId", JsonTree::string(finding.rule)),
        ("level", JsonTree::string(if finding.is_error { "error" } else { "warning" })),
        ("message", JsonTree::object([("text", JsonTree::string(&finding.message))])),
        ("locations", JsonTree::Array(vec![location])),
    ])
}

/// A path as a relative URI reference. Source: RFC 3986, 4.2.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uri_references() {
        for (path, wanted) in [("./kinds/a.yaml", "kinds/a.yaml"), ("a b:c.yaml", "a%20b%3Ac.yaml"), ("ä", "%C3%A4")] {
            assert_eq!(uri(path), wanted);
        }
    }
}
