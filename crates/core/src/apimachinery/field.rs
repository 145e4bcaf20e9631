//! What is wrong with a field, in Kubernetes' own words.
//!
//! Source: `apimachinery pkg/util/validation/field/errors.go`.

use std::fmt;

use super::excerpt::excerpt;
use crate::json::Json;

/// One thing that is wrong with one field.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FieldError {
    /// The field, as the request's version spells it.
    pub path: String,
    /// What kind of wrong.
    pub reason: Reason,
    /// The value, where it says something.
    pub value: Option<String>,
    /// What would be right.
    pub detail: String,
}

/// The kinds of wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The change is not allowed, whatever the value.
    Forbidden,
    /// The value is not allowed.
    Invalid,
    /// There is no value, and there must be one.
    Required,
}

impl Reason {
    /// The name of the reason in a status' causes.
    #[must_use]
    pub fn cause(self) -> &'static str {
        match self {
            Self::Forbidden => "FieldValueForbidden",
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
        }
    }
}

impl FieldError {
    pub(crate) fn forbidden(path: impl ToString, detail: impl Into<String>) -> Self {
        Self { path: path.to_string(), reason: Reason::Forbidden, value: None, detail: detail.into() }
    }

    pub(crate) fn invalid(path: impl ToString, value: &Json<'_>, detail: impl Into<String>) -> Self {
        Self {
            path: path.to_string(),
            reason: Reason::Invalid,
            value: Some(excerpt(&value.to_text())),
            detail: detail.into(),
        }
    }

    pub(crate) fn required(path: impl ToString, detail: impl Into<String>) -> Self {
        Self { path: path.to_string(), reason: Reason::Required, value: None, detail: detail.into() }
    }

    /// The error without the field, as it stands in a status' causes.
    #[must_use]
    pub fn body(&self) -> String {
        match (self.reason, &self.value) {
            (Reason::Forbidden, _) => format!("Forbidden: {}", self.detail),
            (Reason::Required, _) => format!("Required value: {}", self.detail),
            (Reason::Invalid, Some(value)) => format!("Invalid value: {value}: {}", self.detail),
            (Reason::Invalid, None) => format!("Invalid value: {}", self.detail),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}
