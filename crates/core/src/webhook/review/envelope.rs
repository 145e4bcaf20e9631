//! The common part of both reviews: the API version, and the uid that the response repeats.

use std::borrow::Cow;

use super::body::BadReview;
use crate::apimachinery::excerpt;
use crate::json::{Json, Members, OnlyMembers, Reader};

/// The two reviews of an API server.
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

/// The members of a review that the response repeats.
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

    /// The whole response, with these members after the uid.
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

    /// The start of the response up to the uid, with capacity for more bytes. Two braces are open.
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

/// Why a request cannot be read.
#[derive(Debug)]
pub(crate) enum ReviewError {
    /// The body has no uid for a response.
    Bad(BadReview),
    /// The response contains the error.
    Problem(Envelope, String),
}

/// The used members of a review or a request, parsed once. There may be millions of others. Of duplicate members the
/// first counts.
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

    /// The text of a member. Empty if it is absent or no string.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).and_then(Json::as_str).map_or_else(String::new, Cow::into_owned)
    }
}

/// The used members of a review, a request, and of the kind and the options in it.
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

/// The maximum length of a uid in bytes. Those of the API server are UUIDs.
const LONGEST_UID: usize = 256;

/// Parses a body, with the review, its request and its objects. Returns where it is no valid UTF-8 or JSON.
pub(crate) fn parse(body: &[u8]) -> Result<Json<'_>, BadReview> {
    let text = std::str::from_utf8(body).map_err(|error| BadReview::NotJson { reason: error.to_string() })?;
    Json::parse_for(text, LEVELS, OnlyMembers { levels: 2, names: &READ })
        .map_err(|error| BadReview::NotJson { reason: error.to_string() })
}

/// The used members of an object before the member of this name. The reader is then at its value.
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

/// The levels of a body that are parsed at once: the review, its request, a written object, and its metadata, spec and
/// status.
const LEVELS: usize = 4;

/// Parses the common part of both reviews, and returns the members of the request. Fails if there is no uid, or it is
/// another review.
pub(super) fn read<'j>(review: Review, json: Json<'j>) -> Result<(Envelope, ReviewMembers<'j>), ReviewError> {
    let (group, takes) = (review.group(), review.kind());
    let mut members = ReviewMembers::of(json);
    let (api_version, kind) = (members.text("apiVersion"), members.text("kind"));
    let version = api_version.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
    let is_known = matches!(version, Some("v1" | "v1beta1"));
    let problem = if kind != takes {
        Some(format!("kind is {:?}, but this path accepts {takes}", excerpt(&kind)))
    } else if !is_known {
        let found = excerpt(&api_version);
        Some(format!("apiVersion is {found:?}, but this path accepts {group}/v1 and {group}/v1beta1"))
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
