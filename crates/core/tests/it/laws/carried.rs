//! Fields without an operation are carried unchanged, nothing is added, and no field remains that only the source
//! version knows.

use super::objects::{complete, is_complete, is_sparse, sparse};
use super::schema::property;
use super::{Trip, convert, exactly, on_every_trip, overlaps, without_ours};
use crate::kinds::Touched;
use crate::value::{Step, Value, Way, shown};
use pointsman_core::laws::Random;
use serde_json::Value as Schema;

/// The fields of a version that operations read or create. If only this version has an object, the whole object.
fn claimed(trip: &Trip, newer: bool, own: &Schema, other: &Schema) -> Vec<Way> {
    let mut claimed = Vec::new();
    for touched in trip.touched {
        for way in touched.of(newer) {
            let known =
                |end: &usize| way[..*end].iter().try_fold(other, |schema, step| step_into(schema, step)).is_some();
            let end = (1..=way.len()).find(|end| !known(end)).unwrap_or(way.len());
            claimed.push(way[..end].to_vec());
        }
    }
    claimed.extend(filled_requirements(own, other, newer));
    claimed
}

fn step_into<'s>(schema: &'s Schema, step: &Step) -> Option<&'s Schema> {
    match step {
        Step::Name(name) => property(schema, name),
        Step::Index(_) => schema.get("items"),
    }
}

/// Fields that the older version requires, with a default, and that the newer version lacks.
fn filled_requirements(own: &Schema, other: &Schema, newer: bool) -> Vec<Way> {
    let (older, newer) = if newer { (other, own) } else { (own, other) };
    let names = |schema: &Schema| schema.pointer("/properties/spec/required").cloned().unwrap_or_default();
    let (older, newer) = (names(older), names(newer));
    let missing = |name: &&Schema| !newer.as_array().is_some_and(|names| names.contains(name));
    let ways = older.as_array().into_iter().flatten().filter(missing).filter_map(Schema::as_str);
    ways.map(|name| vec![Step::Name("spec".to_owned()), Step::Name(name.to_owned())]).collect()
}

/// Spec and status without the claimed fields, and without objects that become empty.
fn residue(object: &Value, claimed: &[Way], holders: &[Way]) -> Value {
    let mut rest = without_ours(object);
    for way in claimed {
        rest.remove(way);
    }
    for way in holders {
        for end in (1..way.len()).rev() {
            if rest.at(&way[..end]).is_some_and(|value| value.is_empty() || *value == Value::Null) {
                rest.remove(&way[..end]);
            }
        }
    }
    rest.take("apiVersion");
    if rest.get("metadata").is_none_or(|metadata| *metadata == Value::Null) {
        rest.set("metadata", Value::object());
    }
    if rest.field("metadata.annotations").is_some_and(|all| all.is_empty() || *all == Value::Null) {
        rest.take("metadata.annotations");
    }
    rest
}

#[test]
fn unnamed_fields_are_carried() {
    let make = |trip: &Trip, seed: u64| {
        if seed.is_multiple_of(2) { complete(trip, seed) } else { sparse(trip, seed) }
    };
    let seen = on_every_trip(1, &make, &|trip, seen, object, _| {
        let is = (is_complete(trip, object), is_sparse(trip, object));
        if !trip.is_step() || is == (false, false) {
            return Ok(());
        }
        seen.note("sparse", is.1);
        seen.note("complete", is.0);
        let there = convert(object, trip.to)?;
        let (from, to) = (trip.schema_from(), trip.schema_to());
        let (before, after) = (claimed(trip, trip.down, from, to), claimed(trip, !trip.down, to, from));
        let holders = [before.clone(), after.clone()].concat();
        exactly("carried", &residue(object, &before, &holders), &residue(&there, &after, &holders))
    });
    seen.at_least(25, "sparse");
    seen.at_least(25, "complete");
}

