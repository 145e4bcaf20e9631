//! What a check is called in messages.

use crate::apimachinery::is_dns_label;

/// Why it cannot be called so, if it cannot.
pub(super) fn bad_name(name: &str) -> Option<String> {
    (!is_dns_label(name)).then(|| format!("{name:?} is no name: use lower case letters, digits and hyphens"))
}
