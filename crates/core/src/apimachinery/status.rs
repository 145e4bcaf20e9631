//! `v1 Status`: the error format of Kubernetes.
//!
//! Source: `apimachinery pkg/apis/meta/v1/types.go` and `pkg/api/errors/errors.go`.

use super::{field::FieldError, object_name::ObjectName};
use crate::json::{Json, Members};

/// Why a request was rejected.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    code: u16,
    reason: &'static str,
    message: String,
    details: Option<Details>,
}

/// The rejected object, and the causes.
#[derive(Clone, Debug)]
struct Details {
    group: String,
    kind: String,
    name: ObjectName,
    causes: Vec<FieldError>,
}

impl Status {
    /// The request could not be judged: the registration is wrong, not the object (`NewBadRequest`).
    pub(crate) fn bad_request(message: String) -> Self {
        Self { code: 400, reason: "BadRequest", message, details: None }
    }

    /// The object is invalid, with one cause for each field (`NewInvalid`).
    pub(crate) fn invalid(group: &str, kind: &str, name: ObjectName, causes: Vec<FieldError>) -> Self {
        let list: Vec<String> = causes.iter().map(ToString::to_string).collect();
        let list = match list.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{kind}.{group} {:?} is invalid: {list}", name.name());
        let details = Details { group: group.to_owned(), kind: kind.to_owned(), name, causes };
        Self { code: 422, reason: "Invalid", message, details: Some(details) }
    }

    /// The message for the user.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The status in the response of an admission review.
    pub(crate) fn to_json(&self) -> Json<'static> {
        let mut status = Members::default();
        status.add("status", Json::string("Failure"));
        status.add("message", Json::string(&self.message));
        status.add("reason", Json::string(self.reason));
        status.add("code", Json::owned(self.code.to_string()));
        if let Some(Details { group, kind, name, causes }) = &self.details {
            let mut details = Members::default();
            details.add("name", Json::string(name.name()));
            details.add("group", Json::string(group));
            details.add("kind", Json::string(kind));
            details.add("causes", Json::Array(causes.iter().map(cause).collect()));
            status.add("details", Json::Object(details));
        }
        Json::Object(status)
    }
}

fn cause(error: &FieldError) -> Json<'static> {
    let mut cause = Members::default();
    cause.add("reason", Json::string(error.reason.cause()));
    cause.add("message", Json::string(&error.body()));
    cause.add("field", Json::string(&error.path));
    Json::Object(cause)
}

/// A `v1 Status` body for an HTTP error, which the API server shows to its user, unlike plain text.
///
/// `code` is the HTTP status of the response.
#[must_use]
pub fn refusal(code: u16, message: &str) -> Vec<u8> {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message, "code": code,
    })
    .to_string()
    .into_bytes()
}
