//! What whoever runs a roll has to look up in the cluster.

use serde_json::Value;

use crate::definition::ListCheck;
use crate::definition::admission::Prerequisites;

/// Objects to look up. What is found has to be told to [`super::RollAnswers`], and so has what cannot be read: what
/// nobody answers does not hold.
#[derive(Clone, Debug)]
pub struct RollQuestion {
    pub(super) about: About,
    /// How what is found is judged.
    pub(super) looked_for: LookedFor,
    /// Their plural.
    pub plural: String,
    /// Their group; empty for the first resources of Kubernetes.
    pub group: String,
    /// Their namespace; without one those of all, or of none.
    pub namespace: Option<String>,
    /// Which of them.
    pub wanted: WantedObjects,
}

/// Which objects are looked up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WantedObjects {
    /// Those with such labels, as `kubectl -l` takes them; all where it is empty.
    Labelled(String),
    /// The one of this name.
    Named(String),
}

/// What an answer is for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum About {
    /// A check while objects are moved, by its name.
    During(String),
    /// What a version needs, by its id.
    Need(String),
    /// A check before it begins, by its name.
    Start(String),
}

/// What is looked for in objects that are found.
#[derive(Clone, Debug)]
pub(super) enum LookedFor {
    /// What is not as it should be.
    Faults(ListCheck),
    /// What they say of their state.
    State(Prerequisites),
}

impl RollQuestion {
    /// About objects of a check.
    pub(super) fn of_list(about: About, list: &ListCheck) -> Self {
        Self {
            about,
            plural: list.resource.plural.clone(),
            group: list.resource.group.clone(),
            namespace: list.namespace.clone(),
            wanted: WantedObjects::Labelled(list.labels.to_string()),
            looked_for: LookedFor::Faults(list.clone()),
        }
    }

    /// About what a version needs, by its id.
    pub(super) fn of_need(id: &str, place: &Prerequisites) -> Self {
        Self {
            about: About::Need(id.to_owned()),
            plural: place.resource.plural.clone(),
            group: place.resource.group.clone(),
            namespace: place.namespace.clone(),
            wanted: WantedObjects::Named(place.name_of(id)),
            looked_for: LookedFor::State(place.clone()),
        }
    }
}

/// What people call an object: `namespace/name`.
pub(super) fn title(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let name = text("/metadata/name").unwrap_or("an object without a name");
    match text("/metadata/namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}
