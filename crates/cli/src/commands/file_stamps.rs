//! Whether files may have changed since they were read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What tells one state of a file from another without reading it. A kubelet that swaps the link to a volume's
/// directory changes the inode.
#[derive(Clone, Debug, Eq, PartialEq)]
struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds, of the content.
    modified: (i64, i64),
    /// The same of what is said about it: a content that was put back in time changes this.
    changed: (i64, i64),
}

/// The states of several files; of one that is not there, that it is not.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct FileStamps(Vec<(PathBuf, Option<FileStamp>)>);

impl FileStamps {
    /// Of files as they are now.
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
