//! Reloads kind definitions, and reports the result.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::metrics::Metrics;
use super::throttle::WarningThrottle;
use pointsman_core::webhook::Conversions;

/// Checks for changed definitions and applies them: usually by swapping the input of the function in a
/// [`RequestHandler`](super::RequestHandler). Called every
/// [`Options::reload_interval`](super::Options::reload_interval) on a separate thread, which may block on files.
#[derive(Clone)]
pub struct Definitions(Arc<Mutex<dyn FnMut() -> DefinitionsFound + Send>>);

/// The result of a check.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DefinitionsFound {
    /// Unchanged.
    Same,
    /// Changed and applied.
    Renewed {
        /// The possible conversions, for their counters.
        conversions: Vec<Conversions>,
        /// Kinds and versions, for the log.
        kinds: String,
    },
    /// Changed and invalid; the previous ones stay in use. Returned by each check until they are fixed.
    Refused {
        /// The reason, with file and line.
        reason: String,
    },
}

impl Definitions {
    /// Wraps a check function.
    #[must_use]
    pub fn new(check: impl FnMut() -> DefinitionsFound + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(check)))
    }

    /// Checks periodically, until the metrics are dropped.
    pub(super) fn watch(self, interval: Duration, metrics: &Arc<Metrics>) -> io::Result<()> {
        let metrics = Arc::downgrade(metrics);
        let mut complaint = WarningThrottle::default();
        let work = move || {
            loop {
                thread::sleep(interval);
                // Only this thread calls it, so a panic leaves no partial state.
                let found = (self.0.lock().unwrap_or_else(PoisonError::into_inner))();
                let Some(metrics) = metrics.upgrade() else { return };
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                metrics.definitions.files_read(now.map_or(0, |now| now.as_secs()));
                take_note(&found, &metrics, &mut complaint);
            }
        };
        let thread = thread::Builder::new().name("definitions".to_owned()).stack_size(STACK);
        thread.spawn(work).map(drop)
    }
}

fn take_note(found: &DefinitionsFound, metrics: &Metrics, complaint: &mut WarningThrottle) {
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

/// Bytes. YAML parsing is recursive: 128 levels, the maximum, take 3 MiB in a debug build. Unused stack takes no
/// memory.
pub(super) const STACK: usize = 16 << 20;

impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definitions").finish_non_exhaustive()
    }
}
