//! Any bytes as a CA bundle result in certificates alone.
#![no_main]

use pointsman_core::registration::CaBundle;

libfuzzer_sys::fuzz_target!(|pem: &[u8]| {
    let _ = CaBundle::from_pem(pem);
});
