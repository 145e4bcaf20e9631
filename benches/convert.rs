//! What a conversion costs, as a ratio to a named opponent in the same run.
//!
//! The opponent is what one would write first: the review as a `serde_json::Value` tree, the same fields moved, the same
//! hash, and the tree written out. It keeps nothing, guards nothing and names nothing, so it does less. Rounds are
//! interleaved, and the median counts. `--check` exits with 1 where the ratio is below the floor.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement talks to its reader, and stops where it cannot measure"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Times faster than the opponent that a build must be, for one object and for 500.
const FLOOR: f64 = 1.5;

fn main() {
    let check = std::env::args().any(|argument| argument == "--check");
    let webhook = Webhook::new(Kind::embedded().expect("embedded"), Metadata::Identity).expect("kinds");
    let mut good = true;
    println!("{:>8} {:>10} {:>12} {:>12} {:>8}", "objects", "body", "pointsman", "Value tree", "ratio");
    for (objects, rounds) in [(1, 4000), (500, 30)] {
        let body = review(objects);
        let ours = || webhook.handle(Endpoint::Convert, &body).expect("reply").body;
        let theirs = || opponent(&body);
        compare(&ours(), &theirs());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            one.push(time(&ours));
            two.push(time(&theirs));
        }
        let (one, two) = (median(one), median(two));
        let ratio = two.as_secs_f64() / one.as_secs_f64();
        good &= ratio >= FLOOR;
        let each = |time: Duration| format!("{:.1} us/obj", time.as_secs_f64() * 1e6 / objects as f64);
        println!("{objects:>8} {:>9}B {:>12} {:>12} {ratio:>7.1}x", body.len(), each(one), each(two));
    }
    if check && !good {
        println!("below the floor of {FLOOR}x");
        std::process::exit(1);
    }
}

fn time<T>(run: &dyn Fn() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A review as an API server writes it: compact, members sorted.
fn review(objects: usize) -> Vec<u8> {
    let text = include_str!("../tests/data/fixtures/every-optional-field.yaml");
    let mut object: Value = serde_saphyr::from_str(text).expect("fixture");
    object["metadata"]["managedFields"] = serde_json::json!([{
        "apiVersion": "materialize.cloud/v1alpha1", "fieldsType": "FieldsV1", "manager": "kubectl", "operation": "Update",
        "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:spec": object["spec"].as_object().map(|spec| {
            spec.keys().map(|key| (format!("f:{key}"), serde_json::json!({}))).collect::<serde_json::Map<_, _>>()
        })},
    }]);
    object["status"] = serde_json::json!({
        "activeGeneration": 3, "conditions": [{"type": "UpToDate", "status": "True", "reason": "Applied", "message": "Applied",
        "lastTransitionTime": "2026-02-10T12:00:00Z", "observedGeneration": 3}],
        "lastCompletedRolloutRequest": "22222222-2222-2222-2222-222222222222", "resourceId": "q4v9k2m7xa", "resourcesHash": "0d1b7e",
    });
    let objects: Vec<Value> = (0..objects)
        .map(|index| {
            let mut object = object.clone();
            object["metadata"]["name"] = format!("object-{index}").into();
            object
        })
        .collect();
    serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": "materialize.cloud/v1alpha2", "objects": objects},
    })
    .to_string()
    .into_bytes()
}

fn opponent(body: &[u8]) -> Vec<u8> {
    let mut review: Value = serde_json::from_slice(body).expect("review");
    let request = review["request"].take();
    let objects = match request["objects"].clone() {
        Value::Array(objects) => objects,
        _ => Vec::new(),
    };
    let converted: Vec<Value> = objects.into_iter().map(convert).collect();
    serde_json::to_vec(&serde_json::json!({
        "apiVersion": review["apiVersion"], "kind": "ConversionReview",
        "response": {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted},
    }))
    .expect("answer")
}

fn convert(mut object: Value) -> Value {
    object["apiVersion"] = "materialize.cloud/v1alpha2".into();
    if let Some(spec) = object["spec"].as_object_mut() {
        for gone in ["requestRollout", "inPlaceRollout", "environmentdIamRoleArn"] {
            spec.remove(gone);
        }
    }
    let mut hashed = object["spec"].clone();
    if let Some(spec) = hashed.as_object_mut() {
        for out in [
            "balancerdExternalCertificateSpec",
            "balancerdReplicas",
            "balancerdResourceRequirements",
            "consoleExternalCertificateSpec",
            "consoleReplicas",
            "consoleResourceRequirements",
            "forcePromote",
        ] {
            spec.remove(out);
        }
    }
    let digest = Sha256::digest(hashed.to_string());
    let mut hash = String::new();
    for byte in digest.iter() {
        let _ = write!(hash, "{byte:02x}");
    }
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("lastCompletedRolloutRequest");
        status.remove("resourcesHash");
        status.insert("lastCompletedRolloutHash".to_owned(), hash.clone().into());
        status.insert("requestedRolloutHash".to_owned(), hash.into());
    }
    object
}

/// Both must have done the same work, or the comparison says nothing.
fn compare(ours: &[u8], theirs: &[u8]) {
    let objects = |body: &[u8]| {
        let review: Value = serde_json::from_slice(body).expect("answer");
        review["response"]["convertedObjects"].as_array().cloned().unwrap_or_default()
    };
    let (ours, theirs) = (objects(ours), objects(theirs));
    assert_eq!(ours.len(), theirs.len());
    for (one, two) in ours.iter().zip(&theirs) {
        assert_eq!(one["spec"], two["spec"]);
        assert_eq!(one["status"], two["status"]);
    }
}
