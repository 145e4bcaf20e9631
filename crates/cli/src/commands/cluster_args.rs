//! Flags for the cluster of a command.

use std::future::Future;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{CallError, Cluster, ConnectOptions, connect};

use super::output::talk;
use super::stop::{StopSignals, Stopped};
use crate::hint::hinted;

/// A cluster, with the flags of kubectl.
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig file. Defaults to $KUBECONFIG, ~/.kube/config, or the service account of the Pod.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig, instead of the current context.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl ClusterArgs {
    /// The options of the connection.
    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// Connects, and runs work.
    pub(crate) fn with<T, F>(&self, work: impl FnOnce(Cluster) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = anyhow::Result<T>>,
    {
        // One thread suffices for a client.
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

    /// Like `with`, for idempotent work: waits for an API server that is briefly unavailable, or cannot list a new kind
    /// yet, and reports that.
    pub(crate) fn patiently<T, F>(&self, work: impl FnOnce(Cluster) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = anyhow::Result<T>>,
    {
        self.with(|cluster| {
            work(cluster.waiting(|error, pause| talk(&format!("{error}; retrying in {} s", pause.as_secs()))))
        })
    }

    /// Like `patiently`, for work that can be interrupted at any point. Reports the consequence after Ctrl-C or
    /// SIGTERM.
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

/// Adds the hint of a failed call to an error.
pub(crate) fn advised<E>(error: E, call: impl Fn(&E) -> Option<&CallError>) -> anyhow::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    match call(&error).and_then(CallError::hint) {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
