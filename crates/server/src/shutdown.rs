//! How a server is stopped: asked once it drains, asked twice it aborts.

use std::future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Asks a server to stop: the first time to drain, the second time at once.
#[derive(Debug)]
pub struct Trigger(watch::Sender<u32>);

impl Trigger {
    /// Asks, once more.
    pub fn stop(&self) {
        self.0.send_modify(|requests| *requests = requests.saturating_add(1));
    }
}

/// How often a server was asked to stop.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<u32>);

impl Shutdown {
    /// A pair to stop a server by hand.
    #[must_use]
    pub fn channel() -> (Trigger, Self) {
        let (sender, receiver) = watch::channel(0);
        (Trigger(sender), Self(receiver))
    }

    /// Stops at SIGTERM and SIGINT. Signals are caught from this call on. SIGHUP, at which other programs read their
    /// files again, changes nothing: ours are followed by themselves.
    ///
    /// # Errors
    /// Where a signal handler cannot be installed.
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
                        tracing::info!(signal = "SIGHUP", "nothing to do, files are followed by themselves");
                        continue;
                    }
                };
                tracing::info!(signal = name, "asked to stop");
                trigger.stop();
            }
        });
        Ok(shutdown)
    }

    /// Waits until stopping was asked for `times` times; for ever where nobody can ask any more.
    pub(super) async fn requested(&self, times: u32) {
        let mut requests = self.0.clone();
        let gone = requests.wait_for(|requests| *requests >= times).await.is_err();
        if gone {
            future::pending::<()>().await;
        }
    }
}
