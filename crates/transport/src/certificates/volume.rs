//! Files in volumes that a kubelet mounts and swaps (Kubernetes pkg/volume/util/atomic_writer.go).

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of a file, as it was given.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Where a directory is at this moment: what its `..data` link leads to where it is a mounted volume.
pub(super) fn real(directory: &Path) -> PathBuf {
    fs::canonicalize(directory.join("..data"))
        .or_else(|_| fs::canonicalize(directory))
        .unwrap_or_else(|_| directory.to_owned())
}

/// A file in another directory than its own.
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
