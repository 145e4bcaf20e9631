//! A field that an operation reads on one side and writes on the other.

use super::{path::Path, schema::Schema};
use crate::json::Json;

/// A field of one version, with its schema.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: Path,
    /// The path as written in kept fields.
    pub(crate) id: String,
    pub(crate) schema: Schema,
    /// The value that a complete object has here if no other value is known.
    pub(crate) fill: Option<Json<'static>>,
    /// The enclosing object requires the field in this version.
    pub(crate) required: bool,
    /// The schema has a default below this field.
    pub(super) fills_inside: bool,
}

impl Place {
    /// A field with the default of its schema, not required.
    pub(super) fn new(path: Path, schema: Schema) -> Self {
        let (fill, fills_inside) = (schema.default_value(), schema.fills_inside());
        Self { id: path.to_string(), path, fill, schema, required: false, fills_inside }
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
        matches!((&self.fill, self.schema.default_value()), (Some(fill), Some(default)) if fill.same(&default))
    }
}
