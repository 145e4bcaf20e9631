//! The object selection of a mutation.

use std::collections::BTreeMap;

use crate::apimachinery::Selector;
use crate::json::Json;

/// The objects of the kind that a mutation selects. Absent criteria match everything, except that objects in
/// `kube-system` must be selected by namespace.
#[derive(Clone, Debug, Default)]
pub struct MutationSelection {
    pub(crate) names: Vec<String>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) labels: Selector,
}

impl MutationSelection {
    /// Returns whether an object is selected in its current state.
    pub fn matches(&self, object: &Json<'_>) -> bool {
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
        let labels = object.get_path(&["metadata", "labels"]);
        let labels: BTreeMap<String, String> = labels
            .iter()
            .flat_map(Json::members)
            .filter_map(|(key, value)| Some((key.into_owned(), value.as_str()?.into_owned())))
            .collect();
        self.labels.matches(&labels)
    }

    /// Returns whether both may select the same object.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let share = |one: &[String], two: &[String]| {
            one.is_empty() || two.is_empty() || one.iter().any(|name| two.contains(name))
        };
        share(&self.names, &other.names) && share(&self.namespaces, &other.namespaces)
    }
}

/// Namespace and name of an object, empty if absent. A Namespace counts as part of itself, as for the namespace
/// selectors of webhooks.
pub(crate) fn namespace_and_name(object: &Json<'_>) -> (String, String) {
    let text =
        |way: &[&str]| object.get_path(way).and_then(|text| Some(text.as_str()?.into_owned())).unwrap_or_default();
    let name = text(&["metadata", "name"]);
    match (text(&["apiVersion"]).as_str(), text(&["kind"]).as_str()) {
        ("v1", "Namespace") => (name.clone(), name),
        _ => (text(&["metadata", "namespace"]), name),
    }
}

/// The namespace of the cluster's own components.
pub(crate) const SYSTEM_NAMESPACE: &str = "kube-system";
