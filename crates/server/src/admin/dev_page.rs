//! A page to try a server on the local machine.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{Semaphore, oneshot};

use crate::runtime::definitions::STACK;

/// A page at `/dev` of the admin address, on which a browser tries definitions and webhook calls. It loads its script
/// from `GET /dev/editor.js`, and sends `GET /dev/kinds`, and `POST /dev/try` with at most 2 MiB, one at a time; both
/// return JSON. `/` redirects to it.
///
/// For a server used by one person and unreachable for others. Only requests with an IP address or `localhost` as host
/// are accepted, so that no foreign page can read the responses through a DNS name for this address.
#[derive(Clone)]
pub struct DevPage {
    html: &'static str,
    /// The script, compressed with gzip.
    script: &'static [u8],
    kinds: Arc<dyn Fn() -> String + Send + Sync>,
    tried: Arc<Tried>,
    /// Limits senders, so that probes find room.
    sending: Arc<Semaphore>,
    /// Limits trials: pasted input may take a thousand times its own memory.
    trying: Arc<Semaphore>,
}

/// From a body to JSON.
type Tried = dyn Fn(&[u8]) -> String + Send + Sync;

impl DevPage {
    /// A page and its script, which is compressed with gzip, with the handlers of `/dev/kinds` and `/dev/try`. Both
    /// return JSON, errors too.
    #[must_use]
    pub fn new(
        (html, script): (&'static str, &'static [u8]),
        kinds: impl Fn() -> String + Send + Sync + 'static,
        tried: impl Fn(&[u8]) -> String + Send + Sync + 'static,
    ) -> Self {
        let (sending, trying) = (Arc::new(Semaphore::new(SENDING)), Arc::new(Semaphore::new(1)));
        Self { html, script, kinds: Arc::new(kinds), tried: Arc::new(tried), sending, trying }
    }

    /// True if a path belongs to the page.
    pub(crate) fn has(path: &str) -> bool {
        ["/", PAGE, SCRIPT, KINDS, TRY].contains(&path)
    }

    /// Handles a request for one of its paths.
    pub(crate) async fn answer<B>(self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes, Error: std::error::Error + Send + Sync + 'static>,
    {
        if !names_this_machine(request.headers()) {
            return text_response(StatusCode::FORBIDDEN, "use an IP address or localhost\n");
        }
        let allowed =
            if request.uri().path() == TRY { [Method::POST].as_slice() } else { &[Method::GET, Method::HEAD] };
        if !allowed.contains(request.method()) {
            let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            let allowed = if request.uri().path() == TRY { "POST" } else { "GET, HEAD" };
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return response;
        }
        match request.uri().path() {
            PAGE => {
                let mut response = with(StatusCode::OK, "text/html; charset=utf-8", self.html);
                response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
                response
            }
            "/" => {
                let mut response = text_response(StatusCode::FOUND, "see /dev\n");
                response.headers_mut().insert(LOCATION, HeaderValue::from_static(PAGE));
                response
            }
            SCRIPT => {
                let mut response = with(StatusCode::OK, "text/javascript; charset=utf-8", self.script);
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                response
            }
            KINDS => with(StatusCode::OK, JSON, (self.kinds)()),
            _ => self.try_body(request).await,
        }
    }

    async fn try_body<B>(self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes, Error: std::error::Error + Send + Sync + 'static>,
    {
        // A foreign page cannot send this type without a preflight request, which is never granted here.
        if request.headers().get(CONTENT_TYPE).is_none_or(|kind| kind != JSON) {
            return text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json\n");
        }
        let Ok(_sending) = self.sending.try_acquire() else {
            return text_response(StatusCode::SERVICE_UNAVAILABLE, "too many at a time\n");
        };
        if request.body().size_hint().lower() > MOST as u64 {
            return text_response(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        let body = Limited::new(request.into_body(), MOST).collect();
        let body = match tokio::time::timeout(PATIENCE, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return text_response(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE),
            Err(_) => return text_response(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time\n"),
        };
        let _trying = self.trying.acquire().await;
        let (sender, receiver) = oneshot::channel();
        let tried = Arc::clone(&self.tried);
        // The client may have left.
        let work = move || drop(sender.send(tried(&body)));
        if let Err(error) = thread::Builder::new().name("dev-page".to_owned()).stack_size(STACK).spawn(work) {
            tracing::warn!(%error, "no thread for the page");
        }
        match receiver.await {
            Ok(answer) => with(StatusCode::OK, JSON, answer),
            Err(_) => text_response(StatusCode::INTERNAL_SERVER_ERROR, "failed: see the log\n"),
        }
    }
}

impl fmt::Debug for DevPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevPage").finish_non_exhaustive()
    }
}

/// True if a request has a host that its user would use, and no DNS name, which a foreign site may control.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

fn text_response(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    with(status, "text/plain; charset=utf-8", text)
}

fn with(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

const PAGE: &str = "/dev";

const SCRIPT: &str = "/dev/editor.js";

const KINDS: &str = "/dev/kinds";

const TRY: &str = "/dev/try";

const JSON: &str = "application/json";

/// No foreign content, and no frames. The marks of the editor are images in its style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A definition with its CRD, and objects. etcd stores a CRD of at most 1.5 MiB.
const MOST: usize = 2 << 20;

const TOO_LARGE: &str = "at most 2 MiB, sent completely\n";

/// An eighth of the connections of this port.
const SENDING: usize = 8;

/// Local requests are immediate.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rebindable_host_is_refused() {
        let named = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            names_this_machine(&headers)
        };
        for host in ["127.0.0.1:8080", "127.0.0.1", "localhost:8080", "LOCALHOST", "[::1]:8080", "[::1]", "10.0.0.7:1"]
        {
            assert!(named(host), "{host}");
        }
        for host in ["attacker.example:8080", "127.0.0.1.nip.example", "localhost.attacker.example", "", "[::1", ":80"]
        {
            assert!(!named(host), "{host}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }
}
