//! Events of the directories of files, never of the files themselves.

use std::collections::BTreeSet;
use std::future;
use std::path::Path;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::volume::directory;

/// Events about possible file changes. They are unreliable, so the files are also read periodically.
#[derive(Debug)]
pub struct FileEvents {
    /// Keeps the watch alive.
    _watcher: Option<RecommendedWatcher>,
    receiver: mpsc::Receiver<()>,
}

impl FileEvents {
    /// Watches the directories of some files, from now on.
    pub(super) fn of_directories<'a>(files: impl Iterator<Item = &'a Path>) -> notify::Result<Self> {
        // Capacity one: a burst of events counts once (a kubelet's swap raises about seven).
        let (sender, receiver) = mpsc::channel(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(event.kind)) {
                // If full, an event is already pending.
                let _ = sender.try_send(());
            }
        })?;
        let directories: BTreeSet<_> = files.map(directory).collect();
        for directory in directories {
            watcher.watch(directory, RecursiveMode::NonRecursive)?;
        }
        Ok(Self { _watcher: Some(watcher), receiver })
    }

    /// Without events.
    #[must_use]
    pub fn none() -> Self {
        Self { _watcher: None, receiver: mpsc::channel(1).1 }
    }

    /// Waits for an event and the rest of its burst.
    pub async fn next(&mut self) {
        if self.receiver.recv().await.is_none() {
            future::pending::<()>().await;
        }
        sleep(SETTLE).await;
        let _ = self.receiver.try_recv();
    }
}

/// Reads are excluded: pointsman's own reads would trigger endless repetition.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Other | EventKind::Remove(_) => true,
    }
}

/// A burst lasts a few milliseconds.
const SETTLE: Duration = Duration::from_millis(50);
