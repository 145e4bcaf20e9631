//! Whole objects, as the API server would hand them over, and as it would not.

use super::Trip;
use super::generate::{Fullness, anything, valid};
use super::random::Random;
use super::schema::{self, fill, invalid};
use crate::value::{Value, text};
use pointsman_core::definition::Kind;

/// An object that the API server would store at the version: valid, defaults filled.
pub(super) fn complete(trip: &Trip, seed: u64) -> Value {
    let mut random = Random::new(seed);
    let optional = *random.pick(&[90, 50, 10]);
    let unknown = *random.pick(&[0, 0, 0, 20]);
    made(&mut random, trip, Fullness { optional, unknown })
}

/// The same without fields that no schema knows.
pub(super) fn pruned(trip: &Trip, seed: u64) -> Value {
    let mut random = Random::new(seed);
    let optional = *random.pick(&[90, 50, 10]);
    made(&mut random, trip, Fullness { optional, unknown: 0 })
}

fn made(random: &mut Random, trip: &Trip, fullness: Fullness) -> Value {
    let mut object = valid(random, trip.schema_from(), "", fullness);
    object.set("spec", object.get("spec").cloned().unwrap_or_else(Value::object));
    head(random, trip.kind, trip.from, &mut object);
    fill(trip.schema_from(), &mut object);
    if random.percent(50) {
        match_hashes(random, &mut object);
    }
    object
}

/// Lets the status name the hash that the spec has, as controllers do.
fn match_hashes(random: &mut Random, object: &mut Value) {
    let Ok(preimage) = crate::kinds::WEBHOOK.preimage(&object.to_text()) else {
        return;
    };
    for field in ["status.lastCompletedRolloutHash", "status.requestedRolloutHash"] {
        if random.percent(60) && object.field(field).is_some() {
            object.set(field, text(&preimage.hash()));
        }
    }
    if random.percent(40) && object.field("status.lastCompletedRolloutRequest").is_some() {
        let request = object.field("spec.requestRollout").cloned();
        object.set("status.lastCompletedRolloutRequest", request.unwrap_or(Value::Null));
    }
}

