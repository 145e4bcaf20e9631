//! `ConversionReview` as it is on the wire, and the answer to one.
//!
//! Source: `apiextensions-apiserver pkg/apis/apiextensions/v1/types.go` and `pkg/apiserver/conversion/webhook_converter.go`.

use super::convert::{ConvertError, Object};
use super::{BadReview, Conversions, Notice, Outcome, Reply, Webhook};
use crate::json::Json;

/// The group of the review's own API, whose versions say which form the answer has.
const GROUP: &str = "apiextensions.k8s.io";

/// Reads a body as JSON.
///
/// # Errors
/// Where it stops being UTF-8 or JSON.
pub(super) fn parse(body: &[u8]) -> Result<Json<'_>, BadReview> {
    let text = std::str::from_utf8(body)
        .map_err(|error| BadReview::NotJson { reason: error.to_string() })?;
    Json::parse(text).map_err(|error| BadReview::NotJson { reason: error.to_string() })
}

/// The group and version of a review, and its request's uid: what an answer of any kind needs.
pub(super) struct Envelope<'j> {
    pub(super) api_version: String,
    pub(super) uid: String,
    pub(super) request: Json<'j>,
    /// What is wrong with the envelope, if a uid lets us say it in a review.
    pub(super) problem: Option<String>,
}

/// Reads the envelope of a review.
///
/// # Errors
/// There is no uid to answer to.
pub(super) fn envelope<'j>(
    json: &'j Json<'_>,
    group: &str,
    kind: &str,
) -> Result<Envelope<'j>, BadReview> {
    let string = |name: &str| {
        json.get(name)
            .and_then(|value| value.as_str().map(|text| text.into_owned()))
            .unwrap_or_default()
    };
    let (api_version, found) = (string("apiVersion"), string("kind"));
    let mut problem = None;
    if found != kind {
        problem = Some(format!("kind is {found:?}, this path takes {kind}"));
    }
    let version = api_version.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
    let known = matches!(version, Some("v1" | "v1beta1"));
    if !known {
        problem.get_or_insert_with(|| {
            format!("apiVersion is {api_version:?}, this path takes {group}/v1 and {group}/v1beta1")
        });
    }
    let request = json.get("request").filter(Json::is_object);
    let uid = request
        .as_ref()
        .and_then(|request| request.get("uid"))
        .and_then(|uid| uid.as_str().map(|uid| uid.into_owned()));
    let api_version = if known { api_version } else { format!("{group}/v1") };
    match (request, uid.filter(|uid| !uid.is_empty()), problem) {
        (Some(request), Some(uid), problem) => Ok(Envelope { api_version, uid, request, problem }),
        (_, _, Some(problem)) => Err(BadReview::NoReview { reason: problem }),
        (None, _, None) => {
            Err(BadReview::NoReview { reason: "the review has no request".to_owned() })
        }
        (Some(_), None, None) => {
            Err(BadReview::NoReview { reason: "the review's request has no uid".to_owned() })
        }
    }
}

/// Answers a `ConversionReview`.
pub(super) fn convert(webhook: &Webhook, body: &[u8]) -> Result<Reply, BadReview> {
    let json = parse(body)?;
    let Envelope { api_version, uid, request, problem } =
        envelope(&json, GROUP, "ConversionReview")?;
    if let Some(problem) = problem {
        return Ok(failure(&api_version, &uid, problem));
    }
    let desired = request.get("desiredAPIVersion");
    let Some(desired) = desired.as_ref().and_then(Json::as_str) else {
        let problem = "request.desiredAPIVersion: must be a string".to_owned();
        return Ok(failure(&api_version, &uid, problem));
    };
    let objects = match request.get("objects") {
        Some(objects) if objects.is_array() => objects,
        other => {
            let found = match other {
                Some(other) => format!("must be a list, not {}", other.type_name()),
                None => "is missing".to_owned(),
            };
            return Ok(failure(&api_version, &uid, format!("request.objects: {found}")));
        }
    };
    Ok(answer(webhook, &api_version, &uid, &desired, &objects.elements()))
}

