//! Ctrl-C, while something runs that takes long.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;

/// Whether somebody has pressed Ctrl-C.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on Ctrl-C asks to stop; the second time it ends the program.
    pub(crate) fn on_interrupt() -> anyhow::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        let noted = wanted.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("failed to wait for signals")?;
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    while tokio::signal::ctrl_c().await.is_ok() {
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

/// Somebody pressed Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("stopped: what was done stays, and the same command goes on")]
pub(crate) struct Stopped;
