//! A step that waits until every object of a list passes a gate.

use super::context::StepContext;
use super::outcome::{ObjectStepInput, StepOutcome};
use crate::lookup::request::LookupRequest;
use pointsman_core::definition::ListWait;

pub(super) fn lookup(context: StepContext<'_>, wait: &ListWait) -> LookupRequest {
    LookupRequest::of_every(&wait.resource, &context.place_of(&wait.place), &wait.every)
}

pub(super) fn forward(step: ObjectStepInput<'_>, wait: &ListWait) -> StepOutcome {
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
