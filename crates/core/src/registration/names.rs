//! Controller versions in the names of objects.

use crate::webhook::{ControllerVersion, digest};

/// A version as it stands in names, which take no dots.
pub(super) fn dashed(version: &ControllerVersion) -> String {
    version.as_str().replace(['.', '_', '+'], "-").to_lowercase()
}

/// The same, told apart from all other versions: dots, dashes and capitals look alike there.
pub(super) fn unique(version: &ControllerVersion) -> String {
    let (text, name) = (version.as_str(), dashed(version));
    if name.replace('-', ".") == text {
        return name;
    }
    format!("{name}-{:.8}", digest(&[text.as_bytes()]))
}
