//! Labels and annotations that source and replacement shared at conversion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::short_hash::short_hash;
use crate::spec::kinds::SourceAndTargetKind;

/// Labels and annotations shared by an object and its source: a hash of each value, by place and name.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct SharedMetadata(BTreeMap<String, String>);

impl SharedMetadata {
    /// The shared labels and annotations of one object.
    pub(crate) fn of(object: &Value, pair: &SourceAndTargetKind) -> Self {
        let all = PLACES.iter().flat_map(|place| {
            let members = members(object, place).into_iter().flatten();
            let members = members.filter(|(name, _)| pair.shares(name));
            members.filter_map(|(name, value)| Some((key(place, name), hash(value.as_str()?))))
        });
        Self(all.collect())
    }

    /// As annotation value.
    pub(crate) fn to_annotation(&self) -> Option<Value> {
        serde_json::to_string(self).ok().map(Value::String)
    }

    /// True if a label or annotation had this value, or was absent, at conversion.
    pub(crate) fn is(&self, (place, name): (&str, &str), value: Option<&str>) -> bool {
        self.0.get(&key(place, name)).map(String::as_str) == value.map(hash).as_deref()
    }
}

/// Labels or annotations of an object.
pub(crate) fn members<'v>(object: &'v Value, place: &str) -> Option<&'v Map<String, Value>> {
    object.get("metadata")?.get(place)?.as_object()
}

/// The key of a label or annotation.
fn key(place: &str, name: &str) -> String {
    format!("{place}/{name}")
}

fn hash(value: &str) -> String {
    short_hash(value, DIGITS)
}

/// The shared parts of the metadata.
pub(crate) const PLACES: [&str; 2] = ["labels", "annotations"];

/// Bytes of a hash: enough to avoid collisions among the values of one label.
const DIGITS: usize = 4;
