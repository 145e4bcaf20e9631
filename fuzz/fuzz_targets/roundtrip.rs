//! Any object of a known kind: it converts or fails by path, and after one trip nothing moves any more.
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
        // An unknown field may be one that the other version knows, as something else.
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
