//! Reloads kind definitions, and reports the result.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pointsman_core::webhook::Webhook;

use super::live_webhook::ServedWebhook;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::throttle::WarningThrottle;

/// The files of the served definitions.
pub trait DefinitionSource: Send + 'static {
    /// Returns the webhook for changed definitions, and `None` if they are unchanged. Called every
    /// [`Options::reload_interval`](crate::Options::reload_interval) on a separate thread, which may block on files.
    ///
    /// # Errors
    /// The definitions have changed and are invalid: the reason, with file and line. `serving` stays in use. The error
    /// is returned by each call until the definitions are fixed.
    fn changed(&mut self, serving: &Webhook) -> Result<Option<Webhook>, String>;
}

/// A check for changed definitions, which applies them to a served webhook.
#[derive(Clone)]
pub struct Definitions {
    served: ServedWebhook,
    source: Arc<Mutex<dyn DefinitionSource>>,
}

impl Definitions {
    /// Replaces the served webhook by the results of `source`.
    #[must_use]
    pub fn new(served: ServedWebhook, source: impl DefinitionSource) -> Self {
        Self { served, source: Arc::new(Mutex::new(source)) }
    }

    /// Checks periodically, until the metrics are dropped.
    pub(crate) fn watch(self, interval: Duration, metrics: &Arc<Metrics>) -> io::Result<()> {
        let metrics = Arc::downgrade(metrics);
        let mut complaint = WarningThrottle::default();
        let work = move || {
            loop {
                thread::sleep(interval);
                // Only this thread calls it, so a panic leaves no partial state.
                let found = self.check();
                let Some(metrics) = metrics.upgrade() else { return };
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                metrics.definitions.files_read(now.map_or(0, |now| now.as_secs()));
                match found {
                    Ok(None) => complaint.is_over(),
                    Ok(Some(webhook)) => {
                        complaint.is_over();
                        metrics.decisions.expect(&webhook.every_conversion());
                        metrics.definitions.reloaded();
                        tracing::info!(kinds = webhook.names(), "definitions reloaded");
                    }
                    Err(reason) => {
                        metrics.definitions.refused();
                        if complaint.is_due(&reason) {
                            let what = "definitions not reloaded; still serving the previous version";
                            tracing::warn!(error = reason, "{what}");
                        }
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("definitions".to_owned()).stack_size(STACK);
        thread.spawn(work).map(drop)
    }

    /// Applies changed definitions. Returns the new webhook, if any.
    fn check(&self) -> Result<Option<Arc<Webhook>>, String> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(webhook) = source.changed(&self.served.webhook())? else { return Ok(None) };
        self.served.replace(webhook);
        Ok(Some(self.served.webhook()))
    }
}

/// Bytes. YAML parsing is recursive: 128 levels, the maximum, take 3 MiB in a debug build. Unused stack takes no
/// memory.
pub(crate) const STACK: usize = 16 << 20;

impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definitions").finish_non_exhaustive()
    }
}
