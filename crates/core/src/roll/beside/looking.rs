//! Questions about the objects that steps name.

use crate::definition::StepObject;
use crate::roll::questions::RollQuestion;
use crate::roll::traveller::Traveller;

/// About an object that a step names. Nothing where it is of a kind that nobody knows.
pub(super) fn object_question(traveller: Traveller<'_>, on: &StepObject) -> Option<RollQuestion> {
    let (namespace, name) = (traveller.object.namespace(), traveller.object.name());
    let pair = traveller.roll.pair.as_deref();
    Some(match on {
        StepObject::Source => pair.map(|pair| RollQuestion::of_paired(&pair.source, namespace, name))?,
        StepObject::Target => pair.map(|pair| RollQuestion::of_paired(&pair.target, namespace, name))?,
        StepObject::Named { resource, name } => {
            RollQuestion::of_object(resource, namespace, &traveller.filled_text(name))
        }
    })
}

/// About what the object becomes.
pub(super) fn target_question(traveller: Traveller<'_>) -> Option<RollQuestion> {
    object_question(traveller, &StepObject::Target)
}
