//! Any text as a kind definition results in a kind or in an error message.
#![no_main]

use std::sync::LazyLock;

use pointsman_core::definition::Kind;

/// The CRD of the definition.
static CRD: LazyLock<String> = LazyLock::new(|| Kind::embedded().unwrap()[0].crd().to_string());

libfuzzer_sys::fuzz_target!(|text: &str| {
    let kind = Kind::load("fuzz.yaml", text, &mut |_| Ok(CRD.clone()));
    let _ = kind.map(|kind| pointsman_rollout::check_definition(&kind));
    // The reverse: any text as the CRD of a valid definition.
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: crd.yaml\n";
    let _ = Kind::load("fuzz.yaml", definition, &mut |_| Ok(text.to_owned()));
});
