//! The rollout hash is equal in every version and for every spelling of the same spec.

use uuid::Uuid;

use super::objects::{complete, is_complete, pruned};
use super::schema::fill;
use super::{Seen, Step, Trip, convert, on_every_trip};
use crate::kinds::WEBHOOK;
use crate::value::{Value, way};
use pointsman_core::laws::Random;

fn preimage(object: &Value) -> Result<String, String> {
    let preimage = WEBHOOK.preimage(&object.to_text()).map_err(|error| error.to_string())?;
    Ok(format!("{} {:?}", preimage.canonical, preimage.force))
}

fn equal(what: &str, one: &Value, two: &Value) -> Result<(), String> {
    let (one, two) = (preimage(one)?, preimage(two)?);
    if one == two { Ok(()) } else { Err(format!("{what} moves the hash:\n{one}\n{two}")) }
}

fn is_hashed(trip: &Trip) -> bool {
    trip.kind.hash_version().is_some()
}

#[test]
fn hash_is_equal_in_every_version() {
    let seen = on_every_trip(1, &complete, &|trip, seen, object, _| {
        if !is_hashed(trip) || !is_complete(trip, object) {
            return Ok(());
        }
        seen.note("hashed", true);
        let there = convert(object, trip.to)?;
        equal("converting", object, &there)?;
        equal("coming home", object, &convert(&there, trip.from)?)
    });
    seen.at_least(20, "hashed");
}

/// The object with null, absent and empty values exchanged.
fn with_other_nothings(random: &mut Random, seen: &Seen, object: &Value) -> Value {
    let mut written = object.clone();
    let in_spec = |way: &Vec<Step>| way.len() > 1 && way[0] == Step::Name("spec".to_owned());
    for way in object.ways().into_iter().filter(in_spec) {
        let nothing = object.at(&way).is_some_and(|value| *value == Value::Null || value.is_empty());
        let in_object = matches!(way.last(), Some(Step::Name(_)));
        if seen.note("nothings", nothing && in_object) {
            match random.below(4) {
                0 => drop(written.remove(&way)),
                index => {
                    *written.at_mut(&way).unwrap() =
                        [Value::Null, Value::object(), Value::List(Vec::new())][index - 1].clone()
                }
            }
        }
    }
    written
}

/// The object with other spellings of the UUIDs that its schema declares.
fn with_other_uuids(random: &mut Random, seen: &Seen, spec: &serde_json::Value, object: &Value) -> Value {
    let mut spelled = object.clone();
    let all = spec["properties"].as_object().unwrap().iter();
    for (name, _) in all.filter(|(_, inner)| inner["format"] == "uuid") {
        let Some(Value::Text(text)) = spelled.at_mut(&way(&format!("spec.{name}"))) else {
            continue;
        };
        let uuid = Uuid::try_parse(text).unwrap();
        *text =
            if random.percent(50) { uuid.simple().to_string().to_uppercase() } else { uuid.hyphenated().to_string() };
        seen.note("UUIDs", true);
    }
    spelled
}

#[test]
fn hash_ignores_spelling() {
    let seen = on_every_trip(1, &pruned, &|trip, seen, object, seed| {
        if trip.kind.hash_version() != Some(trip.from) || !is_complete(trip, object) {
            return Ok(());
        }
        seen.note("hashed", true);
        let mut random = Random::new(seed ^ 0x4A54);
        // Defaults that were not filled in.
        let mut unfilled = object.clone();
        let spec = &trip.schema_from()["properties"]["spec"];
        for (name, inner) in spec["properties"].as_object().unwrap() {
            let path = format!("spec.{name}");
            if inner.get("default").is_some_and(|default| object.field(&path) == Some(&super::schema::literal(default)))
            {
                seen.note("defaults", true);
                unfilled.take(&path);
            }
        }
        equal("a default", object, &unfilled)?;
        let mut filled = unfilled;
        fill(trip.schema_from(), &mut filled);
        equal("filling", object, &filled)?;
        let written = with_other_nothings(&mut random, seen, object);
        equal("null, absent or empty", object, &written)?;
        let spelled = with_other_uuids(&mut random, seen, spec, object);
        equal("the spelling of a UUID", object, &spelled)?;
        // Members in another order.
        let mut shuffled = String::new();
        object.write(&mut shuffled, &mut |names| random.shuffle(names));
        let other = WEBHOOK.preimage(&shuffled).map_err(|error| error.to_string())?;
        (other == WEBHOOK.preimage(&object.to_text()).unwrap())
            .then_some(())
            .ok_or_else(|| "the order of members moves the hash".to_owned())
    });
    seen.at_least(10, "hashed");
    seen.at_least(5, "nothings");
    seen.at_least(5, "defaults");
    seen.at_least(5, "UUIDs");
}

#[test]
fn hash_covers_exactly_its_fields() {
    let seen = on_every_trip(1, &pruned, &|trip, seen, object, seed| {
        if trip.kind.hash_version() != Some(trip.from) || !is_complete(trip, object) {
            return Ok(());
        }
        let mut random = Random::new(seed ^ 0x5EE5);
        let edited = super::objects::edited(&mut random, trip, trip.from, object);
        let except = [
            "balancerdExternalCertificateSpec",
            "balancerdReplicas",
            "balancerdResourceRequirements",
            "consoleExternalCertificateSpec",
            "consoleReplicas",
            "consoleResourceRequirements",
            "forcePromote",
            "notes",
        ];
        let hashed = |object: &Value| {
            let mut spec = object.get("spec").cloned().unwrap_or_else(Value::object);
            for name in except {
                spec.take(name);
            }
            if trip.kind.name() == "mailbox" {
                spec.take("owner.name");
            }
            fill(&trip.schema_from()["properties"]["spec"], &mut spec);
            canonical(&trip.schema_from()["properties"]["spec"], &spec).unwrap_or_else(Value::object)
        };
        let moved = preimage(object)? != preimage(&edited)?;
        seen.note("moved", moved);
        seen.note("stayed", !moved);
        (moved == (hashed(object) != hashed(&edited)))
            .then_some(())
            .ok_or_else(|| format!("moved: {moved}\n{}", edited.to_text()))
    });
    seen.at_least(3, "moved");
    seen.at_least(3, "stayed");
}

/// The recipe of the hash, restated: empty values are removed from objects, UUIDs are normalized.
fn canonical(schema: &serde_json::Value, value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let inner = |name: &str| super::schema::property(schema, name).unwrap_or(&serde_json::Value::Null);
            let left: std::collections::BTreeMap<String, Value> = members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), canonical(inner(name), value)?)))
                .filter(|(_, value)| *value != Value::Null)
                .collect();
            (!left.is_empty()).then_some(Value::Object(left))
        }
        Value::List(elements) if elements.is_empty() => None,
        Value::List(elements) => {
            let element = |value: &Value| {
                canonical(&schema["items"], value).unwrap_or_else(|| match value {
                    Value::List(_) => Value::List(Vec::new()),
                    Value::Object(_) => Value::object(),
                    other => other.clone(),
                })
            };
            Some(Value::List(elements.iter().map(element).collect()))
        }
        Value::Text(text) if schema["format"] == "uuid" => {
            Some(Value::Text(Uuid::try_parse(text).map_or_else(|_| text.clone(), |uuid| uuid.to_string())))
        }
        other => Some(other.clone()),
    }
}
