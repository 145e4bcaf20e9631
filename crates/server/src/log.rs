//! What is written down of a request: never a body, and nothing of a client's that is not made harmless first.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::labels::outcome_name;
use super::refusal::Refusal;
use pointsman_core::webhook::{Outcome, Reply};

/// A review that was answered: failures at `warn`, denials at `info`, the rest at `debug`.
pub(super) fn reply(webhook: &'static str, peer: SocketAddr, reply: &Reply, took: Duration) {
    let uid = printable(&reply.uid);
    let outcome = outcome_name(reply.outcome);
    // Not `message`: a JSON line has that already, for what happened.
    let reason = reply.message.as_deref().map(printable).unwrap_or_default();
    match reply.outcome {
        Outcome::Fail => {
            tracing::warn!(webhook, uid, outcome, reason, %peer, ?took, "review failed")
        }
        Outcome::Deny => {
            tracing::info!(webhook, uid, outcome, reason, %peer, ?took, "review denied")
        }
        Outcome::Allow | Outcome::Convert | Outcome::Patch => {
            tracing::debug!(webhook, uid, outcome, %peer, ?took, "review answered");
        }
    }
    for notice in &reply.notices {
        tracing::info!(
            webhook,
            uid,
            event = notice.event,
            object = printable(&notice.object),
            "notice"
        );
    }
}

/// A request that got no review. Overload is counted, not written down line by line: that would add to it.
pub(super) fn refusal(webhook: &'static str, peer: SocketAddr, refusal: &Refusal, took: Duration) {
    let code = refusal.status().as_u16();
    match refusal {
        Refusal::Panic { message } => {
            let reason = printable(message);
            tracing::error!(webhook, code, reason, %peer, ?took, "decision panicked");
        }
        Refusal::Draining
        | Refusal::Method
        | Refusal::NoSuchPath
        | Refusal::Overload
        | Refusal::Starting => {
            tracing::debug!(webhook, code, %peer, ?took, error = printable(&refusal.to_string()), "request refused");
        }
        Refusal::BadReview(_)
        | Refusal::BrokenBody
        | Refusal::Expired
        | Refusal::MediaType
        | Refusal::SlowBody
        | Refusal::TooLarge { .. }
        | Refusal::Unauthorized => {
            tracing::warn!(webhook, code, %peer, ?took, error = printable(&refusal.to_string()), "request refused");
        }
    }
}

/// A failed handshake. Anybody who knocks can cause one, a TCP probe for instance; a client that refuses *us* is worth a
/// line, since that is what an API server with the wrong `caBundle` looks like from here.
pub(super) fn handshake(peer: SocketAddr, error: &io::Error) {
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::AlertReceived(alert)) => {
            tracing::warn!(%peer, ?alert, "client refused the handshake, does its caBundle match our certificate?");
        }
        _ => tracing::debug!(%peer, %error, "handshake failed"),
    }
}

/// Text that a client chose, cut to a bounded length and with control characters escaped: a log line stays one line,
/// and a terminal that shows it does not obey it (compare RUSTSEC-2025-0055).
fn printable(text: &str) -> String {
    let mut result = String::with_capacity(text.len().min(LONGEST));
    for c in text.chars() {
        if result.len() >= LONGEST {
            result.push('…');
            break;
        }
        // U+2028 and the bidirectional controls break or reorder lines without being control characters.
        if c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            // Writing to a String cannot fail.
            let _ = write!(result, "{}", c.escape_default());
        } else {
            result.push(c);
        }
    }
    result
}

/// 1 KiB: enough for a message that names several objects.
const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\n\u{1b}[31mb\u{202e}é"), "a\\n\\u{1b}[31mb\\u{202e}é");
    }

    #[test]
    fn long_text_is_cut() {
        let cut = printable(&"é".repeat(4000));
        assert!(cut.ends_with('…') && cut.len() <= LONGEST + '…'.len_utf8(), "{}", cut.len());
    }
}
