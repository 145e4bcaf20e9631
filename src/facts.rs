//! Follows the facts of the served mutations in a separate thread.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pointsman_cluster::{Cluster, ConnectOptions, FactEvent, connect, follow_facts, next_pause, with_one_watch};
use pointsman_core::definition::WatchedFact;
use pointsman_core::webhook::KnownFacts;
use pointsman_server::{FactSource, FollowedFact, ServedWebhook};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

use crate::error_throttle::ErrorThrottle;

/// The follower of the facts of the served mutations. Without mutations, no connection is made.
#[derive(Clone, Debug)]
pub(crate) struct FactFollower {
    served: ServedWebhook,
    options: ConnectOptions,
    standing: Arc<Mutex<BTreeMap<String, FollowedFact>>>,
}

impl FactFollower {
    pub(crate) fn new(served: ServedWebhook, options: ConnectOptions) -> Self {
        Self { served, options, standing: Arc::default() }
    }

    /// Follows the facts as long as the process runs. Fails if the system refuses a thread.
    pub(crate) fn start(&self) -> io::Result<()> {
        let this = self.clone();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("facts".to_owned()).spawn(move || this.run(&runtime)).map(drop)
    }

    /// The facts of the mutations that are served now.
    fn watched(&self) -> Vec<WatchedFact> {
        self.served.webhook().watched_facts()
    }

    fn run(&self, runtime: &Runtime) {
        LocalSet::new().block_on(runtime, async {
            let (mut cluster, mut following) = (None, Vec::new());
            let (mut pause, mut throttle) = (Duration::ZERO, ErrorThrottle::default());
            loop {
                let facts = self.watched();
                self.keep(&facts);
                let groups = with_one_watch(&facts);
                // Dropping a follower ends its watch.
                following.retain(|(group, _): &(Vec<WatchedFact>, Follows)| groups.iter().any(|it| same(it, group)));
                if cluster.is_none() && !groups.is_empty() {
                    match connect(&self.options).await {
                        Ok(found) => cluster = Some(found),
                        Err(error) => {
                            self.note(&facts, |standing| standing.failures += 1);
                            if throttle.is_new(&error.to_string(), Instant::now()) {
                                let what = "facts cannot be followed; the server cannot decide their mutations";
                                tracing::warn!(%error, "{what}");
                            }
                            pause = next_pause(pause, Duration::ZERO, None);
                            sleep(pause).await;
                            continue;
                        }
                    }
                }
                for group in groups {
                    if let Some(cluster) = &cluster
                        && !following.iter().any(|(other, _)| same(other, &group))
                    {
                        following.push((group.clone(), self.follow(cluster, group)));
                    }
                }
                sleep(CHECK_INTERVAL).await;
            }
        });
    }

    /// Follows the facts of one resource until the returned value is dropped.
    fn follow(&self, cluster: &Cluster, group: Vec<WatchedFact>) -> Follows {
        let (this, cluster) = (self.clone(), cluster.clone());
        let mut following = JoinSet::new();
        following.spawn_local(async move {
            let mut throttle = ErrorThrottle::default();
            let mut notify = |news| this.last_contact(&group, news, &mut throttle);
            follow_facts(&cluster, &group, &mut notify).await;
        });
        following
    }

    /// Removes facts without a mutation. Others stay known.
    fn keep(&self, facts: &[WatchedFact]) {
        let mut known = KnownFacts::clone(&self.served.facts());
        known.keep(facts);
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.retain(|resource, _| facts.iter().any(|fact| fact.resource.to_string() == *resource));
        for fact in facts {
            let resource = fact.resource.to_string();
            let of: Vec<WatchedFact> = facts.iter().filter(|it| it.resource == fact.resource).cloned().collect();
            let objects = known.objects(&of);
            let one = standing.entry(resource.clone()).or_default();
            one.resource = resource;
            one.is_known = objects.is_some();
            one.objects = objects.unwrap_or_default() as u64;
        }
        self.served.know(known);
    }

    fn last_contact(&self, group: &[WatchedFact], news: FactEvent, throttle: &mut ErrorThrottle) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        match news {
            FactEvent::Seen(seen) => {
                let mut known = KnownFacts::clone(&self.served.facts());
                seen.iter().for_each(|(fact, objects)| known.see(fact, Arc::clone(objects)));
                // All tasks run on one thread, so there is no concurrent change.
                self.served.know(known);
                self.keep(&self.watched());
                self.note(group, |standing| standing.last_contact = now);
            }
            FactEvent::Failed { error, pause } => {
                self.note(group, |standing| standing.failures += 1);
                if !throttle.is_new(&error.reason(), Instant::now()) {
                    return;
                }
                if error.code() == Some(404) {
                    let what = "the resource of a fact is not installed: until then, the fact is false";
                    return tracing::warn!(%error, ?pause, "{what}");
                }
                tracing::warn!(%error, ?pause, "facts cannot be read or watched; the server keeps the last known facts");
            }
            FactEvent::Misplaced { fact } => {
                self.note(group, |standing| standing.failures += 1);
                if throttle.is_new(&fact.to_string(), Instant::now()) {
                    let what = "a fact can never be true: its resource is namespaced and the fact names no namespace, or \
                         its resource is cluster-scoped and the fact names a namespace";
                    tracing::warn!(%fact, "{what}");
                }
            }
            _ => self.note(group, |standing| standing.last_contact = now),
        }
    }

    fn note(&self, group: &[WatchedFact], note: impl Fn(&mut FollowedFact)) {
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

impl FactSource for FactFollower {
    fn state(&self) -> Vec<FollowedFact> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// A watch that runs until this value is dropped.
type Follows = JoinSet<()>;

/// Returns whether both have the same facts in any order.
fn same(one: &[WatchedFact], two: &[WatchedFact]) -> bool {
    one.len() == two.len() && one.iter().all(|fact| two.contains(fact))
}

/// The interval of checks for changed definitions.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
