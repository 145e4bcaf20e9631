//! A step that has objects written once more, with nothing, until a stage has made of them what it makes of them after
//! its fact. A server that has not heard of the fact yet leaves them as they are: then they are written again.

use super::object_write::ObjectCall;
use super::progress::{Beside, StepProgress};
use crate::definition::Readmission;
use crate::rollout::mutation_state::Staged;
use crate::rollout::questions::RolloutQuestion;
use crate::rollout::traveller::Traveller;

/// About the objects that are written once more.
pub(in crate::rollout) fn questions(traveller: Traveller<'_>, readmission: &Readmission) -> Vec<RolloutQuestion> {
    let place = traveller.place_of(&readmission.place);
    let names = readmission.names.iter().map(|name| traveller.filled_text(name));
    names.map(|name| RolloutQuestion::of_staged(&readmission.resource, &place, &name, &readmission.stage)).collect()
}

pub(super) fn forward(step: Beside<'_>, readmission: &Readmission) -> StepProgress {
    let place = step.traveller.place_of(&readmission.place);
    let names = readmission.names.iter().map(|name| step.traveller.filled_text(name));
    for (question, name) in questions(step.traveller, readmission).into_iter().zip(names) {
        match step.answers.staged_of(&question) {
            Some(Staged::Seen) => {}
            Some(Staged::Unseen(_)) => {
                let call = ObjectCall::Readmit(readmission.stage.clone());
                return step.next_at(&place, (&readmission.resource, None), &name, call);
            }
            Some(Staged::Absent) => return StepProgress::Waits(format!("{question} is not there")),
            Some(Staged::Going) => return StepProgress::Waits(format!("{question} is being deleted")),
            Some(Staged::Unknown(why)) => return StepProgress::Waits(format!("{question}: {why}")),
            None => return StepProgress::Waits(format!("nobody has looked at {question}")),
        }
    }
    StepProgress::Done
}
