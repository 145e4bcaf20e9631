//! Detects changed files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Identifies the state of a file without reading it. A kubelet that replaces the link to a volume's directory changes
/// the inode.
#[derive(Clone, Debug, Eq, PartialEq)]
struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    /// Modification time: seconds and nanoseconds.
    modified: (i64, i64),
    /// Status change time. Detects a content with an older modification time.
    changed: (i64, i64),
}

/// The states of several files. `None` for an absent file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct FileStamps(Vec<(PathBuf, Option<FileStamp>)>);

impl FileStamps {
    /// The current states of files.
    pub(crate) fn of(mut files: Vec<PathBuf>) -> Self {
        files.sort();
        files.dedup();
        let stamps = files.into_iter().map(|file| {
            let stamp = fs::metadata(&file).ok().map(|found| FileStamp {
                device: found.dev(),
                inode: found.ino(),
                length: found.len(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            });
            (file, stamp)
        });
        Self(stamps.collect())
    }
}
