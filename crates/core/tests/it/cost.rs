//! Allocator usage of a conversion, counted exactly: per thread, and equal on every machine.

use allocation_counter::measure;
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Request, Webhook};

use crate::growing::{ALL, Grown};

/// A stored object of 6 kB, shared with the benchmarks.
const OBJECT: &str = include_str!("../../../../benches/data/object.json");

fn review(objects: usize) -> Vec<u8> {
    let objects = vec![OBJECT.trim_end(); objects].join(",");
    let review = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"1",
        "desiredAPIVersion":"materialize.cloud/v1alpha2","objects":[{objects}]}}}}"#
    );
    review.into_bytes()
}

fn webhook() -> Webhook {
    Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap()
}

/// Allocations per additional object in a review, without the cost of the review itself.
fn allocations_per_object() -> u64 {
    let webhook = webhook();
    let count = |objects| {
        let body = review(objects);
        let allocations = measure(|| {
            let reply = webhook.handle(&Request::new(Endpoint::Convert, &body)).unwrap();
            assert!(reply.message.is_none(), "{:?}", reply.message);
        });
        allocations.count_total
    };
    (count(110) - count(10)) / 100
}

#[test]
fn allocations_per_object_are_bounded() {
    let allocations = allocations_per_object();
    assert!(allocations <= 25, "{allocations} allocations per object");
}

/// Many objects in one review: memory for the body and the response, and little else.
#[test]
fn thousand_objects_need_little_extra() {
    let (webhook, body) = (webhook(), review(1000));
    let peak = measure(|| assert!(webhook.handle(&Request::new(Endpoint::Convert, &body)).unwrap().message.is_none()))
        .bytes_max;
    let with_body = (peak + body.len() as u64) as f64 / body.len() as f64;
    assert!(with_body <= 2.2, "{with_body:.2} times the body, the body itself with it");
}

/// Double input costs double, for any part that a client enlarges: neither attacks nor large objects have quadratic
/// cost. Allocator requests are counted exactly; repeated reads appear in the instruction counts of the benchmark.
#[test]
fn allocations_grow_linearly() {
    for (what, make) in ALL {
        let taken = |count: usize| {
            let Grown { webhook, object, to } = make(count);
            let taken = measure(|| drop(webhook.convert(&object, to).unwrap()));
            (taken.count_total, taken.bytes_total)
        };
        let (small, large) = (taken(500), taken(1000));
        for (unit, small, large) in [("allocations", small.0, large.0), ("bytes", small.1, large.1)] {
            assert!(large as f64 <= small as f64 * 2.2, "{what}: {small} {unit} for 500, {large} for 1000");
        }
    }
}
