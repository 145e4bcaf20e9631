//! What came of a question to the cluster that was not answered as it should be.

use std::time::Duration;

/// A call that did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// There was no answer.
    #[error("{asked}: no answer from {address}: {reason}")]
    NoAnswer {
        /// Verb and path.
        asked: String,
        /// Of the API server.
        address: String,
        /// What the connection said.
        reason: String,
    },
    /// The API server said no.
    #[error("{asked}: {message} (HTTP {code})")]
    Refused {
        /// Verb and path.
        asked: String,
        /// The HTTP status.
        code: u16,
        /// In the API server's words.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
        /// Where a list whose continue token is too old goes on.
        next: Option<String>,
        /// Fields that somebody else applied, and who, where that is what stands in the way.
        conflicts: Vec<String>,
    },
    /// The API server does not know such documents.
    #[error("{address} has no {kind} in {version}: its Kubernetes is older than that")]
    NoKind {
        /// Of the API server.
        address: String,
        /// The kind.
        kind: String,
        /// Group and version.
        version: String,
    },
    /// There is no such CRD.
    #[error("there is no CRD {name} in this cluster")]
    NoCrd {
        /// `plural.group`.
        name: String,
    },
    /// Something is no CRD of `apiextensions.k8s.io/v1`.
    #[error("what the API server calls the CRD {name} has no {field}")]
    BadCrd {
        /// As it calls itself.
        name: String,
        /// What every CRD has.
        field: &'static str,
    },
    /// Whatever answered is no API server.
    #[error("{asked}: {address} answers something that is not JSON; is it a Kubernetes API server?")]
    NotJson {
        /// Verb and path.
        asked: String,
        /// Of the API server.
        address: String,
    },
    /// The answer, or a line of it, has more bytes than are read.
    #[error("{asked}: {address} answers more than {most} bytes at once, which is more than is read")]
    TooLarge {
        /// Verb and path.
        asked: String,
        /// Of the API server.
        address: String,
        /// How many bytes are read.
        most: usize,
    },
}

impl CallError {
    /// What is in the way, without what differs from one try to the next: for who tells each reason once.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::NoAnswer { address, reason, .. } => format!("no answer from {address}: {reason}"),
            Self::NotJson { address, .. } => format!("{address} answers something that is not JSON"),
            Self::TooLarge { address, most, .. } => format!("{address} answers more than {most} bytes at once"),
            other => other.message(),
        }
    }

    /// The HTTP status, where there was an answer.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What was asked, where it was: verb and path.
    pub(crate) fn asked(&self) -> Option<&str> {
        match self {
            Self::NoAnswer { asked, .. }
            | Self::NotJson { asked, .. }
            | Self::TooLarge { asked, .. }
            | Self::Refused { asked, .. } => Some(asked),
            Self::NoKind { .. } | Self::NoCrd { .. } | Self::BadCrd { .. } => None,
        }
    }

    /// Whether the same call may succeed in a moment: nobody answered, the API server is busy, starting or stopping, or
    /// it did not reach a webhook, which may be restarted as well.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::NoAnswer { .. } => true,
            Self::Refused { code, .. } => self.is_of_a_webhook() || matches!(code, 429 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Whether what was asked for may be done all the same, now or in a while: it was sent, and nobody has said no. An
    /// API server that gives up waiting for its store does not know, either.
    pub(crate) fn leaves_open(&self) -> bool {
        // Nothing comes of what is only read, or only tried.
        if self.asked().is_none_or(|asked| asked.starts_with("GET ") || asked.contains("dryRun=All")) {
            return false;
        }
        match self {
            // A connection that was never made: hyper-util's words.
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
            // Who says so does not begin with it, but for what stands between, which lost a connection in the middle.
            Self::Refused { code: 503, message, .. } => message.contains("disconnect/reset"),
            Self::Refused { code, .. } => matches!(code, 408 | 502 | 504),
            Self::NoKind { .. } | Self::NoCrd { .. } | Self::BadCrd { .. } => false,
        }
    }

    /// Whether a webhook did not answer the API server, which may succeed in a moment.
    pub(crate) fn is_of_a_webhook(&self) -> bool {
        match self {
            Self::Refused { code: 500, message, .. } => {
                message.contains("webhook") && NO_ANSWER.iter().any(|words| message.contains(words))
            }
            // A policy that could not convert the object fails closed, and that is called forbidden.
            Self::Refused { code: 403 | 422, message, .. } => message
                .split_once("conversion webhook for ")
                .and_then(|(_, of)| of.split_once(" failed: "))
                .is_some_and(|(_, why)| NO_ANSWER.iter().any(|words| why.starts_with(words))),
            _ => false,
        }
    }

    /// Whether somebody may not do this. An admission webhook says 403 as well, of objects that it does not want.
    pub(crate) fn is_of_missing_rights(&self) -> bool {
        match self {
            Self::Refused { code: 403, message, .. } => is_about_rights(message),
            _ => false,
        }
    }

    /// Whether a test of a JSON Patch did not hold: what is there is another one by now. That is all the API server
    /// says.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Refused { code: 422, message, .. } if message.contains(OUR_REQUEST))
    }

    /// Fields that somebody else applied, and who, where that is what stands in the way.
    #[must_use]
    pub fn conflicts(&self) -> &[String] {
        match self {
            Self::Refused { conflicts, .. } => conflicts,
            _ => &[],
        }
    }

    /// How long the API server wants to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What the API server said, without what was asked.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Refused { message, .. } => message.clone(),
            _ => self.to_string(),
        }
    }

    /// What somebody can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoAnswer { reason, .. } if reason.contains("certificate") => {
                Some("the kubeconfig's certificate-authority is not the one that this server shows")
            }
            Self::NoAnswer { .. } => Some("is the cluster there? kubectl get --raw /readyz asks the same server"),
            Self::NoKind { .. } => Some("docs/install.md names the oldest Kubernetes that has what is needed"),
            Self::Refused { code: 401, .. } => Some("these credentials are not valid here, or no longer"),
            error if error.is_of_missing_rights() => Some(RIGHTS),
            _ => None,
        }
    }
}

