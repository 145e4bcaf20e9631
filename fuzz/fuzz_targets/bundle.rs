//! Any bytes as a file of authorities: certificates and nothing else come out of it.
#![no_main]

use pointsman_core::registration::CaBundle;

libfuzzer_sys::fuzz_target!(|pem: &[u8]| {
    let _ = CaBundle::from_pem(pem);
});
