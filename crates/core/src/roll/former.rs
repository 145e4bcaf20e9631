//! Objects that are there no more, since they have become others at the end of their journey, and that can be made anew
//! of these: where a roll goes back, they are part of its fleet.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::answers::RollAnswers;
use super::beside::{BECAME, MADE_BY, annotation, list};
use super::fleet_object::FleetObject;
use super::fleet_roll::{Direction, FleetRoll};
use super::questions::RollQuestion;
use super::status::RollStatus;

/// About the metadata of all that objects have become. Nothing where the roll does not go back over its end.
pub(super) fn former_question(roll: &FleetRoll, status: &RollStatus) -> Option<RollQuestion> {
    let pair = roll.pair.as_deref().filter(|_| roll.returns() && status.started.is_some())?;
    let wants = status.direction_of(roll) == Direction::Back || status.reserved.iter().any(|one| one.target.is_some());
    wants.then(|| RollQuestion::of_metadata(&pair.target.resource, None, ""))
}

/// The objects that are there no more, where the roll goes back.
pub(super) fn formers(
    roll: &FleetRoll,
    status: &RollStatus,
    fleet: &[FleetObject],
    answers: &RollAnswers,
) -> Vec<FleetObject> {
    let Some(Ok(all)) = former_question(roll, status).map(|question| list(answers, &question)) else {
        return Vec::new();
    };
    // One that is there is no former one, whoever has made it.
    let there: BTreeSet<(Option<&str>, &str)> = fleet.iter().map(|one| (one.namespace(), one.name())).collect();
    // What is left of one that has just gone is taken away first.
    let is_leaving = |uid: &str| status.reservation(uid).is_some_and(|one| one.target.is_none());
    let former =
        |target| FleetObject::former(target, roll, (annotation(target, BECAME)?, annotation(target, MADE_BY)?));
    let formers = all.iter().filter_map(former);
    formers.filter(|one| !there.contains(&(one.namespace(), one.name())) && !is_leaving(one.uid())).collect()
}

/// Why it is not known which objects are there no more; nothing where it is, or nobody asks.
pub(super) fn formers_unknown(roll: &FleetRoll, status: &RollStatus, answers: &RollAnswers) -> Option<String> {
    list(answers, &former_question(roll, status)?).err()
}

/// The status once objects that were made anew are known: what was reserved of them before they were there is of them.
pub(super) fn returned<'s>(roll: &FleetRoll, status: &'s RollStatus, fleet: &[FleetObject]) -> Cow<'s, RollStatus> {
    if status.reserved.iter().all(|one| one.target.is_none()) {
        return Cow::Borrowed(status);
    }
    let again = fleet.iter().filter_map(|object| {
        let again = object.mark_of(roll)?.again.as_ref()?;
        Some((again.of.as_str(), object.uid()))
    });
    let again: BTreeMap<&str, &str> = again.collect();
    let mut status = status.clone();
    for reservation in status.reserved.iter_mut().filter(|one| one.target.is_some()) {
        if let Some(uid) = again.get(reservation.uid.as_str()) {
            reservation.uid = (*uid).to_owned();
            reservation.target = None;
        }
    }
    Cow::Owned(status)
}

/// Those that were let go before anything of them was made anew are what they had become, as before.
pub(super) fn note_left(status: &mut RollStatus, before: &RollStatus) {
    for one in before.reserved.iter().filter(|one| one.target.is_some()) {
        if status.reservation(&one.uid).is_none() {
            *status.became.entry(one.wave.clone()).or_default() += 1;
        }
    }
}
