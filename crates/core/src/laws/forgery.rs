//! Forged annotations: entries in the kept format with values chosen by another client.
//!
//! Half of the forgeries are well-typed: `value` is valid for the schema of the field, and `became` is the current
//! value of the object, so that the guard holds. The others change members of a real annotation, or contain arbitrary
//! values.

use std::collections::BTreeSet;

use super::case::Case;
use super::conversion_path::{Breach, Trip, ours, without_ours};
use super::generate::{FillRatio, anything, valid};
use super::objects::{NAMESPACE, schema_of};
use super::random::Random;
use super::schema::{map_values, properties, schema_at};
use super::value::{Segment, Value, place, shown as path};
use crate::definition::{Level, Operation, Place, Side, Step};

/// Law 13 of the design: an entry shows no version a value that another version does not show.
///
/// The object is forged at the start version. The object of the other version is stripped of annotations and converted
/// back. Each field has the value of the forged object, its value without the forgery, or a default.
pub(super) fn one_meaning(Case { trip, object, seed, coverage }: Case<'_>) -> Result<bool, Breach> {
    let Some(object) = trip.settled(object) else { return Ok(false) };
    let honest = without_ours(&object);
    let mut random = Random::new(seed ^ 0x0E_F0_46);
    let Some((forgery, operations)) = forged(trip, &honest, &mut random) else { return Ok(false) };
    coverage.note_forgery(operations);
    let again = |there: &Value| trip.back().stored(&without_ours(there));
    let Ok(unforged) = trip.stored(&honest).and_then(|there| again(&there)) else { return Ok(false) };
    let after = |breach: Breach| breach.after("forged", &forgery);
    let there = trip.stored(&forgery).map_err(after)?;
    let found = again(&there).map_err(after)?;
    let [shown, unforged, found] = [&honest, &unforged, &found].map(|object| trip.comparable(object));
    let made = FilledInValues::of(trip);
    // An absent value may equal a default, in either version.
    let is_made = |way: &Vec<Segment>| match found.at(way) {
        Some(value) => made.has(value) || shown.at(way).is_some_and(|shown| is_respelled(value, shown)),
        None => [&shown, &unforged].iter().filter_map(|object| object.at(way)).any(|value| made.has(value)),
    };
    let mut unmeant = Vec::new();
    find_unmeant([Some(&found), Some(&shown), Some(&unforged)], &mut Vec::new(), &mut unmeant);
    unmeant.retain(|way| !is_made(way));
    match unmeant.into_iter().next() {
        None => Ok(true),
        Some(at) => {
            let message =
                format!("{} differs from the shown value, and from the value without the forged entries", path(&at));
            let breach = Breach::new(message).at(at).after("shown again", &found);
            Err(breach.after("in the other version", &there).after("forged", &forgery))
        }
    }
}

/// The defaults of the API server and the definition in any version, their parent objects, and the values that
/// operations derive from them: a number from a text, the parts of a text. A client cannot choose these values.
struct FilledInValues(BTreeSet<String>);

impl FilledInValues {
    fn of(trip: &Trip<'_>) -> Self {
        let kind = trip.from.kind;
        let mut values = vec![Value::object()];
        for schema in kind.versions().filter_map(|version| schema_of(kind, version)) {
            defaults(schema, &mut values);
        }
        let places = kind.steps.iter().flat_map(|step| &step.level.operations).flat_map(Operation::all_places);
        let fills =
            places.filter_map(|place| Value::read(&place.fill.as_ref()?.value(Some(NAMESPACE))?.to_text()).ok());
        values.extend(fills);
        let leaves = |value: &Value| {
            let ways = value.ways().into_iter().chain([Vec::new()]);
            ways.filter_map(|way| value.at(&way).cloned()).collect::<Vec<_>>()
        };
        let leaves: Vec<Value> = values.iter().flat_map(leaves).collect();
        let parts = leaves.iter().filter_map(spelled).flat_map(|text| parts(&text).collect::<Vec<_>>());
        let parts: Vec<String> = parts.collect();
        Self(leaves.iter().map(Value::to_text).chain(parts).collect())
    }

