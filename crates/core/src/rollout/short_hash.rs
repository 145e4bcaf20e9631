//! A hash that only has to tell one text from another.

use sha2::{Digest, Sha256};

/// So many bytes of SHA-256, as lower-case hexadecimal digits.
pub(super) fn short_hash(text: &str, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
