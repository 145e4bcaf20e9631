//! Webhooks as they are registered for a kind, read from what `kubectl get` prints.

use serde_json::Value;

use super::finding::Finding;
use crate::definition::Kind;

/// Which objects a webhook is asked about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Selects {
    /// Others than those of one version, or than those without a label.
    Odd,
    /// Those without a label.
    Unlabelled,
    /// Those of one controller version.
    Version(String),
}

/// A webhook that is called for a kind.
pub(super) struct Registered<'d> {
    /// Group and plural of the kind.
    of: [&'d str; 2],
    /// Its configuration, as `Kind name`.
    pub(super) document: String,
    /// Where it stands in there, such as `webhooks[0]`.
    pub(super) place: String,
    pub(super) webhook: &'d Value,
    annotations: Option<&'d Value>,
    /// The path that it should call.
    pub(super) call: &'static str,
    pub(super) is_ours: bool,
    /// It is asked without a say.
    pub(super) only_looks: bool,
    pub(super) selects: Selects,
}

/// The webhooks of a kind in documents.
pub(super) fn registered<'d>(kind: &'d Kind, documents: &'d [Value]) -> Vec<Registered<'d>> {
    let mut all = Vec::new();
    for document in documents {
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let call = match text("/kind") {
            "MutatingWebhookConfiguration" => "/mutate",
            "ValidatingWebhookConfiguration" => "/validate",
            _ => continue,
        };
        let name = text("/metadata/name");
        let is_ours = name.starts_with("pointsman-") || text("/metadata/labels/app.kubernetes.io~1name") == "pointsman";
        let webhooks = document.get("webhooks").and_then(Value::as_array).into_iter().flatten();
        for (index, webhook) in webhooks.enumerate().filter(|(_, webhook)| is_called_for(kind, webhook, is_ours)) {
            all.push(Registered {
                of: [kind.group(), kind.plural()],
                document: format!("{} {name}", text("/kind")),
                place: format!("webhooks[{index}]"),
                webhook,
                annotations: document.pointer("/metadata/annotations"),
                call,
                is_ours,
                only_looks: name.contains("-shadows-"),
                selects: selects(kind, webhook),
            });
        }
    }
    all
}

/// Whether it is asked about objects of the kind. One of others that is asked about all groups is nobody's operator,
/// but a policy for everything.
fn is_called_for(kind: &Kind, webhook: &Value, is_ours: bool) -> bool {
    let rules = webhook.get("rules").and_then(Value::as_array);
    rules.into_iter().flatten().any(|rule| is_for([kind.group(), kind.plural()], rule, is_ours))
}

fn is_for([group, plural]: [&str; 2], rule: &Value, any_group: bool) -> bool {
    let has = |member: &str, wanted: &str, is_all: bool| {
        let mut names = rule.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        names.any(|name| is_all && matches!(name, "*" | "*/*") || name == wanted)
    };
    has("apiGroups", group, any_group) && has("resources", plural, true)
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
    pub(super) fn finding(&self, problem: String, change: String) -> Finding {
        Finding { document: self.document.clone(), problem, change }
    }

    /// The path it calls.
    pub(super) fn path(&self) -> &str {
        let client = self.webhook.get("clientConfig");
        let of = |pointer: &str| client.and_then(|client| client.pointer(pointer)).and_then(Value::as_str);
        of("/service/path").or_else(|| of("/url")).unwrap_or_default()
    }

    /// Where it is, without the path.
    pub(super) fn server(&self) -> String {
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

    /// Whether a list of one of its rules has a value.
    pub(super) fn has(&self, list: &str, value: &str) -> bool {
        let rules = self.webhook.get("rules").and_then(Value::as_array).into_iter().flatten();
        let rules = rules.filter(|rule| is_for(self.of, rule, true));
        let mut values = rules.filter_map(|rule| rule.get(list)?.as_array()).flatten().filter_map(Value::as_str);
        values.any(|one| one == "*" || one == value)
    }

    /// Whether the API server knows whose certificate it must show.
    pub(super) fn trusts(&self) -> bool {
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
