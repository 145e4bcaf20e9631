//! A directory as a kubelet mounts and updates it (Kubernetes pkg/volume/util/atomic_writer.go).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pointsman_server::CertPaths;
use tempfile::TempDir;

use super::certs::Pair;

/// A mounted Secret: `tls.crt -> ..data/tls.crt`, `..data -> ..1/`.
pub(crate) struct Volume {
    dir: TempDir,
    generation: u32,
}

impl Volume {
    pub(crate) fn new(pair: &Pair) -> Self {
        let dir = TempDir::new().unwrap();
        let mut volume = Self { dir, generation: 0 };
        volume.swap(pair);
        volume
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn cert_paths(&self) -> CertPaths {
        CertPaths { cert: self.file("tls.crt"), key: self.file("tls.key") }
    }

    /// Another pair.
    pub(crate) fn swap(&mut self, pair: &Pair) {
        self.swap_files(&[("tls.crt", &pair.cert), ("tls.key", &pair.key)]);
    }

    /// Other files: what is not named is gone.
    pub(crate) fn swap_files(&mut self, files: &[(&str, &str)]) {
        self.generation += 1;
        let name = format!("..{}", self.generation);
        fs::create_dir(self.file(&name)).unwrap();
        for (file, text) in files {
            fs::write(self.file(&name).join(file), text).unwrap();
        }
        let old = fs::read_link(self.file("..data")).ok();
        symlink(&name, self.file("..data_tmp")).unwrap();
        fs::rename(self.file("..data_tmp"), self.file("..data")).unwrap();
        for (file, _) in files {
            if fs::symlink_metadata(self.file(file)).is_err() {
                symlink(Path::new("..data").join(file), self.file(file)).unwrap();
            }
        }
        if let Some(old) = old {
            fs::remove_dir_all(self.path().join(old)).unwrap();
        }
    }
}
