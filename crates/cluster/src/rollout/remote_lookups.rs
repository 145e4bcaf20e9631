//! Lookups in the background of a rollout: in other clusters, and for objects that have not begun. A slow response does
//! not block the rollout, and each lookup is repeated after 30 s at the earliest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pointsman_rollout::{LookupRequest, LookupResults, LookupTarget, ObjectWrite, OtherCluster, quoted_in_address};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::collection::{lookup_path, named};
use super::other_clusters::{OtherClusters, in_time};
use super::writes::WriteOutcome;
use super::writes_elsewhere::WritesElsewhere;
use crate::cluster::Cluster;
use crate::pages::next_page;

/// Other clusters, and the last results.
pub(super) struct RemoteLookups {
    clusters: OtherClusters,
    results_by_id: BTreeMap<String, RemoteResult>,
    asking: JoinSet<(String, RemoteResult)>,
    /// Lookups in progress, by id.
    pending: BTreeMap<String, PendingLookup>,
    last: u64,
    room: Arc<Semaphore>,
    writes: WritesElsewhere,
}

/// A lookup in progress.
struct PendingLookup {
    number: u64,
    of: Option<OtherCluster>,
}

/// A result, or an error.
struct RemoteResult {
    number: u64,
    answers: LookupResults,
    of: Option<OtherCluster>,
    at: Instant,
}

impl Default for RemoteLookups {
    fn default() -> Self {
        Self {
            clusters: OtherClusters::default(),
            results_by_id: BTreeMap::new(),
            asking: JoinSet::new(),
            pending: BTreeMap::new(),
            last: 0,
            room: Arc::new(Semaphore::new(AT_ONCE)),
            writes: WritesElsewhere::default(),
        }
    }
}

impl RemoteLookups {
    /// Starts lookups whose results are older than 30 s, and returns the known results. Waits up to `patience` for
    /// results that are still missing. Drops unneeded results and connections.
    pub(super) async fn results(
        &mut self,
        cluster: &Cluster,
        lookups: &[LookupRequest],
        patience: Duration,
        answers: &mut LookupResults,
    ) {
        let ids: Vec<String> = lookups.iter().map(LookupRequest::id).collect();
        let wanted: BTreeSet<&String> = ids.iter().collect();
        self.results_by_id.retain(|id, _| wanted.contains(id));
        let needed: BTreeSet<&OtherCluster> = lookups.iter().filter_map(|lookup| lookup.cluster.as_ref()).collect();
        self.clusters.keep(&needed);
        self.writes.keep(&needed);
        self.forget_written();
        for (lookup, id) in lookups.iter().zip(&ids) {
            let is_fresh = self.results_by_id.get(id).is_some_and(|results_by_id| results_by_id.at.elapsed() < AGAIN);
            if !is_fresh && !self.pending.contains_key(id) {
                self.start(cluster, lookup.clone(), id.clone());
            }
        }
        let _ = timeout(patience, self.wait_for(&ids)).await;
        self.collect();
        for (lookup, id) in lookups.iter().zip(&ids) {
            match self.results_by_id.get(id) {
                Some(results_by_id) => answers.again(lookup, &results_by_id.answers),
                None => answers.cannot_read(lookup, "no response yet".to_owned()),
            }
        }
    }

    /// Drops results of these lookups: newer ones exist elsewhere.
    pub(super) fn forget(&mut self, lookups: &[LookupRequest]) {
        lookups.iter().for_each(|lookup| drop(self.results_by_id.remove(&lookup.id())));
    }

    /// Performs a step's write in another cluster: deletes an object if unchanged.
    pub(super) async fn write(&mut self, of: &OtherCluster, write: &ObjectWrite, options: &Value) -> WriteOutcome {
        let Some(cluster) = self.clusters.known(of) else { return WriteOutcome::Stale };
        let landed = self.writes.delete(cluster, of, write, options).await;
        self.forget_written();
        landed
    }

