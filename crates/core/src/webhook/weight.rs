//! What a decision costs in memory.

use super::convert::BUDGET;
use super::endpoint::Endpoint;
use crate::definition::{Added, Growth};

/// The most memory, in bytes, that [`handle`](super::Webhook::handle) takes for this body at one time: the answer is
/// included, the body itself is not.
///
/// It is five times the body and two bytes for each escape, and more where an object has more values than Kubernetes'
/// objects have: each that stands beside another one may be looked at, and then it costs more than its text. Objects of
/// a `ConversionReview` are looked at one after the other, so that only the one with most values counts. The test
/// binary `memory` counts at the allocator that this is true.
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
    weight_with(&Growth::default(), endpoint, body)
}

/// The same where definitions add so much to objects.
pub(super) fn weight_with(growth: &Growth, endpoint: Endpoint, body: &[u8]) -> u64 {
    let length = body.len() as u64;
    let text = LEAST + growth.copies() * length + ESCAPE * count(b'\\', body);
    let values = count(b',', body);
    let items = ItemCounts { objects: count(b'{', body), values };
    let given = |reviewed: u64| given(growth, endpoint, items, reviewed);
    let added = growth.object.text + growth.object.kept;
    match endpoint {
        Endpoint::Convert => {
            // The answer is there twice while it moves, with all that is given. What an object needs on its way is
            // needed of one at a time.
            let answered = |objects: u64, longest: u64| {
                (BYTE * length).max(MOVED * (length + objects * added) + (BYTE - MOVED) * longest)
            };
            // To count is much faster than to look where they stand.
            let most = may_be_objects(body).min(values + 1);
            let many = text + answered(most, length) + VALUE * values + given(most);
            if many <= SMALL {
                return many;
            }
            let Reviewed { objects, heaviest, longest } = reviewed(body);
            let objects = objects.min(most);
            text + answered(objects, longest) + VALUE * heaviest.min(values) + given(objects)
        }
        Endpoint::Mutate | Endpoint::Validate => text + BYTE * length + VALUE * values + given(2) + 2 * ANSWER * added,
    }
}

/// What may be the items of lists in a body.
#[derive(Clone, Copy)]
struct ItemCounts {
    /// Those that are objects begin with a brace.
    objects: u64,
    /// Others stand beside another value.
    values: u64,
}

/// What definitions give to the items of so many objects that are reviewed.
fn given(growth: &Growth, endpoint: Endpoint, items: ItemCounts, reviewed: u64) -> u64 {
    let Growth { item, value, written, .. } = growth;
    let of_items = |of: fn(&Added) -> u64| items.objects * of(item) + (items.values + reviewed) * of(value);
    // Each list is written once in each step, once in the answer, and that may move. Who judges an object converts it
    // to each version.
    let copies = match endpoint {
        Endpoint::Convert => written + ANSWER,
        Endpoint::Mutate | Endpoint::Validate => 2 * written + ANSWER,
    };
    let kept = of_items(|added| added.kept) * KEPT;
    let kept = kept.min(reviewed * KEPT * BUDGET as u64);
    copies * of_items(|added| added.text) + kept
}

/// How many objects a body reviews at most: one has a member of this name, which may be spelled with escapes.
fn may_be_objects(body: &[u8]) -> u64 {
    let named = memchr::memmem::find_iter(body, b"\"apiVersion\"").count();
    named as u64 + memchr::memmem::find_iter(body, b"\\u").count() as u64
}

/// The objects of a conversion review.
struct Reviewed {
    /// How many there are.
    objects: u64,
    /// The most commas in one.
    heaviest: u64,
    /// The bytes of the longest.
    longest: u64,
}

/// What is in `request.objects`: in any list which is the value of a member of a member.
fn reviewed(body: &[u8]) -> Reviewed {
    let (mut depth, mut in_list, mut commas, mut most, mut objects) = (0_usize, false, 0_u64, 0_u64, 0_u64);
    let (mut begun, mut longest) = (0, 0);
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let end = behind_string(body, at);
                if in_list {
                    // An annotation may hold JSON.
                    commas += count(b',', body.get(at..end).unwrap_or_default());
                    most = most.max(commas);
                }
                at = end;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth == LIST {
                    in_list = *byte == b'[';
                    objects += u64::from(in_list);
                    begun = at;
                }
            }
            b'}' | b']' => {
                if depth == LIST {
                    longest = longest.max(at - begun);
                    (in_list, commas) = (false, 0);
                }
                depth = depth.saturating_sub(1);
            }
            b',' if in_list && depth == LIST => {
                commas = 0;
                objects += 1;
                longest = longest.max(at - begun);
                begun = at;
            }
            b',' if in_list => {
                commas += 1;
                most = most.max(commas);
            }
            _ => {}
        }
    }
    // One that does not end is not read.
    Reviewed { objects, heaviest: most, longest: longest.max(body.len() - begun.min(body.len())) as u64 }
}

fn count(byte: u8, text: &[u8]) -> u64 {
    memchr::memchr_iter(byte, text).count() as u64
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

/// What a value takes that stands beside another one: opened for itself, as each member of an object may be, and up to
/// three times more: where it is written, on its way home, and where it is kept. Each takes 48 bytes, and one has a
/// name and a text of its own.
const VALUE: u64 = 224;

/// How often the answer is there while it moves.
const MOVED: u64 = 2;

/// What a byte of the answer takes while that moves, as it is longer than it seemed.
const ANSWER: u64 = 3;

/// What a byte that is kept takes: where it is collected, in the annotation, that with its escapes, and in the answer.
const KEPT: u64 = 6;

/// Where less is at stake, it is not looked at more closely.
const SMALL: u64 = 1 << 20;
