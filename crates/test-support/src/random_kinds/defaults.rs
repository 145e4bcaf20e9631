//! Objects with defaults that have contents.

use serde_json::{Map, Value as Schema, json};

use super::paths::{all, at, at_mut, written};
use super::schemas::sample;
use pointsman_core::laws::Random;
use pointsman_core::laws::schema::{map_values, properties, requires};

/// Gives an object of some version, and of the other versions that have it at the same place, a default with contents.
/// A difference to the next version is accepted.
pub(super) fn object_with_default(random: &mut Random, schemas: &mut [Schema], steps: &mut [Schema]) {
    let places: Vec<Vec<String>> = schemas.iter().flat_map(all).filter(|place| place.len() > 1).collect();
    let is_object = |place: &&Vec<String>| {
        let has = |schema: &Schema| at(schema, place).is_some_and(|found| properties(found).next().is_some());
        matches!(place.first().map(String::as_str), Some("spec" | "status")) && schemas.iter().any(has)
    };
    let objects: Vec<Vec<String>> = places.iter().filter(is_object).cloned().collect();
    let Some(place) = random.pick(&objects) else { return };
    let names = schemas.iter().filter_map(|schema| at(schema, place)).flat_map(names);
    let some: Vec<String> = names.filter(|_| random.percent(50)).collect();
    let full = random.percent(50);
    for schema in schemas.iter_mut() {
        if let Some(object) = at_mut(schema, place)
            && let Some(default) = default(object, &some, full)
            && let Some(object) = object.as_object_mut()
        {
            object.insert("default".to_owned(), default);
        }
    }
    for (step, pair) in steps.iter_mut().zip(schemas.windows(2)) {
        let mut defaults = pair.iter().map(|schema| at(schema, place).map(|object| object.get("default")));
        if let (Some(Some(older)), Some(Some(newer))) = (defaults.next(), defaults.next())
            && older != newer
            && !step.get("operations").is_some_and(|operations| covers(operations, &written(place)))
            && let Some(accept) = step.get_mut("accept").and_then(Schema::as_array_mut)
        {
            accept
                .push(json!({"path": written(place), "difference": "default", "reason": "another value from now on"}));
        }
    }
}

/// Returns whether an operation converts a place as part of a larger value, so that it is not compared.
fn covers(operation: &Schema, place: &str) -> bool {
    match operation {
        Schema::String(path) => path.contains('.') && place.starts_with(path.as_str()),
        Schema::Array(all) => all.iter().any(|one| covers(one, place)),
        Schema::Object(members) => members.values().any(|one| covers(one, place)),
        _ => false,
    }
}

fn names(object: &Schema) -> Vec<String> {
    properties(object).map(|(name, _)| name.clone()).collect()
}

/// A default with the required members of the object, and some others.
fn default(object: &Schema, some: &[String], full: bool) -> Option<Schema> {
    let mut made = Map::new();
    for (name, inner) in properties(object) {
        let required = requires(object, name) && inner.get("default").is_none();
        if required || some.contains(name) {
            match if full { filled(inner) } else { sample(inner) } {
                Some(value) => _ = made.insert(name.clone(), value),
                None if required => return None,
                None => {}
            }
        }
    }
    (properties(object).next().is_some() && map_values(object).is_none()).then_some(Schema::Object(made))
}

/// A value with contents.
fn filled(schema: &Schema) -> Option<Schema> {
    if properties(schema).next().is_none() {
        return sample(schema);
    }
    let made: Map<String, Schema> =
        properties(schema).filter_map(|(name, inner)| Some((name.clone(), filled(inner)?))).collect();
    let lacks = properties(schema).any(|(name, _)| requires(schema, name) && !made.contains_key(name));
    (!lacks).then_some(Schema::Object(made))
}
