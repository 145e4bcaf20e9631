//! Writes of a version's objects that its webhook is not asked about, or asked about too much, by selectors and
//! conditions other than those that are printed.

use serde_json::Value;

use super::admission_webhooks::{Selection, conditions};
use super::finding::Finding;
use super::registered::{Registered, Selects};
use crate::definition::Kind;

/// What a webhook leaves out. One that only looks on may leave out what it likes.
pub(super) fn leaves_out(kind: &Kind, one: &Registered<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if one.only_looks {
        return findings;
    }
    let mut find = |problem: String, line: &str, value: &str| {
        findings.push(one.finding(problem, format!("{}.{line}: {value}", one.place)));
    };
    if requirements(one, "namespaceSelector") > 0 {
        let problem = "nobody is asked about objects in namespaces that it does not select";
        find(problem.to_owned(), "namespaceSelector", "{}");
    }
    if requirements(one, "objectSelector") > 1 && one.selects != Selects::Odd {
        let problem =
            format!("it selects by more than {}: nobody is asked about what that leaves out", kind.version_label());
        find(problem, "objectSelector", "this label alone");
    }
    let selection = if one.selects == Selects::Unlabelled { Selection::Unlabelled } else { Selection::Labelled };
    let (wanted, there) = (conditions(kind, selection), list(one.webhook, "matchConditions"));
    for (index, condition) in there.iter().enumerate() {
        let line = format!("matchConditions[{index}].expression");
        let text = expression(condition);
        if text.replace("oldObject", "").contains("object.metadata.deletionTimestamp") {
            let problem = "an apply that creates may say that its object is going, and passes";
            find(problem.to_owned(), &line, wanted.first().map(expression).unwrap_or_default());
        } else if !wanted.iter().any(|wanted| expression(wanted) == text) {
            let name = condition.get("name").and_then(Value::as_str).unwrap_or_default();
            let problem = format!("nobody is asked about writes for which the condition {name:?} does not hold");
            find(problem, &format!("matchConditions[{index}]"), "take it out");
        }
    }
    for wanted in wanted.iter().filter(|_| there.len() < wanted.len()) {
        if there.iter().any(|condition| expression(condition) == expression(wanted)) {
            continue;
        }
        let name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
        let problem = match name {
            "not-being-deleted" => "while the server is down, what is being deleted cannot go: its finalizers stay",
            _ => "an object that gets its first label is judged and counted twice",
        };
        find(problem.to_owned(), "matchConditions", &wanted.to_string());
    }
    findings
}

fn list<'v>(holder: &'v Value, name: &str) -> &'v [Value] {
    holder.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn expression(condition: &Value) -> &str {
    condition.get("expression").and_then(Value::as_str).unwrap_or_default()
}

/// How many requirements a selector has.
fn requirements(one: &Registered<'_>, name: &str) -> usize {
    let selector = one.webhook.get(name).unwrap_or(&Value::Null);
    let labels = selector.get("matchLabels").and_then(Value::as_object).map_or(0, serde_json::Map::len);
    labels + list(selector, "matchExpressions").len()
}
