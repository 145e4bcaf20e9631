//! Which objects a stage is about.

use std::collections::BTreeMap;

use crate::apimachinery::Selector;
use crate::json::Json;

/// Which objects of the kind a stage is about. What is not said does not count, but that a stage which names no
/// namespaces is not about the one of the cluster itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct MutationSelection {
    pub(crate) names: Vec<String>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) labels: Selector,
}

impl MutationSelection {
    /// Whether an object is selected, as it is now.
    pub(crate) fn matches(&self, object: &Json<'_>) -> bool {
        let (namespace, name) = namespace_and_name(object);
        let is_named = self.names.is_empty() || self.names.contains(&name);
        let is_there = match self.namespaces.as_slice() {
            [] => namespace != SYSTEM_NAMESPACE,
            all => all.contains(&namespace),
        };
        is_named && is_there && self.has_labels(object)
    }

    fn has_labels(&self, object: &Json<'_>) -> bool {
        if self.labels.is_everything() {
            return true;
        }
        let labels = object.look(&["metadata", "labels"]);
        let labels: BTreeMap<String, String> = labels
            .iter()
            .flat_map(Json::members)
            .filter_map(|(key, value)| Some((key.into_owned(), value.as_str()?.into_owned())))
            .collect();
        self.labels.matches(&labels)
    }

    /// Whether one object may be selected by both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let share = |one: &[String], two: &[String]| {
            one.is_empty() || two.is_empty() || one.iter().any(|name| two.contains(name))
        };
        share(&self.names, &other.names) && share(&self.namespaces, &other.namespaces)
    }
}

/// Namespace and name of an object; empty where it has none. A namespace counts as being in itself, as it does for the
/// namespace selectors of webhooks.
pub(crate) fn namespace_and_name(object: &Json<'_>) -> (String, String) {
    let text = |way: &[&str]| object.look(way).and_then(|text| Some(text.as_str()?.into_owned())).unwrap_or_default();
    let name = text(&["metadata", "name"]);
    match (text(&["apiVersion"]).as_str(), text(&["kind"]).as_str()) {
        ("v1", "Namespace") => (name.clone(), name),
        _ => (text(&["metadata", "namespace"]), name),
    }
}

/// What runs the cluster is here.
pub(crate) const SYSTEM_NAMESPACE: &str = "kube-system";
