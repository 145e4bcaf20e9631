//! A straightforward implementation for comparison.
//!
//! It parses the review into a `serde_json::Value` tree, moves the same fields, computes the same hash, and writes the
//! tree. It does less than pointsman: no kept values, no checks, no error paths.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Responds to a `ConversionReview` for v1alpha2.
pub(crate) fn answer(body: &[u8]) -> Vec<u8> {
    let mut review: Value = serde_json::from_slice(body).expect("review");
    let mut request = review["request"].take();
    let objects = match request["objects"].take() {
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
        for gone in ["requestRollout", "inPlaceRollout", "forcePromote"] {
            spec.remove(gone);
        }
        if let Some(role) = spec.remove("environmentdIamRoleArn") {
            spec["serviceAccountAnnotations"]["eks.amazonaws.com/role-arn"] = role;
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

/// Checks that both responses are equal, because the comparison requires equal work.
pub(crate) fn compare(ours: &[u8], theirs: &[u8]) {
    let objects = |body: &[u8]| {
        let review: Value = serde_json::from_slice(body).expect("answer");
        review["response"]["convertedObjects"].as_array().cloned().unwrap_or_default()
    };
    let (ours, theirs) = (objects(ours), objects(theirs));
    assert!(!ours.is_empty() && ours.len() == theirs.len());
    for (one, two) in ours.iter().zip(&theirs) {
        assert_eq!(one["spec"], two["spec"]);
        assert_eq!(one["status"], two["status"]);
    }
}
