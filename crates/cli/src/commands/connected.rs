//! Which cluster a command acts on.

use std::future::Future;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{Cluster, ConnectOptions, connect};

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
    /// Connects, and does something there.
    pub(crate) fn with<T, F>(&self, work: impl FnOnce(Cluster) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = anyhow::Result<T>>,
    {
        // One thread: a client waits.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("failed to start the client")?;
        let options = ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        runtime.block_on(async { work(connect(&options).await?).await })
    }
}
