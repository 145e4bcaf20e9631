//! Laws of deletion: a value that a client removed in one version does not reappear in another, and a kept value with a
//! changed guard is removed permanently.

use std::collections::BTreeSet;

use super::apiserver::{answered, fill};
use super::case::Case;
use super::conversion_path::{Breach, Trip, identical, without_ours, without_values};
use super::edits::changed;
use super::objects::{NAMESPACE, has_status_subresource, is_contents};
use super::paths::{source_place, was_elsewhere};
use super::random::Random;
use super::value::{Segment, Value, shown, way};
use crate::definition::Place;
use crate::json::pointer_names;
use crate::webhook::Change;

/// A client removes an object that both versions have, and writes the rest.
pub(super) fn a_removed_holder_stays_away(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some((object, there)) = trip.at_both_ends(object) else { return Ok(false) };
    let Ok((_, mut changes)) = trip.explained(&object) else { return Ok(false) };
    changes.retain(|change| !is_in_place(change));
    let mut random = Random::new(seed ^ 0xDE1);
    let mut holders = there.ways();
    let is_object = |value: Option<&Value>| value.is_some_and(Value::is_object);
    holders.retain(|way| is_contents(way) && way.len() > 1 && is_object(there.at(way)));
    let Some(holder) = random.pick(&holders) else { return Ok(false) };
    let Some(source_holder) = source_place(trip, holder).filter(|way| is_object(object.at(way))) else {
        return Ok(false);
    };
    // Removing an item moves other items.
    if matches!(holder.last(), Some(Segment::Index(_))) || !are_as_long((&there, holder), (&object, &source_holder)) {
        return Ok(false);
    }
    let mut without = there.clone();
    without.remove(holder);
    fill(trip.to.schema, &mut without);
    if without.at(holder).is_some() || !trip.to.is_complete(&without) {
        return Ok(false);
    }
    let back = trip.back();
    let with_story = |breach: Breach| breach.after("without it", &without).after("read there", &there);
    let round_tripped = back.there(&without).map_err(with_story)?;
    let fresh = back.there(&without_ours(&without)).map_err(with_story)?;
    let valueless = back.there(&without_values(&without)).map_err(with_story)?;
    // A value outside of the object in an intermediate version was not removed with it, because a conversion of several
    // steps equals separate steps. If the object exists because of such a value, defaults in it are not restored
    // values. Any other value was restored.
    let returned = round_tripped.ways().into_iter().find(|way| {
        way.starts_with(&source_holder)
            && fresh.at(way).is_none()
            && valueless.at(way) != round_tripped.at(way)
            && !was_moved_out(&changes, holder, way)
            && !was_elsewhere(trip, &source_holder, way)
            && !is_filled(trip, &round_tripped, way)
    });
    match returned {
        Some(way) => {
            Err(with_story(Breach::new(format!("{} returns", shown(&way))).at(way).after("home", &round_tripped)))
        }
        None => Ok(true),
    }
}

/// Returns whether the value at a place is a default of the API server or the definition, or in an object that equals
/// its default.
fn is_filled(trip: &Trip<'_>, round_tripped: &Value, way: &[Segment]) -> bool {
    let fills = filled_by_the_definition(trip);
    (1..=way.len()).filter_map(|end| way.get(..end)).any(|way| {
        let mut bare = round_tripped.clone();
        bare.remove(way);
        for (place, value) in &fills {
            if let Some((Segment::Name(name), holder)) = place.split_last()
                && let Some(Value::Object(members)) = bare.at_mut(holder)
            {
                members.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        fill(trip.from.schema, &mut bare);
        bare.at(way) == round_tripped.at(way)
    })
}

/// The values that the definition fills in for absent fields, on the way to the start version.
pub(super) fn filled_by_the_definition(trip: &Trip<'_>) -> Vec<(Vec<Segment>, Value)> {
    let kind = trip.from.kind;
    let ends = kind.version(trip.to.version).zip(kind.version(trip.from.version));
    let steps = ends.into_iter().flat_map(|(from, to)| kind.steps_between(from, to));
    let places = steps
        .flat_map(|(side, step)| step.level.operations.iter().flat_map(move |operation| operation.places.of(side)));
    let filled = |place: &Place| {
        let way = place.path.names().iter().map(|name| Segment::Name(name.to_string()));
        Some((way.collect(), Value::read(&place.fill.as_ref()?.value(Some(NAMESPACE))?.to_text()).ok()?))
    };
    places.filter_map(filled).collect()
}

/// Returns whether the lists on the paths to two places have the same length, so that their items correspond.
fn are_as_long(one: (&Value, &[Segment]), two: (&Value, &[Segment])) -> bool {
    let lengths = |(object, way): (&Value, &[Segment])| {
        let items = way.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)));
        let lists = items.filter_map(|(end, _)| way.get(..end));
        lists.map(|list| length(object.at(list))).collect::<Vec<_>>()
    };
    lengths(one) == lengths(two)
}

