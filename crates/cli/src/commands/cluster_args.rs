//! Which cluster a command acts on.

use std::future::Future;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{CallError, Cluster, ConnectOptions, connect};

use super::output::talk;
use super::stop::{StopSignals, Stopped};
use crate::hint::hinted;

/// A cluster, named as kubectl names it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig; without it $KUBECONFIG, ~/.kube/config, or the service account of the Pod.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of it, instead of the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl ClusterArgs {
    /// How it is found.
    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// Connects, and does something there.
    pub(crate) fn with<T, F>(&self, work: impl FnOnce(Cluster) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = anyhow::Result<T>>,
    {
        // One thread: a client waits.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("failed to start the client")?;
        runtime.block_on(async {
            let connected = connect(&self.options()).await.map_err(|error| match error.hint() {
                Some(hint) => hinted(error, hint),
                None => error.into(),
            });
            work(connected?).await
        })
    }

    /// The same, where it can be done twice: an API server that is away for a moment, or knows of a kind so lately that
    /// it cannot list it yet, is waited for, and that is said.
    pub(crate) fn patiently<T, F>(&self, work: impl FnOnce(Cluster) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = anyhow::Result<T>>,
    {
        self.with(|cluster| {
            work(cluster.waiting(|error, pause| talk(&format!("{error}; retrying in {} s", pause.as_secs()))))
        })
    }

    /// The same, where it can be stopped at any point: whoever presses Ctrl-C, or sends SIGTERM, is told what comes of
    /// it.
    pub(crate) fn act<T, F>(&self, work: impl FnOnce(Cluster) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = anyhow::Result<T>>,
    {
        self.patiently(async |cluster| {
            let mut signals = StopSignals::catch().context("failed to wait for signals")?;
            tokio::select! {
                biased;
                done = work(cluster) => done,
                () = signals.next() => Err(Stopped.into()),
            }
        })
    }
}

/// An error of what was done there, with what somebody can do about it where it is a call that failed.
pub(crate) fn advised<E>(error: E, call: impl Fn(&E) -> Option<&CallError>) -> anyhow::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    match call(&error).and_then(CallError::hint) {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
