//! Selects the version in which to read objects of a kind.

/// The storage version, which needs no conversion, if it is among `alike`: the versions, oldest first, in which the
/// inspected fields are the same. Otherwise the newest served version among them.
pub(crate) fn readable<'v>(alike: &'v [String], stored: &str, served: &[&str]) -> Option<&'v str> {
    let mut readable = alike.iter().map(String::as_str).filter(|version| served.contains(version)).rev();
    readable.clone().find(|version| *version == stored).or_else(|| readable.next())
}
