//! What a conversion takes of the allocator, counted exactly: by thread, and the same on every machine.

use allocation_counter::measure;
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook};

use crate::growing::{ALL, Grown};

/// A stored object of 6 kB, as the benchmarks have it.
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

/// Allocations of one more object in a review, whatever the review itself takes.
fn allocations_per_object() -> u64 {
    let webhook = webhook();
    let count = |objects| {
        let body = review(objects);
        let allocations = measure(|| {
            let reply = webhook.handle(Endpoint::Convert, &body).unwrap();
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

/// Many objects in one review: their body, their answer, and little beside them.
#[test]
fn thousand_objects_need_little_extra() {
    let (webhook, body) = (webhook(), review(1000));
    let peak = measure(|| assert!(webhook.handle(Endpoint::Convert, &body).unwrap().message.is_none())).bytes_max;
    let with_body = (peak + body.len() as u64) as f64 / body.len() as f64;
    assert!(with_body <= 2.2, "{with_body:.2} times the body, the body itself with it");
}

/// Twice as much costs twice as much, whatever a client makes large: no attack, and no large object, gets dear by its
/// square. What the allocator is asked for is exact; what is only read twice, the benchmark's instructions show.
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
