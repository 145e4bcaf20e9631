//! The webhooks that are registered for a kind, read from the output of `kubectl get`.

use serde_json::Value;

use super::finding::Finding;
use crate::registration::admission_webhooks::{Calls, SHADOWS, Selection, UNLABELLED, webhooks_without_client};
use crate::registration::names::version_of;
use crate::{definition::Kind, webhook::ControllerVersion};

/// The objects that a webhook selects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::registration) enum Selects {
    /// Any other selection.
    Odd,
    /// Objects without a label.
    Unlabelled,
    /// Objects of one controller version.
    Version(String),
}

/// A registered webhook for a kind.
pub(in crate::registration) struct Registered<'d> {
    /// Its group and resource.
    of: [String; 2],
    /// The configuration, as `Kind name`.
    pub(in crate::registration) document: String,
    /// The position in the configuration, such as `webhooks[0]`.
    pub(in crate::registration) place: String,
    pub(in crate::registration) webhook: &'d Value,
    annotations: Option<&'d Value>,
    /// The expected path.
    pub(in crate::registration) call: &'static str,
    pub(in crate::registration) is_ours: bool,
    /// The webhook runs in shadow mode.
    pub(in crate::registration) is_shadow: bool,
    /// The webhook receives only writes of the scale.
    pub(in crate::registration) is_scale: bool,
    /// The selected objects.
    pub(in crate::registration) selects: Selects,
    /// The intended objects, by the name of the webhook. If that is ambiguous, by its selector.
    pub(in crate::registration) is_for: Selects,
    /// The printed webhook without an address. `None` if pointsman does not print it.
    pub(in crate::registration) printed: Option<Value>,
}

/// Returns whether a document is a pointsman document.
pub(in crate::registration) fn is_ours(document: &Value) -> bool {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    text("/metadata/name").starts_with(OURS) || text("/metadata/labels/app.kubernetes.io~1name") == "pointsman"
}

/// The webhooks of a kind in documents.
pub(in crate::registration) fn registered<'d>(kind: &Kind, documents: &'d [Value]) -> Vec<Registered<'d>> {
    let known = known(kind, documents);
    let mut all = Vec::new();
    for document in documents {
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let calls = match text("/kind") {
            "MutatingWebhookConfiguration" => Calls::Mutate,
            "ValidatingWebhookConfiguration" => Calls::Validate,
            _ => continue,
        };
        let (name, is_ours) = (text("/metadata/name"), is_ours(document));
        for (index, webhook) in webhooks(document).enumerate() {
            let own = webhook.get("name").and_then(Value::as_str).unwrap_or_default();
            let is_scale = is_ours && is_scale(kind, webhook, own);
            let is_named = is_ours && [name, own].iter().any(|name| suffix_of(kind, name).is_some());
            if !(is_scale || is_named || is_called_for(kind, webhook, is_ours)) {
                continue;
            }
            let selects = selects(kind, webhook);
            let meant = if is_ours { meant(kind, [name, own], &known, &selects) } else { None };
            let (is_for, is_shadow) = meant.unwrap_or_else(|| (selects.clone(), false));
            let resource = if is_scale { format!("{}/scale", kind.plural()) } else { kind.plural().to_owned() };
            all.push(Registered {
                of: [kind.group().to_owned(), resource],
                document: format!("{} {name}", text("/kind")),
                place: format!("webhooks[{index}]"),
                webhook,
                annotations: document.pointer("/metadata/annotations"),
                call: calls.path(),
                is_ours,
                is_shadow,
                is_scale,
                printed: if is_ours { printed(kind, &is_for, is_shadow, is_scale, calls) } else { None },
                selects,
                is_for,
            });
        }
    }
    all
}

fn webhooks(document: &Value) -> impl Iterator<Item = &Value> {
    document.get("webhooks").and_then(Value::as_array).into_iter().flatten()
}

