//! A field that an operation reads on one side and writes on the other.

use super::{metadata_field::MetadataMap, path::Path, schema::Schema};
use crate::json::Json;

/// A field of one version, with its schema.
#[derive(Debug)]
pub(crate) struct Place {
    pub path: Path,
    /// The path as written in kept fields.
    pub(crate) id: String,
    pub(crate) schema: Schema,
    /// The value that a complete object has here if no other value is known.
    pub(crate) fill: Option<Fill>,
    /// The enclosing object requires the field in this version.
    pub(crate) required: bool,
    /// The map of the metadata, if the field is an annotation or a label.
    pub(crate) metadata: Option<MetadataMap>,
    /// The schema has a default below this field.
    pub(super) fills_inside: bool,
}

/// A value of the definition for an absent field.
#[derive(Debug)]
pub(crate) enum Fill {
    /// The same value for each object.
    Value(Json<'static>),
    /// The namespace of the object.
    Namespace,
}

impl Fill {
    /// The value for an object in a namespace. `None` for the namespace of an object without one.
    pub(crate) fn value(&self, namespace: Option<&str>) -> Option<Json<'_>> {
        match self {
            Self::Value(value) => Some(value.view()),
            Self::Namespace => namespace.map(Json::string),
        }
    }

    /// The maximum size of the value in bytes. A namespace is a DNS label, of 63 characters, here with quotes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.size(),
            Self::Namespace => 65,
        }
    }
}

impl Place {
    /// A field with the default of its schema, not required.
    pub(super) fn new(path: Path, schema: Schema) -> Self {
        let (fill, fills_inside) = (schema.default_value().map(Fill::Value), schema.fills_inside());
        Self { id: path.to_string(), path, fill, schema, required: false, metadata: None, fills_inside }
    }

    /// The value after the API server filled in defaults, here and below. `None` if no default applies.
    pub(crate) fn filled(&self, value: Option<&Json<'_>>) -> Option<Json<'static>> {
        match value {
            None => self.schema.default_value(),
            Some(value) if self.fills_inside => Some(self.schema.filled(serde_json::from_str(&value.text()).ok()?)),
            Some(_) => None,
        }
    }

    /// The default that the API server fills in for an absent value.
    pub(crate) fn fill_by_default(&self) -> Option<Json<'static>> {
        self.schema.default_value()
    }

    /// Returns whether the fill value is also the API server's default, so that a complete object always has it.
    pub(crate) fn fills_default(&self) -> bool {
        matches!((&self.fill, self.schema.default_value()), (Some(Fill::Value(fill)), Some(default)) if fill.same(&default))
    }
}
