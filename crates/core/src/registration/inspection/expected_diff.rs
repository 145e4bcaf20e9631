//! Compares a webhook with the printed one, with explanations for known differences.
//!
//! Some differences are allowed: the address and certificates of a server, if no two versions share a server;
//! namespaces that all pointsman webhooks exclude by name; timeouts; names, and additional labels and annotations.
//! Equivalent forms are no difference: a selector's `matchLabels`, a rule in several parts, an explicit default.

use serde_json::Value;

use super::difference::differences;
use super::finding::Finding;
use super::registrations::{Registered, Selects};
use super::selector_gaps::leaves_out;
use crate::definition::Kind;

/// The differences from the printed webhook.
pub(in crate::registration) fn as_printed(kind: &Kind, one: &Registered<'_>, namespaces: &[String]) -> Vec<Finding> {
    let mut findings = Vec::from_iter(selector(kind, one));
    findings.extend(client(one));
    findings.extend(leaves_out(kind, one, namespaces));
    findings.extend(rules(kind, one));
    findings.extend(where_it_is_down(one));
    findings.extend(rest(one));
    findings
}

fn finding_at(one: &Registered<'_>, problem: impl Into<String>, line: &str, value: &str) -> Finding {
    one.finding(problem.into(), format!("{}.{line}: {value}", one.place))
}

/// Checks the object selector.
fn selector(kind: &Kind, one: &Registered<'_>) -> Option<Finding> {
    let key = kind.version_label();
    let line = "objectSelector.matchExpressions";
    match (&one.selects, &one.is_for) {
        _ if one.is_scale => None,
        (Selects::Odd, is_for) => {
            let problem = format!(
                "the selector does not require {key}: objects of several versions, or without a label, reach \
                     one server"
            );
            let value = match is_for {
                Selects::Version(version) => format!("[{{key: {key}, operator: In, values: [{version}]}}]"),
                Selects::Unlabelled => format!("[{{key: {key}, operator: DoesNotExist}}]"),
                Selects::Odd => format!("[{{key: {key}, operator: In, values: [VERSION]}}]"),
            };
            Some(finding_at(one, problem, line, &value))
        }
        (Selects::Version(version), _) if one.printed.is_none() => {
            let problem = format!("{version} is no controller version: no server can have this version");
            Some(finding_at(one, problem, line, "the name of a version such as 2.17.0"))
        }
        (selects, is_for) if selects == is_for => None,
        (selects, is_for) => {
            let problem = format!("the name is for {}, but the selector is for {}", objects(is_for), objects(selects));
            let printed = one.printed.as_ref().and_then(|printed| printed.pointer("/objectSelector/matchExpressions"));
            Some(finding_at(one, problem, line, &printed.map(Value::to_string).unwrap_or_default()))
        }
    }
}

fn objects(selects: &Selects) -> String {
    match selects {
        Selects::Odd => "others".to_owned(),
        Selects::Unlabelled => "objects without a label".to_owned(),
        Selects::Version(version) => format!("the objects of {version}"),
    }
}

/// Checks the path and the trusted certificates.
fn client(one: &Registered<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (path, wanted) = (one.path(), one.call);
    // A proxy may remove a prefix of a URL, but not of a Service's path.
    let is_right = if path.starts_with('/') { path == wanted } else { path.ends_with(wanted) };
    if !is_right {
        let problem = format!("path {path:?} leads to another webhook than {wanted}");
        findings.push(finding_at(one, problem, "clientConfig.service.path", wanted));
    }
    if !one.trusts() {
        let problem = "the webhook has no caBundle, and no cert-manager annotation: every call fails";
        let value = "the authority, base64 (webhooks --ca-file or --cert-manager)";
        findings.push(finding_at(one, problem, "clientConfig.caBundle", value));
    }
    findings
}

