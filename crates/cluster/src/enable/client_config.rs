//! Webhooks of a configuration that change between a Service and a URL.
//!
//! An API server accepts only one form of address, and an apply removes only fields that it alone owns.

use serde_json::{Map, Value, json};

use crate::cluster::MANAGER;

/// Existing webhooks with the other form of address.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClientConfigChange {
    /// A merge patch that adds all desired content. Other content stays.
    pub(super) patch: Value,
    /// Webhooks with an address of another client: name, address and owner.
    pub(super) theirs: Vec<String>,
}

impl ClientConfigChange {
    /// `None` without such webhooks: an apply is sufficient.
    pub(super) fn of(found: &Value, ours: &Value) -> Option<Self> {
        let (there, wanted) = (webhooks(found)?, webhooks(ours)?);
        let ours_of = |there: &Value| wanted.iter().find(|ours| ours.get("name") == there.get("name"));
        let moved = |there: &&Value| ours_of(there).is_some_and(|ours| is_moved(there, ours));
        let moved: Vec<&Value> = there.iter().filter(moved).collect();
        if moved.is_empty() {
            return None;
        }
        let theirs = moved.iter().filter_map(|webhook| theirs(found, webhook)).collect();
        let is_new = |ours: &&Value| !there.iter().any(|there| there.get("name") == ours.get("name"));
        let laid = there.iter().map(|there| ours_of(there).map_or_else(|| there.clone(), |ours| over(there, ours)));
        let webhooks: Vec<Value> = laid.chain(wanted.iter().filter(is_new).cloned()).collect();
        let mut metadata = Map::from_iter([(
            "resourceVersion".to_owned(),
            found.pointer("/metadata/resourceVersion").cloned().unwrap_or_default(),
        )]);
        for members in ["labels", "annotations"] {
            let ours = ours.pointer(&format!("/metadata/{members}"));
            metadata.extend(ours.map(|ours| (members.to_owned(), ours.clone())));
        }
        Some(Self { patch: json!({"metadata": metadata, "webhooks": webhooks}), theirs })
    }
}

fn webhooks(document: &Value) -> Option<&Vec<Value>> {
    document.get("webhooks")?.as_array()
}

/// The address of a webhook.
fn address(webhook: &Value) -> Option<(&'static str, &Value)> {
    ["url", "service"].into_iter().find_map(|name| Some((name, webhook.pointer(&format!("/clientConfig/{name}"))?)))
}

fn is_moved(there: &Value, ours: &Value) -> bool {
    address(there).zip(address(ours)).is_some_and(|((there, _), (ours, _))| there != ours)
}

/// Merges the desired webhook into an existing one, by the rules of apply.
fn over(there: &Value, ours: &Value) -> Value {
    let mut webhook = there.clone();
    if is_moved(there, ours)
        && let Some((name, _)) = address(there)
        && let Some(client) = webhook.get_mut("clientConfig").and_then(Value::as_object_mut)
    {
        client.remove(name);
    }
    lay(&mut webhook, ours, &["clientConfig", "service"]);
    let conditions = named(there.get(CONDITIONS), ours.get(CONDITIONS));
    if let (Some(conditions), Some(webhook)) = (conditions, webhook.as_object_mut()) {
        webhook.insert(CONDITIONS.to_owned(), conditions);
    }
    webhook
}

/// Merges lists by name: desired entries replace existing ones of the same name, as in apply.
fn named(theirs: Option<&Value>, ours: Option<&Value>) -> Option<Value> {
    let (theirs, ours) = (theirs?.as_array()?, ours?.as_array()?);
    let of = |name: Option<&Value>, all: &[Value]| all.iter().find(|one| one.get("name") == name).cloned();
    let stay = theirs.iter().map(|one| of(one.get("name"), ours).unwrap_or_else(|| one.clone()));
    let new = ours.iter().filter(|one| of(one.get("name"), theirs).is_none()).cloned();
    Some(stay.chain(new).collect())
}

const CONDITIONS: &str = "matchConditions";

/// Merges members: desired ones replace existing ones, `granular` ones recursively.
fn lay(there: &mut Value, ours: &Value, granular: &[&str]) {
    let (Value::Object(there), Value::Object(ours)) = (there, ours) else { return };
    for (name, value) in ours {
        match there.get_mut(name).filter(|there| there.is_object() && granular.contains(&name.as_str())) {
            Some(there) => lay(there, value, granular),
            None => drop(there.insert(name.clone(), value.clone())),
        }
    }
}

