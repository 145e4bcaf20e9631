//! The last errors, for the admin port: each once, with its count. Contains the same as the log, and of an object only
//! its name and the field.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::printable::printable;
use pointsman_core::webhook::Reply;

/// The last errors of one server. Failed reviews are stored separately: invalid requests cannot displace failed
/// conversions. At most 16 errors of three texts of 1 KiB, without names of definitions: 64 KiB of the 32 MiB of the
/// process. A response is at most twice that, and is not kept.
#[derive(Debug, Default)]
pub(crate) struct LastErrors {
    reviews: Mutex<VecDeque<LastError>>,
    requests: Mutex<VecDeque<LastError>>,
    /// The number of errors: determines the order within a second.
    noted: AtomicU64,
}

/// An error with its count and times.
#[derive(Debug)]
struct LastError {
    what: ErrorText,
    times: u64,
    /// In seconds since 1970, same as `last`.
    first: u64,
    last: u64,
    /// Its position among all errors.
    place: u64,
}

/// The description of an error.
#[derive(Debug, Default)]
struct ErrorText {
    webhook: &'static str,
    kind: Option<String>,
    from: Option<String>,
    to: Option<String>,
    object: Option<String>,
    path: Option<String>,
    reason: String,
}

impl ErrorText {
    /// True for the same error. A list error mentions an object among others, so with an object the wording is ignored.
    fn is(&self, other: &Self) -> bool {
        fn names(one: &ErrorText) -> [&Option<String>; 5] {
            [&one.kind, &one.from, &one.to, &one.object, &one.path]
        }
        let same_reason = self.object.is_some() || self.reason == other.reason;
        self.webhook == other.webhook && names(self) == names(other) && same_reason
    }
}

impl LastErrors {
    /// Records a failed review.
    pub(crate) fn failed(&self, webhook: &'static str, reply: &Reply) {
        let (failed, conversion) = (reply.failed.as_ref(), reply.failures.first());
        let what = ErrorText {
            webhook,
            kind: failed.map(|failed| failed.kind.to_string()),
            from: conversion.map(|conversion| conversion.from.to_string()),
            to: conversion.map(|conversion| conversion.to.to_string()),
            object: failed.map(|failed| printable(&failed.object)),
            path: failed.map(|failed| printable(&failed.path)),
            reason: printable(reply.message.as_deref().unwrap_or_default()),
        };
        self.note(&self.reviews, what, REVIEWS);
    }

    /// Records a response without review, or a failed connection.
    pub(crate) fn refused(&self, webhook: &'static str, reason: &str) {
        let what = ErrorText { webhook, reason: printable(reason), ..ErrorText::default() };
        self.note(&self.requests, what, REQUESTS);
    }

    /// All errors as JSON, latest first.
    pub(crate) fn text(&self) -> String {
        let mut all: Vec<(u64, Value)> = Vec::new();
        for errors in [&self.reviews, &self.requests] {
            all.extend(open(errors).iter().map(|one| (one.place, document(one))));
        }
        all.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        let all: Vec<Value> = all.into_iter().map(|(_, one)| one).collect();
        format!("{}\n", json!({"version": env!("CARGO_PKG_VERSION"), "errors": all}))
    }

    /// Counts an error as the latest one, and drops the oldest beyond the limit.
    fn note(&self, errors: &Mutex<VecDeque<LastError>>, what: ErrorText, most: usize) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let mut errors = open(errors);
        let before = errors.iter().position(|one| one.what.is(&what)).and_then(|at| errors.remove(at));
        let (times, first) = before.map_or((0, now), |before| (before.times, before.first));
        let place = self.noted.fetch_add(1, Ordering::Relaxed);
        errors.push_front(LastError { what, times: times.saturating_add(1), first, last: now, place });
        errors.truncate(most);
    }
}

