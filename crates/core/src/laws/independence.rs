//! The law of what an edit has nothing to do with: whoever changes or removes one field keeps all others.
//!
//! What a field has to do with another one is said by the definition alone, not by what the engine does: it is what an
//! operation makes of it, and what is inside of that.

use super::conversion_path::{Breach, Trip};
use super::coverage::Coverage;
use super::deletions::{filled_by_the_definition, length};
use super::edits::changed;
use super::objects::is_contents;
use super::paths::{what_becomes_of, what_leads_to};
use super::random::Random;
use super::schema::schema_at;
use super::value::{Segment, Value, shown, way};
use super::{apiserver::fill, conversion_path::without_ours};

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
    let told = |breach: Breach| breach.after("edited", &edit).after("read there", &there);
    let home = back.seen(&edit).map_err(told)?;
    let reach = ReachOfEdit::of(trip, field, &there, [&object, &home]);
    let mut leaves = object.ways().into_iter().filter(|way| is_contents(way) && object.at(way).is_some_and(is_leaf));
    let lost = leaves.find(|way| !is_as_it_was(object.at(way), home.at(way)) && !reach.covers(way));
    match lost {
        Some(way) => {
            let message = format!("{} is not as it was, though only {} was edited", shown(&way), shown(field));
            Err(told(Breach::new(message).at(way).after("home", &home)))
        }
        None => Ok(true),
    }
}

/// What the edit of a field may change at home, by the definition.
struct ReachOfEdit<'r> {
    trip: &'r Trip<'r>,
    object: &'r Value,
    home: &'r Value,
    /// What becomes of the field.
    concerned: Vec<Vec<Segment>>,
    /// The objects on the way to it, in any of the versions.
    leading: Vec<Vec<Segment>>,
}

impl<'r> ReachOfEdit<'r> {
    /// `there` is what was read at the other version; at home it was `object`, and is `home` after the edit.
    fn of(trip: &'r Trip<'r>, field: &[Segment], there: &Value, [object, home]: [&'r Value; 2]) -> Self {
        let back = trip.back();
        let mut concerned = what_becomes_of(&back, field);
        concerned.iter_mut().for_each(|place| up_to_a_shorter_list(place, object, (field, there)));
        concerned.extend(trip.apart.iter().map(|field| way(field)));
        Self { trip, object, home, concerned, leading: what_leads_to(&back, field) }
    }

    fn covers(&self, way: &[Segment]) -> bool {
        self.concerns(way) || self.moves(way) || self.empties(way) || self.takes_along(way)
    }

    fn concerns(&self, way: &[Segment]) -> bool {
        self.concerned.iter().any(|other| way.starts_with(other) || other.starts_with(way))
    }

    /// An item that the other version cannot say any more lets those behind it move up.
    fn moves(&self, way: &[Segment]) -> bool {
        let lists = way.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)));
        let mut lists = lists.filter_map(|(end, _)| way.get(..end));
        lists.any(|list| {
            length(self.home.at(list)) != length(self.object.at(list))
                && self.concerned.iter().any(|other| other.starts_with(list))
        })
    }

    /// What was on the way to a field, null or empty, is kept under the guard of that field, which was edited. What is
    /// there now follows from what the writer left there, and a null would say that there is no object. So would an
    /// empty list where `wrap` has one for an object.
    fn empties(&self, way: &[Segment]) -> bool {
        let is_empty = |was: &Value| *was == Value::Null || was.is_object() || *was == Value::List(Vec::new());
        self.leads(way) && self.object.at(way).is_some_and(is_empty)
    }

    /// What equals a default, or what the definition fills in, is not kept: it is filled in where its object is, and
    /// goes with an object that was on the way to the field.
    fn takes_along(&self, way: &[Segment]) -> bool {
        let mut holders = (1..way.len()).filter_map(|end| way.get(..end));
        if !holders.find(|holder| self.home.at(holder).is_none()).is_some_and(|gone| self.leads(gone)) {
            return false;
        }
        let schema = schema_at(self.trip.from.schema, way);
        let default = schema.and_then(|schema| schema.get("default")).map(Value::literal);
        let fills = filled_by_the_definition(self.trip);
        let fill = fills.iter().find(|(place, _)| way.starts_with(place));
        default.as_ref() == self.object.at(way)
            || fill.is_some_and(|(place, value)| self.object.at(place) == Some(value))
    }

    fn leads(&self, object: &[Segment]) -> bool {
        self.leading.iter().any(|other| other == object) || self.concerned.iter().any(|other| other.starts_with(object))
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

/// Whether somebody has what they had. An object is one, whatever has come into it: of what that may be, other laws
/// speak.
fn is_as_it_was(was: Option<&Value>, now: Option<&Value>) -> bool {
    was == now || was.is_some_and(Value::is_object) && now.is_some_and(Value::is_object)
}

/// What somebody could miss by itself.
fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::List(elements) => elements.is_empty(),
        _ => true,
    }
}
