//! Edits by clients.

use super::apiserver::{decode, fill, invalid};
use super::generate::{FillRatio, valid};
use super::objects::{CONTENTS, ObjectSource};
use super::random::Random;
use super::schema::schema_at;
use super::value::{Places, Segment, Value};

/// Changes a visible value so that the object stays valid. `None` if no such change is found.
#[must_use]
pub fn edited(source: &ObjectSource<'_>, random: &mut Random, object: &Value) -> Option<Value> {
    for _ in 0..60 {
        let mut edited = object.clone();
        for _ in 0..1 + random.below(2) {
            edit(source, random, &mut edited);
        }
        fill(source.schema, &mut edited);
        if are_different(&edited, object) && invalid(source.schema, &edited, "").is_none() {
            return Some(edited);
        }
    }
    None
}

fn edit(source: &ObjectSource<'_>, random: &mut Random, object: &mut Value) {
    let fullness = FillRatio { optional: 60, unknown: 0 };
    if let Some(status) = source.schema.pointer("/properties/status")
        && object.get("status").is_none()
        && random.percent(20)
    {
        let made = valid(random, status, "status", fullness, source.words);
        if made.is_object() {
            object.set("status", made);
        }
    }
    let places = Places::of(object);
    let Some(place) = random.pick(&places.below(&CONTENTS)).copied() else { return };
    let way = &places.way(place);
    let Some(schema) = schema_at(source.schema, way) else { return };
    let name = match way.last() {
        Some(Segment::Name(name)) => name.as_str(),
        _ => "",
    };
    match (random.below(5), object.at_mut(way)) {
        (0, _) => drop(object.remove(way)),
        (1, Some(Value::List(elements))) => random.shuffle(elements),
        (2, Some(Value::List(elements))) => {
            if let Some(items) = schema.get("items") {
                let at = random.below(elements.len() + 1);
                elements.insert(at, valid(random, items, name, fullness, source.words));
            }
        }
        (1..4, Some(Value::Object(members))) => {
            let full = FillRatio { optional: 90, unknown: 0 };
            if let Value::Object(more) = valid(random, schema, name, full, source.words) {
                let more: Vec<_> = more.into_iter().collect();
                if let Some((name, value)) = random.pick(&more).cloned() {
                    members.insert(name, value);
                }
            }
        }
        (_, Some(place)) => *place = valid(random, schema, name, fullness, source.words),
        (_, None) => {}
    }
}

/// The object with another valid value at an existing place, if there is one.
pub(super) fn changed(
    source: &ObjectSource<'_>,
    random: &mut Random,
    object: &Value,
    way: &[Segment],
) -> Option<Value> {
    let schema = schema_at(source.schema, way)?;
    let fullness = FillRatio { optional: 50, unknown: 0 };
    for _ in 0..12 {
        let mut other = object.clone();
        *other.at_mut(way)? = valid(random, schema, "", fullness, source.words);
        fill(source.schema, &mut other);
        let is_changed = other.at(way).zip(object.at(way)).is_none_or(|(edited, before)| are_different(edited, before));
        if is_changed && invalid(source.schema, &other, "").is_none() {
            return Some(other);
        }
    }
    None
}

/// Returns whether an edit is a change for the API server, which reads `-0` as 0. It rejects a value that it cannot
/// decode.
fn are_different(edited: &Value, before: &Value) -> bool {
    let decoded = |value: &Value| {
        let mut value = value.clone();
        decode(&mut value).is_ok().then_some(value)
    };
    decoded(edited).is_some_and(|edited| Some(edited) != decoded(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_of_a_number_is_no_change() {
        let number = |text: &str| Value::Number(text.to_owned());
        for (edited, before, expected) in
            [("-0", "0", false), ("1.0", "1", false), ("1", "0", true), ("-0.5", "0.5", true), ("1E400", "0", false)]
        {
            assert_eq!(are_different(&number(edited), &number(before)), expected, "{before} became {edited}");
        }
    }
}
