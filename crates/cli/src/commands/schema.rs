//! What the API server refuses before it asks a webhook: what the schema of the CRD does not allow.

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{newly_invalid, read};
use pointsman_core::laws::{Value, schema_of};

use super::input::InputObject;

/// Why an object is not valid by the schema of its version.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Violation {
    /// Which field, as `spec.image`.
    pub(crate) field: String,
    /// What is wrong with it, and its value.
    pub(crate) message: String,
}

/// The first thing that the API server would refuse in a write by the CRD of the definition. `before` is the object
/// that is replaced, in the same version: what an update leaves as it was is let through, as API servers since 1.30 do.
pub(crate) fn violation(kind: &Kind, object: &InputObject, before: Option<&str>) -> Option<Violation> {
    // A version that does not exist is complained of where it is converted or judged.
    let schema = schema_of(kind, object.version())?;
    let filled = |text: &str| {
        let value = Value::read(text).map_err(|error| error.to_string())?;
        read(schema, &value).map_err(|error| error.to_string())
    };
    let value = match filled(&object.text) {
        Ok(value) => value,
        Err(message) => return Some(Violation { field: String::new(), message }),
    };
    let before = before.and_then(|before| filled(before).ok());
    newly_invalid(schema, &value, before.as_ref(), "").map(|invalid| Violation {
        field: invalid.path.trim_start_matches('/').replace('/', "."),
        message: invalid.message,
    })
}
