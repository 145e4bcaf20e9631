//! Copies of an operator's own webhook configuration for each controller version, so that each version receives only
//! its own objects.
//!
//! An operator with a webhook does not expect a second version of itself. Both would receive every object, and the
//! older one would reject the fields of the newer one. So each version gets a copy of the webhooks for the kind, with a
//! selector for its label. The selector matches the old or the new object, so a condition assigns a change of the label
//! to the version in the new object. Webhooks for other kinds stay in the original.

use serde_json::{Value, json};

use super::address::Address;
use super::document::set;
use super::guards::cel::literal;
use super::names::prefixed;
use crate::{definition::Kind, webhook::ControllerVersion};

/// A configuration that cannot be copied.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadOverlay {
    /// The document is no webhook configuration.
    #[error("{kind} is no ValidatingWebhookConfiguration and no MutatingWebhookConfiguration")]
    NotAConfiguration {
        /// The kind of the document.
        kind: String,
    },
    /// The configuration has no webhook for the kind.
    #[error("{name} has no webhook for {resource}")]
    NothingOfTheKind {
        /// The name of the configuration.
        name: String,
        /// The resource of the kind.
        resource: String,
    },
    /// A webhook already selects by the version label.
    #[error("webhook {webhook} of {name} selects by {key} already: use the original configuration of the operator")]
    SelectsAlready {
        /// The name of the configuration.
        name: String,
        /// The name of the webhook.
        webhook: String,
        /// The label.
        key: String,
    },
}

/// The documents that replace a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlaid {
    /// One configuration for each controller version.
    pub versions: Vec<Value>,
    /// The rest of the original, for other kinds. `None` if the original is to be deleted.
    pub rest: Option<Value>,
}

/// Creates a copy with selectors for each version. Objects without a label belong to `default`, if given. With
/// `address`, each version of the operator is called there, at the path of the operator.
///
/// # Errors
/// Why the configuration cannot be copied.
pub fn overlay(
    kind: &Kind,
    versions: &[ControllerVersion],
    default: Option<&ControllerVersion>,
    address: Option<&Address>,
    document: &Value,
) -> Result<Overlaid, BadOverlay> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (what, name) = (text("/kind"), text("/metadata/name"));
    if !matches!(what.as_str(), "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") {
        return Err(BadOverlay::NotAConfiguration { kind: what });
    }
    let webhooks = document.get("webhooks").and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for webhook in webhooks {
        let (own, rest) = parted(kind, &webhook);
        if let Some(own) = own {
            let key = &kind.admission.version_label;
            if own.get("objectSelector").is_some_and(|selector| selector.to_string().contains(&literal(key))) {
                let webhook = own.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                return Err(BadOverlay::SelectsAlready { name, webhook, key: key.clone() });
            }
            ours.push(own);
        }
        others.extend(rest);
    }
    if ours.is_empty() {
        let resource = format!("{}.{}", kind.plural(), kind.group());
        return Err(BadOverlay::NothingOfTheKind { name, resource });
    }
    let of = |version: &ControllerVersion| {
        let mut webhooks: Vec<Value> =
            ours.iter().map(|webhook| selecting(kind, Some(version), webhook, version, address)).collect();
        if default == Some(version) {
            webhooks.extend(ours.iter().map(|webhook| selecting(kind, None, webhook, version, address)));
        }
        configuration(document, &format!("{name}-{}", prefixed(version)), webhooks)
    };
    let rest = (!others.is_empty()).then(|| configuration(document, &name, others));
    Ok(Overlaid { versions: versions.iter().map(of).collect(), rest })
}

