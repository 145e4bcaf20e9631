//! The entries of a comma-separated value, such as `A=true,B=false`.

/// A required entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FlagEntry {
    pub(crate) key: String,
    /// The text after `=`. Without a value, the entry is the key alone.
    pub(crate) value: Option<String>,
}

impl FlagEntry {
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }
}

/// The key of an entry.
fn key_of(part: &str) -> &str {
    part.split_once('=').map_or(part, |(key, _)| key).trim()
}

/// Replaces the entry of the same key in a value, and returns whether that changed it. `None` if there is no such
/// entry.
pub(super) fn joined_with(value: &str, entry: &FlagEntry) -> Option<(String, bool)> {
    let (mut found, mut changed, wanted) = (false, false, entry.text());
    let mut parts = Vec::new();
    for part in value.split(',') {
        let is_it = key_of(part) == entry.key;
        found |= is_it;
        let differs = is_it && part.trim() != wanted;
        changed |= differs;
        parts.push(if differs { wanted.as_str() } else { part });
    }
    found.then(|| (parts.join(","), changed))
}

/// Removes the entries of these keys from a value. `None` if there are none.
pub(super) fn joined_without(value: &str, keys: &[String]) -> Option<String> {
    let mut found = false;
    let left = value.split(',').filter(|part| {
        let is_removed = keys.iter().any(|key| key == key_of(part));
        found |= is_removed;
        !is_removed
    });
    let left: Vec<&str> = left.collect();
    found.then(|| left.join(","))
}
