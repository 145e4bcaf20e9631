//! Steps on objects that are selected by a list or by names, in any namespace, possibly in another cluster.

use super::step_place::StepPlace;
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::Gate;

/// A wait for every object of a list.
#[derive(Clone, Debug)]
pub(crate) struct ListWait {
    /// The resource of the objects.
    pub(crate) resource: ResourceName,
    /// The namespace and cluster of the objects.
    pub(crate) place: StepPlace,
    /// The gate that every object must pass.
    pub(crate) every: Gate,
}

/// A deletion by name.
#[derive(Clone, Debug)]
pub(crate) struct NamedDeletion {
    /// The resource of the objects.
    pub(crate) resource: ResourceName,
    /// The names of the objects.
    pub(crate) names: Vec<String>,
    /// The namespace and cluster of the objects.
    pub(crate) place: StepPlace,
    /// Objects that do not meet this condition are left unchanged.
    pub(crate) when: Option<Gate>,
}

/// Writes objects without changes, so that a mutation processes them.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    /// The resource of the objects.
    pub(crate) resource: ResourceName,
    /// The names of the objects.
    pub(crate) names: Vec<String>,
    /// The namespace and cluster of the objects.
    pub(crate) place: StepPlace,
    /// The mutation, from the definition of that resource.
    pub(crate) mutation: String,
}

/// A list that must not be empty.
#[derive(Clone, Debug)]
pub(crate) struct IfAny {
    /// The resource of the objects.
    pub(crate) resource: ResourceName,
    /// The namespace and cluster of the objects.
    pub(crate) place: StepPlace,
}

impl ListWait {
    pub(super) fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        Self { every: self.every.filled(fill), ..self.clone() }
    }
}

impl NamedDeletion {
    pub(super) fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        Self { when: self.when.as_ref().map(|when| when.filled(fill)), ..self.clone() }
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).chain(self.place.texts()).collect()
    }
}

impl Touch {
    pub(super) fn texts(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).chain(self.place.texts()).collect()
    }
}
