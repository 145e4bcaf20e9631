//! Lookups in the background of a rollout: in other clusters, and for objects that have not begun. A slow response
//! blocks nothing, and each lookup is repeated after 30 s at the earliest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pointsman_core::definition::quoted_in_address;
use pointsman_core::rollout::{LookupRequest, LookupResults, LookupTarget, ObjectWrite, OtherCluster};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::collection::{asked_for, named};
use super::other_clusters::{OtherClusters, in_time};
use super::writes::WriteOutcome;
use super::writes_elsewhere::WritesElsewhere;
use crate::cluster::Cluster;
use crate::pages::next_page;

/// Other clusters, and the last results.
pub(super) struct RemoteLookups {
    clusters: OtherClusters,
    heard: BTreeMap<String, HeardThere>,
    asking: JoinSet<(String, HeardThere)>,
    /// Lookups in progress, by id.
    asked: BTreeMap<String, AskedThere>,
    last: u64,
    room: Arc<Semaphore>,
    writes: WritesElsewhere,
}

/// A lookup in progress.
struct AskedThere {
    number: u64,
    of: Option<OtherCluster>,
}

/// A result, or an error.
struct HeardThere {
    number: u64,
    answers: LookupResults,
    of: Option<OtherCluster>,
    at: Instant,
}

impl Default for RemoteLookups {
    fn default() -> Self {
        Self {
            clusters: OtherClusters::default(),
            heard: BTreeMap::new(),
            asking: JoinSet::new(),
            asked: BTreeMap::new(),
            last: 0,
            room: Arc::new(Semaphore::new(AT_ONCE)),
            writes: WritesElsewhere::default(),
        }
    }
}

impl RemoteLookups {
    /// Starts lookups whose results are older than 30 s, and returns the known results. Waits up to `patience` for
    /// results that are still missing. Drops unneeded results and connections.
    pub(super) async fn tell(
        &mut self,
        cluster: &Cluster,
        questions: &[LookupRequest],
        patience: Duration,
        answers: &mut LookupResults,
    ) {
        let ids: Vec<String> = questions.iter().map(LookupRequest::id).collect();
        let wanted: BTreeSet<&String> = ids.iter().collect();
        self.heard.retain(|id, _| wanted.contains(id));
        let needed: BTreeSet<&OtherCluster> =
            questions.iter().filter_map(|question| question.cluster.as_ref()).collect();
        self.clusters.keep(&needed);
        self.writes.keep(&needed);
        self.forget_written();
        for (question, id) in questions.iter().zip(&ids) {
            let is_fresh = self.heard.get(id).is_some_and(|heard| heard.at.elapsed() < AGAIN);
            if !is_fresh && !self.asked.contains_key(id) {
                self.ask(cluster, question.clone(), id.clone());
            }
        }
        let _ = timeout(patience, self.hear(&ids)).await;
        self.collect();
        for (question, id) in questions.iter().zip(&ids) {
            match self.heard.get(id) {
                Some(heard) => answers.again(question, &heard.answers),
                None => answers.cannot_read(question, "there is no answer yet".to_owned()),
            }
        }
    }

    /// Drops results of these lookups: newer ones exist elsewhere.
    pub(super) fn forget(&mut self, questions: &[LookupRequest]) {
        questions.iter().for_each(|question| drop(self.heard.remove(&question.id())));
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
            self.heard.retain(|_, heard| heard.of.as_ref() != Some(&of));
            self.asked.retain(|_, asked| asked.of.as_ref() != Some(&of));
        }
    }

    fn ask(&mut self, cluster: &Cluster, question: LookupRequest, id: String) {
        let (own, clusters, room) = (cluster.clone(), self.clusters.clone(), self.room.clone());
        self.last += 1;
        let (number, of) = (self.last, question.cluster.clone());
        self.asked.insert(id.clone(), AskedThere { number, of: of.clone() });
        self.asking.spawn(async move {
            let _place = room.acquire().await;
            let mut answers = LookupResults::default();
            let looked = timeout(WHOLE, look(&own, &clusters, &question, &mut answers)).await;
            let late = || Err(format!("not all of it was read within {} s", WHOLE.as_secs()));
            if let Err(why) = looked.unwrap_or_else(|_| late()) {
                answers = LookupResults::default();
                answers.cannot_read(&question, why);
            }
            (id, HeardThere { number, answers, of, at: Instant::now() })
        });
    }

    /// Waits until each lookup has a result.
    async fn hear(&mut self, ids: &[String]) {
        while ids.iter().any(|id| !self.heard.contains_key(id)) {
            match self.asking.join_next().await {
                Some(Ok(heard)) => self.note(heard),
                // The panicked lookup is unknown: all are repeated.
                Some(Err(_)) => self.asked.clear(),
                None => return,
            }
        }
    }

    /// Collects finished lookups.
    fn collect(&mut self) {
        while let Some(heard) = self.asking.try_join_next() {
            match heard {
                Ok(heard) => self.note(heard),
                Err(_) => self.asked.clear(),
            }
        }
    }

    fn note(&mut self, (id, heard): (String, HeardThere)) {
        // A result of an older lookup may predate a write.
        if self.asked.get(&id).is_some_and(|asked| asked.number == heard.number) {
            self.asked.remove(&id);
            self.heard.insert(id, heard);
        }
    }
}

/// Performs a lookup, page by page. Without retries: the next pass repeats it, and other lookups wait.
async fn look(
    own: &Cluster,
    clusters: &OtherClusters,
    question: &LookupRequest,
    answers: &mut LookupResults,
) -> Result<(), String> {
    let cluster = match &question.cluster {
        Some(of) => clusters.reached(own, of).await?,
        None => own.clone(),
    };
    let all = in_time(asked_for(&cluster, question)).await?;
    let labels = match &question.wanted {
        LookupTarget::Named(name) => {
            let found = in_time(named(&cluster, &format!("{all}/{name}"))).await?;
            answers.saw(question, found.as_slice());
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
        answers.saw(question, items.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice));
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
