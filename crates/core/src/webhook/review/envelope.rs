//! What both reviews have in common: the API they belong to, and the uid that an answer repeats.

use std::borrow::Cow;

use super::body::BadReview;
use crate::apimachinery::excerpt;
use crate::json::{Json, Members, OnlyMembers, Reader};

/// The two reviews that an API server sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Review {
    Admission,
    Conversion,
}

impl Review {
    fn group(self) -> &'static str {
        match self {
            Self::Admission => "admission.k8s.io",
            Self::Conversion => "apiextensions.k8s.io",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Admission => "AdmissionReview",
            Self::Conversion => "ConversionReview",
        }
    }
}

/// What an answer repeats of the review it answers.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    review: Review,
    api_version: String,
    uid: String,
}

impl Envelope {
    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    /// The answer with this response in it, after the uid.
    pub(super) fn answer(&self, response: Members<'_>) -> Vec<u8> {
        let mut body = self.open(0);
        for (name, value) in response.iter() {
            body.push(',');
            Json::write_string(name, &mut body);
            body.push(':');
            value.write(&mut body);
        }
        body.push_str("}}");
        body.into_bytes()
    }

    /// The answer up to the uid in its response, with room for as many bytes more: two braces are open.
    pub(super) fn open(&self, room: usize) -> String {
        let mut body = String::with_capacity(512 + room);
        body.push_str("{\"apiVersion\":");
        Json::write_string(&self.api_version, &mut body);
        body.push_str(",\"kind\":");
        Json::write_string(self.review.kind(), &mut body);
        body.push_str(",\"response\":{\"uid\":");
        Json::write_string(&self.uid, &mut body);
        body
    }
}

/// Why a review is not decided: its request cannot be read.
#[derive(Debug)]
pub(crate) enum ReviewError {
    /// There is nothing to answer to.
    Bad(BadReview),
    /// The answer says what is wrong.
    Problem(Envelope, String),
}

/// The members of a review or a request that somebody reads, split once; there may be millions of others. Of one that
/// is named twice the first counts.
pub(super) struct ReviewMembers<'j>(Vec<(Cow<'j, str>, Json<'j>)>);

impl<'j> ReviewMembers<'j> {
    pub(super) fn of(json: Json<'j>) -> Self {
        let text = match json {
            Json::Text(Cow::Borrowed(text)) => text,
            Json::Object(members) => return Self(members.into_pairs().collect()),
            Json::Text(_) | Json::Array(_) => return Self(Vec::new()),
        };
        let mut members: Vec<(Cow<'j, str>, Json<'j>)> = Vec::new();
        for (name, value) in Json::each_member(text) {
            if READ.contains(&&*name) && !members.iter().any(|(known, _)| *known == name) {
                members.push((name, value));
            }
        }
        Self(members)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json<'j>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Json<'j>> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// The text of a member: empty where there is none, or it is no string.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).and_then(Json::as_str).map_or_else(String::new, Cow::into_owned)
    }
}

/// What is read of a review, a request, and the kind and the options in it.
const READ: [&str; 16] = [
    "apiVersion",
    "desiredAPIVersion",
    "dryRun",
    "fieldManager",
    "group",
    "kind",
    "object",
    "objects",
    "oldObject",
    "operation",
    "options",
    "request",
    "resource",
    "subResource",
    "uid",
    "version",
];

/// The longest uid that is repeated, in bytes. The API server's are UUIDs.
const LONGEST_UID: usize = 256;

/// Reads a body as JSON, the review, its request and the objects in it opened on the way, or says where it stops being
/// UTF-8 or JSON.
pub(crate) fn parse(body: &[u8]) -> Result<Json<'_>, BadReview> {
    let text = std::str::from_utf8(body).map_err(|error| BadReview::NotJson { reason: error.to_string() })?;
    Json::parse_for(text, LEVELS, OnlyMembers { levels: 2, names: &READ })
        .map_err(|error| BadReview::NotJson { reason: error.to_string() })
}

/// The members of an object that somebody reads, and that stand before the one with this name, at whose value the
/// reader stands then.
pub(super) fn members_before<'j>(name: &str, reader: &mut Reader<'j>) -> Option<Members<'j>> {
    let mut members = Members::default();
    loop {
        let found = reader.member()??;
        if found == name {
            return Some(members);
        }
        let (_, value) = reader.value(0)?;
        if READ.contains(&&*found) && members.get(&found).is_none() {
            members.add(found, value);
        }
    }
}

/// The levels of a body that are opened at once: the review, its request, an object that is written, and its metadata,
/// spec and status.
const LEVELS: usize = 4;

/// Reads what both reviews have, and hands on the members of the request. Fails where there is no uid to answer to, or
/// it is not the review that is asked for.
pub(super) fn read<'j>(review: Review, json: Json<'j>) -> Result<(Envelope, ReviewMembers<'j>), ReviewError> {
    let (group, takes) = (review.group(), review.kind());
    let mut members = ReviewMembers::of(json);
    let (api_version, kind) = (members.text("apiVersion"), members.text("kind"));
    let version = api_version.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
    let is_known = matches!(version, Some("v1" | "v1beta1"));
    let problem = if kind != takes {
        Some(format!("kind is {:?}, this path takes {takes}", excerpt(&kind)))
    } else if !is_known {
        let found = excerpt(&api_version);
        Some(format!("apiVersion is {found:?}, this path takes {group}/v1 and {group}/v1beta1"))
    } else {
        None
    };
    let no_review = |reason: String| ReviewError::Bad(BadReview::NoReview { reason });
    let Some(request) = members.take("request").filter(Json::is_object).map(ReviewMembers::of) else {
        let reason = problem.unwrap_or_else(|| "the review has no request".to_owned());
        return Err(no_review(reason));
    };
    let uid = request.text("uid");
    if uid.is_empty() {
        let reason = problem.unwrap_or_else(|| "the review's request has no uid".to_owned());
        return Err(no_review(reason));
    }
    if uid.len() > LONGEST_UID {
        return Err(no_review(format!("the request's uid has {} bytes, more than {LONGEST_UID}", uid.len())));
    }
    let api_version = if is_known { api_version } else { format!("{group}/v1") };
    let envelope = Envelope { review, api_version, uid };
    match problem {
        None => Ok((envelope, request)),
        Some(problem) => Err(ReviewError::Problem(envelope, problem)),
    }
}