#[test]
fn sparse_objects_gain_nothing() {
    let seen = on_every_trip(1, &sparse, &|trip, seen, object, _| {
        if !trip.is_step() || !is_sparse(trip, object) {
            return Ok(());
        }
        let there = without_ours(&convert(object, trip.to)?);
        let has = |object: &Value, ways: &[Way]| ways.iter().any(|way| object.at(way).is_some());
        for Touched { older, newer, .. } in trip.touched {
            let (before, after) = if trip.down { (newer, older) } else { (older, newer) };
            if has(&there, after) && !has(object, before) && !has(object, after) {
                return Err(format!("invents {}", after.iter().map(|way| shown(way)).collect::<Vec<_>>().join(", ")));
            }
            seen.note("operations", true);
        }
        Ok(())
    });
    seen.at_least(100, "operations");
}

#[test]
fn removal_removes_only_derived_fields() {
    let seen = on_every_trip(1, &sparse, &|trip, seen, object, seed| {
        if !trip.is_step() || !is_sparse(trip, object) {
            return Ok(());
        }
        let mut random = Random::new(seed ^ 0x5EED);
        let inside =
            |way: &Way| way.len() > 1 && matches!(&way[0], Step::Name(name) if name == "spec" || name == "status");
        let ways: Vec<Way> = object.ways().into_iter().filter(inside).collect();
        if ways.is_empty() {
            return Ok(());
        }
        let removed = random.pick(&ways).unwrap().clone();
        let mut less = object.clone();
        less.remove(&removed);
        seen.note("removed", true);
        let (mut all, mut fewer) = (without_ours(&convert(object, trip.to)?), without_ours(&convert(&less, trip.to)?));
        let follows: Vec<Way> = trip
            .touched
            .iter()
            .filter(|touched| touched.of(trip.down).iter().any(|way| overlaps(way, &removed)))
            .flat_map(|touched| touched.of(!trip.down).to_vec())
            .collect();
        // The field itself, the results of its operations, and objects that these create or empty.
        let whole = if removed.iter().any(|step| matches!(step, Step::Index(_))) { 2 } else { removed.len() };
        for way in follows.iter().map(Vec::as_slice).chain([&removed[..whole.min(removed.len())]]) {
            all.remove(way);
            fewer.remove(way);
            for end in (1..way.len()).rev() {
                for object in [&mut all, &mut fewer] {
                    if object.at(&way[..end]).is_some_and(|value| value.is_empty() || *value == Value::Null) {
                        object.remove(&way[..end]);
                    }
                }
            }
        }
        exactly("removed", &all, &fewer).map_err(|error| format!("{error}\nwithout {}", shown(&removed)))
    });
    seen.at_least(25, "removed");
}

#[test]
fn one_sided_data_does_not_stay() {
    let seen = on_every_trip(1, &complete, &|trip, seen, object, _| {
        let there = convert(object, trip.to)?;
        for (name, value) in [("spec", there.get("spec")), ("status", there.get("status"))] {
            let schemas = (property(trip.schema_from(), name), property(trip.schema_to(), name));
            if let (Some(value), (Some(from), Some(to))) = (value, schemas) {
                seen.note("compared", true);
                if let Some(way) = stranger(from, to, value) {
                    return Err(format!("{name}{way} is only in {}", trip.from));
                }
            }
        }
        Ok(())
    });
    seen.at_least(100, "compared");
}

/// A field at this location that the source version knows and the target version does not.
fn stranger(from: &Schema, to: &Schema, value: &Value) -> Option<String> {
    match value {
        Value::Object(members) => {
            members.iter().find_map(|(name, value)| match (property(from, name), property(to, name)) {
                (Some(_), None) if to.get("x-kubernetes-preserve-unknown-fields").is_none() => Some(format!(".{name}")),
                (Some(from), Some(to)) => stranger(from, to, value).map(|rest| format!(".{name}{rest}")),
                _ => None,
            })
        }
        Value::List(elements) => match (from.get("items"), to.get("items")) {
            (Some(from), Some(to)) => {
                elements.iter().find_map(|value| stranger(from, to, value)).map(|rest| format!("[*]{rest}"))
            }
            _ => None,
        },
        _ => None,
    }
}
