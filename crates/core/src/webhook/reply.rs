//! The result of a request: the response, and data for metrics and logs.

use std::sync::Arc;

use super::admission::{Flip, Verdict};

/// The decision, for metrics and logs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// Admitted unchanged.
    Allow,
    /// All objects converted.
    Convert,
    /// Denied.
    Deny,
    /// A review with an error, because a conversion or a decision failed.
    Fail,
    /// Admitted with a patch.
    Patch,
}

/// The number of objects that a review converted between two versions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conversions {
    /// The kind, as its definition names it.
    pub kind: Arc<str>,
    /// The version of the objects in the request.
    pub from: Arc<str>,
    /// The desired version.
    pub to: Arc<str>,
    /// The number of objects.
    pub objects: u64,
}

/// An object that failed, for the log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FailedObject {
    /// The object, as `namespace/name`. Written by a client, so shortened and without control characters.
    pub object: String,
    /// Its kind, as its definition names it, or `unknown`.
    pub kind: Arc<str>,
    /// The field.
    pub path: String,
}

/// An event for metrics and logs that did not change the response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConversionWarning {
    /// A constant name, safe as a metric label.
    pub event: &'static str,
    /// The object, as `namespace/name`.
    pub object: String,
}

/// A response that is sent with HTTP 200.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The review, as JSON.
    pub body: Vec<u8>,
    /// The decision.
    pub outcome: Outcome,
    /// The uid of the request, for the log.
    pub uid: String,
    /// The reason if `outcome` is `Deny` or `Fail`: the text for the user.
    pub message: Option<String>,
    /// The first object that failed to convert, or that was denied.
    pub failed: Option<FailedObject>,
    /// The converted objects.
    pub conversions: Vec<Conversions>,
    /// The objects that failed to convert. Unknown kinds and versions are named `unknown`.
    pub failures: Vec<Conversions>,
    /// Other events.
    pub notices: Vec<ConversionWarning>,
    /// The results of the rules.
    pub verdicts: Vec<Verdict>,
    /// The result of a change of the version label.
    pub flip: Option<Flip>,
}

impl Reply {
    /// A response without further data.
    pub(super) fn new(outcome: Outcome, uid: &str, body: Vec<u8>) -> Self {
        Self {
            body,
            outcome,
            uid: uid.to_owned(),
            message: None,
            failed: None,
            conversions: Vec::new(),
            failures: Vec::new(),
            notices: Vec::new(),
            verdicts: Vec::new(),
            flip: None,
        }
    }
}
