//! Writes in other clusters. A slow cluster does not block others: its call continues in the background, and a later
//! call returns the outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pointsman_rollout::{ObjectWrite, OtherCluster};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::collection::collection;
use super::other_clusters::{LONGEST, error_text, late};
use super::writes::WriteOutcome;
use crate::cluster::Cluster;

/// An object in another cluster: the cluster and the title.
type WrittenThere = (OtherCluster, String);

/// Calls in progress, and outcomes of finished ones.
#[derive(Default)]
pub(super) struct WritesElsewhere {
    calls: JoinSet<(WrittenThere, WriteOutcome)>,
    under_way: BTreeSet<WrittenThere>,
    landed: BTreeMap<WrittenThere, WriteOutcome>,
    /// Clusters with calls finished since the last query.
    ended: BTreeSet<OtherCluster>,
}

impl WritesElsewhere {
    /// Deletes an object if unchanged. A slow call returns its outcome when this function is called again; a call in
    /// progress is not repeated.
    pub(super) async fn delete(
        &mut self,
        cluster: Cluster,
        of: &OtherCluster,
        write: &ObjectWrite,
        options: &Value,
    ) -> WriteOutcome {
        self.collect();
        let key = (of.clone(), write.title());
        if !self.landed.contains_key(&key) && self.under_way.insert(key.clone()) {
            let (object, write, options) = (key.clone(), write.clone(), options.clone());
            self.calls.spawn(async move { (object, deleted(&cluster, &write, &options).await) });
            let _ = timeout(AT_ONCE, self.wait_for(&key)).await;
        }
        self.landed.remove(&key).unwrap_or_else(|| WriteOutcome::NotYet(format!("{}: no answer yet", write.title())))
    }

    /// Clusters with calls finished since the last query: earlier lookups there are stale.
    pub(super) fn ended(&mut self) -> BTreeSet<OtherCluster> {
        self.collect();
        std::mem::take(&mut self.ended)
    }

    /// Drops outcomes for clusters that are no longer needed.
    pub(super) fn keep(&mut self, needed: &BTreeSet<&OtherCluster>) {
        self.landed.retain(|(of, _), _| needed.contains(of));
    }

    /// Waits until a call has finished.
    async fn wait_for(&mut self, key: &WrittenThere) {
        while self.under_way.contains(key) {
            let Some(answer) = self.calls.join_next().await else { return };
            self.note(answer);
        }
    }

    fn collect(&mut self) {
        while let Some(answer) = self.calls.try_join_next() {
            self.note(answer);
        }
    }

    fn note(&mut self, answer: Result<(WrittenThere, WriteOutcome), JoinError>) {
        let Ok((key, landed)) = answer else {
            // The panicked call is unknown: each call is repeated after new lookups.
            return self.under_way.clear();
        };
        self.under_way.remove(&key);
        self.ended.insert(key.0.clone());
        self.landed.insert(key, landed);
    }
}

async fn deleted(cluster: &Cluster, write: &ObjectWrite, options: &Value) -> WriteOutcome {
    let work = async {
        let resource = (write.plural.as_str(), write.group.as_str());
        let all = collection(cluster, resource, write.version.as_deref(), write.namespace.as_deref()).await?;
        cluster.delete_with(&format!("{all}/{}", write.name), options).await
    };
    match timeout(LONGEST, work).await {
        Ok(Ok(())) => WriteOutcome::Written(Box::default()),
        Ok(Err(error)) if error.code() == Some(404) => WriteOutcome::Stale,
        Ok(Err(error)) if matches!(error.code(), Some(400 | 403 | 422)) => WriteOutcome::Refused(error_text(&error)),
        // Conflicts (409) too: a repeated conflict is retried with back-off.
        Ok(Err(error)) => WriteOutcome::NotYet(error_text(&error)),
        Err(_) => WriteOutcome::NotYet(late()),
    }
}

/// Time to wait for a response before other writes.
const AT_ONCE: Duration = Duration::from_millis(500);
