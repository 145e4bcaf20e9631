//! Checks of the API server before it calls a webhook: schema, metadata and unknown fields.

use std::cell::RefCell;
use std::collections::HashMap;

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{UnknownField, bad_metadata, matcher, read, refused, unknown_fields};
use pointsman_core::laws::{Value, has_status_subresource, schema_of};

use super::input::InputObject;

/// Why an object is rejected.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Violation {
    /// The field, as `spec.image`.
    pub(crate) field: String,
    /// The error, and the value.
    pub(crate) message: String,
    /// The reason, printed after "the API server refuses it".
    pub(crate) by: &'static str,
}

impl Violation {
    /// Returns whether the schema rejects the object, rather than the metadata.
    pub(crate) fn is_by_schema(&self) -> bool {
        self.by == BY_SCHEMA
    }

    /// The message for people.
    pub(crate) fn denial(&self) -> String {
        let field = if self.field.is_empty() { "the object" } else { &self.field };
        format!("the API server refuses it{}: {field} {}", self.by, self.message)
    }
}

/// A message for each unknown field.
pub(crate) fn unknown(kind: &Kind, object: &InputObject) -> Vec<String> {
    let Some(schema) = schema_of(kind, object.version()) else { return Vec::new() };
    let fields = Value::read(&object.text).map(|value| unknown_fields(schema, &value));
    let fields = fields.unwrap_or_default().into_iter();
    let removal = "API server prunes the field, and kubectl refuses the object";
    fields
        .map(|UnknownField { path, meant }| match meant.is_empty() {
            true => format!("unknown field {path:?}: the {removal}"),
            false => format!("unknown field {path:?}{meant} The {removal}"),
        })
        .collect()
}

/// The first error of an object by the CRD of the definition or by metadata.
pub(crate) fn violation(kind: &Kind, object: &InputObject) -> Option<Violation> {
    judged(kind, object, None, false)
}

/// The first error of a write by the CRD of the definition or by metadata. With a status subresource, the status of the
/// write is ignored. `before` is the old object in the same version: unchanged values of an update are not validated
/// by the schema, as in API servers since 1.30.
pub(crate) fn violation_of_write(kind: &Kind, object: &InputObject, before: Option<&str>) -> Option<Violation> {
    judged(kind, object, before, has_status_subresource(kind, object.version()))
}

fn judged(kind: &Kind, object: &InputObject, before: Option<&str>, keeps_status: bool) -> Option<Violation> {
    // An unknown version is reported by the conversion or the judgement.
    let schema = schema_of(kind, object.version())?;
    let filled = |text: &str| {
        let value = Value::read(text).map_err(|error| error.to_string())?;
        read(schema, &value).map_err(|error| error.to_string())
    };
    let mut value = match filled(&object.text) {
        Ok(value) => value,
        Err(message) => return Some(Violation { field: String::new(), message, by: BY_SCHEMA }),
    };
    if let Some(bad) = bad_metadata(kind, &value) {
        return Some(Violation { field: bad.field, message: bad.message, by: "" });
    }
    let before = before.and_then(|before| filled(before).ok());
    if keeps_status {
        value.take("status");
        if let Some(status) = before.as_ref().and_then(|before| before.get("status")) {
            value.set("status", status.clone());
        }
    }
    refused(schema, &value, before.as_ref(), "", &matches).map(|invalid| Violation {
        field: invalid.path.trim_start_matches('/').replace('/', "."),
        message: invalid.message,
        by: BY_SCHEMA,
    })
}

/// A compiled pattern.
type Matcher = Box<dyn Fn(&str) -> bool>;

/// Returns whether a pattern of a schema matches a text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    thread_local! {
        /// A CRD has few patterns, and its objects have many values.
        static MATCHERS: RefCell<HashMap<String, Matcher>> = RefCell::default();
    }
    MATCHERS.with_borrow_mut(|matchers| {
        let matches = matchers.entry(pattern.to_owned()).or_insert_with(|| matcher(pattern));
        matches(text)
    })
}

const BY_SCHEMA: &str = " by the schema";