/// Checks that the rules match exactly the expected writes.
fn rules(kind: &Kind, one: &Registered<'_>) -> Vec<Finding> {
    let Some(wanted) = one.printed.as_ref().and_then(|printed| printed.pointer("/rules/0")) else {
        return Vec::new();
    };
    let texts = |rule: &Value, list: &str| -> Vec<String> {
        let texts = rule.get(list).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let [versions, operations] = ["apiVersions", "operations"].map(|list| texts(wanted, list));
    let there: Vec<(usize, &Value)> = one.rules().collect();
    let Some((first, _)) = there.first() else {
        let problem = format!("none of its rules covers {}.{}", kind.plural(), kind.group());
        return vec![finding_at(one, problem, "rules", &format!("[{wanted}]"))];
    };
    let mut findings = Vec::new();
    let has = |rule: &Value, list: &str, value: &str| texts(rule, list).iter().any(|one| one == "*" || one == value);
    let any = |list: &str, value: &str| there.iter().any(|(_, rule)| has(rule, list, value));
    let missing: Vec<&str> =
        versions.iter().filter(|version| !any("apiVersions", version)).map(String::as_str).collect();
    if !missing.is_empty() {
        let problem = format!("writes at {} are converted for the call, or pass", missing.join(", "));
        findings.push(finding_at(
            one,
            problem,
            &format!("rules[{first}].apiVersions"),
            &format!("[{}]", versions.join(", ")),
        ));
    }
    for operation in operations.iter().filter(|operation| !any("operations", operation)) {
        let problem = format!("no rule covers {operation}");
        let value = format!("[{}]", operations.join(", "));
        findings.push(finding_at(one, problem, &format!("rules[{first}].operations"), &value));
    }
    // Each may be in some rule, but not both in one rule.
    if findings.is_empty() {
        let pairs = operations.iter().flat_map(|operation| versions.iter().map(move |version| (operation, version)));
        let both = |rule: &Value, (operation, version): (&String, &String)| {
            has(rule, "operations", operation) && has(rule, "apiVersions", version)
        };
        for pair in pairs.filter(|pair| !there.iter().any(|(_, rule)| both(rule, *pair))) {
            let problem = format!("no rule covers {} at {}", pair.0, pair.1);
            let value = format!("[{}]", versions.join(", "));
            findings.push(finding_at(one, problem, &format!("rules[{first}].apiVersions"), &value));
        }
    }
    for (at, rule) in &there {
        findings.extend(too_much(one, *at, [rule, wanted], texts));
    }
    findings
}

/// Entries of a rule that are not printed, and a scope that the kind does not have.
fn too_much(
    one: &Registered<'_>,
    at: usize,
    [rule, wanted]: [&Value; 2],
    texts: impl Fn(&Value, &str) -> Vec<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (list, what) in [("apiGroups", "the group"), ("resources", "the resource"), ("operations", "the operation")] {
        let wanted = texts(wanted, list);
        for more in texts(rule, list).iter().filter(|more| !wanted.contains(more)) {
            let problem = format!("also receives {what} {more}, which fails while its server is down");
            findings.push(finding_at(
                one,
                problem,
                &format!("rules[{at}].{list}"),
                &format!("[{}]", wanted.join(", ")),
            ));
        }
    }
    let scope = |rule: &'_ Value| rule.get("scope").and_then(Value::as_str).unwrap_or("*").to_owned();
    let (found, printed) = (scope(rule), scope(wanted));
    if found != "*" && printed != "*" && found != printed {
        let problem =
            format!("its rule does not match: objects of the kind are {printed}, and the rule is for {found}");
        findings.push(finding_at(one, problem, &format!("rules[{at}].scope"), &printed));
    }
    findings
}

/// Checks the failure policy.
fn where_it_is_down(one: &Registered<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let policy = one.webhook.get("failurePolicy").and_then(Value::as_str).unwrap_or("Fail");
    if one.enforces() {
        if policy != "Fail" {
            findings.push(finding_at(one, "while the server is down, writes pass unjudged", "failurePolicy", "Fail"));
        }
        return findings;
    }
    if policy != "Ignore" {
        let problem = match one.is_scale {
            true => "while its server is down, no autoscaler can write the scale of any version's objects",
            false => "the webhook only audits, but refuses writes while its server is down",
        };
        findings.push(finding_at(one, problem, "failurePolicy", "Ignore"));
    }
    let seconds = one.webhook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(10);
    if seconds > 1 {
        let problem = format!("the webhook only audits, but writes wait {seconds} s while its server does not respond");
        findings.push(finding_at(one, problem, "timeoutSeconds", "1"));
    }
    findings
}

/// Compares the other members.
fn rest(one: &Registered<'_>) -> Vec<Finding> {
    let Some(printed) = &one.printed else {
        return Vec::new();
    };
    let speaks = |versions: &Value| {
        let versions = versions.as_array().filter(|versions| !versions.is_empty());
        versions
            .is_some_and(|versions| versions.iter().all(|one| one.as_str().is_some_and(|one| REVIEWS.contains(&one))))
    };
    let knows_the_review = one.webhook.get("admissionReviewVersions").is_some_and(speaks);
    let without = |webhook: &Value| {
        let mut webhook = webhook.clone();
        if let Some(members) = webhook.as_object_mut() {
            members.retain(|name, _| !SPOKEN_OF.contains(&name.as_str()));
            members.retain(|name, _| name != "admissionReviewVersions" || !knows_the_review);
        }
        webhook
    };
    let (found, printed) = (without(one.webhook), without(printed));
    let reported = differences(&one.place, &found, &printed).into_iter().map(|difference| {
        let member = difference.path.rsplit('.').next().unwrap_or_default();
        let why = WHY.iter().find(|(name, _)| *name == member).map(|(_, why)| format!(": {why}"));
        one.finding(format!("{}{}", difference.problem(), why.unwrap_or_default()), difference.change())
    });
    reported.collect()
}

/// The review versions that a server accepts.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// Members of a webhook with their own checks, or without restrictions.
const SPOKEN_OF: [&str; 8] = [
    "clientConfig",
    "failurePolicy",
    "matchConditions",
    "name",
    "namespaceSelector",
    "objectSelector",
    "rules",
    "timeoutSeconds",
];

/// The consequences of other values.
const WHY: [(&str, &str); 4] = [
    ("admissionReviewVersions", "the server accepts v1 and v1beta1"),
    ("matchPolicy", "writes at a version that is served later would bypass the webhook"),
    ("reinvocationPolicy", "if another webhook changes the object later, the hash is stale"),
    ("sideEffects", "dry runs would be refused"),
];
