//! Paths, as links name them.

use std::path::{Component, Path, PathBuf};

/// The path that a link in a file leads to, from the same place as the file's own. One from the root of the machine
/// stays one: nothing of ours is there.
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
