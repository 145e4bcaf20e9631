//! How places are named for people.

/// A path below another one.
pub(super) fn join(prefix: &str, id: &str) -> String {
    match prefix.is_empty() {
        true => id.to_owned(),
        false => format!("{prefix}.{id}"),
    }
}
