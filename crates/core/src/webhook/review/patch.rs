//! The used part of JSON Patch (RFC 6902).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::{Json, Members};

/// One operation of a patch.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PatchOperation {
    /// `add`, `remove` or `replace`.
    pub op: &'static str,
    /// A JSON Pointer (RFC 6901).
    pub path: String,
    /// JSON text. Empty for `remove`.
    pub value: String,
}

/// A patch as a review contains it: a JSON document in base64.
pub(super) fn in_review(patch: &[PatchOperation]) -> String {
    let operation = |operation: &PatchOperation| {
        let mut members = Members::default();
        members.add("op", Json::string(operation.op));
        members.add("path", Json::string(&operation.path));
        if !operation.value.is_empty() {
            members.add("value", Json::owned(operation.value.clone()));
        }
        Json::Object(members)
    };
    STANDARD.encode(Json::Array(patch.iter().map(operation).collect()).to_text())
}