pub(super) fn length(value: Option<&Value>) -> usize {
    match value {
        Some(Value::List(elements)) => elements.len(),
        _ => 0,
    }
}

/// Returns whether an operation converts a list in place, item by item.
pub(super) fn is_in_place(change: &Change) -> bool {
    let paths = |values: &[(String, String)]| values.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    change.operation == "each" && paths(&change.before) == paths(&change.after)
}

/// Returns whether an operation moved the field out of the removed object, so that its guard is elsewhere.
fn was_moved_out(changes: &[Change], holder: &[Segment], way: &[Segment]) -> bool {
    let (holder, way) = (format!("{}/", shown(holder)), format!("{}/", shown(way)));
    changes.iter().any(|change| {
        let touches = |path: &str| {
            let path = slashed(path);
            path.starts_with(&way) || way.starts_with(&path)
        };
        change.before.iter().any(|(path, _)| touches(path))
            && change.after.iter().any(|(path, _)| !slashed(path).starts_with(&holder))
    })
}

/// A path of a change with `/` after every name, for comparison with the path of a value.
pub(super) fn slashed(path: &str) -> String {
    // An operation on an item itself has no name after the dot of the item.
    let (mut rest, mut slashed) = (path.trim_end_matches('.'), String::new());
    while !rest.is_empty() {
        let end = match rest.strip_prefix("[\"") {
            Some(quoted) => quoted.find("\"]").map_or(rest.len(), |end| end + 4),
            None => rest.get(1..).and_then(|rest| rest.find(['.', '['])).map_or(rest.len(), |end| end + 1),
        };
        let (name, more) = rest.split_at(end);
        let quoted = name.strip_prefix("[\"").and_then(|name| name.strip_suffix("\"]"));
        let name = quoted.unwrap_or_else(|| name.trim_matches(['.', '[', ']']));
        // A name in brackets may follow a dot.
        if !name.is_empty() || quoted.is_some() {
            slashed.push_str(name);
            slashed.push('/');
        }
        rest = more;
    }
    slashed
}

