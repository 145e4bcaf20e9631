//! The entries of a value with commas, such as `A=true,B=false`.

/// An entry that a value must have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FlagEntry {
    pub(crate) key: String,
    /// What is behind `=`. Without one the entry is its key.
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

/// What an entry is known by.
fn key_of(part: &str) -> &str {
    part.split_once('=').map_or(part, |(key, _)| key).trim()
}

/// The value with an entry in the place of the one with its key, and whether that is a change. Nothing where it has no
/// such entry.
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

/// The value without the entries of these keys. Nothing where it has none of them.
pub(super) fn joined_without(value: &str, keys: &[String]) -> Option<String> {
    let mut found = false;
    let left = value.split(',').filter(|part| {
        let goes = keys.iter().any(|key| key == key_of(part));
        found |= goes;
        !goes
    });
    let left: Vec<&str> = left.collect();
    found.then(|| left.join(","))
}
