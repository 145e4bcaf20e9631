//! Any object of a known kind converts or fails with a path, and is stable after one round trip.
#![no_main]

#[path = "../../crates/core/tests/it/kinds.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod kinds;
#[path = "../../crates/core/tests/it/value.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod value;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let convert = |text: &str, to: &str| kinds::WEBHOOK.convert(text, to);
    for to in kinds::WEBHOOK.kinds().iter().flat_map(|kind| kind.versions()) {
        let Ok(there) = convert(text, to) else {
            continue;
        };
        assert_eq!(there.text, convert(text, to).unwrap().text);
        let from = there.from.as_ref();
        // The other version may have the unknown field with a different meaning.
        let Ok(home) = convert(&there.text, from) else {
            continue;
        };
        let Ok(again) = convert(&home.text, to) else {
            continue;
        };
        let settled = convert(&again.text, from).unwrap();
        let third = convert(&settled.text, to).unwrap();
        assert_eq!(settled.text, convert(&third.text, from).unwrap().text);
    }
});
