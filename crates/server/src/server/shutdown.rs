//! Stops a server: the first request drains, the second aborts.

use std::future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Requests a stop: the first time to drain, the second time to abort.
#[derive(Debug)]
pub struct Trigger(watch::Sender<u32>);

impl Trigger {
    /// Requests a stop, once more.
    pub fn stop(&self) {
        self.0.send_modify(|requests| *requests = requests.saturating_add(1));
    }
}

/// The number of stop requests.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<u32>);

impl Shutdown {
    /// A pair for programmatic stops.
    #[must_use]
    pub fn channel() -> (Trigger, Self) {
        let (sender, receiver) = watch::channel(0);
        (Trigger(sender), Self(receiver))
    }

    /// Stops at SIGTERM and SIGINT. Handles signals from this call on. Ignores SIGHUP, by which other programs reload
    /// files: pointsman watches its files.
    ///
    /// # Errors
    /// A signal handler cannot be installed.
    pub fn on_signals() -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let (trigger, shutdown) = Self::channel();
        tokio::spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                    _ = hangup.recv() => {
                        tracing::info!(signal = "SIGHUP", "SIGHUP is ignored: files are watched already");
                        continue;
                    }
                };
                tracing::info!(signal = name, "shutdown requested");
                trigger.stop();
            }
        });
        Ok(shutdown)
    }

    /// Waits for this number of stop requests; forever if the trigger was dropped.
    pub(crate) async fn requested(&self, times: u32) {
        let mut requests = self.0.clone();
        let dropped = requests.wait_for(|requests| *requests >= times).await.is_err();
        if dropped {
            future::pending::<()>().await;
        }
    }
}