    /// Returns whether a value, or its whole contents, are defaults.
    fn has(&self, value: &Value) -> bool {
        self.0.contains(&value.to_text())
            || match value {
                Value::List(items) => !items.is_empty() && items.iter().all(|item| self.has(item)),
                Value::Object(members) => members.values().all(|member| self.has(member)),
                _ => spelled(value).is_some_and(|text| parts(&text).all(|part| self.0.contains(&part))),
            }
    }
}

/// The text of a text, number or boolean, as the operation `type` converts it.
fn spelled(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_text()),
        _ => None,
    }
}

/// The parts of a text, for any separator.
fn parts(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|char: char| !char.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_owned)
}

/// Returns whether values are one number in two spellings, such as `7` and `007`, of which an operation keeps one.
fn is_respelled(one: &Value, other: &Value) -> bool {
    let number = |value| spelled(value)?.parse::<f64>().ok();
    number(one).is_some_and(|one| number(other) == Some(one))
}

fn defaults(schema: &serde_json::Value, values: &mut Vec<Value>) {
    values.extend(schema.get("default").map(Value::literal));
    let inside = properties(schema).map(|(_, property)| property);
    inside.chain(schema.get("items")).chain(map_values(schema)).for_each(|schema| defaults(schema, values));
}

/// The places where the first value equals neither of the other two.
fn find_unmeant(values: [Option<&Value>; 3], at: &mut Vec<Segment>, unmeant: &mut Vec<Vec<Segment>>) {
    let [found, shown, unforged] = values;
    if found == shown || found == unforged {
        return;
    }
    let lists = values.map(|value| match value {
        Some(Value::List(items)) => Some(items.len()),
        _ => None,
    });
    let inside: BTreeSet<Segment> = match lists {
        // Items of lists of equal length are compared one by one.
        [Some(found), Some(shown), Some(unforged)] if found == shown && found == unforged => {
            (0..found).map(Segment::Index).collect()
        }
        _ if values.iter().all(|value| matches!(value, Some(Value::Object(_)) | None)) => {
            let members = values.into_iter().flatten().filter_map(|value| match value {
                Value::Object(members) => Some(members.keys().cloned().map(Segment::Name)),
                _ => None,
            });
            members.flatten().collect()
        }
        _ => BTreeSet::new(),
    };
    if inside.is_empty() {
        unmeant.push(at.clone());
    }
    for segment in inside {
        let values = values.map(|value| value.and_then(|value| value.at(std::slice::from_ref(&segment))));
        at.push(segment);
        find_unmeant(values, at, unmeant);
        at.pop();
    }
}

/// The object with a forged annotation for the end version, and the operations of its entries. `None` if there are no
/// operations.
fn forged(trip: &Trip<'_>, object: &Value, random: &mut Random) -> Option<(Value, Vec<&'static str>)> {
    let kind = trip.from.kind;
    let (here, there) = kind.version(trip.from.version).zip(kind.version(trip.to.version))?;
    let (side, step) = kind.steps_between(here, there).last()?;
    // The converted values of entries belong to the version next to the one for which they are kept.
    let near = step.versions.of(side.other());
    let near = match &**near == trip.from.version {
        true => object.clone(),
        false => Value::read(&trip.convert(&object.to_text(), near).ok()?.text).ok()?,
    };
    let fields = match random.percent(70) {
        true => Forger { trip, random }.entries(step, side, &near),
        false => mutated(&kept(trip, object)?, random),
    };
    let mut operations = Vec::new();
    operations_of(&step.level, side, &fields, &mut operations);
    let mut annotation = Value::object();
    annotation.set("fields", fields);
    let mut forgery = object.clone();
    let mut annotations = match forgery.field("metadata.annotations") {
        Some(Value::Object(annotations)) => annotations.clone(),
        _ => Default::default(),
    };
    annotations.insert(step.kept.of(side).clone(), Value::Text(annotation.to_text()));
    if forgery.get("metadata").is_none_or(|metadata| !metadata.is_object()) {
        forgery.set("metadata", Value::object());
    }
    forgery.set("metadata.annotations", Value::Object(annotations));
    Some((forgery, operations))
}

