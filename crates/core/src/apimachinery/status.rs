//! `v1 Status`: how Kubernetes says that something failed.
//!
//! Source: `apimachinery pkg/apis/meta/v1/types.go` and `pkg/api/errors/errors.go`.

use super::{field::FieldError, object_name::ObjectName};
use crate::json::{Json, Members};

/// Why a request was refused.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    code: u16,
    reason: &'static str,
    message: String,
    details: Option<Details>,
}

/// Which object was refused, and for what.
#[derive(Clone, Debug)]
struct Details {
    group: String,
    kind: String,
    name: ObjectName,
    causes: Vec<FieldError>,
}

impl Status {
    /// Nobody could judge the request: the registration is wrong, not the object (`NewBadRequest`).
    pub(crate) fn bad_request(message: String) -> Self {
        Self { code: 400, reason: "BadRequest", message, details: None }
    }

    /// The object is wrong, with one cause for each field (`NewInvalid`).
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

    /// What the user is shown.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// As it stands in the answer to an admission review.
    pub(crate) fn to_json(&self) -> Json<'static> {
        let mut status = Members::default();
        status.set("status", Json::string("Failure"));
        status.set("message", Json::string(&self.message));
        status.set("reason", Json::string(self.reason));
        status.set("code", Json::owned(self.code.to_string()));
        if let Some(Details { group, kind, name, causes }) = &self.details {
            let mut details = Members::default();
            details.set("name", Json::string(name.name()));
            details.set("group", Json::string(group));
            details.set("kind", Json::string(kind));
            details.set("causes", Json::Array(causes.iter().map(cause).collect()));
            status.set("details", Json::Object(details));
        }
        Json::Object(status)
    }
}

fn cause(error: &FieldError) -> Json<'static> {
    let mut cause = Members::default();
    cause.set("reason", Json::string(error.reason.cause()));
    cause.set("message", Json::string(&error.body()));
    cause.set("field", Json::string(&error.path));
    Json::Object(cause)
}

/// A `v1 Status` body for an HTTP error, which the API server shows to its user where a plain text would be lost.
///
/// `code` is the HTTP status it is sent with.
#[must_use]
pub fn refusal(code: u16, message: &str) -> Vec<u8> {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message, "code": code,
    })
    .to_string()
    .into_bytes()
}
