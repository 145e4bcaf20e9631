//! Which objects a stage is about.

use std::collections::BTreeMap;

use crate::apimachinery::Selector;
use crate::json::Json;

/// Which objects of the kind a stage is about. What is not said does not count.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageSelection {
    pub(crate) names: Vec<String>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) labels: Selector,
}

impl StageSelection {
    /// Whether an object is selected, as it is now.
    pub(crate) fn matches(&self, object: &Json<'_>) -> bool {
        let is_in = |all: &[String], member: &str| {
            let found = object.look(&["metadata", member]);
            let text = found.as_ref().and_then(Json::as_str).unwrap_or_default();
            all.is_empty() || all.iter().any(|one| *one == text)
        };
        is_in(&self.names, "name") && is_in(&self.namespaces, "namespace") && self.has_labels(object)
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
