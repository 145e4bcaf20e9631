//! The progress of a step, given its observed objects, and the next change of the object of the rollout.

use super::context::StepContext;
use super::objects::observed_object::{ObservedObject, observed};
use super::writes::job_write::JobWrite;
use super::writes::object_write::{
    ObjectCall, ObjectWrite, PreconditionObject, Propagation, Replacement, ReplacementObject,
};
use super::writes::patch::ObjectPatch;
use crate::lookup::request::{LookupRequest, PairedKind, ResolvedLocation};
use crate::lookup::results::LookupResults;
use crate::spec::kinds::SourceAndTargetKind;
use pointsman_core::apimachinery::ResourceName;
use serde_json::Value;

/// The progress of a step that is being applied or reverted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepOutcome {
    /// Applied, or reverted.
    Done,
    /// Was applied already: a revert has no effect.
    ByHand,
    /// The next call.
    Next(Box<ObjectWrite>),
    /// Waits, with the reason.
    Waits(String),
    /// Waits for another, unreachable cluster, with the reason. No timeout applies: the object has no problem.
    Away(String),
    /// Needs manual action, with the reason.
    Stuck(String),
}

/// The reason not to begin a workflow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PreflightFailure {
    /// Permanent.
    Refused(String),
    /// Temporary.
    Waits(String),
}

impl PreflightFailure {
    /// The message.
    pub(super) fn into_why(self) -> String {
        match self {
            Self::Refused(why) | Self::Waits(why) => why,
        }
    }
}

/// A step of an object, with lookup results about other objects.
#[derive(Clone, Copy)]
pub(crate) struct ObjectStepInput<'a> {
    pub(crate) context: StepContext<'a>,
    /// The index of the step.
    pub(crate) step: usize,
    pub(crate) answers: &'a LookupResults,
}

impl<'a> ObjectStepInput<'a> {
    pub(super) fn namespace(self) -> Option<&'a str> {
        self.context.object.namespace()
    }

    /// The location of the object.
    fn home(self) -> ResolvedLocation {
        ResolvedLocation { cluster: None, namespace: self.namespace().map(str::to_owned) }
    }

    /// The uid of the rollout's object.
    pub(super) fn uid(self) -> &'a str {
        self.context.object.uid()
    }

    /// The source and target kind.
    pub(super) fn pair(self) -> Option<&'a SourceAndTargetKind> {
        self.context.rollout.pair.as_deref()
    }

    /// The observed state of one object.
    pub(super) fn observed(self, lookup: &LookupRequest) -> ObservedObject<'a> {
        observed(self.answers, lookup)
    }

    /// The outcome of a failed lookup: an unreachable cluster is no problem of the object.
    pub(super) fn unknown(self, lookup: &LookupRequest, why: String) -> StepOutcome {
        if lookup.cluster.is_some() { StepOutcome::Away(why) } else { StepOutcome::Waits(why) }
    }

    /// A call for an object.
    pub(super) fn next(
        self,
        resource: &ResourceName,
        version: Option<&str>,
        name: &str,
        call: ObjectCall,
    ) -> StepOutcome {
        self.next_at(&self.home(), (resource, version), name, call)
    }

    /// A call for an object at any location.
    pub(super) fn next_at(
        self,
        place: &ResolvedLocation,
        (resource, version): (&ResourceName, Option<&str>),
        name: &str,
        call: ObjectCall,
    ) -> StepOutcome {
        StepOutcome::Next(Box::new(ObjectWrite {
            plural: resource.plural.clone(),
            group: resource.group.clone(),
            version: version.map(str::to_owned),
            cluster: place.cluster.clone(),
            namespace: place.namespace.clone(),
            name: name.to_owned(),
            call,
            of: self.context.object.title(),
            uid: self.uid().to_owned(),
        }))
    }

    /// Deletes an object if unchanged.
    pub(super) fn delete(
        self,
        resource: &ResourceName,
        version: Option<&str>,
        object: &Value,
        propagation: Propagation,
    ) -> StepOutcome {
        self.delete_at(&self.home(), (resource, version), object, propagation)
    }

    /// Deletes an object if unchanged, to recreate it under its name; dependents remain.
    pub(super) fn makes_way(
        self,
        resource: &ResourceName,
        object: &Value,
        successor: ReplacementObject,
    ) -> StepOutcome {
        let replacement = Some(Box::new(Replacement::Successor(successor)));
        self.delete_with(&self.home(), (resource, None), object, (Propagation::Orphan, replacement))
    }

    /// Deletes one of two objects if unchanged and if the other one exists; dependents remain.
    pub(super) fn gives_way(
        self,
        (kind, object): (&PairedKind, &Value),
        (other, uid, annotation): (&PairedKind, &str, Option<&str>),
    ) -> StepOutcome {
        // Both have the same name.
        let counterpart = PreconditionObject {
            plural: other.resource.plural.clone(),
            group: other.resource.group.clone(),
            version: other.version().to_owned(),
            name: self.context.object.name().to_owned(),
            uid: uid.to_owned(),
            annotation: annotation.map(|name| (name.to_owned(), self.uid().to_owned())),
        };
        let replacement = Some(Box::new(Replacement::Counterpart(counterpart)));
        let named = (&kind.resource, Some(kind.version()));
        self.delete_with(&self.home(), named, object, (Propagation::Orphan, replacement))
    }

    /// Deletes an object at any location, if unchanged.
    pub(super) fn delete_at(
        self,
        place: &ResolvedLocation,
        named: (&ResourceName, Option<&str>),
        object: &Value,
        propagation: Propagation,
    ) -> StepOutcome {
        self.delete_with(place, named, object, (propagation, None))
    }

    fn delete_with(
        self,
        place: &ResolvedLocation,
        (resource, version): (&ResourceName, Option<&str>),
        object: &Value,
        (propagation, replacement): (Propagation, Option<Box<Replacement>>),
    ) -> StepOutcome {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (uid, resource_version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        let (uid, resource_version) = (uid.to_owned(), resource_version.to_owned());
        if uid.is_empty() || resource_version.is_empty() {
            // Without preconditions, a later object of this name would be deleted.
            return StepOutcome::Waits(format!(
                "{resource} {} has no uid or no resourceVersion",
                text("/metadata/name")
            ));
        }
        let call = ObjectCall::Delete { uid, resource_version, propagation, replacement };
        self.next_at(place, (resource, version), text("/metadata/name"), call)
    }
}

/// The next change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepChange {
    /// None: the object is at its end.
    Landed,
    /// This write.
    Next(StepWrite),
    /// None yet, with the reason. `spent`: its Job has ended and would have to run again.
    Waits { why: String, spent: bool },
    /// None while another cluster is unreachable or a request is unacknowledged, with the reason: no timeout applies.
    Away(String),
    /// None before the rollout is resumed, with the reason.
    Fails(String),
    /// None before an operator has fixed other objects, with the reason.
    Stuck(String),
    /// None: another client changed a field that the rollout wrote.
    Held(String),
}

/// A write that applies or begins a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepWrite {
    Move(ObjectPatch),
    Job(Box<JobWrite>),
    /// A write of another object.
    Object(Box<ObjectWrite>),
    /// Progress of a wave run, which the StagedRollout stores itself.
    Ran {
        done: usize,
        half: bool,
    },
}
