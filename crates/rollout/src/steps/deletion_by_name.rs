//! A step that deletes named objects that pass a gate. Other objects of these names are skipped.

use super::context::StepContext;
use super::object_write::Propagation;
use super::observed_object::ObservedObject;
use super::outcome::{ObjectStepInput, StepOutcome};
use crate::lookup::request::LookupRequest;
use pointsman_core::definition::{NamedDeletion, unmet_of};

pub(super) fn lookups(context: StepContext<'_>, deletion: &NamedDeletion) -> Vec<LookupRequest> {
    let place = context.place_of(&deletion.place);
    let names = deletion.names.iter().map(|name| context.filled_text(name));
    names.map(|name| LookupRequest::of_object_at(&deletion.resource, &place, &name)).collect()
}

pub(super) fn forward(step: ObjectStepInput<'_>, deletion: &NamedDeletion) -> StepOutcome {
    let place = step.context.place_of(&deletion.place);
    let mut terminating = None;
    for lookup in lookups(step.context, deletion) {
        let is_meant = |object| deletion.when.as_ref().is_none_or(|when| unmet_of(when, object).is_none());
        match step.observed(&lookup) {
            ObservedObject::Unknown(why) => return step.unknown(&lookup, why),
            ObservedObject::There(object) if is_meant(object) => {
                return step.delete_at(&place, (&deletion.resource, None), object, Propagation::Background);
            }
            ObservedObject::Terminating(object) if is_meant(object) => {
                terminating.get_or_insert_with(|| format!("{lookup} is being deleted"));
            }
            ObservedObject::There(_) | ObservedObject::Terminating(_) | ObservedObject::Absent => {}
        }
    }
    terminating.map_or(StepOutcome::Done, StepOutcome::Waits)
}
