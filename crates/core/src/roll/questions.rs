//! What whoever runs a roll has to look up in the cluster.

use serde_json::Value;

use crate::definition::admission::Prerequisites;
use crate::definition::{JobSource, ListCheck};

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
    /// The Job of a step, by namespace and name.
    Job(String),
    /// What a version needs, by its id.
    Need(String),
    /// A check before it begins, by its name.
    Start(String),
    /// The ConfigMap that holds the manifest of a Job, by namespace and name.
    Template(String),
}

/// What is looked for in objects that are found.
#[derive(Clone, Debug)]
pub(super) enum LookedFor {
    /// What is not as it should be.
    Faults(ListCheck),
    /// What they say of their state.
    State(Prerequisites),
    /// All that they say.
    Whole,
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

    /// About a Job, by namespace and name.
    pub(super) fn of_job(title: &str) -> Self {
        let (namespace, name) = title.split_once('/').unwrap_or(("", title));
        Self::of_one(Self::about_job(title), ("jobs", "batch"), namespace, name)
    }

    /// What the answer is for that says how a Job stands.
    pub(super) fn about_job(title: &str) -> About {
        About::Job(title.to_owned())
    }

    /// About the ConfigMap that holds the manifest of a Job.
    pub(super) fn of_template(namespace: &str, name: &str) -> Self {
        Self::of_one(Self::about_template(&format!("{namespace}/{name}")), ("configmaps", ""), namespace, name)
    }

    /// The same of where a manifest is; nothing where it is in the definition.
    pub(super) fn of_template_of(source: &JobSource) -> Option<Self> {
        match source {
            JobSource::Template { namespace, name } => Some(Self::of_template(namespace, name)),
            JobSource::Inline { .. } => None,
        }
    }

    /// What the answer is for that holds such a manifest.
    pub(super) fn about_template(title: &str) -> About {
        About::Template(title.to_owned())
    }

    fn of_one(about: About, (plural, group): (&str, &str), namespace: &str, name: &str) -> Self {
        Self {
            about,
            looked_for: LookedFor::Whole,
            plural: plural.to_owned(),
            group: group.to_owned(),
            namespace: Some(namespace.to_owned()),
            wanted: WantedObjects::Named(name.to_owned()),
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
