//! Connections to other clusters, one per Secret with a kubeconfig.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pointsman_rollout::OtherCluster;
use serde_json::Value;
use tokio::time::timeout;

use crate::call_error::{CallError, RIGHTS};
use crate::cluster::Cluster;
use crate::connect::connect_by_text;

/// The connections. Clones share them.
#[derive(Clone, Default)]
pub(super) struct OtherClusters {
    /// By Secret, with its last resourceVersion.
    all: Arc<Mutex<BTreeMap<OtherCluster, (String, Cluster)>>>,
}

impl OtherClusters {
    /// Closes connections that are no longer needed.
    pub(super) fn keep(&self, needed: &BTreeSet<&OtherCluster>) {
        self.lock().retain(|of, _| needed.contains(of));
    }

    /// A cluster with an existing connection.
    pub(super) fn known(&self, of: &OtherCluster) -> Option<Cluster> {
        self.lock().get(of).map(|(_, cluster)| cluster.clone())
    }

    /// The cluster of a Secret. A changed Secret opens a new connection.
    ///
    /// # Errors
    /// The cluster is unreachable, with the reason.
    pub(super) async fn reached(&self, own: &Cluster, of: &OtherCluster) -> Result<Cluster, String> {
        let path = format!("/api/v1/namespaces/{}/secrets/{}", of.namespace, of.secret);
        let Some(secret) = in_time(own.find(&path)).await? else {
            return Err(format!(
                "secret {}/{} with the kubeconfig of the other cluster does not exist",
                of.namespace, of.secret
            ));
        };
        let version = secret.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let known = self.lock().get(of).filter(|(known, _)| known == version).map(|(_, cluster)| cluster.clone());
        if let Some(cluster) = known {
            return Ok(cluster);
        }
        let data = secret.get("data").and_then(|data| data.get(&of.key)).and_then(Value::as_str);
        let wrong = |why: &str| format!("secret {}/{}: {}: {why}", of.namespace, of.secret, of.key);
        let data = data.ok_or_else(|| wrong("the Secret has no such key"))?;
        let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| wrong("the value is not UTF-8 text"))?;
        let cluster = connect_by_text(&text).await.map_err(|why| wrong(&why))?.heeding();
        self.lock().insert(of.clone(), (version.to_owned(), cluster.clone()));
        Ok(cluster)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<OtherCluster, (String, Cluster)>> {
        // The map is consistent after a panic.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a call within the time limit.
///
/// # Errors
/// The error as text.
pub(super) async fn in_time<T>(call: impl Future<Output = Result<T, CallError>>) -> Result<T, String> {
    timeout(LONGEST, call).await.map_err(|_| late())?.map_err(|error| error_text(&error))
}

/// The message of a timeout.
pub(super) fn late() -> String {
    format!("no answer within {} s", LONGEST.as_secs())
}

/// The error, with a remedy for missing permissions.
pub(super) fn error_text(error: &CallError) -> String {
    match error.code() {
        Some(401) => format!("{error}: its credentials have expired: put new credentials into the Secret"),
        _ if error.is_of_missing_rights() => format!("{error}: {RIGHTS}"),
        _ => error.to_string(),
    }
}

/// Time limit of a call; typical responses take less than a second.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
