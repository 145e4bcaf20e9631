//! A short hash that distinguishes texts.

use sha2::{Digest, Sha256};

/// The first `bytes` bytes of SHA-256, as lower-case hexadecimal digits.
pub(crate) fn short_hash(text: &str, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
