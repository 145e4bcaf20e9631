//! The API server's part in handling an object, as the tests ask for it.

pub(crate) use pointsman_core::laws::apiserver::fill;
pub(super) use pointsman_core::laws::schema::property;
use serde_json::Value as Schema;

use crate::value::Value;

pub(super) fn literal(value: &Schema) -> Value {
    Value::literal(value)
}

/// Whether the API server would take the value at this version, and why not.
pub(super) fn invalid(schema: &Schema, value: &Value, at: &str) -> Option<String> {
    pointsman_core::laws::apiserver::invalid(schema, value, at).map(|problem| problem.to_string())
}
