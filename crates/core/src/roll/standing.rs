//! How an object stands in a roll, by what is seen of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::facts::RollFacts;
use super::fleet_object::FleetObject;
use super::fleet_roll::FleetRoll;
use super::moment::{Moment, rfc3339, wall};
use super::status::{Reservation, RollStatus};
use super::step_patch::Traveller;

/// How an object stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Standing {
    /// At the old version, and not under way.
    Old,
    /// Under way, and its own write is still to come.
    Reserved,
    /// Under way, and not healthy yet: this is what does not hold.
    Moving(String),
    /// Under way, and healthy, but not for long enough.
    Settling,
    /// At the new version.
    New,
    /// It was not healthy in time, or was taken back because of that.
    Failed(String),
    /// Somebody else sets its label.
    Held(String),
    /// It cannot be moved now.
    Waiting(String),
    /// It cannot be moved.
    Refused(String),
    /// At a version that the roll is not about.
    Outside,
    /// It is being deleted.
    Gone,
}

/// What all objects of a fleet are judged by.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) roll: &'a FleetRoll,
    pub(super) status: &'a RollStatus,
    pub(super) facts: &'a RollFacts,
    /// Why the path leads from none of these versions to the new one; nothing where it does.
    pub(super) hops: &'a BTreeMap<&'a str, Option<String>>,
    pub(super) now: Moment,
    /// Whether the fleet goes back.
    pub(super) back: bool,
}

impl Standing {
    /// In a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Old => "Old",
            Self::Reserved | Self::Moving(_) => "Moving",
            Self::Settling => "Settling",
            Self::New => "New",
            Self::Failed(_) => "Failed",
            Self::Held(_) => "Held",
            Self::Waiting(_) => "Waiting",
            Self::Refused(_) => "Refused",
            Self::Outside => "Outside",
            Self::Gone => "Gone",
        }
    }

    /// Why, in words; empty where there is nothing to say.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Moving(why) | Self::Failed(why) | Self::Held(why) | Self::Waiting(why) | Self::Refused(why) => why,
            _ => "",
        }
    }
}

