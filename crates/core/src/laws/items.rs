//! Laws of list items: each item keeps its own values, at any position and independent of its neighbours.

use std::collections::BTreeSet;

use super::apiserver::{decode, fill, invalid};
use super::case::Case;
use super::conversion_path::{Breach, Trip, identical, without_ours};
use super::deletions::{is_in_place, length, slashed};
use super::generate::{FillRatio, valid};
use super::objects::is_contents;
use super::random::Random;
use super::schema::{clashes, least_items, schema_at};
use super::value::{Segment, Value, shown};

/// An object with a list whose items correspond at both ends of a trip.
struct List {
    object: Value,
    there: Value,
    /// The path of the list, at both ends.
    list: Vec<Segment>,
}

/// The minimum number of items to distinguish one from another.
const LEAST: usize = 2;

/// A random list of an object.
fn any_list(trip: &Trip<'_>, object: &Value, random: &mut Random) -> Option<List> {
    let (object, there) = trip.at_both_ends(object)?;
    let (_, mut changes) = trip.explained(&object).ok()?;
    let round_tripped = trip.back().seen(&there).ok()?;
    // If an operation creates another list, the items do not correspond.
    changes.retain(|change| !is_in_place(change));
    let is_made = |list: &[Segment]| {
        let list = format!("{}/", shown(list));
        let mut paths = changes.iter().flat_map(|change| change.before.iter().chain(&change.after));
        paths.any(|(path, _)| list.starts_with(&slashed(path)))
    };
    let mut lists = there.ways();
    lists.retain(|way| {
        let count = length(there.at(way));
        is_contents(way)
            && count >= LEAST
            && length(object.at(way)) == count
            && round_tripped.at(outermost(way)) == object.at(outermost(way))
            && there.at(way).is_some_and(are_distinct)
            && !is_made(way)
    });
    let list = random.pick(&lists)?.clone();
    Some(List { object, there, list })
}

/// A client removes items, or reorders them.
pub(super) fn items_keep_what_is_theirs(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let mut random = Random::new(seed ^ 0x17E5);
    let Some(List { object, there, ref list }) = any_list(trip, object, &mut random) else { return Ok(false) };
    let mut order: Vec<usize> = (0..length(there.at(list))).collect();
    if random.percent(60) && least_items(trip.to.schema, list) < order.len() {
        order.remove(random.below(order.len()));
    } else {
        random.shuffle(&mut order);
    }
    let (written, expected) = (rearranged(&there, list, &order), rearranged(&object, list, &order));
    if invalid(trip.to.schema, &written, "").is_some() {
        return Ok(false);
    }
    let with_story = |breach: Breach| breach.after("rearranged", &written).after("read there", &there);
    let found = trip.back().seen(&written).map_err(with_story)?;
    same_items(list, &expected, &found).map_err(with_story)?;
    Ok(true)
}

/// A client removes an item and adds another one elsewhere in the list, in one write.
pub(super) fn a_new_item_is_a_new_one(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let mut random = Random::new(seed ^ 0x2E91);
    let Some(List { object, there, ref list }) = any_list(trip, object, &mut random) else { return Ok(false) };
    let (Some(schema), Some(Value::List(items))) = (schema_at(trip.to.schema, list), there.at(list)) else {
        return Ok(false);
    };
    let fullness = FillRatio { optional: 60, unknown: 0 };
    let Some(items_schema) = schema.get("items") else { return Ok(false) };
    // With its defaults, the item may equal an existing one.
    let mut added = valid(&mut random, items_schema, "", fullness, trip.to.words);
    fill(items_schema, &mut added);
    // The same applies to another spelling of a number. Read twice, because -0.0 is written as -0, which is read as 0.
    // A value that cannot be decoded is rejected.
    if decode(&mut added).and_then(|()| decode(&mut added)).is_err() {
        return Ok(false);
    }
    let (removed_index, place) = (random.below(items.len()), random.below(items.len()));
    // At the same position, or with a common field, it counts as an edit of the removed item.
    let resembles =
        items.get(removed_index).is_none_or(|removed_index| have_something_in_common(removed_index, &added));
    if removed_index == place || resembles || items.contains(&added) || clashes(schema, items, &added) {
        return Ok(false);
    }
    let order: Vec<usize> = (0..items.len()).filter(|index| *index != removed_index).collect();
    let inserted = |mut object: Value, item: Value| {
        if let Some(Value::List(items)) = object.at_mut(list) {
            items.insert(place, item);
        }
        object
    };
    let mut written = inserted(rearranged(&there, list, &order), added);
    fill(trip.to.schema, &mut written);
    if invalid(trip.to.schema, &written, "").is_some() {
        return Ok(false);
    }
    let with_story = |breach: Breach| breach.after("written", &written).after("read there", &there);
    let back = trip.back();
    let fresh = back.seen(&without_ours(&written)).map_err(with_story)?;
    let Some(Value::List(fresh)) = fresh.at(list).filter(|list| length(Some(*list)) == items.len()) else {
        return Ok(false);
    };
    let Some(fresh) = fresh.get(place) else { return Ok(false) };
    let expected = inserted(rearranged(&object, list, &order), fresh.clone());
    let found = back.seen(&written).map_err(with_story)?;
    same_items(list, &expected, &found).map_err(with_story)?;
    Ok(true)
}

/// Returns whether two items share a field, so that one may be an edit of the other.
fn have_something_in_common(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            one.is_empty() || two.is_empty() || one.iter().any(|(name, value)| two.get(name) == Some(value))
        }
        _ => one == two,
    }
}

/// Compares the whole outermost list, because other fields of the outer item must be preserved as well.
fn same_items(list: &[Segment], expected: &Value, found: &Value) -> Result<(), Breach> {
    let outer = outermost(list);
    let at = |object: &Value| object.at(outer).cloned().unwrap_or(Value::Null);
    identical("the items after the return", &at(expected), &at(found)).map_err(|mut breach| {
        let inside = breach.at.take().unwrap_or_default();
        breach.at([outer, &inside].concat())
    })
}

/// The outermost list that contains a place.
fn outermost(way: &[Segment]) -> &[Segment] {
    way.split(|segment| matches!(segment, Segment::Index(_))).next().unwrap_or(way)
}

fn are_distinct(list: &Value) -> bool {
    let Value::List(elements) = list else { return false };
    let texts: BTreeSet<String> = elements.iter().map(Value::to_text).collect();
    texts.len() == elements.len()
}

/// The object with these items of a list, in this order.
fn rearranged(object: &Value, list: &[Segment], order: &[usize]) -> Value {
    let mut object = object.clone();
    if let Some(Value::List(elements)) = object.at_mut(list) {
        *elements = order.iter().filter_map(|index| elements.get(*index).cloned()).collect();
    }
    object
}
