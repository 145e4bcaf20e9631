//! What of their labels and annotations two objects had in common when one was made of the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::kind_pair::KindPair;

/// Labels and annotations that an object was made with, and that the one has which it was made of: by place and name, a
/// hash of each value.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct SharedMetadata(BTreeMap<String, String>);

impl SharedMetadata {
    /// What an object has that the other one of two is to have as well.
    pub(super) fn of(object: &Value, pair: &KindPair) -> Self {
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
    pub(super) fn is(&self, key: &str, value: Option<&str>) -> bool {
        self.0.get(key).map(String::as_str) == value.map(hash).as_deref()
    }
}

/// Labels or annotations of an object.
pub(super) fn members<'v>(object: &'v Value, place: &str) -> Option<&'v Map<String, Value>> {
    object.get("metadata")?.get(place)?.as_object()
}

/// A label or annotation, as it is told.
pub(super) fn key(place: &str, name: &str) -> String {
    format!("{place}/{name}")
}

fn hash(value: &str) -> String {
    Sha256::digest(value.as_bytes()).iter().take(DIGITS).map(|byte| format!("{byte:02x}")).collect()
}

/// What of the metadata is carried.
pub(super) const PLACES: [&str; 2] = ["labels", "annotations"];

/// Bytes of a hash: enough that nobody meets two of one by chance, among the values that one label ever has.
const DIGITS: usize = 4;
