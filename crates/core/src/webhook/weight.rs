//! What a decision costs in memory.

use super::door::Endpoint;

/// The most memory, in bytes, that [`handle`](super::Webhook::handle) takes for this body at one time: the answer is
/// included, the body itself is not.
///
/// It is five times the body and two bytes for each escape, and more where an object has more values than Kubernetes'
/// objects have: each that stands beside another one may be looked at, and then it costs more than its text. Objects of
/// a `ConversionReview` are looked at one after the other, so that only the one with most values counts. The test
/// binary `memory` counts at the allocator that this is true, whatever is in the body.
///
/// # Examples
/// ```
/// use pointsman_core::webhook::{Endpoint, weight};
///
/// let many = format!(r#"{{"request": {{"objects": [{}]}}}}"#, vec!["{}"; 100_000].join(","));
/// assert_eq!(weight(Endpoint::Convert, many.as_bytes()), (64 << 10) + 5 * many.len() as u64);
/// assert!(weight(Endpoint::Mutate, many.as_bytes()) > 40 * many.len() as u64);
/// ```
#[must_use]
pub fn weight(endpoint: Endpoint, body: &[u8]) -> u64 {
    let escapes = memchr::memchr_iter(b'\\', body).count() as u64;
    let text = LEAST + BYTE * body.len() as u64 + ESCAPE * escapes;
    let values = in_text(body);
    // To count is much faster than to look where they stand.
    let values = match endpoint {
        Endpoint::Convert if text + VALUE * values > SMALL => heaviest(body).min(values),
        Endpoint::Convert | Endpoint::Mutate | Endpoint::Validate => values,
    };
    text + VALUE * values
}

/// The most commas in an element of `request.objects`: in that of any list which is the value of a member of a member.
fn heaviest(body: &[u8]) -> u64 {
    let (mut depth, mut in_list, mut commas, mut most) = (0_usize, false, 0_u64, 0_u64);
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let end = behind_string(body, at);
                if in_list {
                    // An annotation may hold JSON.
                    commas += in_text(body.get(at..end).unwrap_or_default());
                    most = most.max(commas);
                }
                at = end;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth == LIST {
                    in_list = *byte == b'[';
                }
            }
            b'}' | b']' => {
                if depth == LIST {
                    (in_list, commas) = (false, 0);
                }
                depth = depth.saturating_sub(1);
            }
            b',' if in_list && depth == LIST => commas = 0,
            b',' if in_list => {
                commas += 1;
                most = most.max(commas);
            }
            _ => {}
        }
    }
    most
}

/// The commas in a text.
fn in_text(text: &[u8]) -> u64 {
    memchr::memchr_iter(b',', text).count() as u64
}

/// The position behind the quote that closes a string in which `at` stands.
fn behind_string(body: &[u8], mut at: usize) -> usize {
    while let Some(found) = body.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        match body.get(at) {
            Some(b'\\') => at += 2,
            _ => return at + 1,
        }
    }
    body.len()
}

/// How deep `request.objects` is: in the review, in the request, in the list.
const LIST: usize = 3;

/// What any body takes.
const LEAST: u64 = 64 << 10;

/// What a byte takes: an answer, an object on its way from one version to another, and what is kept of it. An answer
/// may be longer than its request.
const BYTE: u64 = 5;

/// What an escape takes beyond its bytes: in an annotation of ours it is escaped once more, `\"` as `\\\"`.
const ESCAPE: u64 = 2;

/// What a value takes that stands beside another one: one opened for itself, as each item of a list may be, and up to
/// twice more in other versions.
const VALUE: u64 = 176;

/// Where less is at stake, it is not looked at more closely.
const SMALL: u64 = 1 << 20;