/// A client changes a value that a kept value depends on, and changes it back, with `/mutate` active.
pub(super) fn a_broken_guard_stays_broken(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some((object, there)) = trip.at_both_ends(object).filter(|_| trip.step) else { return Ok(false) };
    let Ok((_, mut changes)) = trip.explained(&object) else { return Ok(false) };
    let mut random = Random::new(seed ^ 0x6A2D);
    // `/mutate` does not receive writes of a status subresource, and such a write cannot change annotations. A
    // controller writes the rollout status without access to them.
    let status_apart = has_status_subresource(trip.to.kind, trip.to.version);
    let is_of_status =
        |path: &str| status_apart && matches!(way(path).first(), Some(Segment::Name(top)) if top == "status");
    let is_apart = |change: &Change| {
        change.before.iter().any(|(path, _)| trip.apart.contains(path))
            || change.after.iter().any(|(path, _)| is_of_status(path))
    };
    changes.retain(|change| change.kept && !is_apart(change) && !change.after.is_empty() && !change.before.is_empty());
    let Some(change) = random.pick(&changes) else { return Ok(false) };
    let plain = |path: &String| (!path.contains('[')).then(|| way(path));
    let paths = change.after.iter().map(|(path, _)| plain(path));
    let Some(guards) = paths.collect::<Option<Vec<_>>>() else { return Ok(false) };
    let Some(guard) = random.pick(&guards) else { return Ok(false) };
    let elsewhere = changed(&trip.to, &mut random, &there, guard);
    // The API server rejects an incomplete object, so the stored object stays unchanged.
    let Some(elsewhere) = elsewhere.filter(|object| trip.to.is_complete(object)) else { return Ok(false) };
    let Some(first) = admitted(trip, &elsewhere, &there)? else { return Ok(false) };
    let mut restored = first.clone();
    match (restored.at_mut(guard), there.at(guard)) {
        (Some(place), Some(value)) => *place = value.clone(),
        _ => return Ok(false),
    }
    let Some(last) = admitted(trip, &restored, &first)? else { return Ok(false) };
    let back = trip.back();
    let with_story =
        |breach: Breach| breach.after("changed back", &last).after("changed", &first).after("read there", &there);
    let seen = |object: &Value| {
        let round_tripped = back.there(object)?;
        answered(trip.from.schema, &round_tripped).map_err(|error| Breach::new(error.to_string()))
    };
    let (round_tripped, fresh) = (seen(&last).map_err(with_story)?, seen(&without_values(&last)).map_err(with_story)?);
    let meanwhile = seen(&first).map_err(with_story)?;
    let sources = change.before.iter().filter_map(|(path, _)| plain(path));
    let mut stale = sources.filter(|way| !was_there(round_tripped.at(way), fresh.at(way), meanwhile.at(way)));
    match stale.next() {
        Some(way) => {
            let message = format!("{} returns after its guard was broken", shown(&way));
            Err(with_story(Breach::new(message).at(way).after("home", &round_tripped)))
        }
        None => Ok(true),
    }
}

/// Returns whether a value follows from visible values, or was always present: an item that the other version cannot
/// represent is not removed by edits of neighbouring items.
fn was_there(value: Option<&Value>, seen: Option<&Value>, meanwhile: Option<&Value>) -> bool {
    if value == seen || value == meanwhile {
        return true;
    }
    let elements = |value: Option<&Value>| match value {
        Some(Value::List(elements)) => elements.iter().cloned().map(Some).chain([None]).collect(),
        _ => vec![None],
    };
    match value {
        Some(Value::Object(members)) => {
            let mut names: BTreeSet<&String> = members.keys().collect();
            for other in [seen, meanwhile] {
                if let Some(Value::Object(members)) = other {
                    names.extend(members.keys());
                }
            }
            let of = |other: Option<&Value>, name: &str| other.and_then(|other| other.get(name)).cloned();
            names
                .into_iter()
                .all(|name| was_there(members.get(name), of(seen, name).as_ref(), of(meanwhile, name).as_ref()))
        }
        Some(Value::List(now)) => {
            let (seen, meanwhile) = (elements(seen), elements(meanwhile));
            let pairs = seen.iter().flat_map(|seen| meanwhile.iter().map(move |other| (seen, other)));
            now.iter().all(|now| pairs.clone().any(|(seen, other)| was_there(Some(now), seen.as_ref(), other.as_ref())))
        }
        _ => false,
    }
}

/// The stored object after `/mutate` processed the write. A second call, which the API server may make, must not change
/// it.
fn admitted(trip: &Trip<'_>, object: &Value, old: &Value) -> Result<Option<Value>, Breach> {
    let Some(stored) = patched(trip, object, old) else { return Ok(None) };
    match patched(trip, &stored, old) {
        Some(again) => identical("asked again", &stored, &again).map_err(|breach| breach.after("old", old))?,
        None => return Err(Breach::new("is patched once and not again").after("patched", &stored).after("old", old)),
    }
    Ok(Some(stored))
}

fn patched(trip: &Trip<'_>, object: &Value, old: &Value) -> Option<Value> {
    let patch = trip.webhook.patch(&object.to_text(), Some(&old.to_text())).ok()?;
    let mut object = object.clone();
    for operation in patch {
        let mut way: Vec<Segment> = pointer_names(&operation.path).into_iter().map(Segment::Name).collect();
        let Some(Segment::Name(last)) = way.pop() else { return None };
        match (operation.op, object.at_mut(&way)?) {
            ("remove", Value::Object(members)) => drop(members.remove(&last)),
            (_, Value::Object(members)) => {
                drop(members.insert(last, Value::read(&operation.value).ok()?));
            }
            _ => return None,
        }
    }
    Some(object)
}
