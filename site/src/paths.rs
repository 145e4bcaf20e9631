//! Paths of link targets.

use std::path::{Component, Path, PathBuf};

/// Resolves a link relative to the folder of its file. An absolute link stays absolute: it is outside the repository.
pub(crate) fn resolved(from: &Path, link: &str) -> PathBuf {
    let mut path = from.parent().unwrap_or(from).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}