/// Creates copies for several kinds of one operator, each from the rest of the previous kind. Each version of the
/// operator has one configuration for all kinds, because the operator finds it by name.
///
/// # Errors
/// As for each kind.
pub fn overlay_all(
    kinds: &[&Kind],
    versions: &[ControllerVersion],
    default: Option<&ControllerVersion>,
    address: Option<&Address>,
    document: &Value,
) -> Result<Overlaid, BadOverlay> {
    let mut all = Overlaid { versions: Vec::new(), rest: Some(document.clone()) };
    let is_again = |(index, kind): &(usize, &&Kind)| {
        let resource = |kind: &Kind| (kind.group().to_owned(), kind.plural().to_owned());
        kinds.iter().take(*index).any(|other| resource(other) == resource(kind))
    };
    for (_, kind) in kinds.iter().enumerate().filter(|one| !is_again(one)) {
        let rest = all.rest.take().unwrap_or_else(|| {
            let mut nothing = document.clone();
            set(&mut nothing, "webhooks", json!([]));
            nothing
        });
        let laid = overlay(kind, versions, default, address, &rest)?;
        all.rest = laid.rest;
        if all.versions.is_empty() {
            all.versions = laid.versions;
            continue;
        }
        for (into, from) in all.versions.iter_mut().zip(&laid.versions) {
            add(kind, into, from);
        }
    }
    Ok(all)
}

/// Adds the webhooks for a kind to a configuration, with unique names. A webhook for several kinds is added several
/// times.
fn add(kind: &Kind, into: &mut Value, from: &Value) {
    let list = |document: &Value| document.get("webhooks").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = list(into);
    for mut webhook in list(from) {
        let name = webhook.get("name").cloned().unwrap_or_default();
        if all.iter().any(|other| other.get("name") == Some(&name)) {
            let name = format!("{}.{}", kind.plural(), name.as_str().unwrap_or_default());
            set(&mut webhook, "name", name.into());
        }
        all.push(webhook);
    }
    set(into, "webhooks", Value::Array(all));
}