/// The owner and address of a webhook, unless pointsman alone owns it.
fn theirs(found: &Value, webhook: &Value) -> Option<String> {
    let name = webhook.get("name")?.as_str()?;
    let (field, place) = address(webhook)?;
    let key = format!("k:{}", json!({"name": name}));
    let entries = found.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let owns = |entry: &&Value| {
        let client =
            entry.get("fieldsV1").and_then(|fields| fields.get("f:webhooks")?.get(&key)?.get("f:clientConfig"));
        client.is_some_and(|client| client.get(format!("f:{field}")).is_some())
    };
    let mut owners: Vec<&str> =
        entries.filter(owns).filter_map(|entry| entry.get("manager").and_then(Value::as_str)).collect();
    owners.dedup();
    let text = |pointer: &str| place.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let place = match place.as_str() {
        Some(url) => url.to_owned(),
        None => format!("the Service {}/{}", text("/namespace"), text("/name")),
    };
    match owners.as_slice() {
        [MANAGER] => None,
        [] => Some(format!("webhook {name} leads to {place}")),
        owners => Some(format!("webhook {name} points to {place}, according to {}", owners.join(" and "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(version: &str, webhooks: Value) -> Value {
        json!({"metadata": {"name": "c", "resourceVersion": version}, "webhooks": webhooks})
    }

    #[test]
    fn foreign_webhook_fields_are_kept() {
        let selector = json!({"matchLabels": {"theirs": "yes"}});
        let url = json!({"url": "https://h/validate", "caBundle": "Y2E="});
        let found = configuration(
            "3",
            json!([
                {"name": "theirs", "clientConfig": {"url": "https://theirs"}},
                {
                    "name": "a", "clientConfig": url, "namespaceSelector": selector, "failurePolicy": "Ignore", "rules": [1, 2],
                    "matchConditions": [{"name": "theirs", "expression": "1"}, {"name": "both", "expression": "1"}],
                },
                {"name": "b", "clientConfig": {"service": {"name": "s", "port": 8443}}},
            ]),
        );
        let mut ours = configuration(
            "",
            json!([
                {
                    "name": "a", "clientConfig": {"service": {"name": "s"}}, "failurePolicy": "Fail", "rules": [1],
                    "matchConditions": [{"name": "ours", "expression": "2"}, {"name": "both", "expression": "2"}],
                },
                {"name": "b", "clientConfig": {"service": {"name": "t"}}},
                {"name": "new", "clientConfig": {"service": {"name": "s"}}},
            ]),
        );
        ours["metadata"] = json!({"name": "c", "labels": {"l": "ours"}});
        let patch = ClientConfigChange::of(&found, &ours).unwrap().patch;
        assert_eq!(patch["metadata"], json!({"resourceVersion": "3", "labels": {"l": "ours"}}));
        let client = json!({"service": {"name": "s"}, "caBundle": "Y2E="});
        assert_eq!(
            patch["webhooks"],
            json!([
                {"name": "theirs", "clientConfig": {"url": "https://theirs"}},
                {
                    "name": "a", "clientConfig": client, "namespaceSelector": selector, "failurePolicy": "Fail", "rules": [1],
                    "matchConditions": [
                        {"name": "theirs", "expression": "1"}, {"name": "both", "expression": "2"},
                        {"name": "ours", "expression": "2"},
                    ],
                },
                {"name": "b", "clientConfig": {"service": {"name": "t", "port": 8443}}},
                {"name": "new", "clientConfig": {"service": {"name": "s"}}},
            ])
        );
        assert_eq!(
            ClientConfigChange::of(&configuration("4", patch["webhooks"].clone()), &ours),
            None,
            "it is led here now"
        );
    }

    #[test]
    fn single_address_needs_only_apply() {
        let url = |url: &str| configuration("1", json!([{"name": "a", "clientConfig": {"url": url}}]));
        let service = configuration("1", json!([{"name": "a", "clientConfig": {"service": {"name": "s"}}}]));
        assert!(
            ClientConfigChange::of(&url("https://a"), &service).is_some()
                && ClientConfigChange::of(&service, &url("https://a")).is_some()
        );
        assert_eq!(ClientConfigChange::of(&url("https://a"), &url("https://b")), None);
        assert_eq!(
            ClientConfigChange::of(&url("https://a"), &configuration("1", json!([{"name": "a"}]))),
            None,
            "no address of ours"
        );
        assert_eq!(ClientConfigChange::of(&json!({"spec": {}}), &json!({"spec": {}})), None);
    }

    #[test]
    fn redirecting_manager_is_named() {
        let service = configuration("1", json!([{"name": "a", "clientConfig": {"service": {"name": "s"}}}]));
        let owned = |managers: &[&str]| {
            let mut found = configuration("1", json!([{"name": "a", "clientConfig": {"url": "https://h"}}]));
            let entry = |manager: &&str| {
                let client = json!({"f:clientConfig": {"f:url": {}}});
                json!({"manager": manager, "fieldsV1": {"f:webhooks": {"k:{\"name\":\"a\"}": client}}})
            };
            found["metadata"]["managedFields"] = managers.iter().map(entry).collect();
            ClientConfigChange::of(&found, &service).unwrap().theirs
        };
        assert_eq!(owned(&["flux", "helm"]), ["webhook a points to https://h, according to flux and helm"]);
        assert_eq!(
            owned(&[MANAGER, "flux"]),
            [format!("webhook a points to https://h, according to {MANAGER} and flux")]
        );
        assert_eq!(owned(&[]), ["webhook a leads to https://h"]);
        assert_eq!(owned(&[MANAGER]), [""; 0], "what we applied and patched is ours");
        assert_eq!(owned(&[MANAGER, MANAGER]), [""; 0]);
    }
}
