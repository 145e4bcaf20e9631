//! Errors of API calls.

use std::time::Duration;

/// A failed call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No response.
    #[error("{operation}: no answer from {address}: {reason}")]
    NoAnswer {
        /// Verb and path.
        operation: String,
        /// Address of the API server.
        address: String,
        /// The error of the connection.
        reason: String,
    },
    /// The API server refused the call.
    #[error("{operation}: {message} (HTTP {code})")]
    Refused {
        /// Verb and path.
        operation: String,
        /// The HTTP status.
        code: u16,
        /// The message of the API server.
        message: String,
        /// The `Retry-After` value.
        retry_after: Option<Duration>,
        /// The continue token that replaces an expired one.
        next: Option<String>,
        /// Fields of other owners, with their field managers, for an apply conflict.
        conflicts: Vec<String>,
    },
    /// The API server lacks the kind.
    #[error("{address} has no {kind} in {version}: its Kubernetes is older")]
    NoKind {
        /// Address of the API server.
        address: String,
        /// The kind.
        kind: String,
        /// Group and version.
        version: String,
    },
    /// The CRD does not exist.
    #[error("CRD {name} does not exist in this cluster")]
    NoCrd {
        /// `plural.group`.
        name: String,
    },
    /// A document is not a CRD of `apiextensions.k8s.io/v1`.
    #[error("CRD {name} has no {field}, according to the API server")]
    BadCrd {
        /// Its name.
        name: String,
        /// The missing member.
        field: &'static str,
    },
    /// The server is not an API server.
    #[error("{operation}: the response of {address} is not JSON; check that the address is a Kubernetes API server")]
    NotJson {
        /// Verb and path.
        operation: String,
        /// Address of the API server.
        address: String,
    },
    /// The response, or a line of it, exceeds the size limit.
    #[error("{operation}: {address} answers more than {most} bytes at once, which is more than is read")]
    TooLarge {
        /// Verb and path.
        operation: String,
        /// Address of the API server.
        address: String,
        /// The limit in bytes.
        most: usize,
    },
}

impl CallError {
    /// The cause without varying parts, for callers that report each cause once.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::NoAnswer { address, reason, .. } => format!("no answer from {address}: {reason}"),
            Self::NotJson { address, .. } => format!("the response of {address} is not JSON"),
            Self::TooLarge { address, most, .. } => format!("{address} answers more than {most} bytes at once"),
            other => other.message(),
        }
    }

    /// The HTTP status, if a response exists.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Verb and path of the request, if known.
    pub(crate) fn operation(&self) -> Option<&str> {
        match self {
            Self::NoAnswer { operation, .. }
            | Self::NotJson { operation, .. }
            | Self::TooLarge { operation, .. }
            | Self::Refused { operation, .. } => Some(operation),
            Self::NoKind { .. } | Self::NoCrd { .. } | Self::BadCrd { .. } => None,
        }
    }

    /// True if the error is temporary: no response, an API server that is overloaded, starting or stopping, or an
    /// unreachable webhook, which may be restarting.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::NoAnswer { .. } => true,
            Self::Refused { code, .. } => self.is_of_a_webhook() || matches!(code, 429 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// True if the request may still take effect: it was sent and not refused. This includes an API server that gave up
    /// waiting for etcd.
    pub(crate) fn leaves_open(&self) -> bool {
        // Reads and dry runs have no effect.
        if self.operation().is_none_or(|operation| operation.starts_with("GET ") || operation.contains("dryRun=All")) {
            return false;
        }
        match self {
            // The connection was never established: hyper-util's wording.
            Self::NoAnswer { reason, .. } => !reason.contains("client error (Connect)"),
            Self::NotJson { .. } | Self::TooLarge { .. } => true,
            Self::Refused { code: 500, message, .. } => {
                let gave_up = [
                    "timed out",
                    "deadline exceeded",
                    "canceled",
                    "leader changed",
                    "server stopped",
                    "transport is closing",
                    "code = Unavailable",
                ];
                !self.is_of_a_webhook() && gave_up.iter().any(|words| message.contains(words))
            }
            // An API server that returns this has not begun, unless a proxy lost the connection midway.
            Self::Refused { code: 503, message, .. } => message.contains("disconnect/reset"),
            Self::Refused { code, .. } => matches!(code, 408 | 502 | 504),
            Self::NoKind { .. } | Self::NoCrd { .. } | Self::BadCrd { .. } => false,
        }
    }

    /// True if the API server could not reach a webhook, which is temporary.
    pub(crate) fn is_of_a_webhook(&self) -> bool {
        match self {
            Self::Refused { code: 500, message, .. } => {
                message.contains("webhook") && NO_ANSWER.iter().any(|words| message.contains(words))
            }
            // A policy that could not convert the object fails closed, with a forbidden error.
            Self::Refused { code: 403 | 422, message, .. } => message
                .split_once("conversion webhook for ")
                .and_then(|(_, of)| of.split_once(" failed: "))
                .is_some_and(|(_, why)| NO_ANSWER.iter().any(|words| why.starts_with(words))),
            _ => false,
        }
    }

    /// True for missing permissions. An admission webhook returns 403 too, for objects it refuses.
    pub(crate) fn is_of_missing_rights(&self) -> bool {
        match self {
            Self::Refused { code: 403, message, .. } => is_about_rights(message),
            _ => false,
        }
    }

    /// True if a precondition of a JSON Patch failed: the object changed. The error contains no more detail.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Refused { code: 422, message, .. } if message.contains(OUR_REQUEST))
    }

    /// Fields of other owners, with their field managers, for an apply conflict.
    #[must_use]
    pub fn conflicts(&self) -> &[String] {
        match self {
            Self::Refused { conflicts, .. } => conflicts,
            _ => &[],
        }
    }

    /// The `Retry-After` value.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The message of the API server, without the request.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Refused { message, .. } => message.clone(),
            _ => self.to_string(),
        }
    }

    /// The remedy, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoAnswer { reason, .. } if reason.contains("certificate") => {
                Some("the certificate-authority of the kubeconfig does not match the certificate of this server")
            }
            Self::NoAnswer { .. } => {
                Some("check the cluster: kubectl get --raw /readyz sends a request to the same server")
            }
            Self::NoKind { .. } => Some("docs/install.md lists the oldest supported Kubernetes"),
            Self::Refused { code: 401, .. } => Some("these credentials are invalid or expired"),
            error if error.is_of_missing_rights() => Some(RIGHTS),
            _ => None,
        }
    }
}

