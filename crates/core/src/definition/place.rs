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
}

impl Place {
    /// A field that its schema's default is filled in for, and that is not required.
    pub(super) fn new(path: Path, schema: Schema) -> Self {
        Self { id: path.to_string(), path, fill: schema.default_value(), schema, required: false }
    }

    /// Whether what is filled in is what the API server fills in too, so that a whole object never lacks it.
    pub(crate) fn fills_default(&self) -> bool {
        matches!((&self.fill, self.schema.default_value()), (Some(fill), Some(default)) if fill.same(&default))
    }
}
