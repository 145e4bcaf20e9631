//! Annotations and labels as places of operations.
//!
//! The API server takes no other metadata from a conversion, and validates annotations and labels that changed
//! (`apiextensions-apiserver webhook_converter.go`, `restoreObjectMeta`).

use super::path::Path;
use crate::apimachinery::{is_label_value, is_qualified_name};
use crate::json::Json;

/// A map of the metadata.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MetadataMap {
    Annotations,
    Labels,
}

/// An annotation or a label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct MetadataField {
    pub(crate) map: MetadataMap,
    pub(crate) key: String,
}

impl MetadataMap {
    /// The name of the member of the metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Annotations => "annotations",
            Self::Labels => "labels",
        }
    }

    /// Returns whether the API server accepts a value.
    pub(crate) fn takes(self, value: &Json<'_>) -> bool {
        value.as_str().is_some_and(|text| self == Self::Annotations || is_label_value(&text))
    }
}

impl MetadataField {
    /// The annotation or label at a path. `Err` with the reason if no operation can have this place.
    pub(super) fn at(path: &Path) -> Result<Self, String> {
        let map =
            |name: &str| [MetadataMap::Annotations, MetadataMap::Labels].into_iter().find(|map| map.name() == name);
        let [_, name, key] = path.names() else { return Err(not_convertible(path)) };
        let Some(map) = map(name) else { return Err(not_convertible(path)) };
        if key.starts_with(OURS) {
            return Err(format!("{path}: the names that begin with {OURS} belong to pointsman"));
        }
        if !is_qualified_name(key) {
            return Err(format!("{path}: the API server does not accept the key {key:?}"));
        }
        Ok(Self { map, key: key.to_string() })
    }
}

fn not_convertible(path: &Path) -> String {
    format!(
        "{path}: of the metadata, a conversion can change annotations and labels alone: name one as \
         `metadata.annotations[\"KEY\"]` or `metadata.labels[\"KEY\"]`"
    )
}

/// The prefix of pointsman's annotations and labels.
const OURS: &str = "pointsman.dev/";