/// The controller versions in selectors.
fn known(kind: &Kind, documents: &[Value]) -> Vec<ControllerVersion> {
    let selected = documents.iter().flat_map(webhooks).map(|webhook| selects(kind, webhook));
    let versions = selected.filter_map(|selects| match selects {
        Selects::Version(version) => version.parse().ok(),
        Selects::Odd | Selects::Unlabelled => None,
    });
    versions.collect()
}

/// The suffix of a configuration or webhook with a pointsman name for the kind.
fn suffix_of<'n>(kind: &Kind, name: &'n str) -> Option<&'n str> {
    let name = [OURS, "mutate-", "validate-"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
    name.strip_suffix(&format!(".{}.{}", kind.plural(), kind.group()))
}

/// The intended objects of a webhook, by its name or that of its configuration, and whether it runs in shadow mode. A
/// version may contain the separator of two versions, so the name may be ambiguous. Then the selector decides.
fn meant(kind: &Kind, names: [&str; 2], known: &[ControllerVersion], selects: &Selects) -> Option<(Selects, bool)> {
    let suffix = names.into_iter().find_map(|name| suffix_of(kind, name))?;
    if suffix == UNLABELLED {
        return Some((Selects::Unlabelled, false));
    }
    let version = |name: &str| version_of(name, known).map(|version| Selects::Version(version.as_str().to_owned()));
    let whole = version(suffix).map(|version| (version, false));
    let pairs = suffix.match_indices(SHADOWS).filter_map(|(at, between)| {
        let (by, of) = (suffix.get(..at)?, suffix.get(at + between.len()..)?);
        by.starts_with('v').then_some((version(of)?, true))
    });
    let readings: Vec<(Selects, bool)> = whole.into_iter().chain(pairs).collect();
    readings.iter().find(|(version, _)| version == selects).or_else(|| readings.first()).cloned()
}

/// The printed webhook.
fn printed(kind: &Kind, is_for: &Selects, is_shadow: bool, is_scale: bool, calls: Calls) -> Option<Value> {
    let (version, selection): (ControllerVersion, fn(&ControllerVersion) -> Selection<'_>) = match is_for {
        _ if is_scale => (ANY.parse().ok()?, |_| Selection::Unlabelled),
        Selects::Odd => return None,
        Selects::Unlabelled => (ANY.parse().ok()?, |_| Selection::Unlabelled),
        Selects::Version(version) if is_shadow => (version.parse().ok()?, |version| Selection::Shadowed(version)),
        Selects::Version(version) => (version.parse().ok()?, |_| Selection::Labelled),
    };
    webhooks_without_client(kind, &version, selection(&version), calls).into_iter().nth(usize::from(is_scale))
}

/// Returns whether the webhook receives the scale of a kind that has one.
fn is_scale(kind: &Kind, webhook: &Value, name: &str) -> bool {
    let resource = format!("{}/scale", kind.plural());
    let rules = || webhook.get("rules").and_then(Value::as_array).into_iter().flatten();
    let only =
        |rule: &Value| rule.get("resources").and_then(Value::as_array).is_some_and(|all| *all == [resource.as_str()]);
    name == format!("scale-{UNLABELLED}.{}.{}", kind.plural(), kind.group())
        || rules().next().is_some() && rules().all(only)
}

/// Returns whether the webhook receives objects of the kind. A foreign webhook for all groups is a general policy, not
/// an operator.
fn is_called_for(kind: &Kind, webhook: &Value, is_ours: bool) -> bool {
    let rules = webhook.get("rules").and_then(Value::as_array);
    rules.into_iter().flatten().any(|rule| is_rule_for([kind.group(), kind.plural()], rule, is_ours))
}

