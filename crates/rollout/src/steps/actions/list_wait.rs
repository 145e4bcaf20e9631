//! A step that waits until every object of a list passes a gate.

use crate::definition::workflows::{ListWait, StepDirection, StepPlace};
use crate::lookup::request::LookupRequest;
use crate::steps::context::StepContext;
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::step_action::{Right, RightsInput, StepAction, described_place};

/// Waits for a condition of every object of a list.
pub(in crate::steps) struct WaitForAll<'a>(pub(in crate::steps) &'a ListWait);

impl StepAction for WaitForAll<'_> {
    fn lookups(&self, context: StepContext<'_>, _: usize, _: StepDirection) -> Vec<LookupRequest> {
        vec![lookup(context, self.0)]
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.0)
    }

    fn rights(&self, _: RightsInput<'_>) -> Vec<Right> {
        vec![(self.0.resource.clone(), &["list"])]
    }

    fn place(&self) -> Option<&StepPlace> {
        Some(&self.0.place)
    }

    fn description(&self, _: &str) -> String {
        format!("waits until all {} have the expected state{}", self.0.resource, described_place(&self.0.place))
    }
}

fn lookup(context: StepContext<'_>, wait: &ListWait) -> LookupRequest {
    LookupRequest::of_every(&wait.resource, &context.place_of(&wait.place), &wait.every)
}

fn forward(step: ObjectStepInput<'_>, wait: &ListWait) -> StepOutcome {
    let lookup = lookup(step.context, wait);
    let found = match step.answers.of(&lookup.about) {
        None => return step.unknown(&lookup, format!("{lookup} was not read yet")),
        Some(Err(why)) => return step.unknown(&lookup, format!("{lookup} cannot be listed: {why}")),
        Some(Ok(found)) => found,
    };
    if found.objects == 0 {
        // An empty list is no proof: it may not be filled yet.
        return StepOutcome::Waits(format!("the list of {lookup} is empty"));
    }
    let more = found.unmet.saturating_sub(found.shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    match found.unmet {
        0 => StepOutcome::Done,
        _ => StepOutcome::Waits(format!("{lookup}: {}{more}", found.shown.join("; "))),
    }
}
