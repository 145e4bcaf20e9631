//! Events of the directories that hold some files, never of the files themselves.

use std::collections::BTreeSet;
use std::future;
use std::path::Path;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::volume::directory;

/// Events that say that files may have changed. They may fail to come, which is why nobody relies on them alone.
#[derive(Debug)]
pub struct FileEvents {
    /// What keeps the events coming.
    _watcher: Option<RecommendedWatcher>,
    receiver: mpsc::Receiver<()>,
}

impl FileEvents {
    /// Watches the directories of some files, from this call on.
    pub(super) fn of_directories<'a>(files: impl Iterator<Item = &'a Path>) -> notify::Result<Self> {
        // One place: a burst of events counts once (a kubelet's swap makes about seven).
        let (sender, receiver) = mpsc::channel(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(event.kind)) {
                // Full means that one is waiting already.
                let _ = sender.try_send(());
            }
        })?;
        let directories: BTreeSet<_> = files.map(directory).collect();
        for directory in directories {
            watcher.watch(directory, RecursiveMode::NonRecursive)?;
        }
        Ok(Self { _watcher: Some(watcher), receiver })
    }

    /// No events at all.
    #[must_use]
    pub fn none() -> Self {
        Self { _watcher: None, receiver: mpsc::channel(1).1 }
    }

    /// Waits for an event, and for the burst that it is part of.
    pub async fn next(&mut self) {
        if self.receiver.recv().await.is_none() {
            future::pending::<()>().await;
        }
        sleep(SETTLE).await;
        let _ = self.receiver.try_recv();
    }
}

/// Reading is no change: our own reading would ask for more of it for ever.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Other | EventKind::Remove(_) => true,
    }
}

/// A burst lasts a few milliseconds.
const SETTLE: Duration = Duration::from_millis(50);