fn answer(
    webhook: &Webhook,
    api_version: &str,
    uid: &str,
    desired: &str,
    objects: &[Json<'_>],
) -> Reply {
    let size: usize = objects.iter().map(|object| object.text().len()).sum();
    let mut body = String::with_capacity(512 + size);
    open(&mut body, api_version, uid);
    body.push_str(",\"result\":{\"status\":\"Success\"},\"convertedObjects\":[");
    let mut failures = Vec::new();
    let mut conversions: Vec<Conversions> = Vec::new();
    let mut notices = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        let text = object.text();
        match one(webhook, &text, desired) {
            Ok(Some(done)) => {
                body.push_str(&done.text);
                if done.staged {
                    notices
                        .push(Notice { event: "staged_taken_as_completed", object: name(object) });
                }
                count(&mut conversions, done);
            }
            Ok(None) => body.push_str(&text),
            Err(error) => failures.push(format!("{} (object {index}): {error}", name(object))),
        }
    }
    if !failures.is_empty() {
        let count = failures.len();
        let more =
            if count > NAMED { format!("; and {} more", count - NAMED) } else { String::new() };
        let named: Vec<String> =
            failures.iter().take(NAMED).map(|failure| bounded(failure)).collect();
        let message = format!(
            "cannot convert {count} of {} objects to {desired}: {}{more}",
            objects.len(),
            named.join("; ")
        );
        return failure(api_version, uid, message);
    }
    body.push_str("]}}");
    Reply {
        body: body.into_bytes(),
        outcome: Outcome::Convert,
        uid: uid.to_owned(),
        message: None,
        conversions,
        notices,
        verdicts: Vec::new(),
        flip: None,
    }
}

fn count(conversions: &mut Vec<Conversions>, done: Done) {
    let same = |counted: &&mut Conversions| counted.kind == done.kind && counted.from == done.from;
    match conversions.iter_mut().find(same) {
        Some(counted) => counted.objects += 1,
        None => conversions.push(Conversions {
            kind: done.kind,
            from: done.from,
            to: done.to,
            objects: 1,
        }),
    }
}

/// How many failing objects a message names, and how long it speaks of one: enough for a person, small enough for a log.
const NAMED: usize = 20;
const SPOKEN: usize = 400;

struct Done {
    text: String,
    kind: std::sync::Arc<str>,
    from: std::sync::Arc<str>,
    to: std::sync::Arc<str>,
    staged: bool,
}

/// Converts one object. `None` if it is in the desired version already: it stays as it is.
fn one(webhook: &Webhook, text: &str, desired: &str) -> Result<Option<Done>, ConvertError> {
    let object = Object::read(text)?;
    let kind = webhook.kind_of(&object)?;
    object.version(kind)?;
    let mut versions = kind.versions.iter().enumerate();
    let (index, to) = versions
        .find(|(_, version)| version.api_version == desired)
        .ok_or_else(|| ConvertError::unknown_version("desiredAPIVersion", desired, kind))?;
    if object.api_version == desired {
        return Ok(None);
    }
    let converted = super::convert::convert(kind, object, index, webhook.metadata)?;
    Ok(Some(Done {
        text: converted.text,
        kind: kind.name.clone(),
        from: converted.from,
        to: to.name.clone(),
        staged: converted.staged,
    }))
}

/// An object's name for people: `namespace/name`.
pub(super) fn name(object: &Json<'_>) -> String {
    let metadata = object.get("metadata");
    let part = |part: &str| {
        let value = metadata.as_ref()?.get(part)?;
        value.as_str().map(|text| bounded(&text)).filter(|text| !text.is_empty())
    };
    let name = part("name").or_else(|| part("generateName").map(|prefix| format!("{prefix}*")));
    let name = name.unwrap_or_else(|| "object without a name".to_owned());
    match part("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    }
}

/// Text from outside, short and without control characters.
pub(super) fn bounded(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = clean.clone().take(SPOKEN).collect();
    if clean.count() > SPOKEN {
        short.push('…');
    }
    short
}

fn open(body: &mut String, api_version: &str, uid: &str) {
    body.push_str("{\"apiVersion\":");
    Json::string(api_version).write(body);
    body.push_str(",\"kind\":\"ConversionReview\",\"response\":{\"uid\":");
    Json::string(uid).write(body);
}

/// A review that says why nothing was converted. Of all it could hold, the API server reads only the message.
fn failure(api_version: &str, uid: &str, message: String) -> Reply {
    let mut body = String::new();
    open(&mut body, api_version, uid);
    body.push_str(",\"result\":{\"status\":\"Failure\",\"message\":");
    Json::string(&message).write(&mut body);
    body.push_str("},\"convertedObjects\":[]}}");
    Reply {
        body: body.into_bytes(),
        outcome: Outcome::Fail,
        uid: uid.to_owned(),
        message: Some(message),
        conversions: Vec::new(),
        notices: Vec::new(),
        verdicts: Vec::new(),
        flip: None,
    }
}