fn head(random: &mut Random, kind: &Kind, version: &str, object: &mut Value) {
    object.set("apiVersion", text(&format!("{}/{version}", kind.group())));
    object.set("kind", text(kind.kind()));
    let mut metadata = Value::parse(
        r#"{"name":"a","namespace":"b","uid":"c","generation":2,"finalizers":["x/y"]}"#,
    );
    if random.percent(50) {
        metadata.set("labels", Value::parse(r#"{"app":"x","example.com/y":""}"#));
    }
    match random.below(20) {
        0 => metadata.set("annotations", Value::object()),
        1..10 => metadata.set(
            "annotations",
            Value::parse(r#"{"a":"b","materialize.cloud/force-rollout":"x","é":"\n"}"#),
        ),
        _ => {}
    }
    object.set("metadata", metadata);
}

/// Whether the API server would hand this over as a whole object: valid, with its defaults.
pub(super) fn is_complete(trip: &Trip, object: &Value) -> bool {
    let mut filled = object.clone();
    fill(trip.schema_from(), &mut filled);
    has_head(object)
        && object.get("spec").is_some()
        && filled == *object
        && invalid(trip.schema_from(), object, "").is_none()
}

fn has_head(object: &Value) -> bool {
    let metadata = matches!(object.get("metadata"), Some(Value::Object(members)) if ["name", "namespace", "uid"].iter().all(|name| members.contains_key(*name)));
    metadata
        && matches!(object.get("kind"), Some(Value::Text(_)))
        && matches!(object.get("apiVersion"), Some(Value::Text(_)))
}

/// What one field manager owns of an object: places are missing, required ones and metadata too.
pub(super) fn sparse(trip: &Trip, seed: u64) -> Value {
    let mut random = Random::new(seed);
    let mut object = complete(trip, seed);
    if random.percent(60) {
        // Without a required field the object is no complete one.
        let required = trip
            .schema_from()
            .pointer("/properties/spec/required")
            .and_then(|names| names.get(0))
            .cloned();
        let name = required
            .as_ref()
            .and_then(serde_json::Value::as_str)
            .map_or_else(|| "spec".to_owned(), |name| format!("spec.{name}"));
        object.take(&name);
    }
    for _ in 0..random.below(6) {
        let ways = object.ways();
        let way = random.pick(&ways);
        if !matches!(way.first(), Some(crate::value::Step::Name(name)) if name == "apiVersion" || name == "kind")
        {
            object.remove(way);
        }
    }
    object
}

/// Whether what is there of an object is valid, and something that makes it a whole one is missing.
pub(super) fn is_sparse(trip: &Trip, object: &Value) -> bool {
    invalid(trip.relaxed, object, "").is_none() && !has_required(trip.schema_from(), object)
}

/// Whether an object has what its spec requires.
fn has_required(schema: &serde_json::Value, object: &Value) -> bool {
    let required =
        schema.pointer("/properties/spec/required").and_then(serde_json::Value::as_array);
    let has = |name: &str| {
        object.field(&format!("spec.{name}")).is_some_and(|value| *value != Value::Null)
    };
    matches!(object.get("spec"), Some(Value::Object(_)))
        && required.into_iter().flatten().filter_map(serde_json::Value::as_str).all(has)
}

/// An object in which anything may stand anywhere.
pub(super) fn hostile(trip: &Trip, seed: u64) -> Value {
    let mut random = Random::new(seed);
    let mut object = if random.percent(50) { complete(trip, seed) } else { sparse(trip, seed) };
    for _ in 0..1 + random.below(5) {
        let ways = object.ways();
        let way = random.pick(&ways).clone();
        let head = matches!(way.first(), Some(crate::value::Step::Name(name)) if name == "apiVersion" || name == "kind");
        if way.is_empty() || head {
            continue;
        }
        if let Some(place) = object.at_mut(&way) {
            *place = anything(&mut random, 3);
        }
    }
    object
}

/// Changes something visible, so that the object stays one that the API server takes.
pub(super) fn edited(random: &mut Random, schema: &serde_json::Value, object: &Value) -> Value {
    let fullness = Fullness { optional: 60, unknown: 0 };
    for _ in 0..200 {
        let mut edited = object.clone();
        for _ in 0..1 + random.below(2) {
            edit(random, schema, &mut edited, fullness);
        }
        fill(schema, &mut edited);
        if edited != *object
            && invalid(schema, &edited, "").is_none()
            && edited.get("spec").is_some()
        {
            return edited;
        }
    }
    object.clone()
}

fn edit(random: &mut Random, root: &serde_json::Value, object: &mut Value, fullness: Fullness) {
    use crate::value::Step;
    let inside = |way: &crate::value::Way| matches!(way.first(), Some(Step::Name(name)) if name == "spec" || name == "status");
    let ways: Vec<_> = object.ways().into_iter().filter(inside).collect();
    if ways.is_empty() {
        return;
    }
    let way = random.pick(&ways).clone();
    fn step<'s>(schema: &'s serde_json::Value, step: &Step) -> Option<&'s serde_json::Value> {
        match step {
            Step::Name(name) => schema::property(schema, name),
            Step::Index(_) => schema.get("items"),
        }
    }
    let Some(schema) = way.iter().try_fold(root, step) else {
        return;
    };
    let name = match way.last() {
        Some(Step::Name(name)) => name.clone(),
        _ => String::new(),
    };
    match (random.below(5), object.at_mut(&way)) {
        (0, _) => drop(object.remove(&way)),
        (1, Some(Value::List(elements))) => random.shuffle(elements),
        (2, Some(Value::List(elements))) => {
            let at = random.below(elements.len() + 1);
            elements.insert(at, valid(random, &schema["items"], &name, fullness));
        }
        (1..4, Some(Value::Object(members))) => {
            let more = valid(random, schema, &name, Fullness { optional: 90, unknown: 0 });
            if let Value::Object(more) = more {
                let more: Vec<_> = more.into_iter().collect();
                if !more.is_empty() {
                    let (name, value) = random.pick(&more).clone();
                    members.insert(name, value);
                }
            }
        }
        (_, Some(place)) => *place = valid(random, schema, &name, fullness),
        (_, None) => {}
    }
}
