//! Steps that look at, or write, other objects than the one that a roll is about.

use std::collections::BTreeMap;
use std::time::Duration;

use super::step_object::StepObject;
use crate::apimachinery::ResourceName;
use crate::definition::gates::Gate;

/// Such a step, and how long it may take.
#[derive(Clone, Debug)]
pub(crate) struct BesideStep {
    pub(crate) act: BesideAct,
    pub(crate) timeout: Option<Duration>,
}

/// What it does.
#[derive(Clone, Debug)]
pub(crate) enum BesideAct {
    /// Nothing, until this holds of another object.
    Wait { on: StepObject, until: WaitedFor },
    /// The object of the other kind is made.
    Convert,
    /// A Deployment is made anew with another selector, and no Pod of it is lost.
    Recreate(Box<Recreation>),
    /// What belongs to the object belongs to what it has become.
    Adopt(Vec<ResourceName>),
    /// Objects with such labels go, in which `{name}` and the like are filled in.
    DeleteLabelled { resource: ResourceName, labels: String },
    /// The object itself goes, and nothing goes with it.
    DeleteSource,
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
}

impl BesideAct {
    pub(super) fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Wait { on, until: WaitedFor::Gate(gate) } => {
                Self::Wait { on: on.clone(), until: WaitedFor::Gate(gate.filled(fill)) }
            }
            other => other.clone(),
        }
    }

    /// Texts that are filled in for each object.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Wait { on: StepObject::Named { name, .. }, .. } => vec![name],
            Self::Recreate(recreation) => {
                let values = recreation.selector.values().map(String::as_str);
                values.chain([recreation.name.as_str()]).collect()
            }
            Self::DeleteLabelled { labels, .. } => vec![labels],
            Self::Wait { .. } | Self::Convert | Self::Adopt(_) | Self::DeleteSource => Vec::new(),
        }
    }

    /// Whether it is about two kinds, of which one becomes the other.
    pub(super) fn is_of_two_kinds(&self) -> bool {
        match self {
            Self::Wait { on, .. } => *on == StepObject::Target,
            Self::Convert | Self::Adopt(_) | Self::DeleteSource => true,
            Self::Recreate(_) | Self::DeleteLabelled { .. } => false,
        }
    }

    /// Whether going back takes writes: of others nothing is there to undo.
    pub(crate) fn is_undone_by_writes(&self) -> bool {
        matches!(self, Self::Convert | Self::Recreate(_) | Self::Adopt(_))
    }
}