/// Splits a webhook into the part for a kind, and the part for other kinds.
fn parted(kind: &Kind, webhook: &Value) -> (Option<Value>, Option<Value>) {
    let (mut own, mut others, mut is_wide) = (Vec::new(), Vec::new(), false);
    for rule in webhook.get("rules").and_then(Value::as_array).into_iter().flatten() {
        let names = |member: &str| -> Vec<String> {
            let names = rule.get(member).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (groups, resources) = (names("apiGroups"), names("resources"));
        let is_of_group = groups.iter().any(|group| group == "*" || group == kind.group());
        let (ours, rest): (Vec<String>, Vec<String>) =
            resources.into_iter().partition(|resource| is_of_group && resource_of(kind, resource));
        let with = |groups: &[String], resources: &[String]| {
            let mut rule = rule.clone();
            set(&mut rule, "apiGroups", json!(groups));
            set(&mut rule, "resources", json!(resources));
            rule
        };
        if !ours.is_empty() {
            let narrow: Vec<String> = ours.iter().map(|resource| narrow(kind, resource)).collect();
            own.push(with(&[kind.group().to_owned()], &narrow));
        }
        // Rules for any group or any resource stay for other kinds.
        let others_of_group: Vec<String> = groups.iter().filter(|group| *group != kind.group()).cloned().collect();
        if !rest.is_empty() {
            others.push(with(&groups, &rest));
        }
        let wide: Vec<String> = ours.iter().filter(|resource| resource.starts_with('*')).cloned().collect();
        if !wide.is_empty() {
            is_wide = true;
            others.push(with(&groups, &wide));
        } else if !ours.is_empty() && !others_of_group.is_empty() {
            is_wide |= groups.iter().any(|group| group == "*");
            others.push(with(&others_of_group, &ours));
        }
    }
    let part = |rules: Vec<Value>| {
        let mut webhook = webhook.clone();
        set(&mut webhook, "rules", Value::Array(rules));
        webhook
    };
    let own = (!own.is_empty()).then(|| part(own));
    let others = (!others.is_empty()).then(|| {
        let mut others = part(others);
        if is_wide {
            let [group, plural] = [kind.group(), kind.plural()].map(literal);
            let expression = format!("request.resource.group != {group} || request.resource.resource != {plural}");
            condition(&mut others, "pointsman-other-kinds", &expression);
        }
        others
    });
    (own, others)
}

/// The resource of a rule, limited to the kind: `*/status` becomes `things/status`, and `things/*` stays.
fn narrow(kind: &Kind, resource: &str) -> String {
    resource.strip_prefix('*').map_or_else(|| resource.to_owned(), |part| format!("{}{part}", kind.plural()))
}

/// Returns whether the resource of a rule is that of a kind, or a subresource.
fn resource_of(kind: &Kind, resource: &str) -> bool {
    let name = resource.split('/').next().unwrap_or_default();
    name == "*" || name == kind.plural()
}

/// A webhook for the objects of a version, or for objects without a label.
fn selecting(
    kind: &Kind,
    label: Option<&ControllerVersion>,
    webhook: &Value,
    server: &ControllerVersion,
    address: Option<&Address>,
) -> Value {
    let mut webhook = webhook.clone();
    let key = &kind.admission.version_label;
    let requirement = match label {
        Some(version) => json!({"key": key, "operator": "In", "values": [version.as_str()]}),
        None => json!({"key": key, "operator": "DoesNotExist"}),
    };
    let labelled = format!("has(object.metadata.labels) && {} in object.metadata.labels", literal(key));
    let expression = match label {
        Some(version) => format!(
            "object == null || {labelled} && object.metadata.labels[{}] == {}",
            literal(key),
            literal(version.as_str())
        ),
        None => format!("object == null || !({labelled})"),
    };
    let mut selector = webhook.get("objectSelector").cloned().unwrap_or_default();
    let mut requirements = selector.get("matchExpressions").and_then(Value::as_array).cloned().unwrap_or_default();
    requirements.push(requirement);
    set(&mut selector, "matchExpressions", Value::Array(requirements));
    set(&mut webhook, "objectSelector", selector);
    condition(&mut webhook, "pointsman-controller-version", &expression);
    if label.is_none() {
        let name = webhook.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = format!("unlabelled.{name}");
        set(&mut webhook, "name", name.into());
    }
    if let Some(address) = address {
        let mut client = webhook.get("clientConfig").cloned().unwrap_or_default();
        let path = client.pointer("/service/path").and_then(Value::as_str).unwrap_or("/").to_owned();
        if let Some(members) = client.as_object_mut() {
            members.remove("service");
            members.remove("url");
        }
        for (name, value) in address.for_version(server, &path).as_object().into_iter().flatten() {
            set(&mut client, name, value.clone());
        }
        set(&mut webhook, "clientConfig", client);
    }
    webhook
}

fn condition(webhook: &mut Value, name: &str, expression: &str) {
    let mut conditions = webhook.get("matchConditions").and_then(Value::as_array).cloned().unwrap_or_default();
    // Names are unique: a part that was copied for another kind may have conditions already.
    let is_taken = |name: &str| conditions.iter().any(|one| one.get("name").and_then(Value::as_str) == Some(name));
    let more = (2..).map(|number| format!("{name}-{number}"));
    let name = std::iter::once(name.to_owned()).chain(more).find(|name| !is_taken(name));
    conditions.push(json!({"name": name, "expression": expression}));
    set(webhook, "matchConditions", Value::Array(conditions));
}

/// The original with another name and other webhooks, without the members that the API server wrote.
fn configuration(original: &Value, name: &str, webhooks: Vec<Value>) -> Value {
    let kept = |map: &str| {
        let mut entries = original.pointer(&format!("/metadata/{map}")).and_then(Value::as_object).cloned()?;
        entries.remove("kubectl.kubernetes.io/last-applied-configuration");
        (!entries.is_empty()).then_some(Value::Object(entries))
    };
    let mut metadata = json!({"name": name});
    for map in ["labels", "annotations"] {
        if let Some(entries) = kept(map) {
            set(&mut metadata, map, entries);
        }
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": original.get("kind"),
        "metadata": metadata,
        "webhooks": webhooks,
    })
}
