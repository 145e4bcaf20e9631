//! A step that deletes objects by their names, of which something holds. Whatever else is called so is left alone.

use super::object_write::Propagation;
use super::progress::{Beside, StepProgress};
use super::seen::SeenOther;
use crate::definition::{NamedDeletion, unmet_of};
use crate::rollout::questions::RolloutQuestion;
use crate::rollout::traveller::Traveller;

pub(super) fn questions(traveller: Traveller<'_>, deletion: &NamedDeletion) -> Vec<RolloutQuestion> {
    let place = traveller.place_of(&deletion.place);
    let names = deletion.names.iter().map(|name| traveller.filled_text(name));
    names.map(|name| RolloutQuestion::of_object_at(&deletion.resource, &place, &name)).collect()
}

pub(super) fn forward(step: Beside<'_>, deletion: &NamedDeletion) -> StepProgress {
    let place = step.traveller.place_of(&deletion.place);
    let mut going = None;
    for question in questions(step.traveller, deletion) {
        let is_meant = |object| deletion.when.as_ref().is_none_or(|when| unmet_of(when, object).is_none());
        match step.look(&question) {
            SeenOther::Unknown(why) => return step.unknown(&question, why),
            SeenOther::There(object) if is_meant(object) => {
                return step.delete_at(&place, (&deletion.resource, None), object, Propagation::Background);
            }
            SeenOther::Going(object) if is_meant(object) => {
                going.get_or_insert_with(|| format!("{question} is being deleted"));
            }
            SeenOther::There(_) | SeenOther::Going(_) | SeenOther::Absent => {}
        }
    }
    going.map_or(StepProgress::Done, StepProgress::Waits)
}