fn document(one: &LastError) -> Value {
    let LastError { what, times, first, last, place: _ } = one;
    json!({
        "webhook": what.webhook, "kind": what.kind, "from": what.from, "to": what.to, "object": what.object,
        "path": what.path, "reason": what.reason, "times": times, "first": first, "last": last,
    })
}

/// No code panics while holding this lock.
fn open(errors: &Mutex<VecDeque<LastError>>) -> MutexGuard<'_, VecDeque<LastError>> {
    errors.lock().unwrap_or_else(PoisonError::into_inner)
}

/// More than a person reads. An object that cannot be converted fails every list with the same error.
const REVIEWS: usize = 12;

/// Invalid requests usually have the same error.
const REQUESTS: usize = 4;

#[cfg(test)]
mod tests {
    use pointsman_core::webhook::{Conversions, FailedObject, Outcome};

    use super::*;

    fn failed(object: &str, message: &str) -> Reply {
        let text = |text: &str| std::sync::Arc::<str>::from(text);
        Reply {
            body: b"secret".to_vec(),
            outcome: Outcome::Fail,
            uid: "u".to_owned(),
            message: Some(message.to_owned()),
            failed: Some(FailedObject { object: object.to_owned(), kind: text("Widget"), path: "spec".to_owned() }),
            conversions: Vec::new(),
            failures: vec![Conversions { kind: text("Widget"), from: text("v1"), to: text("v2"), objects: 1 }],
            notices: Vec::new(),
            verdicts: Vec::new(),
            flip: None,
        }
    }

    fn all(errors: &LastErrors) -> Vec<Value> {
        let document: Value = serde_json::from_str(&errors.text()).unwrap();
        document["errors"].as_array().unwrap().clone()
    }

    #[test]
    fn equal_errors_are_counted() {
        let errors = LastErrors::default();
        for message in ["cannot convert 1 of 1", "cannot convert 1 of 7"] {
            errors.failed("convert", &failed("n/a", message));
            errors.failed("convert", &failed("n/b", message));
            errors.refused("other", message);
        }
        errors.failed("convert", &failed("n/a", "again"));
        let seen: Vec<_> = all(&errors).iter().map(|one| (one["reason"].clone(), one["times"].clone())).collect();
        // Latest first, of either kind.
        let wanted =
            [("again", 3), ("cannot convert 1 of 7", 1), ("cannot convert 1 of 7", 2), ("cannot convert 1 of 1", 1)];
        assert_eq!(seen, wanted.map(|(reason, times)| (json!(reason), json!(times))));
        let first = &all(&errors)[0];
        assert_eq!([&first["kind"], &first["from"], &first["to"]], [&json!("Widget"), &json!("v1"), &json!("v2")]);
        assert_eq!(
            [&first["object"], &first["path"], &first["webhook"]],
            [&json!("n/a"), &json!("spec"), &json!("convert")]
        );
    }

    #[test]
    fn errors_are_short_and_printable() {
        let errors = LastErrors::default();
        for at in 0..1000 {
            let long = format!("{at}\u{1b}[31m{}", "é\n".repeat(100_000));
            errors.failed("convert", &failed(&long, &long));
            errors.refused("convert", &long);
        }
        let text = errors.text();
        assert_eq!(all(&errors).len(), REVIEWS + REQUESTS);
        // Quotes and backslashes take two bytes in JSON.
        assert!(text.len() <= 2 * (64 << 10), "{}", text.len());
        assert!(!text.trim_end().contains(char::is_control) && !text.contains("secret"), "{text}");
        assert!(!all(&errors).iter().any(|one| one["reason"].as_str().unwrap().contains('\u{1b}')));
    }

    #[test]
    fn requests_push_no_review_out() {
        let errors = LastErrors::default();
        errors.failed("convert", &failed("n/a", "no"));
        for at in 0..100 {
            errors.refused("other", &format!("nonsense {at}"));
        }
        assert!(all(&errors).iter().any(|one| one["object"] == "n/a"));
    }
}
