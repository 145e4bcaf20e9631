//! Files in volumes that a kubelet mounts and swaps (Kubernetes pkg/volume/util/atomic_writer.go).

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of a file, as given.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The real path of a directory at this moment: the target of its `..data` link in a mounted volume.
pub(super) fn real(directory: &Path) -> PathBuf {
    fs::canonicalize(directory.join("..data"))
        .or_else(|_| fs::canonicalize(directory))
        .unwrap_or_else(|_| directory.to_owned())
}

/// A file of this name in another directory.
pub(super) fn beneath(directory: &Path, file: &Path) -> PathBuf {
    file.file_name().map_or_else(|| file.to_owned(), |name| directory.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_file_is_in_working_directory() {
        let at = |path: &str| directory(Path::new(path)).display().to_string();
        assert_eq!(["tls.crt", "a/tls.crt", "/tls.crt", "/"].map(at), [".", "a", "/", "."]);
    }
}
