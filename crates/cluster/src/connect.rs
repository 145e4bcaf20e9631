//! Which cluster, and as whom: as kubectl decides it.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, header::USER_AGENT};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::cluster::Cluster;

/// Which cluster is meant.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The kubeconfig; without one `$KUBECONFIG`, `~/.kube/config`, or the Pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it, instead of its current one.
    pub context: Option<String>,
}

/// Why there is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("{}: check --kubeconfig and --context", file.display())]
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: Box<kube::config::KubeconfigError>,
    },
    /// There is no such context in what kubectl would read.
    #[error("no context {context:?} in the kubeconfig: kubectl config get-contexts lists them")]
    Context {
        /// Its name.
        context: String,
        /// What is wrong.
        source: Box<kube::config::KubeconfigError>,
    },
    /// There is neither a kubeconfig nor a service account.
    #[error("no cluster to ask: give --kubeconfig, set KUBECONFIG, or run in a Pod with a service account")]
    Nowhere {
        /// Where was looked.
        source: Box<kube::config::InferConfigError>,
    },
    /// Its certificates or credentials cannot be used.
    #[error("the credentials of the kubeconfig cannot be used")]
    Credentials {
        /// What is wrong with them.
        source: Box<kube::Error>,
    },
}

/// Finds the cluster. Nothing is asked of it yet.
///
/// # Errors
/// There is no kubeconfig, or it cannot be used.
pub async fn connect(options: &ConnectOptions) -> Result<Cluster, ConnectError> {
    let mut config = config(options).await?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // We know better which call may be repeated, and say so meanwhile.
    config.default_retry = false;
    config.headers.push(agent());
    let address = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| ConnectError::Credentials { source: Box::new(error) })?;
    Ok(Cluster::new(client, address.trim_end_matches('/').to_owned()))
}

async fn config(options: &ConnectOptions) -> Result<Config, ConnectError> {
    let chosen = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    if let Some(file) = &options.kubeconfig {
        let failed = |error| ConnectError::Kubeconfig { file: file.clone(), source: Box::new(error) };
        let kubeconfig = Kubeconfig::read_from(file).map_err(failed)?;
        return Config::from_custom_kubeconfig(kubeconfig, &chosen).await.map_err(failed);
    }
    match &options.context {
        Some(context) => Config::from_kubeconfig(&chosen)
            .await
            .map_err(|error| ConnectError::Context { context: context.clone(), source: Box::new(error) }),
        None => Config::infer().await.map_err(|error| ConnectError::Nowhere { source: Box::new(error) }),
    }
}

/// Audit logs name it.
fn agent() -> (HeaderName, HeaderValue) {
    (USER_AGENT, HeaderValue::from_static(concat!("pointsman/", env!("CARGO_PKG_VERSION"))))
}

/// As long as kubectl's dialler takes to give up on a host that drops packets is too long for somebody who waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
