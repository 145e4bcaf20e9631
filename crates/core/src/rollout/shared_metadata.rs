//! What of their labels and annotations two objects had in common when one was made of the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kinds::SourceAndTargetKind;
use super::short_hash::short_hash;

/// Labels and annotations that an object was made with, and that the one has which it was made of: by place and name, a
/// hash of each value.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct SharedMetadata(BTreeMap<String, String>);

impl SharedMetadata {
    /// What an object has that the other one of two is to have as well.
    pub(super) fn of(object: &Value, pair: &SourceAndTargetKind) -> Self {
        let all = PLACES.iter().flat_map(|place| {
            let members = members(object, place).into_iter().flatten();
            let members = members.filter(|(name, _)| pair.shares(name));
            members.filter_map(|(name, value)| Some((key(place, name), hash(value.as_str()?))))
        });
        Self(all.collect())
    }

    /// As an annotation says it.
    pub(super) fn told(&self) -> Option<Value> {
        serde_json::to_string(self).ok().map(Value::String)
    }

    /// Whether a label or annotation was this, or was not there, when both were alike.
    pub(super) fn is(&self, (place, name): (&str, &str), value: Option<&str>) -> bool {
        self.0.get(&key(place, name)).map(String::as_str) == value.map(hash).as_deref()
    }
}

/// Labels or annotations of an object.
pub(super) fn members<'v>(object: &'v Value, place: &str) -> Option<&'v Map<String, Value>> {
    object.get("metadata")?.get(place)?.as_object()
}

/// A label or annotation, as it is told.
fn key(place: &str, name: &str) -> String {
    format!("{place}/{name}")
}

fn hash(value: &str) -> String {
    short_hash(value, DIGITS)
}

/// What of the metadata is carried.
pub(super) const PLACES: [&str; 2] = ["labels", "annotations"];

/// Bytes of a hash: enough that nobody meets two of one by chance, among the values that one label ever has.
const DIGITS: usize = 4;
