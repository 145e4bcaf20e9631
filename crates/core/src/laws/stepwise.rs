//! The law of stepwise conversion: the API server stores each intermediate version before the next conversion, and no
//! webhook prunes kept values in between.

use super::case::Case;
use super::conversion_path::{Breach, Trip, with_metadata};
use super::edits::{changed, edited};
use super::objects::ObjectSource;
use super::paths::mapped_places;
use super::random::Random;
use super::value::{Segment, Value, place};

/// The object is stored at each intermediate version and possibly edited at one of them. Conversions from there to both
/// ends and back return the edited object.
pub(super) fn each_version_is_stored_on_the_way(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some(object) = trip.settled(object).filter(|_| !trip.step) else { return Ok(false) };
    let Some(hops) = hops(trip) else { return Ok(false) };
    let mut random = Random::new(seed ^ 0x57E9);
    let Ok(Some(all)) = walk(&hops, &object) else { return Ok(false) };
    if let (Some(end), Ok(direct)) = (all.last(), trip.stored(&object)) {
        trip.same("step by step", &direct, end)?;
    }
    let guard = if random.percent(50) { random.pick(&guards(&hops, &all)?).cloned() } else { None };
    let at = guard.as_ref().map_or_else(|| random.below(all.len()), |(at, _)| *at);
    let Some(read) = all.get(at) else { return Ok(false) };
    let here = if at == 0 { Some(trip.clone()) } else { hops.get(at - 1).map(Trip::back) };
    let Some(here) = here else { return Ok(false) };
    let edit = match guard {
        Some((_, guard)) => changed(&here.from, &mut random, read, &guard),
        None if random.percent(70) => edited(&here.from, &mut random, read),
        None => None,
    };
    let Some(there) = here.settled(edit.as_ref().unwrap_or(read)) else { return Ok(false) };
    let there = &there;
    let (before, behind) = hops.split_at(at);
    let return_trips: Vec<Trip<'_>> = before.iter().rev().map(Trip::back).collect();
    for way in [return_trips.as_slice(), behind] {
        let back: Vec<Trip<'_>> = way.iter().rev().map(Trip::back).collect();
        let with_story = |mut breach: Breach, far: &[Value]| {
            for (hop, version) in way.iter().zip(far).rev() {
                breach = breach.after(&format!("at {}", hop.to.version), version);
            }
            breach.after("written", there)
        };
        let Some(far) = walk(way, there).map_err(|breach| with_story(breach, &[]))? else { continue };
        let Some(last) = far.last() else { continue };
        let Some(again) = walk(&back, last).map_err(|breach| with_story(breach, &far))? else { continue };
        let Some(again) = again.last() else { continue };
        trip.same("back again, step by step", there, again).map_err(|breach| with_story(breach, &far))?;
    }
    Ok(true)
}

/// A sparse object, which no API server stores, survives a round trip with any intermediate stops.
pub(super) fn sparse_stops_on_the_way(trip: &Trip<'_>, object: &Value) -> Result<(), Breach> {
    let Some(hops) = hops(trip).filter(|_| !trip.step) else { return Ok(()) };
    let return_trips: Vec<Trip<'_>> = hops.iter().rev().map(Trip::back).collect();
    let direct = (std::slice::from_ref(trip), &[trip.back()]);
    for (there, back) in [(direct.0, return_trips.as_slice()), (&hops, direct.1.as_slice()), (&hops, &return_trips)] {
        let mut stops: Vec<(&Trip<'_>, Value)> = Vec::new();
        for hop in there.iter().chain(back) {
            let next = hop.there(stops.last().map_or(object, |(_, last)| last))?;
            stops.push((hop, next));
        }
        let Some((_, returned)) = stops.pop() else { continue };
        trip.same("back, with stops", &with_metadata(object), &returned).map_err(|breach| {
            let with_story =
                |breach: Breach, (hop, at): &(&Trip<'_>, Value)| breach.after(&format!("at {}", hop.to.version), at);
            stops.iter().rev().fold(breach, with_story)
        })?;
    }
    Ok(())
}

/// The values that kept values depend on, at each later version: the index of the version on the trip, and the place
/// there. `all` are the objects at the versions of the trip.
fn guards(hops: &[Trip<'_>], all: &[Value]) -> Result<Vec<(usize, Vec<Segment>)>, Breach> {
    let mut found = Vec::new();
    let mut here: Vec<Vec<Segment>> = Vec::new();
    for (at, (hop, object)) in (1..).zip(hops.iter().zip(all)) {
        here = here.iter().flat_map(|guard| mapped_places(hop, guard)).collect();
        let (_, changes) = hop.explained(object)?;
        let kept = changes.iter().filter(|change| change.kept);
        here.extend(kept.flat_map(|change| &change.after).map(|(path, _)| place(path)));
        found.extend(here.iter().map(|guard| (at, guard.clone())));
    }
    Ok(found)
}

/// The steps of a trip, each as a trip.
fn hops<'k>(trip: &Trip<'k>) -> Option<Vec<Trip<'k>>> {
    let mut names: Vec<&'k str> = trip.from.kind.versions().collect();
    if trip.down {
        names.reverse();
    }
    let from = names.iter().position(|name| *name == trip.from.version)?;
    let to = names.iter().position(|name| *name == trip.to.version)?;
    let sources = names.get(from..=to)?.iter().map(|name| ObjectSource::new(trip.from.kind, name, trip.from.words));
    let sources: Vec<ObjectSource<'k>> = sources.collect::<Option<_>>()?;
    let distance = if trip.down { -1 } else { 1 };
    let pairs = sources.iter().zip(sources.iter().skip(1));
    Some(pairs.map(|pair| Trip::new(trip.webhook, pair, distance, trip.converted)).collect())
}

/// The stored object at each version of a trip, including the first. `None` if the API server would reject one of them.
fn walk(hops: &[Trip<'_>], object: &Value) -> Result<Option<Vec<Value>>, Breach> {
    let mut all = vec![object.clone()];
    for hop in hops {
        let Some(last) = all.last() else { return Ok(None) };
        let next = hop.stored(last)?;
        if !hop.to.is_complete(&next) {
            return Ok(None);
        }
        all.push(next);
    }
    Ok(Some(all))
}
