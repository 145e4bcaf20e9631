//! Any text as a kind definition: a kind, or a sentence that says what is wrong.
#![no_main]

use std::sync::LazyLock;

use pointsman_core::definition::Kind;

/// The CRD that it is about.
static CRD: LazyLock<String> = LazyLock::new(|| Kind::embedded().unwrap()[0].crd().to_string());

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Kind::load("fuzz.yaml", text, &mut |_| Ok(CRD.clone()));
    // The other way round: any CRD under a definition that fits one.
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: crd.yaml\n";
    let _ = Kind::load("fuzz.yaml", definition, &mut |_| Ok(text.to_owned()));
});
