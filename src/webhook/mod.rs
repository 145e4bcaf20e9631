//! What we decide: reviews in, reviews out. Nothing here reads a file, a clock or a socket.

use std::sync::Arc;

/// Which of the three webhook calls a request is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Endpoint {
    /// `POST /convert`: a `ConversionReview`.
    Convert,
    /// `POST /mutate`: an `AdmissionReview` answered with a patch.
    Mutate,
    /// `POST /validate`: an `AdmissionReview` answered with a verdict.
    Validate,
}

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

/// Something worth counting and logging that did not change the answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice {
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
    /// What was converted.
    pub conversions: Vec<Conversions>,
    /// What else happened.
    pub notices: Vec<Notice>,
}

/// A body that is no review, or one without a uid to answer to: HTTP 400 with a `v1 Status` (see [`refusal`]).
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReview {
    /// The body is not JSON.
    #[error("request body is not JSON: {reason}")]
    NotJson {
        /// Where and what.
        reason: String,
    },
}

/// The decisions of one server: its kinds and their rules. Shared by all requests, never changed.
#[derive(Debug, Default)]
pub struct Webhook {}

impl Webhook {
    /// Answers one request body. Takes time in proportion to the body and does no I/O.
    ///
    /// # Errors
    /// [`BadReview`] where the body has no request uid that an answer could carry.
    pub fn handle(&self, endpoint: Endpoint, body: &[u8]) -> Result<Reply, BadReview> {
        let _ = (endpoint, body);
        Err(BadReview::NotJson { reason: "not built yet".to_owned() })
    }
}

/// A `v1 Status` body, which the API server shows to its user where a plain error text would be lost.
#[must_use]
pub fn refusal(code: u16, message: &str) -> Vec<u8> {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message, "code": code,
    })
    .to_string()
    .into_bytes()
}
