//! Paths in messages.

use std::fmt::Write as _;

/// A path below another path.
pub(super) fn join(prefix: &str, id: &str) -> String {
    match prefix.is_empty() {
        true => id.to_owned(),
        false => format!("{prefix}.{id}"),
    }
}

/// The place of the converted value: the object, or an item in it. Refers to its parent, and is formatted only for an
/// error: a key may be as long as the request and apply to as many items.
#[derive(Clone, Copy, Debug)]
pub(super) enum ErrorPath<'w> {
    /// The object itself.
    Object,
    /// An item of the list or map that has the path `list` below `outer`.
    Item { outer: &'w Self, list: &'w str, name: ItemName<'w> },
}

/// The name of an item in its list or map.
#[derive(Clone, Copy, Debug)]
pub(super) enum ItemName<'w> {
    Index(usize),
    Key(&'w str),
}

impl ErrorPath<'_> {
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Object)
    }

    /// The path. Empty for the object itself.
    pub(super) fn spelled(&self) -> String {
        let Self::Item { outer, list, name } = self else { return String::new() };
        let mut path = join(&outer.spelled(), list);
        // Writing to a string cannot fail.
        _ = match name {
            ItemName::Index(index) => write!(path, "[{index}]"),
            ItemName::Key(key) => write!(path, "[{:?}]", cut(key)),
        };
        path
    }

    /// The path of a place below this one.
    pub(super) fn below(&self, id: &str) -> String {
        join(&self.spelled(), id)
    }
}

/// A key for messages, truncated if very long.
fn cut(key: &str) -> String {
    match key.char_indices().nth(MAX_KEY_CHARS) {
        Some((end, _)) => format!("{}…", key.get(..end).unwrap_or_default()),
        None => key.to_owned(),
    }
}

/// The maximum length in characters. Names in Kubernetes are shorter: at most 253, with a prefix.
const MAX_KEY_CHARS: usize = 320;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_path_names_all_parents() {
        let object = ErrorPath::Object;
        let pool = ErrorPath::Item { outer: &object, list: "spec.pools", name: ItemName::Key("a.b") };
        let disk = ErrorPath::Item { outer: &pool, list: "disks", name: ItemName::Index(3) };
        assert_eq!((object.spelled(), object.below("spec")), (String::new(), "spec".to_owned()));
        assert_eq!(disk.below("raid"), "spec.pools[\"a.b\"].disks[3].raid");
    }

    #[test]
    fn long_key_is_truncated() {
        let object = ErrorPath::Object;
        let spelled = |length| {
            let key = "é".repeat(length);
            ErrorPath::Item { outer: &object, list: "spec.pools", name: ItemName::Key(&key) }.spelled()
        };
        assert_eq!(spelled(MAX_KEY_CHARS), format!("spec.pools[\"{}\"]", "é".repeat(MAX_KEY_CHARS)));
        assert_eq!(spelled(100_000), format!("spec.pools[\"{}…\"]", "é".repeat(MAX_KEY_CHARS)));
    }
}
