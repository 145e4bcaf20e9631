//! One Kubernetes object.

use pointsman_core::webhook::INCOMPLETE;

use crate::{commands::json_tree::JsonTree, terminal::escaped};

/// An object as JSON text, with its identity.
pub(crate) struct InputObject {
    /// The place: file, document, item.
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

impl InputObject {
    /// `namespace/name`, as far as present.
    pub(crate) fn name(&self) -> String {
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
            (None, Some(name)) => name.clone(),
            (_, None) => "(no name)".to_owned(),
        }
    }

    /// Place, kind and name, for messages.
    pub(crate) fn label(&self) -> String {
        escaped(&format!("{}: {} {}", self.place, self.kind, self.name()))
    }

    /// Returns whether the object is marked as incomplete: it was read at a version at which a value was too large.
    pub(crate) fn is_incomplete(&self) -> bool {
        // A text search first, because most objects have no such annotation.
        let json = self.text.contains(INCOMPLETE).then(|| JsonTree::from_json(&self.text).ok()).flatten();
        let marked = json.as_ref().and_then(|json| json.get("metadata")?.get("annotations")?.get(INCOMPLETE));
        marked.is_some()
    }

    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    pub(crate) fn version(&self) -> &str {
        self.api_version.rsplit('/').next().unwrap_or_default()
    }

    /// Extracts the identity of an object.
    pub(crate) fn read(place: String, json: &JsonTree) -> Result<Self, String> {
        let JsonTree::Object(_) = json else {
            return Err(format!("{place}: not an object: a Kubernetes object is a map with apiVersion and kind"));
        };
        let string = |name: &str| json.get(name).and_then(JsonTree::as_str).filter(|text| !text.is_empty());
        let in_metadata = |name: &str| json.get("metadata")?.get(name)?.as_str().filter(|text| !text.is_empty());
        let name = in_metadata("name").map(str::to_owned);
        let name = name.or_else(|| in_metadata("generateName").map(|prefix| format!("{prefix}*")));
        // An API server decodes these as strings, and rejects other types. `namespace: n` is false in YAML 1.1.
        for member in ["name", "namespace", "generateName"] {
            let value = json.get("metadata").and_then(|metadata| metadata.get(member));
            if let Some(value) = value.filter(|value| !matches!(value, JsonTree::String(_) | JsonTree::Null)) {
                return Err(format!(
                    "{place}: metadata.{member} is {value} and must be a string: quote the value (YAML reads y, \
                         n, yes, no, on and off as booleans)"
                ));
            }
        }
        let missing: Vec<&str> = ["apiVersion", "kind"].into_iter().filter(|name| string(name).is_none()).collect();
        let (Some(api_version), Some(kind)) = (string("apiVersion"), string("kind")) else {
            let named = name.map(|name| format!(" (metadata.name: {name})")).unwrap_or_default();
            return Err(format!(
                "{place}: no {}{named}: every object needs both apiVersion and kind",
                missing.join(" and no ")
            ));
        };
        Ok(Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: in_metadata("namespace").map(str::to_owned),
            name,
            place,
            text: json.to_string(),
        })
    }
}
