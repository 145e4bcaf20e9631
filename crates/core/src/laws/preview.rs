//! A preview of one existing object at another version, and after a round trip.

use super::apiserver::{Invalid, Matches, answered, read, refused};
use super::conversion_path::{Trip, ours};
use super::generate::Dictionary;
use super::hidden_values::hidden_paths;
use super::objects::{ObjectSource, schema_of};
use super::value::{Segment, Value, differences, dotted};
use crate::definition::Kind;
use crate::webhook::{AnnotationBudget, Webhook};

/// The preview of an object at another version: as seen by a client there, by the model of the API server, and after
/// the conversion back.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// Why it cannot be read there. The other fields are then empty.
    pub refused: Option<String>,
    /// A violation of the schema there, if a client writes the object as read. An API server does not validate objects
    /// that it only reads.
    pub invalid: Option<Invalid>,
    /// The differences after the round trip, sorted by path. At most [`DIFFERENCES`].
    pub differences: Vec<RoundTripDiff>,
    /// Fields whose values that version does not show, such as `spec.rules[*].pattern`. They are kept for the object's
    /// own version.
    pub hidden: Vec<String>,
    /// A value was too large for an annotation and was left out. A policy rejects writes of the object.
    pub incomplete: bool,
    /// The size of the kept annotations in bytes, names included. An API server allows 256 KiB for all annotations of
    /// an object (`apimachinery pkg/api/validation/objectmeta.go`).
    pub kept: usize,
}

/// A difference after a round trip.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RoundTripDiff {
    /// The path, such as `spec.ports[0].name`.
    pub path: String,
    /// As JSON. `None` if the value was absent.
    pub before: Option<String>,
    /// As JSON. `None` if the value is lost.
    pub after: Option<String>,
}

/// The maximum number of reported differences of one object.
pub const DIFFERENCES: usize = 20;

/// Reads an object at another version of its kind, and converts it back. `None` if the object's own version or `to` is
/// no version of the kind. `matches` is whether a pattern of a schema matches a text
/// ([`matcher`](super::apiserver::matcher)).
#[must_use]
pub fn preview(webhook: &Webhook, kind: &Kind, object: &Value, to: &str, matches: &Matches<'_>) -> Option<Preview> {
    let words = Dictionary::default();
    let from = object.get("apiVersion").and_then(Value::as_str)?.rsplit('/').next()?;
    let source = |name: &str| {
        let version = kind.versions().find(|version| *version == name)?;
        ObjectSource::new(kind, version, &words)
    };
    let place = |name: &str| isize::try_from(kind.versions().position(|version| version == name)?).ok();
    let distance = place(to)? - place(from)?;
    let trip = Trip::new(webhook, (&source(from)?, &source(to)?), distance, &|| {});
    let mut found = Preview::default();
    if let Err(refused) = fill_preview(&trip, object, matches, &mut found) {
        found.refused = Some(refused);
    }
    Some(found)
}

fn fill_preview(trip: &Trip<'_>, object: &Value, matches: &Matches<'_>, found: &mut Preview) -> Result<(), String> {
    let error_text = |error: &dyn std::fmt::Display| error.to_string();
    // A manifest file relies on the API server for defaults.
    let object = &trip.left(object).map_err(|error| error_text(&error))?;
    let explained = trip.webhook.explain(&object.to_text(), trip.to.version);
    let (converted, changes) = explained.map_err(|error| error_text(&error))?;
    found.incomplete = converted.fit == AnnotationBudget::Not;
    found.hidden = hidden_paths(&changes);
    let there = Value::read(&converted.text).map_err(|error| error_text(&error))?;
    let there = answered(trip.to.schema, &there).map_err(|error| error_text(&error))?;
    found.kept = ours(&there).iter().map(|(name, text)| name.len() + text.len()).sum();
    let written = read(trip.to.schema, &there).map_err(|error| error_text(&error))?;
    // A write needs all required fields, including those that objects may lack.
    found.invalid =
        schema_of(trip.to.kind, trip.to.version).and_then(|schema| refused(schema, &written, None, "", matches));
    let round_tripped = trip.back().seen(&there).map_err(|breach| breach.message)?;
    let (expected, round_tripped) = (trip.comparable(object), trip.comparable(&round_tripped));
    let described = |way: Vec<Segment>| RoundTripDiff {
        path: dotted(&way),
        before: expected.at(&way).map(Value::to_text),
        after: round_tripped.at(&way).map(Value::to_text),
    };
    found.differences = differences(&expected, &round_tripped).into_iter().take(DIFFERENCES).map(described).collect();
    Ok(())
}
