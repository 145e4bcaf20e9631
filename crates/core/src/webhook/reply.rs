//! What one request led to: the answer, and what is counted and logged of it.

use std::sync::Arc;

use super::admission::{Flip, Verdict};

/// What was decided, for metrics and logs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// Admitted as it is.
    Allow,
    /// Every object converted.
    Convert,
    /// Denied.
    Deny,
    /// A review that says why nothing was converted or judged.
    Fail,
    /// Admitted with a patch.
    Patch,
}

/// How many objects went from one version to another in a review.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conversions {
    /// The kind, as its definition names it.
    pub kind: Arc<str>,
    /// The version the objects came in.
    pub from: Arc<str>,
    /// The version they were asked for in.
    pub to: Arc<str>,
    /// How many objects.
    pub objects: u64,
}

/// An object that stood in the way, for the log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FailedObject {
    /// The object, as `namespace/name`: what a client wrote, short and without control characters.
    pub object: String,
    /// Its kind, as its definition names it, or `unknown`.
    pub kind: Arc<str>,
    /// The field.
    pub path: String,
}

/// Something worth counting and logging that did not change the answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConversionWarning {
    /// A constant name, safe as a metric label.
    pub event: &'static str,
    /// The object, as `namespace/name`.
    pub object: String,
}

/// An answer that is sent with HTTP 200.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The review, as JSON.
    pub body: Vec<u8>,
    /// What was decided.
    pub outcome: Outcome,
    /// The uid of the request, for the log.
    pub uid: String,
    /// Why, where `outcome` is `Deny` or `Fail`: the text the user is shown.
    pub message: Option<String>,
    /// The first object that could not be converted, or that was denied.
    pub failed: Option<FailedObject>,
    /// What was converted.
    pub conversions: Vec<Conversions>,
    /// What could not be converted; where that is not known, kind and versions are called `unknown`.
    pub failures: Vec<Conversions>,
    /// What else happened.
    pub notices: Vec<ConversionWarning>,
    /// What the rules led to.
    pub verdicts: Vec<Verdict>,
    /// What became of a change of the version label.
    pub flip: Option<Flip>,
}

impl Reply {
    /// An answer of which there is nothing more to say.
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
