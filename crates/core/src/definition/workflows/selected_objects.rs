//! Steps about objects that a list or names find, in any namespace, and some of them in another cluster.

use super::step_place::StepPlace;
use crate::apimachinery::ResourceName;
use crate::definition::gates::Gate;

/// All objects of a list, of each of which something has to hold.
#[derive(Clone, Debug)]
pub(crate) struct ListWait {
    pub(crate) resource: ResourceName,
    pub(crate) place: StepPlace,
    pub(crate) every: Gate,
}

/// Objects that go, by their names.
#[derive(Clone, Debug)]
pub(crate) struct NamedDeletion {
    pub(crate) resource: ResourceName,
    pub(crate) names: Vec<String>,
    pub(crate) place: StepPlace,
    /// One of which this does not hold is left alone.
    pub(crate) when: Option<Gate>,
}

/// Objects that are written once more, with nothing, so that a stage sees them.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    pub(crate) resource: ResourceName,
    pub(crate) names: Vec<String>,
    pub(crate) place: StepPlace,
    /// The stage, of a definition of stages of that resource.
    pub(crate) mutation: String,
}

/// A list that has to have something in it.
#[derive(Clone, Debug)]
pub(crate) struct IfAny {
    pub(crate) resource: ResourceName,
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
