//! In which version of its kind an object is best read.

/// The version that is stored, which nobody has to convert, where it is one of those in which all that is looked at is
/// the same, oldest first; else the newest such one that is served.
pub(super) fn readable<'v>(alike: &'v [String], stored: &str, served: &[&str]) -> Option<&'v str> {
    let mut readable = alike.iter().map(String::as_str).filter(|version| served.contains(version)).rev();
    readable.clone().find(|version| *version == stored).or_else(|| readable.next())
}
