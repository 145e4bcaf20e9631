//! Follows the facts that the served stages hang on, on a thread of its own.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pointsman_cluster::{Cluster, ConnectOptions, FactNews, connect, follow_facts, with_one_watch};
use pointsman_core::definition::WatchedFact;
use pointsman_core::webhook::KnownFacts;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

use super::definitions::ServedKinds;

/// What is known of the facts that one resource says, for metrics.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FactStanding {
    /// The resource, as kubectl takes it.
    pub resource: String,
    /// Something is known, so that decisions can be made.
    pub is_known: bool,
    /// Of how many objects one of the facts is true.
    pub objects: u64,
    /// How often reading or watching it failed, since the start.
    pub failures: u64,
    /// When the API server was last heard, in seconds since the epoch; 0 for never.
    pub heard: u64,
}

/// Who follows the facts of the stages that are served. Without such stages nobody is connected to.
#[derive(Clone, Debug)]
pub struct FactFollower {
    served: ServedKinds,
    options: ConnectOptions,
    standing: Arc<Mutex<BTreeMap<String, FactStanding>>>,
}

impl FactFollower {
    pub(super) fn new(served: ServedKinds, options: ConnectOptions) -> Self {
        Self { served, options, standing: Arc::default() }
    }

    /// Follows them for as long as the process runs.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(&self) -> io::Result<()> {
        let this = self.clone();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("facts".to_owned()).spawn(move || this.run(&runtime)).map(drop)
    }

    /// What is known now, by resource.
    #[must_use]
    pub fn standing(&self) -> Vec<FactStanding> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn run(&self, runtime: &Runtime) {
        LocalSet::new().block_on(runtime, async {
            loop {
                let facts = self.served.facts();
                self.begin(&facts);
                if facts.is_empty() {
                    sleep(LOOK).await;
                    continue;
                }
                match connect(&self.options).await {
                    Ok(cluster) => self.follow(&cluster, &facts).await,
                    Err(error) => {
                        self.note(&facts, |standing| standing.failures += 1);
                        tracing::warn!(%error, "facts cannot be followed, stages that hang on them are not decided");
                        sleep(LOOK).await;
                    }
                }
            }
        });
    }

    /// Follows until the definitions ask for others.
    async fn follow(&self, cluster: &Cluster, facts: &[WatchedFact]) {
        let mut following = JoinSet::new();
        for group in with_one_watch(facts) {
            let (this, cluster) = (self.clone(), cluster.clone());
            following.spawn_local(async move {
                let mut tell = |news| this.heard(&group, news);
                follow_facts(&cluster, &group, &mut tell).await;
            });
        }
        // Dropping the set ends the watches.
        while self.served.facts() == facts {
            sleep(LOOK).await;
        }
    }

    /// Nothing is known of these yet.
    fn begin(&self, facts: &[WatchedFact]) {
        self.served.know(KnownFacts::default());
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.retain(|resource, _| facts.iter().any(|fact| fact.resource.to_string() == *resource));
        for fact in facts {
            let resource = fact.resource.to_string();
            let one = standing.entry(resource.clone()).or_default();
            (one.resource, one.is_known, one.objects) = (resource, false, 0);
        }
    }

    fn heard(&self, group: &[WatchedFact], news: FactNews) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        match news {
            FactNews::Seen(seen) => {
                let mut known = KnownFacts::clone(&self.served.known());
                seen.iter().for_each(|(fact, objects)| known.see(fact, Arc::clone(objects)));
                // All of this runs on one thread: nobody else has changed it meanwhile.
                self.served.know(known);
                let objects = seen.iter().map(|(_, objects)| objects.len() as u64).sum();
                self.note(group, |standing| {
                    if !standing.is_known {
                        tracing::info!(resource = standing.resource, objects, "facts are known");
                    }
                    (standing.is_known, standing.objects, standing.heard) = (true, objects, now);
                });
            }
            FactNews::Failed { error, pause } => {
                self.note(group, |standing| standing.failures += 1);
                tracing::warn!(%error, ?pause, "facts cannot be read or watched, what is known of them goes on");
            }
            _ => self.note(group, |standing| standing.heard = now),
        }
    }

    fn note(&self, group: &[WatchedFact], note: impl Fn(&mut FactStanding)) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut resources: Vec<String> = group.iter().map(|fact| fact.resource.to_string()).collect();
        resources.dedup();
        for resource in resources {
            if let Some(one) = standing.get_mut(&resource) {
                note(one);
            }
        }
    }
}

/// How often definitions are asked whether they want other facts.
const LOOK: Duration = Duration::from_secs(2);
