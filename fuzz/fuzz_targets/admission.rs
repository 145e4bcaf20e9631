//! Any object that is created or updated results in a patch that preserves valid JSON, and in a verdict.
#![no_main]

#[path = "../../crates/core/tests/it/kinds.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod kinds;
#[path = "../../crates/core/tests/it/value.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod value;

use pointsman_core::webhook::{Endpoint, Request};

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
        let _ = kinds::WEBHOOK.handle(&Request::new(endpoint, body));
    }
    let Some((new, old)) = std::str::from_utf8(body).ok().and_then(|text| text.split_once('\n')) else {
        return;
    };
    for old in [None, Some(old)] {
        for operation in kinds::WEBHOOK.patch(new, old).into_iter().flatten() {
            assert!(serde_json::from_str::<serde_json::Value>(&operation.value).is_ok());
        }
        let _ = kinds::WEBHOOK.judge(new, old);
    }
});
