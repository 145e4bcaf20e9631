//! The log of requests: never bodies, and only sanitized text from clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::labels::{outcome_name, webhook_name};
use super::last_errors::LastErrors;
use super::line_limits::{Line, LineLimits};
use super::printable::printable;
use crate::refusal::Refusal;
use pointsman_core::webhook::{Outcome, Reply};

/// The log of one server, and its last errors.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    limits: Arc<LineLimits>,
    last_errors: Arc<LastErrors>,
}

impl Log {
    pub(crate) fn new(limits: Arc<LineLimits>, last_errors: Arc<LastErrors>) -> Self {
        Self { limits, last_errors }
    }

    /// Logs a review: failures at `warn`, denials at `info`, others at `debug`.
    pub(crate) fn reply(&self, webhook: &'static str, peer: SocketAddr, reply: &Reply, took: Duration) {
        let outcome = outcome_name(reply.outcome);
        let seconds = took.as_secs_f64();
        let (kind, object, path) = reply.failed.as_ref().map_or((None, None, None), |failed| {
            (Some(&*failed.kind), Some(printable(&failed.object)), Some(printable(&failed.path)))
        });
        // Not `message`: JSON lines use that for the event.
        let reason = || reply.message.as_deref().map(printable).unwrap_or_default();
        let uid = || printable(&reply.uid);
        // A denial quotes the object only to its author.
        let rules = || reply.verdicts.iter().map(|verdict| &*verdict.rule).collect::<Vec<_>>().join(",");
        if reply.outcome == Outcome::Fail {
            self.last_errors.failed(webhook, reply);
        }
        match reply.outcome {
            Outcome::Fail if self.limits.allow(Line::Failed) => {
                tracing::warn!(webhook, uid = uid(), outcome, kind, object, path, reason = reason(), %peer, seconds, "review failed");
            }
            Outcome::Deny if self.limits.allow(Line::Denied) => {
                tracing::info!(webhook, uid = uid(), outcome, kind, object, path, rules = rules(), %peer, seconds, "review denied");
            }
            Outcome::Fail | Outcome::Deny => {}
            Outcome::Allow | Outcome::Convert | Outcome::Patch => {
                tracing::debug!(webhook, uid = uid(), outcome, %peer, seconds, "review answered");
            }
        }
        for notice in reply.notices.iter().filter(|_| self.limits.allow(Line::Notice)) {
            tracing::info!(webhook, uid = uid(), event = notice.event, object = printable(&notice.object), "notice");
        }
    }

    /// Logs a response without review. Overload is only counted: log lines would add to it.
    pub(crate) fn refusal(&self, webhook: &'static str, peer: SocketAddr, refusal: &Refusal, took: Duration) {
        let code = refusal.status().as_u16();
        let seconds = took.as_secs_f64();
        if refusal.is_error() {
            self.last_errors.refused(webhook, &refusal.to_string());
        }
        match refusal {
            Refusal::Panic { message } => {
                if self.limits.allow(Line::Panicked) {
                    let reason = printable(message);
                    tracing::error!(webhook, code, reason, %peer, seconds, "decision panicked");
                }
            }
            refusal if refusal.is_error() && !matches!(refusal, Refusal::Overload) => {
                if self.limits.allow(Line::Refused) {
                    tracing::warn!(webhook, code, %peer, seconds, error = printable(&refusal.to_string()), "request refused");
                }
            }
            refusal => {
                tracing::debug!(webhook, code, %peer, seconds, error = printable(&refusal.to_string()), "request refused");
            }
        }
    }

    /// Logs a decision whose caller has left. For an API server, this is usually a timeout.
    pub(crate) fn left(&self, webhook: &'static str, peer: SocketAddr, took: Duration) {
        let seconds = took.as_secs_f64();
        self.last_errors.refused(webhook, "decision abandoned: the client closed its connection or reset its stream");
        if self.limits.allow(Line::Left) {
            tracing::warn!(webhook, %peer, seconds, "decision abandoned: the client has disconnected");
        }
    }

    /// Logs a failed handshake. Any client can cause one, such as a TCP probe. A refusal by a client is logged: it may
    /// be an API server with a wrong `caBundle`.
    pub(crate) fn handshake(&self, peer: SocketAddr, error: &io::Error) {
        match error.get_ref().and_then(|error| error.downcast_ref()) {
            Some(rustls::Error::AlertReceived(alert)) => {
                let reason = format!(
                    "a client refused the handshake ({alert:?}): check that its caBundle matches our certificate"
                );
                self.last_errors.refused(webhook_name(None), &reason);
                if self.limits.allow(Line::Handshake) {
                    tracing::warn!(%peer, ?alert, "client refused the handshake: check that its caBundle matches our certificate");
                }
            }
            _ => tracing::debug!(%peer, %error, "handshake failed"),
        }
    }
}
