//! What is written in other clusters. One that does not answer holds up no other: its call goes on by itself, and what
//! came of it is told later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pointsman_core::rollout::{ObjectWrite, OtherCluster};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::collection::collection;
use super::other_clusters::{LONGEST, late, said};
use super::writes::WriteOutcome;
use crate::cluster::Cluster;

/// An object of another cluster: that, and what the object is called.
type WrittenThere = (OtherCluster, String);

/// Calls that go on, and what came of others.
#[derive(Default)]
pub(super) struct WritesElsewhere {
    calls: JoinSet<(WrittenThere, WriteOutcome)>,
    under_way: BTreeSet<WrittenThere>,
    landed: BTreeMap<WrittenThere, WriteOutcome>,
    /// Where a call has ended since that was asked last.
    ended: BTreeSet<OtherCluster>,
}

impl WritesElsewhere {
    /// Deletes an object, as it was seen. What is not answered at once is told when this is asked again: nothing is
    /// sent twice while a call is under way.
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
            let (asked, write, options) = (key.clone(), write.clone(), options.clone());
            self.calls.spawn(async move { (asked, deleted(&cluster, &write, &options).await) });
            let _ = timeout(AT_ONCE, self.hear(&key)).await;
        }
        self.landed.remove(&key).unwrap_or_else(|| WriteOutcome::NotYet(format!("{}: no answer yet", write.title())))
    }

    /// Where a call has ended since this was asked last: what was heard from there is of before.
    pub(super) fn ended(&mut self) -> BTreeSet<OtherCluster> {
        self.collect();
        std::mem::take(&mut self.ended)
    }

    /// Forgets what came of calls to clusters that nobody needs any more.
    pub(super) fn keep(&mut self, needed: &BTreeSet<&OtherCluster>) {
        self.landed.retain(|(of, _), _| needed.contains(of));
    }

    /// Waits until a call has ended.
    async fn hear(&mut self, key: &WrittenThere) {
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
            // Whose call broke is not known: each is sent again, by what is seen then.
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
        Ok(Err(error)) if matches!(error.code(), Some(400 | 403 | 422)) => WriteOutcome::Refused(said(&error)),
        // A conflict (409) as well: who says that each time is not asked each second.
        Ok(Err(error)) => WriteOutcome::NotYet(said(&error)),
        Err(_) => WriteOutcome::NotYet(late()),
    }
}

/// How long is waited for an answer before others are written.
const AT_ONCE: Duration = Duration::from_millis(500);
