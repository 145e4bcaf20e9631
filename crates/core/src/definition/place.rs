//! A field that an operation reads on one side and writes on the other.

use super::{path::Path, schema::Schema};
use crate::json::Json;

/// A field of one version, with what its schema says of it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: Path,
    /// The path as it is written in kept fields.
    pub(crate) id: String,
    pub(crate) schema: Schema,
    /// What a complete object has here when nothing else is known.
    pub(crate) fill: Option<Json<'static>>,
    /// The version requires it of the object that holds it.
    pub(crate) required: bool,
    /// Somewhere inside there is a default.
    pub(super) fills_inside: bool,
}

impl Place {
    /// A field that its schema's default is filled in for, and that is not required.
    pub(super) fn new(path: Path, schema: Schema) -> Self {
        let (fill, fills_inside) = (schema.default_value(), schema.fills_inside());
        Self { id: path.to_string(), path, fill, schema, required: false, fills_inside }
    }

    /// What the API server makes of a value: with what it fills in, here and inside. `None` where that is nothing more.
    pub(crate) fn filled(&self, value: Option<&Json<'_>>) -> Option<Json<'static>> {
        match value {
            None => self.schema.default_value(),
            Some(value) if self.fills_inside => Some(self.schema.filled(serde_json::from_str(&value.text()).ok()?)),
            Some(_) => None,
        }
    }

    /// What the API server fills in where nothing is.
    pub(crate) fn fill_by_default(&self) -> Option<Json<'static>> {
        self.schema.default_value()
    }

    /// Whether what is filled in is what the API server fills in too, so that a whole object never lacks it.
    pub(crate) fn fills_default(&self) -> bool {
        matches!((&self.fill, self.schema.default_value()), (Some(fill), Some(default)) if fill.same(&default))
    }
}
