//! The memory requirements of a decision.

use super::convert::BUDGET;
use super::costs::{BodyCosts, Costs};
use super::counts::{ADMITTED, BodyCounts, ByteCounts, Contents};
use super::endpoint::Endpoint;
use crate::definition::{Added, Growth};

/// The maximum memory, in bytes, that [`handle`](super::Webhook::handle) needs for this body at one time. Includes the
/// response, excludes the body.
///
/// The value is 64 KiB, five times the body, eight bytes for each escape and 224 for each parsed value: each value with
/// a sibling may be parsed, and then needs more memory than its text. Objects of a `ConversionReview` are processed one
/// by one, so only the object with the most values counts. Definitions that add text or keep values add more. The test
/// binary `memory` verifies the value at the allocator.
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

/// The weight with these definitions.
pub(super) fn weight_with(costs: &Costs, endpoint: Endpoint, body: &[u8]) -> u64 {
    let bytes = ByteCounts::of(body);
    let measures = Measures { length: body.len() as u64, escapes: bytes.backslashes, values: bytes.commas };
    let most = BodyCounts::at_most(endpoint, body, &bytes);
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

/// Counts of the whole body.
struct Measures {
    /// Bytes.
    length: u64,
    escapes: u64,
    /// Values with a sibling.
    values: u64,
}

impl Measures {
    /// `read` is the number of parsed values in the object with the most values.
    fn weigh(&self, growth: &Growth, endpoint: Endpoint, counts: &BodyCounts, read: u64) -> u64 {
        let Self { length, escapes, values } = self;
        let text = LEAST + growth.copies() * length + ESCAPE * escapes;
        let added = growth.object.text + growth.object.kept;
        match endpoint {
            Endpoint::Convert => {
                // The response exists twice during a reallocation, including all additions. Temporary memory is needed
                // for one object at a time.
                let BodyCounts { objects, longest, most, .. } = counts;
                let answered = (BYTE * length).max(MOVED * (length + objects * added) + (BYTE - MOVED) * longest);
                let given = given(growth, *objects, counts.all, items(growth, *most, 1));
                let expanded = MOVED * growth.expanded * length + growth.evaluated(*longest);
                text + answered + VALUE * read + given + expanded
            }
            // Admission parses the whole object, and converts it to each version.
            Endpoint::Mutate | Endpoint::Validate => {
                let twice = items(growth, counts.all.and(counts.all), ADMITTED);
                let given = given(growth, ADMITTED, counts.all, twice);
                let expanded = ANSWER * growth.expanded * length + growth.evaluated(*length);
                text + BYTE * length + VALUE * values + given + ADMITTED * ANSWER * added + expanded
            }
        }
    }
}

/// The additions of definitions to the items of the reviewed objects, of which `on_its_way` are processed at a time.
fn given(growth: &Growth, reviewed: u64, all: Contents, on_its_way: Added) -> u64 {
    // Each list is written once in each step, and once in the response, which may be reallocated.
    let Added { text, kept } = items(growth, all, reviewed);
    text * ANSWER + on_its_way.text * growth.written + (kept * KEPT).min(reviewed * KEPT * BUDGET as u64)
}

/// The additions of definitions to items, written once. An item that is an object starts with a brace. Other items have
/// a sibling, or are the only item.
fn items(growth: &Growth, of: Contents, lists: u64) -> Added {
    let of = |added: fn(&Added) -> u64| of.items * added(&growth.item) + (of.seen + lists) * added(&growth.value);
    Added { text: of(|added| added.text), kept: of(|added| added.kept) }
}

/// The minimum of any body in bytes: buffers of a first capacity, and the texts of one object.
const LEAST: u64 = 64 << 10;

/// The cost of a byte of the body, in bytes: the response, an object during conversion, and its kept values. A response
/// may be longer than its request.
const BYTE: u64 = 5;

/// The cost of an escape beyond its bytes, in bytes. A kept annotation escapes it again, `\"` as `\\\"`. A text that is
/// built from others is encoded again, with up to six bytes for each.
const ESCAPE: u64 = 8;

/// The cost of a value with a sibling, in bytes: parsed, as each member of an object may be, and up to three more
/// times: in the result, during the check conversion, and in the kept values. Each takes 48 bytes, together 192. The
/// rest is for the name and text of one of them.
const VALUE: u64 = 224;

/// The number of copies of the response during a reallocation.
const MOVED: u64 = 2;

/// The cost of a byte of the response during a reallocation, if the response exceeds the estimate.
const ANSWER: u64 = 3;

/// The cost of a kept byte, in bytes: collected, in the annotation, twice in the annotation with escapes, and twice in
/// the response during a reallocation.
const KEPT: u64 = 6;

/// Up to this weight, in bytes, no closer scan is needed.
const SMALL: u64 = 1 << 20;
