//! The law of independent edits: a client that changes or removes one field keeps all other fields.
//!
//! The definition alone determines which fields depend on each other, not the engine: the fields that an operation maps
//! to, and their contents.

use super::case::Case;
use super::conversion_path::{Breach, Trip};
use super::deletions::{filled_by_the_definition, length};
use super::edits::changed;
use super::objects::is_contents;
use super::paths::{mapped_places, parent_places};
use super::random::Random;
use super::schema::schema_at;
use super::value::{Segment, Value, shown, way};
use super::{apiserver::fill, conversion_path::without_ours};

/// A client removes or changes one field, and writes the rest unchanged.
pub(super) fn an_edit_touches_nothing_else(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some((object, there)) = trip.at_both_ends(object) else { return Ok(false) };
    let back = trip.back();
    // Another law checks that the object survives a round trip.
    if !back.seen(&there).is_ok_and(|round_tripped| without_ours(&round_tripped) == without_ours(&object)) {
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
    let with_story = |breach: Breach| breach.after("edited", &edit).after("read there", &there);
    let round_tripped = back.seen(&edit).map_err(with_story)?;
    let reach = ReachOfEdit::of(trip, field, &there, [&object, &round_tripped]);
    let mut leaves = object.ways().into_iter().filter(|way| is_contents(way) && object.at(way).is_some_and(is_leaf));
    let lost = leaves.find(|way| !is_as_it_was(object.at(way), round_tripped.at(way)) && !reach.covers(way));
    match lost {
        Some(way) => {
            let message = format!("{} changed, though only {} was edited", shown(&way), shown(field));
            Err(with_story(Breach::new(message).at(way).after("home", &round_tripped)))
        }
        None => Ok(true),
    }
}

/// The fields that an edit may change after the conversion back, by the definition.
struct ReachOfEdit<'r> {
    trip: &'r Trip<'r>,
    object: &'r Value,
    round_tripped: &'r Value,
    /// The fields that the edited field maps to.
    concerned: Vec<Vec<Segment>>,
    /// The parents of the field, in any version.
    leading: Vec<Vec<Segment>>,
}

impl<'r> ReachOfEdit<'r> {
    /// `there` is the object that was read at the other version. `object` and `round_tripped` are the object at the
    /// start version before and after the edit.
    fn of(trip: &'r Trip<'r>, field: &[Segment], there: &Value, [object, round_tripped]: [&'r Value; 2]) -> Self {
        let back = trip.back();
        let mut concerned = mapped_places(&back, field);
        concerned.iter_mut().for_each(|place| up_to_a_shorter_list(place, object, (field, there)));
        concerned.extend(trip.apart.iter().map(|field| way(field)));
        Self { trip, object, round_tripped, concerned, leading: parent_places(&back, field) }
    }

    fn covers(&self, way: &[Segment]) -> bool {
        self.concerns(way) || self.moves(way) || self.empties(way) || self.takes_along(way)
    }

    fn concerns(&self, way: &[Segment]) -> bool {
        self.concerned.iter().any(|other| way.starts_with(other) || other.starts_with(way))
    }

    /// If the other version can no longer represent an item, later items move up.
    fn moves(&self, way: &[Segment]) -> bool {
        let lists = way.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)));
        let mut lists = lists.filter_map(|(end, _)| way.get(..end));
        lists.any(|list| {
            length(self.round_tripped.at(list)) != length(self.object.at(list))
                && self.concerned.iter().any(|other| other.starts_with(list))
        })
    }

    /// An absent, null or empty parent of a field is kept with the guard of that field, which was edited. The current
    /// state follows from the rest of the write. A null would mean that there is no object, and so would an empty list
    /// of `wrap`.
    fn empties(&self, way: &[Segment]) -> bool {
        let is_empty = |was: &Value| *was == Value::Null || was.is_object() || *was == Value::List(Vec::new());
        self.leads(way) && self.object.at(way).is_some_and(is_empty)
    }

    /// A value that equals a default is not kept: it is filled in if its object exists, and removed with a removed
    /// parent of the field.
    fn takes_along(&self, way: &[Segment]) -> bool {
        let mut holders = (1..way.len()).filter_map(|end| way.get(..end));
        if !holders.find(|holder| self.round_tripped.at(holder).is_none()).is_some_and(|removed| self.leads(removed)) {
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

/// If one version cannot represent all items of a list, positions differ, so the whole list is affected.
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

/// Returns whether a value is unchanged. An object counts as unchanged with any contents, which other laws check.
fn is_as_it_was(was: Option<&Value>, now: Option<&Value>) -> bool {
    was == now || was.is_some_and(Value::is_object) && now.is_some_and(Value::is_object)
}

/// Returns whether a value is a leaf that could be lost separately.
fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::List(elements) => elements.is_empty(),
        _ => true,
    }
}
