//! Ctrl-C, or SIGTERM, while something runs that takes long. In a container nothing else ends the first process before
//! it is killed.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What asks a command to stop.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Caught from now on. Within a runtime.
    ///
    /// # Errors
    /// Where a signal handler cannot be installed.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Whether somebody has pressed Ctrl-C, or sent SIGTERM.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on these ask to stop; the second one ends the program.
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

/// How shells call a program that SIGINT ended: 128 + 2.
pub(crate) const INTERRUPTED: u8 = 130;

/// Somebody pressed Ctrl-C, or sent SIGTERM.
#[derive(Debug, thiserror::Error)]
#[error("stopped. Run the same command again to continue; what was done stays")]
pub(crate) struct Stopped;
