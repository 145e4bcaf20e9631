//! The pointsman binary.
fn main() {}
