//! The API server's behavior around an admission call, restated from its source: accepted responses (`apiserver
//! pkg/admission/plugin/webhook/request/admissionreview.go`, `pkg/admission/attributes.go`,
//! `pkg/endpoints/filters/warning.go`) and the application of a patch (`gopkg.in/evanphx/json-patch.v4`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pointsman_core::webhook::{Endpoint, Flip, Outcome, Request, Verdict, Webhook};
use serde_json::{Value, json};

use super::patch::apply;

/// An answer that the API server accepted.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) patch: Vec<Value>,
    /// The object with the patch applied, for `/mutate`.
    pub(super) patched: Value,
    pub(super) warnings: Vec<String>,
    pub(super) audit: Value,
    pub(super) code: i64,
    pub(super) message: String,
    /// Field and message of each cause.
    pub(super) causes: Vec<(String, String)>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) flip: Option<Flip>,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn count(&self, effect: &str) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.effect == effect).count()
    }
}

/// An `AdmissionReview` as the API server sends it.
pub(super) fn review(operation: &str, old: Option<&Value>, new: Option<&Value>) -> Value {
    let object = new.or(old).cloned().unwrap_or_default();
    let (group, version) = object["apiVersion"].as_str().and_then(|text| text.split_once('/')).unwrap_or_default();
    let kind = json!({"group": group, "version": version, "kind": object["kind"]});
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "29b4767d-598b-42a3-b9b2-8a425185e176",
            "kind": kind,
            "requestKind": kind,
            "resource": {"group": group, "version": version, "resource": "things"},
            "name": object["metadata"]["name"].as_str().unwrap_or_default(),
            "namespace": "default",
            "operation": operation,
            "userInfo": {"username": "admin", "groups": ["system:masters"]},
            "object": new,
            "oldObject": old,
            "dryRun": false,
            "options": null,
        },
    })
}

/// Sends a review and processes the response like the API server.
pub(super) fn ask(webhook: &Webhook, endpoint: Endpoint, review: &Value) -> Answer {
    let reply = webhook
        .handle(&Request::new(endpoint, review.to_string().as_bytes()))
        .unwrap_or_else(|error| panic!("{error} for {review}"));
    let body: Value = serde_json::from_slice(&reply.body).unwrap();
    if let Err(problem) = accepted_by_apiserver(endpoint, review, &body) {
        panic!("{problem}\nrequest {review}\nanswer {body}");
    }
    let response = &body["response"];
    let allowed = response["allowed"] == true;
    let patch = operations(response);
    let object = review["request"]["object"].clone();
    let patched = apply(&object, &patch).unwrap_or_else(|error| panic!("{error}: {patch:?}"));
    if !patch.is_empty() {
        let mut second = object;
        let opinion: json_patch::Patch = serde_json::from_value(Value::Array(patch.clone())).unwrap();
        json_patch::patch(&mut second, &opinion).unwrap();
        assert_eq!(second, patched);
    }
    let outcome = match (allowed, patch.is_empty()) {
        (false, _) => Outcome::Deny,
        (true, true) => Outcome::Allow,
        (true, false) => Outcome::Patch,
    };
    assert_eq!(reply.outcome, outcome, "the metric matches the response");
    let strings = |value: &Value| serde_json::from_value(value.clone()).unwrap_or_default();
    let causes = response["status"]["details"]["causes"].as_array().cloned();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Answer {
        allowed,
        patch,
        patched,
        warnings: strings(&response["warnings"]),
        audit: response["auditAnnotations"].clone(),
        code: response["status"]["code"].as_i64().unwrap_or_default(),
        message: text(&response["status"]["message"]),
        causes: causes
            .unwrap_or_default()
            .iter()
            .map(|cause| (text(&cause["field"]), text(&cause["message"])))
            .collect(),
        verdicts: reply.verdicts,
        flip: reply.flip,
        body,
    }
}

