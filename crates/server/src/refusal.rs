//! Responses without a review: status codes, and a `v1 Status` for the user.

use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use pointsman_core::webhook::{self, BadReview};

/// The reason of a response without review.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    BadReview(BadReview),
    #[error("failed to read the request body: the body ended early or has broken framing")]
    BrokenBody,
    #[error("the client certificate has expired, connect again with a new certificate")]
    CertificateExpired,
    #[error("the server is shutting down, try again")]
    Draining,
    #[error("the request could not be decided before its timeout")]
    Expired,
    #[error("method not allowed: use POST")]
    Method,
    #[error("the content type must be application/json, without a content encoding")]
    MediaType,
    #[error("no such path: use /convert, /mutate or /validate")]
    NoSuchPath,
    #[error("the client certificate has none of the names that admission accepts (see --client-allowed-names)")]
    Forbidden,
    #[error("the authorities of client certificates have changed, connect again")]
    OldAuthorities,
    #[error("the server has reached its limit of requests, try again")]
    Overload,
    #[error("internal error: the decision failed unexpectedly, see the server's log")]
    Panic { message: String },
    #[error("the request body did not arrive in time")]
    SlowBody,
    #[error("the server is starting, try again")]
    Starting,
    #[error("the decision needs {needed} bytes of memory, more than the limit (see --memory-budget)")]
    TooHeavy { needed: u64 },
    #[error("the request body is larger than {limit} bytes (see --max-body)")]
    TooLarge { limit: u64 },
    #[error("a client certificate is required for admission reviews (see --client-ca-file)")]
    Unauthorized,
    #[error("{reason}")]
    Unknown { reason: String },
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::BadReview(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::Draining | Self::OldAuthorities | Self::Overload | Self::Starting | Self::Unknown { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Expired => StatusCode::GATEWAY_TIMEOUT,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NoSuchPath => StatusCode::NOT_FOUND,
            Self::Panic { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::TooHeavy { .. } | Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::CertificateExpired | Self::Unauthorized => StatusCode::UNAUTHORIZED,
        }
    }

    /// True if the end of the body cannot be awaited, so that the connection ends with the response.
    pub(super) fn gives_up_on_body(&self) -> bool {
        matches!(self, Self::BrokenBody | Self::SlowBody)
    }

    /// True if the connection ends with the response.
    pub(super) fn closes(&self) -> bool {
        self.gives_up_on_body() || matches!(self, Self::CertificateExpired | Self::OldAuthorities)
    }

    /// True for a lasting problem: excludes temporary states and attempts of unknown clients.
    pub(super) fn is_error(&self) -> bool {
        match self {
            Self::Draining | Self::Method | Self::NoSuchPath | Self::OldAuthorities | Self::Starting => false,
            Self::BadReview(_)
            | Self::BrokenBody
            | Self::CertificateExpired
            | Self::Expired
            | Self::Forbidden
            | Self::MediaType
            | Self::Overload
            | Self::Panic { .. }
            | Self::SlowBody
            | Self::TooHeavy { .. }
            | Self::TooLarge { .. }
            | Self::Unauthorized
            // Temporary at the start; otherwise needs an operator.
            | Self::Unknown { .. } => true,
        }
    }

    pub(super) fn response(&self) -> Response<Vec<u8>> {
        let status = self.status();
        let body = webhook::refusal(status.as_u16(), &self.to_string());
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            // Whole seconds: the only form that makes an API server repeat the request, up to ten times within its
            // timeout (client-go rest/with_retry.go).
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
