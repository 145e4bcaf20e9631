//! The law of what an edit has nothing to do with: whoever changes or removes one field keeps all others.
//!
//! What a field has to do with another one is said by the definition alone, not by what the engine does: it is what an
//! operation makes of it, and what is inside of that.

use super::coverage::Coverage;
use super::deletions::{filled_by_the_definition, length};
use super::edits::changed;
use super::followed::what_becomes_of;
use super::objects::is_contents;
use super::random::Random;
use super::schema::schema_at;
use super::trip::{Breach, Trip};
use super::value::{Segment, Value, shown, way};
use super::{apiserver::fill, trip::without_ours};

/// Somebody removes or changes one field, and writes the rest as it was.
pub(super) fn an_edit_touches_nothing_else(
    trip: &Trip<'_>,
    object: &Value,
    seed: u64,
    _: &mut Coverage,
) -> Result<bool, Breach> {
    let Some((object, there)) = trip.at_both_ends(object) else { return Ok(false) };
    let back = trip.back();
    // Where it does not come home as it was, another law says so.
    if !back.seen(&there).is_ok_and(|home| without_ours(&home) == without_ours(&object)) {
        return Ok(false);
    }
    let mut random = Random::new(seed ^ 0x0E17);
    let mut fields = there.ways();
    fields.retain(|way| is_contents(way) && way.len() > 1 && matches!(way.last(), Some(Segment::Name(_))));
    let Some(field) = random.pick(&fields) else { return Ok(false) };
    let edit = match random.percent(60) {
        true => Some(without(trip, &there, field)),
        false => changed(&trip.to, &mut random, &there, field),
    };
    let Some(edit) = edit.filter(|edit| *edit != there && trip.to.is_complete(edit)) else { return Ok(false) };
    let mut concerned = what_becomes_of(&back, field);
    concerned.iter_mut().for_each(|place| up_to_a_shorter_list(place, &object, (field, &there)));
    concerned.extend(trip.apart.iter().map(|field| way(field)));
    let told = |breach: Breach| breach.after("edited", &edit).after("read there", &there);
    let home = back.seen(&edit).map_err(told)?;
    let is_concerned = |way: &[Segment]| concerned.iter().any(|other| way.starts_with(other) || other.starts_with(way));
    // An item that the other version cannot say any more lets those behind it move up.
    let is_moved = |way: &[Segment]| {
        let lists = way.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)));
        let mut lists = lists.filter_map(|(end, _)| way.get(..end));
        lists.any(|list| {
            length(home.at(list)) != length(object.at(list)) && concerned.iter().any(|other| other.starts_with(list))
        })
    };
    // What equals a default is not kept: it is filled in where its object is.
    let fills = filled_by_the_definition(trip);
    let is_filled = |way: &[Segment]| {
        let default = schema_at(trip.from.schema, way).and_then(|schema| schema.get("default")).map(Value::literal);
        let fill = fills.iter().find(|(place, _)| way.starts_with(place));
        let is_default = default.as_ref() == object.at(way);
        let holder = way.split_last().and_then(|(_, holder)| home.at(holder));
        holder.is_none() && (is_default || fill.is_some_and(|(place, value)| object.at(place) == Some(value)))
    };
    // An object that was null, was made for something, and by now has only what the definition filled in there, is
    // empty at home: null could not come back as that object, since what is kept comes back into objects alone.
    let is_emptied =
        |way: &[Segment]| object.at(way) == Some(&Value::Null) && home.at(way).is_some_and(Value::is_object);
    let mut leaves = object.ways().into_iter().filter(|way| is_contents(way) && object.at(way).is_some_and(is_leaf));
    let lost = leaves.find(|way| {
        home.at(way) != object.at(way) && !is_concerned(way) && !is_moved(way) && !is_filled(way) && !is_emptied(way)
    });
    match lost {
        Some(way) => {
            let message = format!("{} is not as it was, though only {} was edited", shown(&way), shown(field));
            Err(told(Breach::new(message).at(way).after("home", &home)))
        }
        None => Ok(true),
    }
}

fn without(trip: &Trip<'_>, object: &Value, field: &[Segment]) -> Value {
    let mut object = object.clone();
    object.remove(field);
    fill(trip.to.schema, &mut object);
    object
}

/// Where one version cannot say all items of a list, they stand elsewhere in the other: all of the list is concerned.
fn up_to_a_shorter_list(place: &mut Vec<Segment>, object: &Value, (field, there): (&[Segment], &Value)) {
    let lists = |way: &[Segment]| {
        let items = way.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)));
        items.map(|(end, _)| end).collect::<Vec<_>>()
    };
    let all = lists(place);
    for (end, other) in all.into_iter().zip(lists(field)) {
        if length(place.get(..end).and_then(|list| object.at(list)))
            != length(field.get(..other).and_then(|list| there.at(list)))
        {
            place.truncate(end);
            return;
        }
    }
}

/// What somebody could miss. An empty object says nothing of itself.
fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::List(elements) => elements.is_empty(),
        _ => true,
    }
}
