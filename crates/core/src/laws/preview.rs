//! What becomes of one object that somebody has, at another version and home again.

use super::apiserver::{Invalid, answered, invalid, read};
use super::conversion_path::{Trip, ours};
use super::generate::Dictionary;
use super::hidden_values::hidden_paths;
use super::objects::ObjectSource;
use super::value::{Segment, Value, differences, shown};
use crate::definition::Kind;
use crate::webhook::{AnnotationBudget, Webhook};

/// What becomes of an object at another version: seen by a client there through the model of the API server, and
/// converted back.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// Why it cannot be read there; nothing else is known then.
    pub refused: Option<String>,
    /// What the schema there says no to, if a client wrote the object as it reads it. An API server does not check what
    /// it only reads.
    pub invalid: Option<Invalid>,
    /// What is not as it was when it comes home, in the order of its path; at most [`DIFFERENCES`].
    pub differences: Vec<RoundTripDiff>,
    /// Fields whose values that version does not show, such as `spec.rules[*].pattern`: they are kept for the object's
    /// own version.
    pub hidden: Vec<String>,
    /// Something was too large for an annotation and was left out; a policy refuses to store it like that.
    pub incomplete: bool,
    /// Bytes of the annotations with kept fields there, names included. An API server takes 256 KiB of annotations for
    /// an object, other people's among them (`apimachinery pkg/api/validation/objectmeta.go`).
    pub kept: usize,
}

/// A place that is not as it was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RoundTripDiff {
    /// Where, with `/` between the names.
    pub path: String,
    /// As JSON; none where nothing was there.
    pub before: Option<String>,
    /// As JSON; none where nothing is there any more: it is lost.
    pub after: Option<String>,
}

/// Differences that are told of one object.
pub const DIFFERENCES: usize = 20;

/// Reads an object at another version of its kind, and takes it home. `None` where the object's own version or `to` is
/// no version of the kind.
#[must_use]
pub fn preview(webhook: &Webhook, kind: &Kind, object: &Value, to: &str) -> Option<Preview> {
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
    if let Err(refused) = look(&trip, object, &mut found) {
        found.refused = Some(refused);
    }
    Some(found)
}

fn look(trip: &Trip<'_>, object: &Value, found: &mut Preview) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    // Whoever wrote it in a file left defaults to the API server.
    let object = &trip.left(object).map_err(|error| said(&error))?;
    let explained = trip.webhook.explain(&object.to_text(), trip.to.version);
    let (converted, changes) = explained.map_err(|error| said(&error))?;
    found.incomplete = converted.fit == AnnotationBudget::Not;
    found.hidden = hidden_paths(&changes);
    let there = Value::read(&converted.text).map_err(|error| said(&error))?;
    let there = answered(trip.to.schema, &there).map_err(|error| said(&error))?;
    found.kept = ours(&there).iter().map(|(name, text)| name.len() + text.len()).sum();
    let written = read(trip.to.schema, &there).map_err(|error| said(&error))?;
    found.invalid = invalid(trip.to.schema, &written, "");
    let home = trip.back().seen(&there).map_err(|breach| breach.message)?;
    let (expected, home) = (trip.comparable(object), trip.comparable(&home));
    let told = |way: Vec<Segment>| RoundTripDiff {
        path: shown(&way),
        before: expected.at(&way).map(Value::to_text),
        after: home.at(&way).map(Value::to_text),
    };
    found.differences = differences(&expected, &home).into_iter().take(DIFFERENCES).map(told).collect();
    Ok(())
}
