//! Connections to other clusters, one for each Secret that says how one is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pointsman_core::rollout::OtherCluster;
use serde_json::Value;
use tokio::time::timeout;

use crate::call_error::{CallError, RIGHTS};
use crate::cluster::Cluster;
use crate::connect::connect_by_text;

/// The connections. Copies share them.
#[derive(Clone, Default)]
pub(super) struct OtherClusters {
    /// Each as its Secret was when that was read last.
    all: Arc<Mutex<BTreeMap<OtherCluster, (String, Cluster)>>>,
}

impl OtherClusters {
    /// Closes connections that nobody needs any more.
    pub(super) fn keep(&self, needed: &BTreeSet<&OtherCluster>) {
        self.lock().retain(|of, _| needed.contains(of));
    }

    /// A cluster that was reached before.
    pub(super) fn known(&self, of: &OtherCluster) -> Option<Cluster> {
        self.lock().get(of).map(|(_, cluster)| cluster.clone())
    }

    /// The cluster that a Secret leads to. A Secret that has changed leads there anew.
    ///
    /// # Errors
    /// Why it is not reached.
    pub(super) async fn reached(&self, own: &Cluster, of: &OtherCluster) -> Result<Cluster, String> {
        let path = format!("/api/v1/namespaces/{}/secrets/{}", of.namespace, of.secret);
        let Some(secret) = in_time(own.find(&path)).await? else {
            return Err(format!(
                "there is no secret {}/{}, which has to say how it is reached",
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
        let data = data.ok_or_else(|| wrong("there is no such key"))?;
        let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| wrong("it is no text"))?;
        let cluster = connect_by_text(&text).await.map_err(|why| wrong(&why))?.heeding();
        self.lock().insert(of.clone(), (version.to_owned(), cluster.clone()));
        Ok(cluster)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<OtherCluster, (String, Cluster)>> {
        // Whoever panicked has left a map that is whole.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call answers, in the words of whoever does not answer.
///
/// # Errors
/// Why there is no answer.
pub(super) async fn in_time<T>(call: impl Future<Output = Result<T, CallError>>) -> Result<T, String> {
    timeout(LONGEST, call).await.map_err(|_| late())?.map_err(|error| said(&error))
}

/// Says that there was no answer.
pub(super) fn late() -> String {
    format!("no answer within {} s", LONGEST.as_secs())
}

/// What was said, and what can be done where that is a matter of rights.
pub(super) fn said(error: &CallError) -> String {
    match error.code() {
        Some(401) => format!("{error}: its credentials are dead: put others into the Secret"),
        _ if error.is_of_missing_rights() => format!("{error}: {RIGHTS}"),
        _ => error.to_string(),
    }
}

/// How long a call may take: who answers at all does so in a second.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
