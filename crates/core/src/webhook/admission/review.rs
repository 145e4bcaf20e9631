//! `AdmissionReview` as it is on the wire, and the answer to one.
//!
//! Source: `k8s.io/api admission/v1/types.go` and `apiserver pkg/admission/plugin/webhook/request/admissionreview.go`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::mutate::{document, patch};
use super::validate::judge;
use super::{FieldError, Judgement, PatchOperation, Written};
use crate::definition::Kind;
use crate::json::{Json, Members};
use crate::webhook::review::{Envelope, bounded, envelope, name, parse};
use crate::webhook::{BadReview, Endpoint, Outcome, Reply, Webhook};

const GROUP: &str = "admission.k8s.io";

/// Answers an `AdmissionReview` for one of the two admission endpoints.
pub(in crate::webhook) fn handle(
    webhook: &Webhook,
    endpoint: Endpoint,
    body: &[u8],
) -> Result<Reply, BadReview> {
    let json = parse(body)?;
    let Envelope { api_version, uid, request, problem } =
        envelope(&json, GROUP, "AdmissionReview")?;
    let answer = Answer { api_version, uid };
    if let Some(problem) = problem {
        return Ok(answer.refuse(problem));
    }
    let string = |json: &Json<'_>, name: &str| {
        json.get(name)
            .and_then(|value| value.as_str().map(|text| text.into_owned()))
            .unwrap_or_default()
    };
    let operation = string(&request, "operation");
    // Subresources and deletions are nobody's to refuse: finalizers, status writes and clean-ups must always get through.
    if !string(&request, "subResource").is_empty()
        || matches!(operation.as_str(), "CONNECT" | "DELETE")
    {
        return Ok(answer.allow(Judgement::default(), &[]));
    }
    if !matches!(operation.as_str(), "CREATE" | "UPDATE") {
        return Ok(answer.refuse(format!(
            "request.operation is {operation:?}, not CREATE, UPDATE, DELETE or CONNECT"
        )));
    }
    let object = |name: &str| request.get(name).filter(|value| !value.is_null());
    for name in ["object", "oldObject"] {
        if let Some(odd) = object(name).filter(|value| !value.is_object()) {
            let kind = odd.type_name();
            let article = if kind == "array" { "an" } else { "a" };
            let problem = format!("request.{name} must be an object, not {article} {kind}");
            return Ok(answer.refuse(problem));
        }
    }
    let Some(new) = object("object") else {
        return Ok(answer.refuse(format!("request.object is missing in a {operation}")));
    };
    let (group, kind_name) = request
        .get("kind")
        .map_or_else(Default::default, |kind| (string(&kind, "group"), string(&kind, "kind")));
    let kind = match webhook.kind_named(&group, &kind_name) {
        Ok(kind) => kind,
        Err(error) => return Ok(answer.refuse(error.to_string())),
    };
    let written = Written::new(new, object("oldObject").filter(|_| operation == "UPDATE"));
    Ok(match endpoint {
        Endpoint::Mutate => {
            answer.allow(Judgement::default(), &patch(kind, &webhook.settings, &written))
        }
        _ => {
            let judgement = judge(kind, &webhook.settings, &written);
            if judgement.errors.is_empty() {
                answer.allow(judgement, &[])
            } else {
                answer.deny(judgement, kind, &written)
            }
        }
    })
}

struct Answer {
    api_version: String,
    uid: String,
}

impl Answer {
    fn reply(
        self,
        outcome: Outcome,
        message: Option<String>,
        judgement: Judgement,
        more: Vec<(&str, Json<'_>)>,
    ) -> Reply {
        let mut response = Members::default();
        response.set("uid", Json::string(&self.uid));
        response.set(
            "allowed",
            Json::borrowed(if outcome == Outcome::Deny { "false" } else { "true" }),
        );
        for (name, value) in more {
            response.set(name, value);
        }
        if !judgement.warnings.is_empty() {
            response.set(
                "warnings",
                Json::Array(judgement.warnings.iter().map(|text| Json::string(text)).collect()),
            );
        }
        if !judgement.audit.is_empty() {
            let mut audit = Members::default();
            for (key, value) in &judgement.audit {
                audit.set(key, Json::string(value));
            }
            response.set("auditAnnotations", Json::Object(audit));
        }
        let mut review = Members::default();
        review.set("apiVersion", Json::string(&self.api_version));
        review.set("kind", Json::string("AdmissionReview"));
        review.set("response", Json::Object(response));
        Reply {
            body: Json::Object(review).to_text().into_bytes(),
            outcome,
            uid: self.uid,
            message,
            conversions: Vec::new(),
            notices: Vec::new(),
            verdicts: judgement.verdicts,
            flip: judgement.flip,
        }
    }

    fn allow(self, judgement: Judgement, patch: &[PatchOperation]) -> Reply {
        if patch.is_empty() {
            return self.reply(Outcome::Allow, None, judgement, Vec::new());
        }
        let patch = STANDARD.encode(document(patch));
        let more = vec![("patchType", Json::string("JSONPatch")), ("patch", Json::string(&patch))];
        self.reply(Outcome::Patch, None, judgement, more)
    }

    /// Denies as the API server's own validation does: 422, Invalid, one cause for each field.
    fn deny(self, judgement: Judgement, kind: &Kind, written: &Written<'_>) -> Reply {
        let message = invalid(kind, &written.object, &judgement.errors);
        let mut details = Members::default();
        let full = name(&written.object);
        details.set("name", Json::string(full.rsplit_once('/').map_or(&full, |(_, name)| name)));
        details.set("group", Json::string(&kind.group));
        details.set("kind", Json::string(&kind.kind));
        let cause = |error: &FieldError| {
            let mut cause = Members::default();
            cause.set("reason", Json::string(error.reason.cause()));
            cause.set("message", Json::string(&error.body()));
            cause.set("field", Json::string(&error.path));
            Json::Object(cause)
        };
        details.set("causes", Json::Array(judgement.errors.iter().map(cause).collect()));
        let status = status(422, "Invalid", &message, Some(details));
        self.reply(Outcome::Deny, Some(message), judgement, vec![("status", status)])
    }

    /// Refuses a request that nobody could judge: wrong configuration, not a wrong object.
    fn refuse(self, problem: String) -> Reply {
        let problem = bounded(&problem);
        let status = status(400, "BadRequest", &problem, None);
        self.reply(Outcome::Deny, Some(problem), Judgement::default(), vec![("status", status)])
    }
}

fn status<'a>(code: u16, reason: &str, message: &str, details: Option<Members<'a>>) -> Json<'a> {
    let mut status = Members::default();
    status.set("status", Json::string("Failure"));
    status.set("message", Json::string(message));
    status.set("reason", Json::string(reason));
    status.set("code", Json::owned(code.to_string()));
    if let Some(details) = details {
        status.set("details", Json::Object(details));
    }
    Json::Object(status)
}

/// The message of a denial, as the API server words its own.
pub(in crate::webhook) fn invalid(kind: &Kind, object: &Json<'_>, errors: &[FieldError]) -> String {
    let full = name(object);
    let name = full.rsplit_once('/').map_or(full.as_str(), |(_, name)| name);
    let list: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let list = match list.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    format!("{}.{} {name:?} is invalid: {list}", kind.kind, kind.group)
}
