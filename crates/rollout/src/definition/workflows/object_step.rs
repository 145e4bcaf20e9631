//! Steps that read or write other objects than the object of the rollout.

use std::collections::BTreeMap;
use std::time::Duration;

use super::selected_objects::{ListWait, NamedDeletion, Touch};
use super::step_object::StepObject;
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::Gate;

/// A step on other objects, with its time limit.
#[derive(Clone, Debug)]
pub(crate) struct ObjectStep {
    /// The action.
    pub(crate) act: ObjectAction,
    pub(crate) timeout: Option<Duration>,
}

/// The action of the step.
#[derive(Clone, Debug)]
pub(crate) enum ObjectAction {
    /// Waits until a condition holds for another object.
    Wait {
        /// The object.
        on: StepObject,
        /// The condition.
        until: WaitedFor,
    },
    /// Waits until a condition holds for every object of a list, possibly in another cluster.
    WaitForAll(Box<ListWait>),
    /// Creates the object of the other kind.
    Convert,
    /// Recreates a Deployment with another selector, without loss of Pods.
    Recreate(Box<Recreation>),
    /// Moves the dependents of the object to its replacement.
    Adopt(Vec<ResourceName>),
    /// Deletes objects with these labels. The labels may contain placeholders such as `{name}`.
    DeleteLabelled {
        /// The resource of the objects.
        resource: ResourceName,
        /// Their labels, as a selector.
        labels: String,
    },
    /// Deletes objects by name, possibly in another cluster.
    DeleteNamed(Box<NamedDeletion>),
    /// Deletes the object itself, and orphans its dependents.
    DeleteSource,
    /// Writes objects without changes until a mutation has processed them.
    Readmit(Box<Touch>),
}

/// The condition of a wait.
#[derive(Clone, Debug)]
pub(crate) enum WaitedFor {
    /// A gate.
    Gate(Gate),
    /// All Pods of a Deployment have the latest template and are available.
    RolledOut,
}

/// A Deployment that is recreated.
#[derive(Clone, Debug)]
pub(crate) struct Recreation {
    /// The resource of the objects.
    pub(crate) resource: ResourceName,
    /// Its name, with placeholders such as `{name}`.
    pub(crate) name: String,
    /// The labels of the new selector.
    pub(crate) selector: BTreeMap<String, String>,
    /// The labels of the old selector, for objects that are recreated from their replacement. The saved Deployment no
    /// longer exists by then. Empty if not specified.
    pub(crate) was: BTreeMap<String, String>,
}

impl ObjectAction {
    pub(super) fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Wait { on, until: WaitedFor::Gate(gate) } => {
                Self::Wait { on: on.clone(), until: WaitedFor::Gate(gate.filled(fill)) }
            }
            Self::WaitForAll(wait) => Self::WaitForAll(Box::new(wait.filled(fill))),
            Self::DeleteNamed(deletion) => Self::DeleteNamed(Box::new(deletion.filled(fill))),
            other => other.clone(),
        }
    }

    /// The texts with placeholders for each object.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Wait { on: StepObject::Named { name, .. }, .. } => vec![name],
            Self::Recreate(recreation) => {
                let values = recreation.selector.values().chain(recreation.was.values()).map(String::as_str);
                values.chain([recreation.name.as_str()]).collect()
            }
            Self::DeleteLabelled { labels, .. } => vec![labels],
            Self::WaitForAll(wait) => wait.place.texts(),
            Self::DeleteNamed(deletion) => deletion.texts(),
            Self::Readmit(readmission) => readmission.texts(),
            Self::Wait { .. } | Self::Convert | Self::Adopt(_) | Self::DeleteSource => Vec::new(),
        }
    }

    /// Returns whether the action concerns a kind conversion.
    pub(super) fn is_of_two_kinds(&self) -> bool {
        match self {
            Self::Wait { on, .. } => *on == StepObject::Target,
            Self::Convert | Self::Adopt(_) | Self::DeleteSource => true,
            Self::Recreate(_)
            | Self::DeleteLabelled { .. }
            | Self::WaitForAll(_)
            | Self::DeleteNamed(_)
            | Self::Readmit(_) => false,
        }
    }

    /// Returns whether its objects are in the namespace of the object of the rollout.
    pub(super) fn is_of_namespace(&self) -> bool {
        !matches!(self, Self::WaitForAll(_) | Self::DeleteNamed(_) | Self::Readmit(_))
    }

    /// Returns whether the action only waits.
    pub(crate) fn is_wait(&self) -> bool {
        matches!(self, Self::Wait { .. } | Self::WaitForAll(_))
    }

    /// Returns whether the revert needs writes. Other actions need no revert.
    pub(crate) fn is_undone_by_writes(&self) -> bool {
        matches!(self, Self::Convert | Self::Recreate(_) | Self::Adopt(_))
    }
}
