//! Annotations with JSON content that pointsman writes.

use serde::de::DeserializeOwned;

/// Parses a note: a JSON object with the members of its type. Rejects any other text, and lists, which serde would read
/// member by member.
pub fn read_note<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok().filter(|_| text.trim_start().starts_with('{'))
}
