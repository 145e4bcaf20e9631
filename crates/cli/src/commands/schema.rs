//! What the API server says before it asks a webhook: what it refuses by the schema of the CRD, or for the
//! metadata, and which fields it takes away.

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{UnknownField, bad_metadata, newly_invalid, read, unknown_fields};
use pointsman_core::laws::{Value, schema_of};

use super::input::InputObject;

/// Why an object is refused.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Violation {
    /// Which field, as `spec.image`.
    pub(crate) field: String,
    /// What is wrong with it, and its value.
    pub(crate) message: String,
    /// By what it is refused, said behind "the API server refuses it".
    pub(crate) by: &'static str,
}

impl Violation {
    /// Whether the schema refuses it, and not the metadata.
    pub(crate) fn is_by_schema(&self) -> bool {
        self.by == BY_SCHEMA
    }

    /// What a person is told.
    pub(crate) fn denial(&self) -> String {
        let field = if self.field.is_empty() { "the object" } else { &self.field };
        format!("the API server refuses it{}: {field} {}", self.by, self.message)
    }
}

/// What is said of fields that no schema knows, one text for each.
pub(crate) fn unknown(kind: &Kind, object: &InputObject) -> Vec<String> {
    let Some(schema) = schema_of(kind, object.version()) else { return Vec::new() };
    let fields = Value::read(&object.text).map(|value| unknown_fields(schema, &value));
    let fields = fields.unwrap_or_default().into_iter();
    let gone = "API server takes it away, and kubectl refuses it";
    fields
        .map(|UnknownField { path, meant }| match meant.is_empty() {
            true => format!("unknown field {path:?}: the {gone}"),
            false => format!("unknown field {path:?}{meant} The {gone}"),
        })
        .collect()
}

/// The first thing that the API server would refuse in a write, by the CRD of the definition or for its metadata.
/// `before` is the object that is replaced, in the same version: what an update leaves as it was is let through by the
/// schema, as API servers since 1.30 do.
pub(crate) fn violation(kind: &Kind, object: &InputObject, before: Option<&str>) -> Option<Violation> {
    // A version that does not exist is complained of where it is converted or judged.
    let schema = schema_of(kind, object.version())?;
    let filled = |text: &str| {
        let value = Value::read(text).map_err(|error| error.to_string())?;
        read(schema, &value).map_err(|error| error.to_string())
    };
    let value = match filled(&object.text) {
        Ok(value) => value,
        Err(message) => return Some(Violation { field: String::new(), message, by: BY_SCHEMA }),
    };
    if let Some(bad) = bad_metadata(kind, &value) {
        return Some(Violation { field: bad.field, message: bad.message, by: "" });
    }
    let before = before.and_then(|before| filled(before).ok());
    newly_invalid(schema, &value, before.as_ref(), "").map(|invalid| Violation {
        field: invalid.path.trim_start_matches('/').replace('/', "."),
        message: invalid.message,
        by: BY_SCHEMA,
    })
}

const BY_SCHEMA: &str = " by the schema";
