//! Ctrl-C or SIGTERM during long work. In a container, the first process must handle SIGTERM, or it is killed.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop a command.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Starts to catch the signals. Requires a runtime.
    ///
    /// # Errors
    /// A signal handler cannot be installed.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Whether Ctrl-C was pressed, or SIGTERM was received.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on, the first signal requests a stop, and the second one exits the program.
    pub(crate) fn on_interrupt() -> anyhow::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        let noted = wanted.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("failed to wait for signals")?;
        let signals = {
            let _within = runtime.enter();
            StopSignals::catch()
        };
        let mut signals = signals.context("failed to wait for signals")?;
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        signals.next().await;
                        if noted.swap(true, Ordering::Relaxed) {
                            process::exit(i32::from(INTERRUPTED));
                        }
                    }
                });
            })
            .context("failed to wait for signals")?;
        Ok(Self(wanted))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The exit code of shells for a program that SIGINT ended: 128 + 2.
pub(crate) const INTERRUPTED: u8 = 130;

/// The work was stopped by Ctrl-C or SIGTERM.
#[derive(Debug, thiserror::Error)]
#[error("Stopped. Run the same command again to continue; completed steps stay")]
pub(crate) struct Stopped;