/// True if the message is an authorization error (`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`).
pub(crate) fn is_about_rights(message: &str) -> bool {
    message.contains("is forbidden: User \"") && message.contains(" cannot ")
}

/// Messages of an API server about an unreachable webhook: no connection, a connection or response that ended early, or
/// a webhook that is overloaded. Source: `client-go rest/request.go`, `transformResponse`; `apimachinery
/// pkg/api/errors/errors.go`, `NewGenericServerResponse`.
const NO_ANSWER: [&str; 6] = [
    "Post \"http",
    "stream error when reading response body",
    "unexpected error when reading response body",
    "the server is currently unable to handle the request",
    "the server has received too many requests",
    "the server was unable to return a response in the time allotted",
];

/// Source: `apimachinery pkg/api/errors/errors.go`, `NewGenericServerResponse`.
const OUR_REQUEST: &str = "the server rejected our request due to an error in our request";

/// The remedy for missing permissions.
pub(crate) const RIGHTS: &str = "docs/rights.md lists the ClusterRole of this command";

#[cfg(test)]
mod tests {
    use super::*;

    impl CallError {
        /// The error of a response with this code.
        pub(crate) fn of_code(code: u16, message: &str, retry_after: Option<Duration>) -> Self {
            let (operation, message) = ("POST /".to_owned(), message.to_owned());
            Self::Refused { operation, code, message, retry_after, next: None, conflicts: Vec::new() }
        }
    }

    #[test]
    fn unanswered_call_may_have_effect() {
        let text = |code: u16, message: &str| CallError::of_code(code, message, None).leaves_open();
        assert!(text(504, "Timeout: request did not complete within requested timeout") && text(502, ""));
        assert!(text(500, "etcdserver: request timed out") && text(500, "etcdserver: leader changed"));
        assert!(text(500, "rpc error: code = Unavailable desc = error reading from server: EOF"));
        assert!(text(503, "upstream connect error or disconnect/reset before headers"));
        let webhook = "failed calling webhook \"w\": Post \"https://w/m\": context deadline exceeded";
        assert!(!text(500, webhook) && !text(500, "etcdserver: request is too large"));
        assert!(![400, 403, 409, 422, 429, 503].into_iter().any(|code| text(code, "no")));
    }

    #[test]
    fn webhook_that_does_not_answer_passes() {
        let text = |why: &str| format!("conversion webhook for e.com/v2, Kind=W failed: {why}");
        let passing = [
            "Post \"https://s.n.svc:443/convert?timeout=30s\": EOF",
            "unexpected error when reading response body. Please retry. Original error: read tcp: connection reset",
            "stream error when reading response body, may be caused by closed connection. Please retry. Original \
             error: stream error: stream ID 9; INTERNAL_ERROR",
            "the server is currently unable to handle the request",
            "the server has received too many requests and has asked us to try again later",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ];
        for why in passing {
            assert!(CallError::of_code(500, &text(why), None).passes(), "{why}");
            let by_policy = format!("ws.e.com \"a\" is forbidden: {}", text(why));
            assert!(CallError::of_code(403, &by_policy, None).passes(), "{why}");
        }
        let answered = "spec.size: 1e400 is no number";
        assert!(!CallError::of_code(500, &text(answered), None).passes());
        assert!(!CallError::of_code(500, passing[1], None).passes(), "nobody names a webhook");
    }

    #[test]
    fn policy_without_conversion_passes() {
        let text = "ws.e.com \"a\" is forbidden: conversion webhook for e.com/v2, Kind=W failed: Post \
                    \"https://s.n.svc:443/convert?timeout=30s\": EOF";
        assert!(CallError::of_code(403, text, None).passes());
        let denied = "admission webhook \"w\" denied the request: ask the owner of the conversion webhook";
        assert!(!CallError::of_code(403, denied, None).passes());
    }

    #[test]
    fn forbidden_differs_from_invalid() {
        let refused = |message: &str| CallError::of_code(403, message, None);
        let rights = "ws.e.com is forbidden: User \"u\" cannot create resource \"ws\" in API group \"e.com\"";
        assert!(refused(rights).hint().is_some_and(|hint| hint.contains("ClusterRole")));
        let verdict = "admission webhook \"w\" denied the request: objects cannot be in namespace default";
        assert_eq!(refused(verdict).hint(), None);
    }
}
