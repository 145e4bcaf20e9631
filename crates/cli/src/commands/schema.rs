//! What the API server refuses before it asks a webhook: what the schema of the CRD does not allow.

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{invalid, read};
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

/// The first thing that the API server would refuse in a write by the CRD of the definition. What was wrong in the same
/// way before is let through, as API servers since 1.30 do.
pub(crate) fn violation(kind: &Kind, object: &InputObject, old: Option<&InputObject>) -> Option<Violation> {
    let found = of(kind, object)?;
    let before = old.and_then(|old| of(kind, old));
    (before.as_ref() != Some(&found)).then_some(found)
}

fn of(kind: &Kind, object: &InputObject) -> Option<Violation> {
    // A version that does not exist is complained of where it is converted or judged.
    let schema = schema_of(kind, object.version())?;
    let value = match Value::read(&object.text) {
        Ok(value) => value,
        Err(error) => return Some(Violation { field: String::new(), message: error.to_string() }),
    };
    match read(schema, &value) {
        Ok(value) => invalid(schema, &value, "").map(|invalid| Violation {
            field: invalid.path.trim_start_matches('/').replace('/', "."),
            message: invalid.message,
        }),
        Err(error) => Some(Violation { field: String::new(), message: error.to_string() }),
    }
}