/// Matches like the API server (`apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go`): `things/*`
/// includes the objects themselves.
fn is_rule_for([group, resource]: [&str; 2], rule: &Value, any_group: bool) -> bool {
    let names =
        |member: &str| rule.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let split = |name| str::split_once(name, '/').unwrap_or((name, ""));
    let (resource, part) = split(resource);
    let matches = |name| {
        let (named, named_part) = split(name);
        (named == "*" || named == resource) && (named_part == "*" || named_part == part)
    };
    names("apiGroups").any(|name| any_group && name == "*" || name == group) && names("resources").any(matches)
}

fn selects(kind: &Kind, webhook: &Value) -> Selects {
    let key = kind.version_label();
    let selector = webhook.get("objectSelector");
    let expressions = selector.and_then(|selector| selector.get("matchExpressions")).and_then(Value::as_array);
    let of_key = |one: &&Value| one.get("key").and_then(Value::as_str) == Some(key);
    let found: Vec<&Value> = expressions.into_iter().flatten().filter(of_key).collect();
    let label = selector.and_then(|selector| selector.get("matchLabels")?.get(key)?.as_str());
    match (found.as_slice(), label) {
        ([], Some(version)) => Selects::Version(version.to_owned()),
        ([one], None) => {
            let values: Vec<&str> =
                one.get("values").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
            match (one.get("operator").and_then(Value::as_str), values.as_slice()) {
                (Some("DoesNotExist"), _) => Selects::Unlabelled,
                (Some("In"), [version]) => Selects::Version((*version).to_owned()),
                _ => Selects::Odd,
            }
        }
        _ => Selects::Odd,
    }
}

impl Registered<'_> {
    pub(in crate::registration) fn finding(&self, problem: String, change: String) -> Finding {
        Finding { document: self.document.clone(), problem, change }
    }

    /// The path of the webhook.
    pub(in crate::registration) fn path(&self) -> &str {
        let client = self.webhook.get("clientConfig");
        let of = |pointer: &str| client.and_then(|client| client.pointer(pointer)).and_then(Value::as_str);
        of("/service/path").or_else(|| of("/url")).unwrap_or_default()
    }

    /// The address without the path.
    pub(in crate::registration) fn server(&self) -> String {
        let client = self.webhook.get("clientConfig");
        let of = |pointer: &str| client.and_then(|client| client.pointer(pointer)).cloned().unwrap_or_default();
        match of("/url") {
            Value::String(url) => url.trim_end_matches(self.call).trim_end_matches('/').to_owned(),
            _ => {
                let text = |pointer: &str| of(pointer).as_str().unwrap_or_default().to_owned();
                let port = of("/service/port").as_u64().unwrap_or(443);
                format!("{}/{}:{port}", text("/service/namespace"), text("/service/name"))
            }
        }
    }

    /// The rules for the kind, each with its index.
    pub(in crate::registration) fn rules(&self) -> impl Iterator<Item = (usize, &Value)> {
        let rules = self.webhook.get("rules").and_then(Value::as_array).into_iter().flatten().enumerate();
        let [group, resource] = &self.of;
        rules.filter(move |(_, rule)| is_rule_for([group, resource], rule, true))
    }

    /// Returns whether the webhook enforces: it is neither in shadow mode nor for the scale.
    pub(in crate::registration) fn enforces(&self) -> bool {
        self.is_ours && !self.is_shadow && !self.is_scale
    }

    /// Returns whether the trusted certificates are configured.
    pub(in crate::registration) fn trusts(&self) -> bool {
        let client = self.webhook.get("clientConfig");
        let bundle = client.and_then(|client| client.get("caBundle")).and_then(Value::as_str);
        let is_url = client.is_some_and(|client| client.get("url").is_some());
        let injected = |key: &str| self.annotations.is_some_and(|annotations| annotations.get(key).is_some());
        is_url
            || bundle.is_some_and(|bundle| !bundle.is_empty())
            || injected("cert-manager.io/inject-ca-from")
            || injected("cert-manager.io/inject-ca-from-secret")
    }
}

/// The prefix of the names of pointsman's configurations.
const OURS: &str = "pointsman-";

/// A placeholder version.
const ANY: &str = "0.0.0";