/// Whether an API server says so that somebody may not do this
/// (`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go`).
pub(crate) fn is_about_rights(message: &str) -> bool {
    message.contains("is forbidden: User \"") && message.contains(" cannot ")
}

/// What an API server says of a webhook that did not answer: no connection, or it ended before the answer did; an
/// answer that ended in the middle; and a server that says that it cannot answer now.
/// Source: `client-go rest/request.go`, `transformResponse`; `apimachinery pkg/api/errors/errors.go`,
/// `NewGenericServerResponse`.
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

/// What whoever may not do something does next.
pub(crate) const RIGHTS: &str = "docs/rights.md has the ClusterRole that it needs";

#[cfg(test)]
mod tests {
    use super::*;

    impl CallError {
        /// What an API server says with this code.
        pub(crate) fn of_code(code: u16, message: &str, retry_after: Option<Duration>) -> Self {
            let (asked, message) = ("POST /".to_owned(), message.to_owned());
            Self::Refused { asked, code, message, retry_after, next: None, conflicts: Vec::new() }
        }
    }

    #[test]
    fn unanswered_call_may_have_effect() {
        let said = |code: u16, message: &str| CallError::of_code(code, message, None).leaves_open();
        assert!(said(504, "Timeout: request did not complete within requested timeout") && said(502, ""));
        assert!(said(500, "etcdserver: request timed out") && said(500, "etcdserver: leader changed"));
        assert!(said(500, "rpc error: code = Unavailable desc = error reading from server: EOF"));
        assert!(said(503, "upstream connect error or disconnect/reset before headers"));
        let webhook = "failed calling webhook \"w\": Post \"https://w/m\": context deadline exceeded";
        assert!(!said(500, webhook) && !said(500, "etcdserver: request is too large"));
        assert!(![400, 403, 409, 422, 429, 503].into_iter().any(|code| said(code, "no")));
    }

    #[test]
    fn webhook_that_does_not_answer_passes() {
        let said = |why: &str| format!("conversion webhook for e.com/v2, Kind=W failed: {why}");
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
            assert!(CallError::of_code(500, &said(why), None).passes(), "{why}");
            let by_policy = format!("ws.e.com \"a\" is forbidden: {}", said(why));
            assert!(CallError::of_code(403, &by_policy, None).passes(), "{why}");
        }
        let answered = "spec.size: 1e400 is no number";
        assert!(!CallError::of_code(500, &said(answered), None).passes());
        assert!(!CallError::of_code(500, passing[1], None).passes(), "nobody names a webhook");
    }

    #[test]
    fn policy_without_conversion_passes() {
        let said = "ws.e.com \"a\" is forbidden: conversion webhook for e.com/v2, Kind=W failed: Post \
                    \"https://s.n.svc:443/convert?timeout=30s\": EOF";
        assert!(CallError::of_code(403, said, None).passes());
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
