//! `AdmissionReview`: a write in, and a verdict or a patch out.
//!
//! Source: `k8s.io/api admission/v1/types.go` and `apiserver pkg/admission/plugin/webhook/request/admissionreview.go`.

use super::envelope::{self, Envelope, Review, ReviewError, ReviewMembers};
use super::patch::{PatchOperation, in_review};
use crate::apimachinery::{Status, excerpt};
use crate::json::{Json, Members};

/// The content of an admission request.
pub(crate) enum AdmissionRequest<'j> {
    /// A deletion, a connection or a subresource other than scale. These are always allowed: finalizers, status writes
    /// and clean-ups must not be blocked.
    Exempt(Envelope),
    /// A write of the scale subresource.
    Scale {
        envelope: Envelope,
        group: String,
        version: String,
        plural: String,
        /// A `Scale`, and its old value.
        scale: Json<'j>,
        old: Option<Json<'j>>,
    },
    /// The creation or update of an object.
    Write {
        envelope: Envelope,
        group: String,
        kind: String,
        object: Json<'j>,
        /// The old object of an update.
        old: Option<Json<'j>>,
        /// The field manager of the client. Empty if not set.
        manager: String,
        /// The API server will not store the object.
        dry_run: bool,
    },
}

impl<'j> AdmissionRequest<'j> {
    /// Parses a review, or returns the missing or invalid member.
    pub(crate) fn read(json: Json<'j>) -> Result<Self, ReviewError> {
        let (envelope, mut request) = envelope::read(Review::Admission, json)?;
        let operation = request.text("operation");
        let subresource = request.text("subResource");
        if subresource == "scale" && operation == "UPDATE" {
            let resource = ReviewMembers::of(request.take("resource").unwrap_or(Json::NULL));
            let [group, version, plural] = ["group", "version", "resource"].map(|name| resource.text(name));
            return match objects(&mut request, &operation) {
                Ok((scale, old)) => Ok(Self::Scale { envelope, group, version, plural, scale, old }),
                Err(_) => Ok(Self::Exempt(envelope)),
            };
        }
        if !subresource.is_empty() || matches!(operation.as_str(), "CONNECT" | "DELETE") {
            return Ok(Self::Exempt(envelope));
        }
        let dry_run = request.take("dryRun").is_some_and(|value| value.scalar() == Some("true"));
        match objects(&mut request, &operation) {
            Ok((object, old)) => {
                let kind = ReviewMembers::of(request.take("kind").unwrap_or(Json::NULL));
                let (group, kind) = (kind.text("group"), kind.text("kind"));
                let manager = ReviewMembers::of(request.take("options").unwrap_or(Json::NULL)).text("fieldManager");
                Ok(Self::Write { envelope, group, kind, object, old, manager, dry_run })
            }
            Err(problem) => Err(ReviewError::Problem(envelope, problem)),
        }
    }
}

/// The new object, and the old object.
fn objects<'j>(request: &mut ReviewMembers<'j>, operation: &str) -> Result<(Json<'j>, Option<Json<'j>>), String> {
    if !matches!(operation, "CREATE" | "UPDATE") {
        let operation = excerpt(operation);
        return Err(format!("request.operation is {operation:?}, not CREATE, UPDATE, DELETE or CONNECT"));
    }
    let mut object = |name: &str| {
        let value = request.take(name).filter(|value| !value.is_null());
        match value.as_ref().filter(|value| !value.is_object()).map(Json::a_type_name) {
            None => Ok(value),
            Some(other) => Err(format!("request.{name} must be an object, not {other}")),
        }
    };
    let (new, old) = (object("object")?, object("oldObject")?);
    let new = new.ok_or_else(|| format!("request.object is missing in a {operation}"))?;
    Ok((new, old.filter(|_| operation == "UPDATE")))
}

/// The possible responses: none has both a patch and a denial.
pub(crate) enum AdmissionResponse<'a> {
    /// Allows the write.
    Allowed { warnings: &'a [String], audit: &'a [(String, String)] },
    /// Denies the write.
    Denied { status: &'a Status, warnings: &'a [String], audit: &'a [(String, String)] },
    /// Allows the write with these changes, possibly none.
    Patched { patch: &'a [PatchOperation], warnings: &'a [String] },
}

impl AdmissionResponse<'_> {
    /// The whole response.
    pub(crate) fn write(&self, envelope: &Envelope) -> Vec<u8> {
        let mut response = Members::default();
        match self {
            Self::Allowed { warnings, audit } => {
                response.add("allowed", Json::borrowed("true"));
                remarks(&mut response, warnings, audit);
            }
            Self::Denied { status, warnings, audit } => {
                response.add("allowed", Json::borrowed("false"));
                response.add("status", status.to_json());
                remarks(&mut response, warnings, audit);
            }
            Self::Patched { patch, warnings } => {
                response.add("allowed", Json::borrowed("true"));
                if !patch.is_empty() {
                    response.add("patchType", Json::string("JSONPatch"));
                    response.add("patch", Json::string(&in_review(patch)));
                }
                remarks(&mut response, warnings, &[]);
            }
        }
        envelope.answer(response)
    }
}

fn remarks(response: &mut Members<'_>, warnings: &[String], audit: &[(String, String)]) {
    if !warnings.is_empty() {
        let warnings = warnings.iter().map(|text| Json::string(text)).collect();
        response.add("warnings", Json::Array(warnings));
    }
    if !audit.is_empty() {
        let mut annotations = Members::default();
        for (key, value) in audit {
            annotations.set(key, Json::string(value));
        }
        response.add("auditAnnotations", Json::Object(annotations));
    }
}