fn operations(response: &Value) -> Vec<Value> {
    let patch = response["patch"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(patch).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// The API server's own checks of a response, and parts that it would drop silently.
pub(super) fn accepted_by_apiserver(endpoint: Endpoint, review: &Value, body: &Value) -> Result<(), String> {
    let must = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.to_owned());
    must(body["apiVersion"] == review["apiVersion"], "apiVersion differs")?;
    must(body["kind"] == "AdmissionReview", "kind is wrong")?;
    let Some(response) = body["response"].as_object() else {
        return Err("no response".to_owned());
    };
    must(body["response"]["uid"] == review["request"]["uid"], "uid differs")?;
    let known = ["uid", "allowed", "status", "patch", "patchType", "auditAnnotations", "warnings"];
    must(response.keys().all(|key| known.contains(&key.as_str())), "an unknown field")?;
    let allowed = response.get("allowed").and_then(Value::as_bool).ok_or("allowed is no boolean")?;
    let text = |name: &str| response.get(name).map_or(Some(""), Value::as_str).ok_or("not a string");
    let (patch, patch_type) = (text("patch")?, text("patchType")?);
    must(patch.is_empty() == patch_type.is_empty(), "patch and patchType go together")?;
    if !patch.is_empty() {
        must(endpoint == Endpoint::Mutate, "a validating webhook patches")?;
        must(patch_type == "JSONPatch", "patchType is wrong")?;
        must(allowed, "a denial with a patch")?;
        let request = &review["request"];
        let writes = request["operation"] == "CREATE" || request["operation"] == "UPDATE";
        must(
            writes && request.get("subResource").is_none_or(|sub| sub == ""),
            "a patch of a request that writes nothing",
        )?;
        let bytes = STANDARD.decode(patch).map_err(|error| error.to_string())?;
        let patch: Vec<Value> = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        for operation in &patch {
            let members: Vec<&str> = operation.as_object().ok_or("no operation")?.keys().map(String::as_str).collect();
            let removes = operation["op"] == "remove";
            let expected = if removes { &["op", "path"][..] } else { &["op", "path", "value"] };
            must(members == expected, "odd members in an operation")?;
            let path = operation["path"].as_str().ok_or("no path")?;
            // Removing an absent value fails the request.
            let there = request["object"].pointer(path).is_some();
            let safe = ["add", "replace", "test"].iter().any(|op| operation["op"] == *op) || (removes && there);
            must(safe, "an op that may fail")?;
        }
    }
    status(allowed, response.get("status"))?;
    warnings(response.get("warnings"))?;
    for (key, value) in response.get("auditAnnotations").and_then(Value::as_object).into_iter().flatten() {
        let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let good = key.len() <= 63
            && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            && end(key.chars().next())
            && end(key.chars().last());
        must(good && value.is_string(), "an audit annotation that is dropped")?;
    }
    Ok(())
}

fn status(allowed: bool, status: Option<&Value>) -> Result<(), String> {
    let must = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.to_owned());
    let Some(status) = status else {
        return must(allowed, "a denial without a status");
    };
    must(!allowed, "a status of an allowed request")?;
    must(status["status"] == "Failure", "status is not Failure")?;
    let message = status["message"].as_str().unwrap_or_default();
    must(!message.is_empty() && !message.chars().any(char::is_control), "no clear message")?;
    match status["code"].as_i64() {
        Some(400) => must(status["reason"] == "BadRequest", "400 is BadRequest"),
        Some(422) => {
            must(status["reason"] == "Invalid", "422 is Invalid")?;
            let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
            let mut fields: Vec<String> = causes.iter().map(ToString::to_string).collect();
            fields.sort();
            fields.dedup();
            must(!causes.is_empty() && fields.len() == causes.len(), "causes are missing or twice there")?;
            let good = |cause: &Value| {
                cause["field"].as_str().is_some_and(|field| !field.is_empty() && message.contains(field))
                    && cause["message"].as_str().is_some_and(|text| message.contains(text))
                    && ["FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden"]
                        .iter()
                        .any(|reason| cause["reason"] == *reason)
            };
            must(causes.iter().all(good), "a cause that the message does not tell")
        }
        other => Err(format!("code is {other:?}")),
    }
}

fn warnings(warnings: Option<&Value>) -> Result<(), String> {
    let mut seen = Vec::new();
    for warning in warnings.and_then(Value::as_array).into_iter().flatten() {
        let text = warning.as_str().ok_or("a warning that is no string")?;
        if text.is_empty() || text.chars().count() > 240 || text.chars().any(char::is_control) {
            return Err(format!("a warning that is cut or dropped: {text:?}"));
        }
        if seen.contains(&text) {
            return Err(format!("the same warning twice: {text}"));
        }
        seen.push(text);
    }
    Ok(())
}
