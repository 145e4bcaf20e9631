//! The request properties, extracted from the head immediately: a head may have 64 KiB, an HTTP/2 connection can have
//! 250 of them, and the rest is unused.

use std::time::Duration;

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, Version};

use pointsman_core::parse_duration;
use pointsman_core::webhook::Endpoint;

/// The used properties of a request head.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RequestHead {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) is_post: bool,
    pub(crate) is_json: bool,
    /// True if the body is being sent: a client that expects a 100 has not begun.
    pub(crate) is_sent: bool,
    pub(crate) by_http1: bool,
    /// The timeout of the caller, if given.
    pub(crate) timeout: Option<Duration>,
}

impl RequestHead {
    pub(crate) fn of(head: &Parts) -> Self {
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

/// Matches whole paths: a redirect or guess would obscure a wrong configuration.
fn endpoint(path: &str) -> Option<Endpoint> {
    match path {
        "/convert" => Some(Endpoint::Convert),
        "/mutate" => Some(Endpoint::Mutate),
        "/validate" => Some(Endpoint::Validate),
        _ => None,
    }
}

/// API servers send exactly `application/json`, without encoding.
fn is_json(headers: &HeaderMap) -> bool {
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    plain && essence.eq_ignore_ascii_case("application/json")
}

/// The API server's timeout, in Go's format (`?timeout=30s`). Unparsable values are ignored.
fn timeout(query: &str) -> Option<Duration> {
    let mut values = query.split('&').filter_map(|pair| pair.strip_prefix("timeout="));
    values.find_map(|value| parse_duration(value).ok()).filter(|timeout| !timeout.is_zero())
}
