//! What a conversion takes of the allocator, counted exactly: by thread, and the same on every machine.

use allocation_counter::measure;
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook};

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
fn an_object_allocates_no_more_than_it_did() {
    let allocations = allocations_per_object();
    assert!(allocations <= 87, "{allocations} allocations per object");
}

/// Many objects in one review: their body, their answer, and little beside them.
#[test]
fn a_thousand_objects_take_little_more_than_their_answer() {
    let (webhook, body) = (webhook(), review(1000));
    let peak = measure(|| assert!(webhook.handle(Endpoint::Convert, &body).unwrap().message.is_none())).bytes_max;
    let with_body = (peak + body.len() as u64) as f64 / body.len() as f64;
    assert!(with_body <= 2.2, "{with_body:.2} times the body, the body itself with it");
}
