//! Laws of copied and kept data: the identity is preserved, no value is invented, fields of the other version alone are
//! absent, kept data is small, and the rollout hash is stable.

use serde_json::Value as Schema;

use super::apiserver::bad_metadata;
use super::case::Case;
use super::conversion_path::{Breach, Trip, identical, ours, without_ours};
use super::schema::{preserves, property};
use super::value::{Segment, Value, way};

pub(super) fn nothing_is_invented(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    if !trip.from.is_sparse(object) || !trip.step {
        return Ok(false);
    }
    let (there, changes) = trip.explained(object)?;
    let made = changes.into_iter().find(|change| change.before.is_empty() && !change.given_back);
    match made.and_then(|change| change.after.into_iter().next()) {
        Some((path, value)) => {
            Err(Breach::new(format!("invents {path}: {value}")).at(way(&path)).after("there", &there))
        }
        None => Ok(true),
    }
}

pub(super) fn no_stranger_stays(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    if !trip.from.is_complete(object) {
        return Ok(false);
    }
    let there = trip.there(object)?;
    for name in ["spec", "status"] {
        let (from, to) = (property(trip.from.schema, name), property(trip.to.schema, name));
        if let (Some(value), Some(from), Some(to)) = (there.get(name), from, to)
            && let Some(mut way) = stranger(from, to, value)
        {
            way.insert(0, Segment::Name(name.to_owned()));
            let shown = super::value::shown(&way);
            return Err(Breach::new(format!("only {} has the field {shown}", trip.from.version))
                .at(way)
                .after("there", &there));
        }
    }
    Ok(true)
}

/// A field that the source version has at this place, and the target version lacks.
fn stranger(from: &Schema, to: &Schema, value: &Value) -> Option<Vec<Segment>> {
    let behind = |segment: Segment, mut rest: Vec<Segment>| {
        rest.insert(0, segment);
        rest
    };
    match value {
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let segment = Segment::Name(name.clone());
            match (property(from, name), property(to, name)) {
                (Some(_), None) if names(from, name) && !preserves(to) => Some(vec![segment]),
                (Some(from), Some(to)) => stranger(from, to, value).map(|rest| behind(segment, rest)),
                _ => None,
            }
        }),
        Value::List(elements) => {
            let (from, to) = (from.get("items")?, to.get("items")?);
            let mut elements = elements.iter().enumerate();
            elements
                .find_map(|(index, value)| stranger(from, to, value).map(|rest| behind(Segment::Index(index), rest)))
        }
        _ => None,
    }
}

/// Returns whether a schema names a property. A map accepts any key, which is no evidence of fields of another version.
fn names(schema: &Schema, name: &str) -> bool {
    schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
}

pub(super) fn identity_is_carried(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    if object.get("metadata").is_none_or(|metadata| *metadata == Value::Null) {
        return Ok(false);
    }
    let Ok(there) = trip.there(object) else { return Ok(false) };
    let head = |object: &Value| {
        let mut object = without_ours(object);
        without_converted(trip, &mut object);
        let annotations = object.field("metadata.annotations");
        if annotations.is_some_and(|all| all.is_empty() || *all == Value::Null) {
            object.take("metadata.annotations");
        }
        let members = object.get("metadata").map(|metadata| ("metadata".to_owned(), metadata.clone()));
        Value::Object(members.into_iter().collect())
    };
    identical("its identity", &head(object), &head(&there))?;
    if bad_metadata(trip.from.kind, object).is_none()
        && let Some(bad) = bad_metadata(trip.from.kind, &without_ours(&there))
    {
        return Err(Breach::new(format!("{}: {}", bad.field, bad.message)).after("there", &there));
    }
    let member_text = |name: &str| there.get(name).and_then(Value::as_str);
    let (version, kind) = trip.to.identity();
    match member_text("apiVersion") == Some(version) && member_text("kind") == Some(kind) {
        true => Ok(true),
        false => Err(Breach::new(format!("is not labelled as {version} {kind}"))),
    }
}

/// Removes the annotations and labels that operations convert, and a map without others. The API server does not
/// distinguish an empty map or a null from an absent one.
fn without_converted(trip: &Trip<'_>, object: &mut Value) {
    for field in trip.from.kind.steps.iter().flat_map(|step| &step.metadata_fields) {
        let at = ["metadata", field.map.name()].map(|name| Segment::Name(name.to_owned()));
        let is_empty = match object.at_mut(&at) {
            Some(Value::Object(all)) => {
                all.remove(&field.key);
                all.is_empty()
            }
            Some(Value::Null) => true,
            _ => false,
        };
        if is_empty {
            object.remove(&at);
        }
    }
}

/// The size of guards and quotes that an annotation may need in addition to the values.
const OVERHEAD: usize = 400;

/// The size of `{"value":}` with a guard and a comma.
const ENTRY: usize = 24;

/// The size of the paths in a kept annotation. Each entry has its whole path, while neighbouring fields of an object
/// share the names of their parents.
fn paths(annotation: &Value) -> usize {
    match annotation {
        Value::Object(members) => {
            let path = |name: &str| if name.contains('.') { name.len() + ENTRY } else { 0 };
            members.iter().map(|(name, value)| path(name) + paths(value)).sum()
        }
        Value::List(elements) => elements.iter().map(paths).sum(),
        _ => 0,
    }
}

/// Each annotation is measured separately. In a conversion of several steps, each intermediate version must keep
/// everything that only that version can represent: its annotation is used up when that version is written, while the
/// other annotations stay pending and may be edited. So an annotation cannot rely on the content of another one, and a
/// value that two versions cannot represent, such as a new nested list, is stored in two annotations.
pub(super) fn what_is_kept_is_small(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    if !trip.from.is_complete(object) {
        return Ok(false);
    }
    let there = trip.there(object)?;
    let whole = object.to_text().len();
    for (_, text) in ours(&there) {
        let paths = Value::read(text).map_or(0, |annotation| paths(&annotation));
        if text.len() > whole + OVERHEAD + paths {
            let message = format!("keeps {} bytes of an object of {whole}", text.len());
            return Err(Breach::new(message).after("there", &there));
        }
    }
    Ok(true)
}

pub(super) fn the_hash_stays(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    if trip.from.kind.hash_version().is_none() || !trip.from.is_complete(object) {
        return Ok(false);
    }
    let preimage = |object: &Value| {
        let preimage = trip.webhook.preimage(&object.to_text());
        preimage.map_err(|error| Breach::new(format!("has no rollout hash: {error}")))
    };
    let there = trip.there(object)?;
    let round_tripped = trip.back().there(&there)?;
    for (what, other) in [("converted", &there), ("back home", &round_tripped)] {
        let (one, two) = (preimage(object)?, preimage(other)?);
        if one != two {
            let message = format!("{what}: hashes {} and not {}", two.canonical, one.canonical);
            return Err(Breach::new(message).after(what, other));
        }
    }
    Ok(true)
}
