//! Reads the certificate files on a separate thread: a blocked mount delays only this thread, and is detected.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::error::CertificateError;
use super::file_events::FileEvents;
use super::key_pair::{CertPaths, ServingKeyPair, load_pair};
use super::tls::{ClientCa, load_client_ca};
use super::volume::directory;

/// The files, and their watched directories.
#[derive(Debug)]
pub struct CertificateFiles {
    paths: CertPaths,
    client_ca_file: Option<PathBuf>,
    /// Device and inode: a recreated directory has the same name without a watch.
    watched: Vec<Option<(u64, u64)>>,
}

/// The result of one read.
#[derive(Debug)]
pub struct LoadedFiles {
    /// The certificate and its key.
    pub pair: Result<ServingKeyPair, CertificateError>,
    /// `None` without a file of authorities.
    pub client_ca: Option<Result<ClientCa, CertificateError>>,
    /// If the directories changed.
    pub events: Option<io::Result<FileEvents>>,
}

impl CertificateFiles {
    /// Neither reads nor watches yet.
    #[must_use]
    pub fn new(paths: CertPaths, client_ca_file: Option<PathBuf>) -> Self {
        Self { paths, client_ca_file, watched: Vec::new() }
    }

    /// Reads the files; may block.
    #[must_use]
    pub fn read(&mut self) -> LoadedFiles {
        // Before the read: later changes raise an event.
        let events = self.watch();
        LoadedFiles {
            pair: load_pair(&self.paths),
            client_ca: self.client_ca_file.as_deref().map(load_client_ca),
            events,
        }
    }

    fn watch(&mut self) -> Option<io::Result<FileEvents>> {
        let files = [Some(&self.paths.cert), Some(&self.paths.key), self.client_ca_file.as_ref()];
        let files: Vec<&Path> = files.into_iter().flatten().map(PathBuf::as_path).collect();
        let now: Vec<_> = files.iter().map(|file| identity(directory(file))).collect();
        if now == self.watched || now.contains(&None) {
            return None;
        }
        self.watched = now;
        Some(FileEvents::of_directories(files.into_iter()).map_err(io::Error::other))
    }
}

fn identity(directory: &Path) -> Option<(u64, u64)> {
    fs::metadata(directory).ok().map(|directory| (directory.dev(), directory.ino()))
}

/// The reading thread, which runs until this is dropped.
#[derive(Debug)]
pub struct FileReader(mpsc::Sender<oneshot::Sender<LoadedFiles>>);

impl FileReader {
    /// Starts a separate thread, because runtime threads run conversions, and would delay the read.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(mut files: CertificateFiles) -> io::Result<Self> {
        let (sender, requests) = mpsc::channel::<oneshot::Sender<LoadedFiles>>();
        let looking = move || {
            while let Ok(request) = requests.recv() {
                // The receiver is missing after the server ended.
                let _ = request.send(files.read());
            }
        };
        thread::Builder::new().name("certificates".to_owned()).spawn(looking)?;
        Ok(Self(sender))
    }

    /// Requests a read.
    #[must_use]
    pub fn read(&self) -> oneshot::Receiver<LoadedFiles> {
        let (found, receiver) = oneshot::channel();
        // If the thread ended, `found` is dropped and the receiver fails.
        let _ = self.0.send(found);
        receiver
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recreating the watch at each read would lose events in between.
    #[test]
    fn directories_are_watched_once() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = |directory: &Path| {
            let paths = CertPaths { cert: directory.join("tls.crt"), key: directory.join("tls.key") };
            CertificateFiles::new(paths, None)
        };
        let mut there = files(here);
        assert!(there.read().events.is_some_and(|events| events.is_ok()));
        assert!(there.read().events.is_none());
        assert!(files(&here.join("no-such-directory")).read().events.is_none());
    }
}
