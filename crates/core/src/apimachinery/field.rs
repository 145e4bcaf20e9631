//! Field errors in the format of Kubernetes.
//!
//! Source: `apimachinery pkg/util/validation/field/errors.go`.

use std::fmt;

use super::excerpt::excerpt;
use crate::json::Json;

/// An error of one field.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FieldError {
    /// The field in the version of the request.
    pub path: String,
    /// The kind of error.
    pub reason: Reason,
    /// The value, if relevant.
    pub value: Option<String>,
    /// The rule for a valid value.
    pub detail: String,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The change is forbidden for any value.
    Forbidden,
    /// The value is invalid.
    Invalid,
    /// A required value is absent.
    Required,
}

impl Reason {
    /// The name of the reason in the causes of a status.
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

    /// The error without the field, as in the causes of a status.
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
