//! The name of a check in messages.

use pointsman_core::apimachinery::is_dns_label;

/// Returns why a name is invalid, if it is.
pub(super) fn bad_name(name: &str) -> Option<String> {
    (!is_dns_label(name)).then(|| format!("{name:?} is no name: use lower case letters, digits and hyphens"))
}
