//! When to look at the kind definitions again, and what is said of what was found.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::metrics::Metrics;
use super::throttled_warning::ThrottledWarning;
use pointsman_core::webhook::Conversions;

/// Looks whether what decides should decide otherwise from now on, and sees to it: usually by swapping what the
/// function in a [`RequestHandler`](super::Decide) reads. Called every
/// [`Options::reload_interval`](super::Options::reload_interval) on a thread of its own, which may wait for files for
/// as long as it likes.
#[derive(Clone)]
pub struct Definitions(Arc<Mutex<dyn FnMut() -> DefinitionsFound + Send>>);

/// What a look at definitions found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DefinitionsFound {
    /// What is served already.
    Same,
    /// Others, which are served from now on.
    Renewed {
        /// The conversions there can be now, for their counters.
        conversions: Vec<Conversions>,
        /// Kinds and versions, for the log.
        kinds: String,
    },
    /// Others, which cannot be served; what was served goes on. Found again at each look until they are mended.
    Refused {
        /// Why, with file and line.
        reason: String,
    },
}

impl Definitions {
    /// Wraps a function that looks.
    #[must_use]
    pub fn new(look: impl FnMut() -> DefinitionsFound + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(look)))
    }

    /// Looks again and again, for as long as somebody else holds the metrics.
    pub(super) fn watch(self, interval: Duration, metrics: &Arc<Metrics>) -> io::Result<()> {
        let metrics = Arc::downgrade(metrics);
        let mut complaint = ThrottledWarning::default();
        let work = move || {
            loop {
                thread::sleep(interval);
                // Only this thread looks: there is nothing that a panic could have left half done.
                let found = (self.0.lock().unwrap_or_else(PoisonError::into_inner))();
                let Some(metrics) = metrics.upgrade() else { return };
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                metrics.definitions.looked(now.map_or(0, |now| now.as_secs()));
                take_note(&found, &metrics, &mut complaint);
            }
        };
        let thread = thread::Builder::new().name("definitions".to_owned()).stack_size(STACK);
        thread.spawn(work).map(drop)
    }
}

fn take_note(found: &DefinitionsFound, metrics: &Metrics, complaint: &mut ThrottledWarning) {
    match found {
        DefinitionsFound::Same => complaint.is_over(),
        DefinitionsFound::Renewed { conversions, kinds } => {
            complaint.is_over();
            metrics.decisions.expect(conversions);
            metrics.definitions.reloaded();
            tracing::info!(kinds, "definitions reloaded");
        }
        DefinitionsFound::Refused { reason } => {
            metrics.definitions.refused();
            if complaint.is_due(reason) {
                tracing::warn!(error = reason, "definitions not reloaded; still serving the previous version");
            }
        }
    }
}

/// Bytes. Whoever reads YAML goes down with it: 128 levels of it, as deep as it may be, take 3 MiB in a debug build. Of
/// what is not used there is no memory.
pub(super) const STACK: usize = 16 << 20;

impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definitions").finish_non_exhaustive()
    }
}