/// The names of the operations of entries, one for each entry.
fn operations_of(level: &Level, side: Side, fields: &Value, names: &mut Vec<&'static str>) {
    for operation in &level.operations {
        let Some(entry) = operation.places.of(side).first().and_then(|place| fields.get(&place.id)) else { continue };
        names.push(operation.name);
        let (Some(inside), Some(Value::List(items))) = (operation.items(), entry.field("each.items")) else { continue };
        for item in items {
            let Value::List(item) = item else { continue };
            item.last().into_iter().for_each(|fields| operations_of(&inside.level, side, fields, names));
        }
    }
}

/// The entries of an annotation from a round trip.
fn kept(trip: &Trip<'_>, object: &Value) -> Option<Value> {
    let there = trip.stored(object).ok()?;
    let again = trip.back().there(&without_ours(&there)).ok()?;
    let (_, text) = ours(&again).first().copied()?;
    Value::read(text).ok()?.get("fields").cloned()
}

/// The entries with other values.
fn mutated(fields: &Value, random: &mut Random) -> Value {
    let mut fields = fields.clone();
    for _ in 0..=random.below(3) {
        let ways = fields.ways();
        let Some(way) = random.pick(&ways).filter(|way| way.len() > 1) else { continue };
        let other = fields.at(random.pick(&ways).map_or(&[], Vec::as_slice)).cloned();
        match (random.percent(20), other) {
            (true, _) => drop(fields.remove(way)),
            (false, Some(other)) if random.percent(50) => replace(&mut fields, way, other),
            (false, _) => replace(&mut fields, way, anything(random, 2)),
        }
    }
    fields
}

fn replace(fields: &mut Value, way: &[Segment], value: Value) {
    if let Some(place) = fields.at_mut(way) {
        *place = value;
    }
}

/// Generates entries that match the schema and the guard.
struct Forger<'f, 'k> {
    trip: &'f Trip<'k>,
    random: &'f mut Random,
}

impl Forger<'_, '_> {
    fn entries(&mut self, step: &Step, side: Side, near: &Value) -> Value {
        let schema = self.trip.to.schema;
        self.level(&step.level, side, (schema, near))
    }

    /// One to four entries for operations and objects of a level. `here` is the current object or item.
    fn level(&mut self, level: &Level, side: Side, (schema, here): (&serde_json::Value, &Value)) -> Value {
        let mut entries = std::collections::BTreeMap::new();
        for _ in 0..=self.random.below(4) {
            let Some(operation) = self.random.pick(&level.operations) else { break };
            let Some(first) = operation.places.of(side).first() else { continue };
            let entry = match operation.items() {
                Some(items) if self.random.percent(70) => {
                    let Some(there) = operation.places.of(side.other()).first() else { continue };
                    let Some(now) = value_at(here, there) else { continue };
                    let Some(schema) = schema_at(schema, &segments(first)) else { continue };
                    let Some(each) = self.each((&items.level, &items.keys.of(side.other())[..]), side, (schema, &now))
                    else {
                        continue;
                    };
                    each
                }
                _ => self.value(operation, side, (schema, here)),
            };
            entries.insert(first.id.clone(), entry);
        }
        let ids = level.frontier.cuts.iter().map(|cut| &cut.id);
        let ids: Vec<String> = ids.cloned().collect();
        if let Some(id) = self.random.pick(&ids).filter(|_| self.random.percent(35)).cloned() {
            let rest = self.any_at(schema, &place(if id == "." { "" } else { &id }));
            let mut entry = Value::object();
            entry.set("rest", rest);
            if self.random.percent(30) {
                entry.set("seen", Value::Bool(true));
            }
            entries.insert(id, entry);
        }
        let ids: Vec<String> = level.frontier.holders.iter().map(|holder| holder.id.clone()).collect();
        if let Some(id) = self.random.pick(&ids).filter(|_| self.random.percent(20)).cloned() {
            let mut entry = Value::object();
            entry.set("was", Value::text(self.random.word(&["absent", "empty", "null"])));
            entries.insert(id, entry);
        }
        Value::Object(entries)
    }

