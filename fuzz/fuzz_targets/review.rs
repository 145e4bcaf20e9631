//! Any bytes as a request body result in a response that the API server accepts, in a refusal with a reason, or in no
//! review.
#![no_main]

#[path = "../../crates/core/tests/it/contract.rs"]
mod contract;
#[path = "../../crates/core/tests/it/kinds.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod kinds;
#[path = "../../crates/core/tests/it/value.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod value;

use pointsman_core::webhook::{Endpoint, Outcome, Request};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let _ = kinds::WEBHOOK.handle(&Request::new(Endpoint::Convert, body));
    // The API server sends JSON in the spelling of Go, with objects in versions other than the desired one.
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let Ok(reply) = kinds::WEBHOOK.handle(&Request::new(Endpoint::Convert, request.to_string().as_bytes())) else {
        return;
    };
    let objects = request["request"]["objects"].as_array();
    let odd =
        objects.into_iter().flatten().any(|object| object["apiVersion"] == request["request"]["desiredAPIVersion"]);
    match contract::accepted_by_apiserver(&request, &reply.body) {
        Ok(_) => assert_eq!(reply.outcome, Outcome::Convert),
        Err(error) if reply.outcome == Outcome::Fail => {
            assert!(error.starts_with("refused: ") || error.contains("is not the kind"), "{error}")
        }
        Err(error) => assert!(odd || error.contains("something else than strings"), "{error}"),
    }
});
