//! Steps that look at, or write, other objects than the one that a rollout is about.

use std::collections::BTreeMap;
use std::time::Duration;

use super::step_object::StepObject;
use super::selected_objects::{ListWait, NamedDeletion, Touch};
use crate::apimachinery::ResourceName;
use crate::definition::gates::Gate;

/// Such a step, and how long it may take.
#[derive(Clone, Debug)]
pub(crate) struct ObjectStep {
    pub(crate) act: ObjectAction,
    pub(crate) timeout: Option<Duration>,
}

/// What it does.
#[derive(Clone, Debug)]
pub(crate) enum ObjectAction {
    /// Nothing, until this holds of another object.
    Wait { on: StepObject, until: WaitedFor },
    /// Nothing, until something holds of every object of a list, which may be in another cluster.
    WaitForAll(Box<ListWait>),
    /// The object of the other kind is made.
    Convert,
    /// A Deployment is made anew with another selector, and no Pod of it is lost.
    Recreate(Box<Recreation>),
    /// What belongs to the object belongs to what it has become.
    Adopt(Vec<ResourceName>),
    /// Objects with such labels go, in which `{name}` and the like are filled in.
    DeleteLabelled { resource: ResourceName, labels: String },
    /// Objects with these names go, which may be in another cluster.
    DeleteNamed(Box<NamedDeletion>),
    /// The object itself goes, and nothing goes with it.
    DeleteSource,
    /// Objects are written once more, with nothing, until a stage has seen them.
    Readmit(Box<Touch>),
}

/// What holds of another object.
#[derive(Clone, Debug)]
pub(crate) enum WaitedFor {
    /// This.
    Gate(Gate),
    /// All Pods of a Deployment are of its last template, and available.
    RolledOut,
}

/// A Deployment that is made anew.
#[derive(Clone, Debug)]
pub(crate) struct Recreation {
    pub(crate) resource: ResourceName,
    /// Its name, with `{name}` and the like in it.
    pub(crate) name: String,
    /// The labels that it selects its Pods by afterwards.
    pub(crate) selector: BTreeMap<String, String>,
    /// Those that it selects them by before, for objects that are made anew of what they have become: what was saved of
    /// the Deployment is gone by then. Empty where nobody says so.
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

    /// Texts that are filled in for each object.
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

    /// Whether it is about two kinds, of which one becomes the other.
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

    /// Whether its objects are in the namespace of the object that the rollout is about.
    pub(super) fn is_of_namespace(&self) -> bool {
        !matches!(self, Self::WaitForAll(_) | Self::DeleteNamed(_) | Self::Readmit(_))
    }

    /// Whether it does nothing but wait.
    pub(crate) fn is_wait(&self) -> bool {
        matches!(self, Self::Wait { .. } | Self::WaitForAll(_))
    }

    /// Whether going back takes writes: of others nothing is there to undo.
    pub(crate) fn is_undone_by_writes(&self) -> bool {
        matches!(self, Self::Convert | Self::Recreate(_) | Self::Adopt(_))
    }
}
