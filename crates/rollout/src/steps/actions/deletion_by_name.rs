//! A step that deletes named objects that pass a gate. Other objects of these names are skipped.

use crate::definition::workflows::{NamedDeletion, StepDirection, StepPlace};
use crate::lookup::request::LookupRequest;
use crate::steps::context::StepContext;
use crate::steps::objects::observed_object::ObservedObject;
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::step_action::{Right, RightsInput, StepAction, described_place};
use crate::steps::writes::object_write::Propagation;
use pointsman_core::definition::unmet_of;

/// Deletes named objects.
pub(in crate::steps) struct DeleteNamed<'a>(pub(in crate::steps) &'a NamedDeletion);

impl StepAction for DeleteNamed<'_> {
    fn lookups(&self, context: StepContext<'_>, _: usize, _: StepDirection) -> Vec<LookupRequest> {
        lookups(context, self.0)
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.0)
    }

    fn rights(&self, _: RightsInput<'_>) -> Vec<Right> {
        vec![(self.0.resource.clone(), &["get", "delete"])]
    }

    fn place(&self) -> Option<&StepPlace> {
        Some(&self.0.place)
    }

    fn description(&self, _: &str) -> String {
        let NamedDeletion { resource, names, place, when, .. } = self.0;
        let which = if when.is_some() { ", where `when` holds" } else { "" };
        format!("deletes {resource} {}{}{which}", names.join(", "), described_place(place))
    }
}

fn lookups(context: StepContext<'_>, deletion: &NamedDeletion) -> Vec<LookupRequest> {
    let place = context.place_of(&deletion.place);
    let names = deletion.names.iter().map(|name| context.filled_text(name));
    names.map(|name| LookupRequest::of_object_at(&deletion.resource, &place, &name)).collect()
}

fn forward(step: ObjectStepInput<'_>, deletion: &NamedDeletion) -> StepOutcome {
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
