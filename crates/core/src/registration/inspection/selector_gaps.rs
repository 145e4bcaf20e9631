//! Writes that a webhook misses, or receives in addition, because its selectors and conditions differ from the printed
//! ones.

use serde_json::{Value, json};

use super::finding::Finding;
use super::registrations::{Registered, Selects};
use crate::definition::Kind;

/// The objects that a webhook excludes beyond the common excluded namespaces. A webhook in shadow mode may exclude any.
pub(in crate::registration) fn leaves_out(kind: &Kind, one: &Registered<'_>, namespaces: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if one.is_shadow {
        return findings;
    }
    let mut find = |problem: String, line: &str, value: &str| {
        findings.push(one.finding(problem, format!("{}.{line}: {value}", one.place)));
    };
    if let Some(problem) = other_namespaces(one.webhook.get("namespaceSelector"), namespaces) {
        find(problem, "namespaceSelector", &excluding(namespaces).to_string());
    }
    let requirements = requirements(one, "objectSelector");
    if one.is_scale && requirements > 0 {
        let problem = "writes of scale are excluded: they contain no labels";
        find(problem.to_owned(), "objectSelector", "{}");
    } else if requirements > 1 && one.selects != Selects::Odd {
        let problem = format!("the selector requires more than {}: other objects are excluded", kind.version_label());
        find(problem, "objectSelector", "this label alone");
    }
    let Some(printed) = &one.printed else {
        return findings;
    };
    let (wanted, there) = (list(printed, "matchConditions"), list(one.webhook, "matchConditions"));
    for (index, condition) in there.iter().enumerate() {
        let line = format!("matchConditions[{index}].expression");
        let text = expression(condition);
        if text.replace("oldObject", "").contains("object.metadata.deletionTimestamp") {
            let problem = "a creation by apply can claim to be terminating, and is excluded";
            find(problem.to_owned(), &line, wanted.first().map(expression).unwrap_or_default());
        } else if !wanted.iter().any(|wanted| expression(wanted) == text) {
            let name = condition.get("name").and_then(Value::as_str).unwrap_or_default();
            let problem = format!("writes that fail the condition {name:?} are excluded");
            find(problem, &format!("matchConditions[{index}]"), "remove the condition");
        }
    }
    let is_other = |one: &&Value| !wanted.iter().any(|wanted| expression(wanted) == expression(one));
    let mut replaced = there.iter().filter(is_other).count();
    for wanted in wanted.iter().filter(|one| !there.iter().any(|there| expression(there) == expression(one))) {
        // Another condition may replace it, and was already reported.
        if replaced > 0 {
            replaced -= 1;
            continue;
        }
        let name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
        let problem = match name {
            "not-being-deleted" => "while the server is down, terminating objects keep their finalizers",
            _ => "an object that gets its first label is validated and counted twice",
        };
        find(problem.to_owned(), "matchConditions", &wanted.to_string());
    }
    findings
}

/// The namespaces that a selector excludes by name, which is allowed and explicit. `None` for any other selector, with
/// which the labels of a namespace decide.
pub(in crate::registration) fn excluded(selector: Option<&Value>) -> Option<Vec<String>> {
    let selector = selector.unwrap_or(&Value::Null);
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let mut names = Vec::new();
    for requirement in list(selector, "matchExpressions") {
        let text = |member: &str| requirement.get(member).and_then(Value::as_str);
        if (text("key"), text("operator")) != (Some(NAMESPACE), Some("NotIn")) {
            return None;
        }
        names.extend(list(requirement, "values").iter().filter_map(Value::as_str).map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    labels.is_none_or(serde_json::Map::is_empty).then_some(names)
}

/// A selector that excludes namespaces by name.
pub(in crate::registration) fn excluding(namespaces: &[String]) -> Value {
    match namespaces {
        [] => json!({}),
        names => json!({"matchExpressions": [{"key": NAMESPACE, "operator": "NotIn", "values": names}]}),
    }
}

/// The problem of a namespace selector if all other webhooks exclude these namespaces. Different exclusions cause
/// objects that are validated but not mutated, or the reverse.
pub(in crate::registration) fn other_namespaces(selector: Option<&Value>, namespaces: &[String]) -> Option<String> {
    let name_list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    match excluded(selector) {
        None => Some("objects in other namespaces are excluded".to_owned()),
        Some(names) if names != namespaces => Some(format!(
            "excludes other namespaces than the other webhooks: {}, and the others exclude {}",
            name_list(&names),
            name_list(namespaces)
        )),
        Some(_) => None,
    }
}

const NAMESPACE: &str = "kubernetes.io/metadata.name";

fn list<'v>(holder: &'v Value, name: &str) -> &'v [Value] {
    holder.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn expression(condition: &Value) -> &str {
    condition.get("expression").and_then(Value::as_str).unwrap_or_default()
}

/// The number of requirements of a selector.
fn requirements(one: &Registered<'_>, name: &str) -> usize {
    let selector = one.webhook.get(name).unwrap_or(&Value::Null);
    let labels = selector.get("matchLabels").and_then(Value::as_object).map_or(0, serde_json::Map::len);
    labels + list(selector, "matchExpressions").len()
}
