//! What a request asks, taken from its head at once: a head may have 64 KiB, of which a connection in HTTP/2 can have
//! 250, and nobody looks at it again.

use std::time::Duration;

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, Version};

use pointsman_core::parse_duration;
use pointsman_core::webhook::Endpoint;

/// What matters of the head of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct RequestHead {
    pub(super) endpoint: Option<Endpoint>,
    pub(super) is_post: bool,
    pub(super) is_json: bool,
    /// Its body is on its way: a client that expects a 100 first has not begun to send.
    pub(super) is_sent: bool,
    pub(super) by_http1: bool,
    /// How long the caller waits, if it says so.
    pub(super) timeout: Option<Duration>,
}

impl RequestHead {
    pub(super) fn of(head: &Parts) -> Self {
        Self {
            endpoint: endpoint(head.uri.path()),
            is_post: head.method == Method::POST,
            is_json: is_json(&head.headers),
            is_sent: !head.headers.contains_key(EXPECT),
            by_http1: head.version <= Version::HTTP_11,
            timeout: timeout(head.uri.query().unwrap_or_default()),
        }
    }
}

/// Paths are matched whole: a redirect or a guess would turn a wrong configuration into a riddle.
fn endpoint(path: &str) -> Option<Endpoint> {
    match path {
        "/convert" => Some(Endpoint::Convert),
        "/mutate" => Some(Endpoint::Mutate),
        "/validate" => Some(Endpoint::Validate),
        _ => None,
    }
}

/// API servers send exactly `application/json` and never an encoding.
fn is_json(headers: &HeaderMap) -> bool {
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    plain && essence.eq_ignore_ascii_case("application/json")
}

/// An API server says how long it will wait, in Go's spelling (`?timeout=30s`). What cannot be parsed is no reason to
/// refuse anything.
fn timeout(query: &str) -> Option<Duration> {
    let mut values = query.split('&').filter_map(|pair| pair.strip_prefix("timeout="));
    values.find_map(|value| parse_duration(value).ok()).filter(|asked| !asked.is_zero())
}
