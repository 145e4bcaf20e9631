//! Any object of a known kind: it converts or fails by path, and what converts is the same from there on.
#![no_main]

#[path = "../../tests/it/kinds.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod kinds;
#[path = "../../tests/it/value.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod value;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for kind in kinds::WEBHOOK.kinds() {
        let convert = |text: &str, to: &str| kinds::WEBHOOK.convert(text, to, None).map(|done| done.text);
        for from in kind.versions().filter(|from| text.contains(&format!("{}/{from}\"", kind.group()))) {
            for to in kind.versions().filter(|to| *to != from) {
                let Ok(there) = convert(text, to) else { continue };
                assert_eq!(Ok(&there), convert(text, to).as_ref());
                let home = convert(&there, from).unwrap();
                let again = convert(&home, to).unwrap();
                assert_eq!(convert(&again, from).unwrap(), convert(&convert(&convert(&again, from).unwrap(), to).unwrap(), from).unwrap());
            }
        }
    }
});
