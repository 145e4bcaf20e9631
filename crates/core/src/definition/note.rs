//! What programs of ours note in an annotation.

use serde::de::DeserializeOwned;

/// Reads a note: a JSON object with the members of its type. Anything else is somebody's own text; so is a list, which
/// serde would read member by member.
pub(crate) fn read_note<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok().filter(|_| text.trim_start().starts_with('{'))
}