    /// An entry for the values of an operation, with a valid guard.
    fn value(&mut self, operation: &Operation, side: Side, (schema, here): (&serde_json::Value, &Value)) -> Value {
        let places = operation.places.of(side);
        let values: Vec<Option<Value>> = places
            .iter()
            .map(|place| (!self.random.percent(15)).then(|| self.any_at(schema, &segments(place))))
            .collect();
        let now: Vec<Option<Value>> =
            operation.places.of(side.other()).iter().map(|place| value_at(here, place)).collect();
        let mut entry = Value::object();
        for (name, values) in [("value", values), ("became", now)] {
            if let Some(written) = written(&values) {
                entry.set(name, written);
            }
        }
        entry
    }

    /// The kept items of a list or map: assigned by position, by keys or by name, and items that do not exist.
    fn each(
        &mut self,
        (level, keys): (&Level, &[Place]),
        side: Side,
        (schema, now): (&serde_json::Value, &Value),
    ) -> Option<Value> {
        let mut items = Vec::new();
        let (count, item_schema) = match now {
            Value::List(elements) => {
                let schema = schema.get("items")?;
                for (index, element) in elements.iter().enumerate() {
                    if self.random.percent(40) {
                        continue;
                    }
                    let mut item = vec![Value::Number(index.to_string())];
                    if !keys.is_empty() {
                        let of = |key: &Place| value_at(element, key).unwrap_or(Value::Null);
                        item.push(Value::List(keys.iter().map(of).collect()));
                    }
                    item.push(self.level(level, side, (schema, element)));
                    items.push(Value::List(item));
                }
                (elements.len(), schema)
            }
            Value::Object(members) => {
                let schema = map_values(schema)?;
                for (name, member) in members {
                    let key = Value::List(vec![Value::text(name)]);
                    items.push(Value::List(vec![key, self.level(level, side, (schema, member))]));
                }
                (0, schema)
            }
            _ => return None,
        };
        let mut each = Value::object();
        each.set("count", Value::Number(count.to_string()));
        each.set("items", Value::List(items));
        if self.random.percent(40) {
            let item = self.any_of(item_schema, "");
            let at = match now {
                Value::List(_) => Value::Number(self.random.below(count + 1).to_string()),
                _ => Value::text("forged"),
            };
            each.set("omitted", Value::List(vec![Value::List(vec![at, item])]));
        }
        let mut entry = Value::object();
        entry.set("each", each);
        Some(entry)
    }

    fn any_at(&mut self, schema: &serde_json::Value, way: &[Segment]) -> Value {
        match schema_at(schema, way) {
            Some(schema) => self.any_of(schema, &path(way)),
            None => anything(self.random, 2),
        }
    }

    fn any_of(&mut self, schema: &serde_json::Value, name: &str) -> Value {
        let fullness = FillRatio { optional: 60, unknown: 10 };
        match self.random.percent(15) {
            true => anything(self.random, 2),
            false => valid(self.random, schema, name, fullness, self.trip.to.words),
        }
    }
}

fn segments(place: &Place) -> Vec<Segment> {
    place.path.names().iter().map(|name| Segment::Name(name.to_string())).collect()
}

fn value_at(object: &Value, place: &Place) -> Option<Value> {
    object.at(&segments(place)).cloned()
}

/// Values in the form of the annotation: one value directly, several as lists of zero or one element.
fn written(values: &[Option<Value>]) -> Option<Value> {
    match values {
        [one] => one.clone(),
        several if several.iter().all(Option::is_none) => None,
        several => Some(Value::List(several.iter().map(|one| Value::List(one.iter().cloned().collect())).collect())),
    }
}
