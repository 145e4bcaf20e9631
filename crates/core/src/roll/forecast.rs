//! How a fleet stands in a roll, in the order in which its objects go.

use super::facts::RollFacts;
use super::fleet_object::FleetObject;
use super::fleet_roll::FleetRoll;
use super::moment::Moment;
use super::object_state::Standing;
use super::patch::FleetMove;
use super::plan::plan;
use super::status::RollStatus;
use super::traveller::{Doneness, Traveller};

/// An object, when it goes, and how it stands.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    /// The object.
    pub object: &'a FleetObject,
    /// The name of its wave.
    pub wave: &'a str,
    /// How it stands.
    pub standing: Standing,
    /// The versions that run of each of its parts, in the order of [`FleetRoll::parts`]: none where it has no such
    /// part. Else why nobody knows.
    pub parts: Vec<Result<Vec<String>, String>>,
    /// The write that moves it, where it is to be moved.
    pub write: Option<FleetMove>,
}

/// Says of each object how it stands, the first that goes first. Nothing of it is written.
#[must_use]
pub fn forecast<'a>(
    roll: &'a FleetRoll,
    status: &RollStatus,
    fleet: &'a [FleetObject],
    facts: RollFacts,
    now: Moment,
) -> Vec<Forecast<'a>> {
    let answers = facts.answers.clone();
    let standings = plan(roll, status, fleet, facts, now).standings.into_iter();
    // Of a roll that has not begun, nothing is under way.
    let planned = |standing| if standing == Standing::Reserved { Standing::Old } else { standing };
    let standings = standings.map(|standing| if status.started.is_none() { planned(standing) } else { standing });
    let mut all: Vec<(&FleetObject, Standing)> = fleet.iter().zip(standings).collect();
    all.sort_by(|(one, _), (two, _)| {
        (one.wave(false), one.place_forward()).cmp(&(two.wave(false), two.place_forward()))
    });
    let told = all.into_iter().map(|(object, standing)| Forecast {
        object,
        wave: roll.waves.get(object.wave(false)).map_or("", |wave| wave.name.as_str()),
        write: (standing == Standing::Old).then(|| first_write(roll, object, now)).flatten(),
        parts: roll.parts().zip(object.runs(roll, &answers)).map(|(_, versions)| versions).collect(),
        standing,
    });
    told.collect()
}

/// The first write of an object; none where its journey begins with something else.
fn first_write(roll: &FleetRoll, object: &FleetObject, now: Moment) -> Option<FleetMove> {
    let Some(legs) = &object.legs else { return Some(FleetMove::forward(roll, object, now, None)) };
    let traveller = Traveller { roll, object, legs, leg: legs.forward()? };
    traveller.writes_next().then(|| traveller.forward(now, Doneness::Whole))
}