impl Judge<'_> {
    /// How each object of a fleet stands, in its order.
    pub(super) fn standings(&self, fleet: &[FleetObject]) -> Vec<Standing> {
        let reserved = self.status.reservations();
        fleet.iter().map(|object| self.stands(object, reserved.get(object.uid()).copied())).collect()
    }

    /// How an object stands.
    pub(super) fn standing(&self, object: &FleetObject) -> Standing {
        self.stands(object, self.status.reservation(&object.uid))
    }

    fn stands(&self, object: &FleetObject, reservation: Option<&Reservation>) -> Standing {
        if object.is_going {
            return Standing::Gone;
        }
        if let Some(why) = self.contested(object) {
            return Standing::Failed(why);
        }
        if let Some(legs) = &object.legs {
            let traveller = reservation.and_then(|one| Some((Traveller::of(self.roll, object, one)?, one)));
            return match traveller {
                Some((traveller, reservation)) => self.on_the_way(traveller, reservation),
                None => self.at_rest(object, legs),
            };
        }
        if let Some(reservation) = reservation
            && !self.was_turned_back(object, reservation)
        {
            return self.under_way(object, reservation);
        }
        let marked = object.mark_of(self.roll);
        if object.is_at(&self.roll.to) {
            let to_go = self.back && marked.is_some();
            let answer = to_go.then(|| self.answered(object)).flatten();
            return answer.unwrap_or(Standing::New);
        }
        if marked.is_some() {
            // Our annotation is there, and the label says otherwise.
            return Standing::Held(
                object.owner.clone().unwrap_or_else(|| "somebody who turned the label back".to_owned()),
            );
        }
        self.of_old(object)
    }

    /// Of an object that is not at the new version, and was never moved.
    fn of_old(&self, object: &FleetObject) -> Standing {
        if self.roll.from.is_some() && object.version != self.roll.from {
            return Standing::Outside;
        }
        if let Some(failure) = self.status.failure(&object.uid) {
            return Standing::Failed(failure.message.clone());
        }
        if self.back {
            return Standing::Old;
        }
        if let Some(owner) = object.owner.as_ref().filter(|_| !self.roll.take_over) {
            return Standing::Held(owner.clone());
        }
        let hop = object.version.as_deref().filter(|_| !object.opts_out);
        if let Some(why) = hop.and_then(|version| self.hops.get(version)?.as_ref()) {
            return Standing::Refused(why.clone());
        }
        self.answered(object).unwrap_or(Standing::Old)
    }

    pub(super) fn answered(&self, object: &FleetObject) -> Option<Standing> {
        let answer = self.facts.remembered.answer(&object.uid)?;
        let why = answer.message.clone();
        Some(if answer.passes { Standing::Waiting(why) } else { Standing::Refused(why) })
    }

    /// Whether somebody else has undone the write that an object is under way by.
    pub(super) fn was_turned_back(&self, object: &FleetObject, reservation: &Reservation) -> bool {
        object.legs.is_none()
            && !reservation.back
            && object.mark_of(self.roll).is_some()
            && !object.is_at(&self.roll.to)
    }

    /// Whether the write that an object is under way by can be seen on it.
    pub(super) fn has_landed(&self, object: &FleetObject, reservation: &Reservation) -> bool {
        if let Some(traveller) = Traveller::of(self.roll, object, reservation) {
            return traveller.leg.has_landed(reservation.back) && traveller.seen_job(reservation).is_none();
        }
        let is_moved = object.is_at(&self.roll.to);
        if reservation.back { !(is_moved && object.mark_of(self.roll).is_some()) } else { is_moved }
    }

    /// How an object stands that is under way.
    pub(super) fn under_way(&self, object: &FleetObject, reservation: &Reservation) -> Standing {
        if !self.has_landed(object, reservation) {
            return match self.status.failure(&object.uid) {
                Some(failure) => Standing::Failed(failure.message.clone()),
                None => Standing::Reserved,
            };
        }
        let moved = object.mark_of(self.roll).and_then(|mark| mark.moved()).or_else(|| wall(&reservation.since));
        self.after_landing(object, reservation, moved.unwrap_or(self.now.wall).max(self.status.resumed_at()))
    }

    /// How an object stands whose last write is there, since when it was: it has to be healthy, for long enough.
    pub(super) fn after_landing(&self, object: &FleetObject, reservation: &Reservation, since: u64) -> Standing {
        let Some(gate) = self.shut(object) else {
            let healthy = self.facts.remembered.healthy.get(&object.uid);
            let lasted = healthy.map_or(Duration::ZERO, |since| self.now.steady.saturating_sub(*since));
            if lasted < self.settle(object, reservation) {
                return Standing::Settling;
            }
            let is_new = if object.legs.is_some() { !reservation.back } else { object.is_at(&self.roll.to) };
            return if is_new { Standing::New } else { Standing::Old };
        };
        let lasted = self.now.wall.saturating_sub(since);
        if lasted > self.roll.timeout.as_secs() {
            return Standing::Failed(format!("not healthy within {}: {gate}", shown(self.roll.timeout)));
        }
        Standing::Moving(gate)
    }

    /// How long an object has to be healthy. What was healthy before its last step says nothing where nobody had to
    /// answer that step.
    fn settle(&self, object: &FleetObject, reservation: &Reservation) -> Duration {
        let settle = self.roll.health.settle;
        let Some(traveller) = Traveller::of(self.roll, object, reservation) else { return settle };
        if traveller.is_answered() && !reservation.back { settle } else { settle.max(UNANSWERED) }
    }

    /// Who acts on an object beside its new controller, since the roll was resumed last.
    pub(super) fn contested(&self, object: &FleetObject) -> Option<String> {
        if self.back || !object.is_at(&self.roll.to) {
            return None;
        }
        let (manager, at) = object.contested.as_ref().filter(|(_, at)| *at > self.status.resumed_at())?;
        Some(format!(
            "two controllers: {manager} wrote to it at {}, after it was moved to {}",
            rfc3339(*at),
            self.roll.to
        ))
    }

    /// What does not hold of an object that was moved. Health from before the move says nothing.
    pub(super) fn shut(&self, object: &FleetObject) -> Option<String> {
        if let Some(shut) = &self.facts.shut {
            return Some(shut.clone());
        }
        match &self.roll.health.seen {
            Some(manager) if !object.is_seen => Some(format!("{manager} has not written to it since the move")),
            _ => object.unhealthy.clone(),
        }
    }
}

/// How long the health of an object may be that of before its last step.
const UNANSWERED: Duration = Duration::from_secs(60);

/// A duration as people write it.
pub(super) fn shown(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds > 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}