    /// Drops results from a cluster after a write, whatever its outcome.
    fn forget_written(&mut self) {
        for of in self.writes.ended() {
            self.results_by_id.retain(|_, results_by_id| results_by_id.of.as_ref() != Some(&of));
            self.pending.retain(|_, pending| pending.of.as_ref() != Some(&of));
        }
    }

    fn start(&mut self, cluster: &Cluster, lookup: LookupRequest, id: String) {
        let (own, clusters, room) = (cluster.clone(), self.clusters.clone(), self.room.clone());
        self.last += 1;
        let (number, of) = (self.last, lookup.cluster.clone());
        self.pending.insert(id.clone(), PendingLookup { number, of: of.clone() });
        self.asking.spawn(async move {
            let _place = room.acquire().await;
            let mut answers = LookupResults::default();
            let finished = timeout(WHOLE, perform(&own, &clusters, &lookup, &mut answers)).await;
            let late = || Err(format!("the read was incomplete after {} s", WHOLE.as_secs()));
            if let Err(why) = finished.unwrap_or_else(|_| late()) {
                answers = LookupResults::default();
                answers.cannot_read(&lookup, why);
            }
            (id, RemoteResult { number, answers, of, at: Instant::now() })
        });
    }

    /// Waits until each lookup has a result.
    async fn wait_for(&mut self, ids: &[String]) {
        while ids.iter().any(|id| !self.results_by_id.contains_key(id)) {
            match self.asking.join_next().await {
                Some(Ok(results_by_id)) => self.note(results_by_id),
                // The panicked lookup is unknown: all are repeated.
                Some(Err(_)) => self.pending.clear(),
                None => return,
            }
        }
    }

    /// Collects finished lookups.
    fn collect(&mut self) {
        while let Some(results_by_id) = self.asking.try_join_next() {
            match results_by_id {
                Ok(results_by_id) => self.note(results_by_id),
                Err(_) => self.pending.clear(),
            }
        }
    }

    fn note(&mut self, (id, results_by_id): (String, RemoteResult)) {
        // A result of an older lookup may predate a write.
        if self.pending.get(&id).is_some_and(|pending| pending.number == results_by_id.number) {
            self.pending.remove(&id);
            self.results_by_id.insert(id, results_by_id);
        }
    }
}

/// Performs a lookup, page by page. Without retries: the next pass repeats it, and other lookups wait.
async fn perform(
    own: &Cluster,
    clusters: &OtherClusters,
    lookup: &LookupRequest,
    answers: &mut LookupResults,
) -> Result<(), String> {
    let cluster = match &lookup.cluster {
        Some(of) => clusters.reached(own, of).await?,
        None => own.clone(),
    };
    let all = in_time(lookup_path(&cluster, lookup)).await?;
    let labels = match &lookup.wanted {
        LookupTarget::Named(name) => {
            let found = in_time(named(&cluster, &format!("{all}/{name}"))).await?;
            answers.saw(lookup, found.as_slice());
            return Ok(());
        }
        LookupTarget::Labelled(labels) if !labels.is_empty() => {
            format!("&labelSelector={}", quoted_in_address(labels))
        }
        // Other targets are read within a pass.
        _ => String::new(),
    };
    let mut next = String::new();
    loop {
        let mut list = in_time(cluster.get(&format!("{all}?limit={PAGE}{labels}{next}"))).await?;
        let items = list.get_mut("items").map(Value::take);
        answers.saw(lookup, items.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice));
        let Some(token) = next_page(&list) else { return Ok(()) };
        next = format!("&continue={}", quoted_in_address(&token));
    }
}

/// Time for which a result counts: the minimum interval of lookups in another cluster.
const AGAIN: Duration = Duration::from_secs(30);

/// Time limit of a lookup: the nodes of a cluster of 5,000 are 25 pages, with ten seconds each.
const WHOLE: Duration = Duration::from_secs(300);

/// Concurrent lookups. One without response occupies a slot for ten seconds.
const AT_ONCE: usize = 16;

/// Objects per page: a Node has about 10 KiB.
const PAGE: u32 = 200;
