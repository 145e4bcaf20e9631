//! The API server's processing of an object, for the tests.

pub(crate) use pointsman_core::laws::apiserver::fill;
pub(super) use pointsman_core::laws::schema::property;
use serde_json::Value as Schema;

use crate::value::Value;

pub(super) fn literal(value: &Schema) -> Value {
    Value::literal(value)
}

/// Why the API server would reject the value at this version, or `None`.
pub(super) fn invalid(schema: &Schema, value: &Value, at: &str) -> Option<String> {
    pointsman_core::laws::apiserver::invalid(schema, value, at).map(|problem| problem.to_string())
}
