//! How far a step is, by what is seen of its objects.

use serde_json::Value;

use super::object_write::{PreconditionObject, ObjectCall, ObjectWrite, Propagation, Replacement, ReplacementObject};
use super::observed_object::{ObservedObject, look};
use crate::apimachinery::ResourceName;
use crate::rollout::lookup_results::LookupResults;
use crate::rollout::kinds::{SourceAndTargetKind, PairedKind};
use crate::rollout::place::ResolvedLocation;
use crate::rollout::lookup_request::LookupRequest;
use crate::rollout::step_context::StepContext;

/// How far a step is, on its way to be done, or undone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::rollout) enum StepOutcome {
    /// It is done, or undone.
    Done,
    /// It was done before: nothing is there to undo.
    ByHand,
    /// This call comes next.
    Next(Box<ObjectWrite>),
    /// Nothing is to be done yet, and why.
    Waits(String),
    /// Nothing is to be done while another cluster does not answer, and why. However long that lasts, nothing is wrong
    /// with the object.
    Away(String),
    /// Nothing can be done before somebody has looked, and why.
    Stuck(String),
}

/// Why an object must not begin its workflow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::rollout) enum PreflightFailure {
    /// It cannot be moved.
    Refused(String),
    /// It cannot be moved now.
    Waits(String),
}

impl PreflightFailure {
    /// Why, in words.
    pub(super) fn into_why(self) -> String {
        match self {
            Self::Refused(why) | Self::Waits(why) => why,
        }
    }
}

/// A step of an object, and what was found of other objects.
#[derive(Clone, Copy)]
pub(in crate::rollout) struct ObjectStepInput<'a> {
    pub(in crate::rollout) traveller: StepContext<'a>,
    /// The index of the step.
    pub(in crate::rollout) step: usize,
    pub(in crate::rollout) answers: &'a LookupResults,
}

impl<'a> ObjectStepInput<'a> {
    pub(super) fn namespace(self) -> Option<&'a str> {
        self.traveller.object.namespace()
    }

    /// Where the object is.
    fn home(self) -> ResolvedLocation {
        ResolvedLocation { cluster: None, namespace: self.namespace().map(str::to_owned) }
    }

    /// The uid of the object that the rollout is about.
    pub(super) fn uid(self) -> &'a str {
        self.traveller.object.uid()
    }

    /// The two kinds, one of which becomes the other.
    pub(super) fn pair(self) -> Option<&'a SourceAndTargetKind> {
        self.traveller.rollout.pair.as_deref()
    }

    /// What was found of one object.
    pub(super) fn look(self, question: &LookupRequest) -> ObservedObject<'a> {
        look(self.answers, question)
    }

    /// What cannot be looked at: where that is in another cluster, nothing is wrong with the object.
    pub(super) fn unknown(self, question: &LookupRequest, why: String) -> StepOutcome {
        if question.cluster.is_some() { StepOutcome::Away(why) } else { StepOutcome::Waits(why) }
    }

    /// A call about an object.
    pub(super) fn next(
        self,
        resource: &ResourceName,
        version: Option<&str>,
        name: &str,
        call: ObjectCall,
    ) -> StepOutcome {
        self.next_at(&self.home(), (resource, version), name, call)
    }

    /// A call about an object, wherever that is.
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
            of: self.traveller.object.title(),
            uid: self.uid().to_owned(),
        }))
    }

    /// Deletes an object, as it was seen.
    pub(super) fn delete(
        self,
        resource: &ResourceName,
        version: Option<&str>,
        object: &Value,
        propagation: Propagation,
    ) -> StepOutcome {
        self.delete_at(&self.home(), (resource, version), object, propagation)
    }

    /// Deletes an object, as it was seen, for another one of its name; what belongs to it stays.
    pub(super) fn makes_way(self, resource: &ResourceName, object: &Value, successor: ReplacementObject) -> StepOutcome {
        let replacement = Some(Box::new(Replacement::Successor(successor)));
        self.goes(&self.home(), (resource, None), object, (Propagation::Orphan, replacement))
    }

    /// Deletes one of two objects, as it was seen, if the other one is there still; what belongs to it stays.
    pub(super) fn gives_way(
        self,
        (kind, object): (&PairedKind, &Value),
        (other, uid, annotation): (&PairedKind, &str, Option<&str>),
    ) -> StepOutcome {
        // Both have one name.
        let counterpart = PreconditionObject {
            plural: other.resource.plural.clone(),
            group: other.resource.group.clone(),
            version: other.version().to_owned(),
            name: self.traveller.object.name().to_owned(),
            uid: uid.to_owned(),
            annotation: annotation.map(|name| (name.to_owned(), self.uid().to_owned())),
        };
        let replacement = Some(Box::new(Replacement::Counterpart(counterpart)));
        let named = (&kind.resource, Some(kind.version()));
        self.goes(&self.home(), named, object, (Propagation::Orphan, replacement))
    }

    /// Deletes an object, as it was seen, wherever it is.
    pub(super) fn delete_at(
        self,
        place: &ResolvedLocation,
        named: (&ResourceName, Option<&str>),
        object: &Value,
        propagation: Propagation,
    ) -> StepOutcome {
        self.goes(place, named, object, (propagation, None))
    }

    fn goes(
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
            // Without them whatever comes by that name would be deleted.
            return StepOutcome::Waits(format!(
                "{resource} {} says no uid or no resourceVersion",
                text("/metadata/name")
            ));
        }
        let call = ObjectCall::Delete { uid, resource_version, propagation, replacement };
        self.next_at(place, (resource, version), text("/metadata/name"), call)
    }
}
