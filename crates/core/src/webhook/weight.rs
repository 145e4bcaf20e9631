//! What a decision costs in memory.

use super::convert::BUDGET;
use super::costs::{BodyCosts, Costs};
use super::counts::{BodyCounts, Contents, count};
use super::endpoint::Endpoint;
use crate::definition::{Added, Growth};

/// The most memory, in bytes, that [`handle`](super::Webhook::handle) takes for this body at one time: the answer is
/// included, the body itself is not.
///
/// It is five times the body and eight bytes for each escape, and more where an object has more values than Kubernetes'
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
    weight_with(&Costs::default(), endpoint, body)
}

/// The same where there are these definitions.
pub(super) fn weight_with(costs: &Costs, endpoint: Endpoint, body: &[u8]) -> u64 {
    let measures = Measures { length: body.len() as u64, escapes: count(b'\\', body), values: count(b',', body) };
    let most = BodyCounts::at_most(body);
    let at_most = measures.weigh(costs.most(), endpoint, &most, most.most.values);
    if at_most <= SMALL {
        return at_most;
    }
    let BodyCosts { growth, opened, hashes } = costs.of_body(body);
    let within = BodyCounts::within(body, &opened);
    let counts = BodyCounts { objects: within.objects.min(most.objects), ..within };
    let Contents { seen, values, .. } = counts.most;
    measures.weigh(&growth, endpoint, &counts, if hashes { values } else { seen })
}

/// What counts of a body wherever it stands.
struct Measures {
    /// Bytes.
    length: u64,
    escapes: u64,
    /// Values that stand beside another one.
    values: u64,
}

impl Measures {
    /// `read` are the values that are looked at in the object with most of them.
    fn weigh(&self, growth: &Growth, endpoint: Endpoint, counts: &BodyCounts, read: u64) -> u64 {
        let Self { length, escapes, values } = self;
        let text = LEAST + growth.copies() * length + ESCAPE * escapes;
        let added = growth.object.text + growth.object.kept;
        match endpoint {
            Endpoint::Convert => {
                // The answer is there twice while it moves, with all that is given. What an object needs on its way is
                // needed of one at a time.
                let BodyCounts { objects, longest, most, .. } = counts;
                let answered = (BYTE * length).max(MOVED * (length + objects * added) + (BYTE - MOVED) * longest);
                let given = given(growth, *objects, counts.all, items(growth, *most, 1));
                text + answered + VALUE * read + given
            }
            // Whoever judges an object looks at all of it, and converts it to each version.
            Endpoint::Mutate | Endpoint::Validate => {
                let twice = items(growth, counts.all.and(counts.all), ADMITTED);
                let given = given(growth, ADMITTED, counts.all, twice);
                text + BYTE * length + VALUE * values + given + ADMITTED * ANSWER * added
            }
        }
    }
}

/// What definitions give to the items of so many objects that are reviewed, of which as much is on its way at a time.
fn given(growth: &Growth, reviewed: u64, all: Contents, on_its_way: Added) -> u64 {
    // Each list is written once in each step, once in the answer, and that may move.
    let Added { text, kept } = items(growth, all, reviewed);
    text * ANSWER + on_its_way.text * growth.written + (kept * KEPT).min(reviewed * KEPT * BUDGET as u64)
}

/// What definitions give to items, written once. Those that are objects begin with a brace, others stand beside another
/// value or are the only one there is.
fn items(growth: &Growth, of: Contents, lists: u64) -> Added {
    let of = |added: fn(&Added) -> u64| of.items * added(&growth.item) + (of.seen + lists) * added(&growth.value);
    Added { text: of(|added| added.text), kept: of(|added| added.kept) }
}

/// What any body takes.
const LEAST: u64 = 64 << 10;

/// What a byte takes: an answer, an object on its way from one version to another, and what is kept of it. An answer
/// may be longer than its request.
const BYTE: u64 = 5;

/// What an escape takes beyond its bytes: in an annotation of ours it is escaped once more, `\"` as `\\\"`, and a text
/// that is made of others is spelled anew beside them, with up to six bytes for each.
const ESCAPE: u64 = 8;

/// What a value takes that stands beside another one: opened for itself, as each member of an object may be, and up to
/// three times more: where it is written, on its way home, and where it is kept. Each takes 48 bytes, and one has a
/// name and a text of its own.
const VALUE: u64 = 224;

/// How many objects an admission review has: before and after.
const ADMITTED: u64 = 2;

/// How often the answer is there while it moves.
const MOVED: u64 = 2;

/// What a byte of the answer takes while that moves, as it is longer than it seemed.
const ANSWER: u64 = 3;

/// What a byte that is kept takes: where it is collected, in the annotation, that with its escapes, and in the answer.
const KEPT: u64 = 6;

/// Where less is at stake, it is not looked at more closely.
const SMALL: u64 = 1 << 20;
