//! Annotations and labels as places of operations.
//!
//! The API server ignores other changes of the metadata, and validates annotations and labels that changed
//! (`apiextensions-apiserver webhook_converter.go`, `restoreObjectMeta`).

use super::carried_metadata::OURS;
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
    /// The annotation or label at a path. `Err` with the reason if operations cannot change it.
    pub(super) fn at(path: &Path) -> Result<Self, String> {
        let map =
            |name: &str| [MetadataMap::Annotations, MetadataMap::Labels].into_iter().find(|map| map.name() == name);
        let [_, name, key] = path.names() else { return Err(not_convertible(path)) };
        let Some(map) = map(name) else { return Err(not_convertible(path)) };
        if key.starts_with(OURS) {
            return Err(format!("{path}: keys with the prefix {OURS} are reserved for pointsman"));
        }
        // The API server ignores the case of the keys of annotations (`apimachinery pkg/api/validation/objectmeta.go`,
        // `ValidateAnnotations`).
        let is_valid = match map {
            MetadataMap::Annotations => is_qualified_name(&key.to_lowercase()),
            MetadataMap::Labels => is_qualified_name(key),
        };
        if !is_valid {
            return Err(format!("{path}: {key:?} is not a valid key of an annotation or a label"));
        }
        Ok(Self { map, key: key.to_string() })
    }
}

fn not_convertible(path: &Path) -> String {
    format!(
        "{path}: in the metadata, an operation can change only an annotation or a label: write \
         `metadata.annotations[\"KEY\"]` or `metadata.labels[\"KEY\"]`"
    )
}
