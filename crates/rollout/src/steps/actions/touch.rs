//! A step that writes objects with an empty patch until a mutation has processed them after its fact. A server that has
//! not received the fact yet leaves them unchanged; the step then writes again.

use crate::definition::workflows::{StepDirection, Touch};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::MutationState;
use crate::steps::context::StepContext;
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::step_action::{Right, RightsInput, StepAction, described_place};
use crate::steps::writes::object_write::ObjectCall;

/// Writes objects without changes until a mutation has processed them.
pub(in crate::steps) struct Readmit<'a>(pub(in crate::steps) &'a Touch);

impl StepAction for Readmit<'_> {
    fn lookups(&self, context: StepContext<'_>, _: usize, _: StepDirection) -> Vec<LookupRequest> {
        lookups(context, self.0)
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.0)
    }

    fn rights(&self, _: RightsInput<'_>) -> Vec<Right> {
        vec![(self.0.resource.clone(), &["get", "patch"])]
    }

    fn description(&self, _: &str) -> String {
        let Touch { resource, names, place, mutation, .. } = self.0;
        let (names, place) = (names.join(", "), described_place(place));
        format!("sends {resource} {names}{place} again, until mutation {mutation} is applied")
    }
}

/// Lookups of the objects to write.
pub(crate) fn lookups(context: StepContext<'_>, readmission: &Touch) -> Vec<LookupRequest> {
    let place = context.place_of(&readmission.place);
    let names = readmission.names.iter().map(|name| context.filled_text(name));
    names.map(|name| LookupRequest::of_mutated(&readmission.resource, &place, &name, &readmission.mutation)).collect()
}

fn forward(step: ObjectStepInput<'_>, readmission: &Touch) -> StepOutcome {
    let place = step.context.place_of(&readmission.place);
    let names = readmission.names.iter().map(|name| step.context.filled_text(name));
    for (lookup, name) in lookups(step.context, readmission).into_iter().zip(names) {
        match step.answers.mutated_of(&lookup) {
            Some(MutationState::Seen) => {}
            Some(MutationState::Unseen(_)) => {
                let call = ObjectCall::Readmit(readmission.mutation.clone());
                return step.next_at(&place, (&readmission.resource, None), &name, call);
            }
            Some(MutationState::Absent) => return StepOutcome::Waits(format!("{lookup} does not exist")),
            Some(MutationState::Terminating) => return StepOutcome::Waits(format!("{lookup} is being deleted")),
            Some(MutationState::Unknown(why)) => return StepOutcome::Waits(format!("{lookup}: {why}")),
            None => return StepOutcome::Waits(format!("{lookup} was not read yet")),
        }
    }
    StepOutcome::Done
}
