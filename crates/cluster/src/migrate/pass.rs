//! One look at everything that is stored, and a write of whatever may be old.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::mark::Mark;
use super::options::{MigrateError, MigrateEvent, Unwritten};
use super::pace::Pace;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::CrdState;

/// What all passes of a run share.
pub(super) struct MigrationRun<'r> {
    pub(super) cluster: &'r Cluster,
    pub(super) crd: CrdState,
    pub(super) mark: Option<Mark>,
    pub(super) page: u32,
    pub(super) pace: Pace,
    /// Objects that a write left as they were, since they were stored in the right version already, by uid: about
    /// 100 bytes each.
    pub(super) touched: HashSet<String>,
    pub(super) written: u64,
    pub(super) passed_over: u64,
    pub(super) failures: Vec<Unwritten>,
    /// Writes that failed one after the other.
    pub(super) in_a_row: u16,
    pub(super) say: &'r mut dyn FnMut(MigrateEvent),
    pub(super) stop: &'r dyn Fn() -> bool,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ended {
    /// Nothing old was seen that could have been written.
    Clean,
    /// Some was written, and somebody may have written more meanwhile.
    Wrote,
    /// Somebody asked to stop; so many objects are known to be left.
    Interrupted(Option<u64>),
}

/// An object of a page.
#[derive(Clone, Debug)]
struct Listed {
    namespace: Option<String>,
    name: String,
    uid: String,
    version: String,
}

/// What came of a write.
enum Written {
    /// It is stored in the storage version: with this resourceVersion, where it is there at all.
    Done(Option<String>),
    Failed(CallError),
}

impl MigrationRun<'_> {
    /// Looks at everything once.
    pub(super) async fn pass(&mut self) -> Result<Ended, MigrateError> {
        let mut next: Option<String> = None;
        let mut wrote = false;
        // Counted anew: what failed before may have been mended.
        self.failures.clear();
        self.passed_over = 0;
        loop {
            let list = self.list(next.as_deref()).await?;
            let remaining = list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64);
            let (old, new): (Vec<Listed>, Vec<Listed>) = listed(&list).partition(|listed| self.is_old(listed));
            self.passed_over += new.len() as u64;
            wrote |= !old.is_empty();
            let left = self.write_all(old).await?;
            let (written, passed_over) = (self.written, self.passed_over);
            let (failed, at_once) = (self.failures.len() as u64, self.pace.at_once() as u16);
            (self.say)(MigrateEvent::Page { written, passed_over, failed, remaining, at_once });
            if left > 0 || (self.stop)() {
                return Ok(Ended::Interrupted(remaining.map(|remaining| remaining + left)));
            }
            next = list.pointer("/metadata/continue").and_then(Value::as_str).map(str::to_owned);
            if next.as_ref().is_none_or(String::is_empty) {
                let clean = !wrote || self.written == 0;
                return Ok(if clean { Ended::Clean } else { Ended::Wrote });
            }
        }
    }

    fn is_old(&self, listed: &Listed) -> bool {
        let covered = self.mark.as_ref().is_some_and(|mark| mark.covers(&listed.version));
        !covered && !self.touched.contains(&key(&listed.uid, &listed.version))
    }

    /// One page, at the storage version: what is stored in another one is converted on the way.
    async fn list(&mut self, next: Option<&str>) -> Result<Value, MigrateError> {
        let collection = self.crd.collection(self.crd.storage());
        let mut token = next.map(str::to_owned);
        let began = Instant::now();
        loop {
            let more = token.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
            let path = format!("{collection}?limit={}{more}", self.page);
            let error = match self.cluster.read(&path, Extent::Metadata).await {
                Ok(list) => return Ok(list),
                Err(error) => error,
            };
            match &error {
                // The list goes on as of now: nothing is missed that is old, since what is written meanwhile is new.
                CallError::Refused { code: 410, next: Some(next), .. } => token = Some(next.clone()),
                error if error.passes() && began.elapsed() < PATIENCE => {
                    let pause = pause(error, began);
                    (self.say)(MigrateEvent::Trying { error: error.clone(), pause });
                    sleep(pause).await;
                }
                _ => return Err(error.into()),
            }
        }
    }

    /// Writes these, a few at a time. Returns how many were not reached, because somebody asked to stop.
    async fn write_all(&mut self, old: Vec<Listed>) -> Result<u64, MigrateError> {
        let (mut waiting, mut under_way) = (old.into_iter(), JoinSet::new());
        loop {
            while under_way.len() < self.pace.at_once() && !(self.stop)() {
                let Some(listed) = waiting.next() else { break };
                let path = self.crd.object(self.crd.storage(), listed.namespace.as_deref(), &listed.name);
                let cluster = self.cluster.clone();
                under_way.spawn(async move {
                    let (written, time, tried) = rewrite(&cluster, &path).await;
                    (listed, written, time, tried)
                });
            }
            // A task that panics is a bug of ours, and its object is seen again in the next pass.
            let Some(joined) = under_way.join_next().await else {
                return Ok(waiting.len() as u64);
            };
            let Ok((listed, written, time, tried)) = joined else { continue };
            match tried {
                Some((error, pause)) => {
                    self.pace.refused();
                    (self.say)(MigrateEvent::Trying { error, pause });
                }
                None => self.pace.took(time),
            }
            self.note(listed, written)?;
        }
    }

    fn note(&mut self, listed: Listed, written: Written) -> Result<(), MigrateError> {
        match written {
            Written::Done(version) => {
                self.in_a_row = 0;
                self.written += 1;
                let unchanged = version.is_some_and(|version| version == listed.version);
                if unchanged {
                    self.touched.insert(key(&listed.uid, &listed.version));
                }
                Ok(())
            }
            Written::Failed(error) => {
                let (namespace, name, reason) = (listed.namespace, listed.name, error.message());
                self.failures.push(Unwritten { namespace, name, reason });
                self.in_a_row += 1;
                if self.in_a_row < ALL {
                    return Ok(());
                }
                Err(MigrateError::AllFail { count: ALL, last: error.message() })
            }
        }
    }
}

/// Writes an object as it is. An empty merge patch: the API server takes the object from etcd, so that nobody's write
/// is overwritten, finds that what it would store differs from what is stored where that is of another version, and
/// writes it (`apiserver/pkg/storage/etcd3/store.go`, `GuaranteedUpdate`; Kubernetes' own conversion tests do so).
/// Where it is of the storage version already, nothing is written at all.
///
/// Returns how long the last try took, and what was said before it where it had to be tried again.
async fn rewrite(cluster: &Cluster, path: &str) -> (Written, Duration, Option<(CallError, Duration)>) {
    let (began, mut tried) = (Instant::now(), None);
    loop {
        let asked = Instant::now();
        let answer = cluster.patch(path, PatchForm::Merge, &json!({}), Extent::Metadata).await;
        let time = asked.elapsed();
        let error = match answer {
            Ok(object) => {
                let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
                return (Written::Done(version.map(str::to_owned)), time, tried);
            }
            Err(error) => error,
        };
        match error.code() {
            // Deleted, or made anew meanwhile, which stored it.
            Some(404) => return (Written::Done(None), time, tried),
            // It was written five times while the API server tried: it is busy, and in the storage version by now. The
            // next pass sees.
            Some(409) => return (Written::Done(None), time, tried),
            _ if error.passes() && began.elapsed() < PATIENCE => {
                let pause = pause(&error, began);
                tried = Some((error, pause));
                sleep(pause).await;
            }
            _ => return (Written::Failed(error), time, tried),
        }
    }
}

/// As long as the API server asks for; without its word a second, and longer the longer it has been away.
fn pause(error: &CallError, began: Instant) -> Duration {
    let longer = (began.elapsed() / 2).clamp(SHORTEST, LONGEST);
    error.retry_after().unwrap_or(longer).clamp(SHORTEST, PATIENCE)
}

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15);

/// A control plane of one node restarts, and elects leaders, within this.
const PATIENCE: Duration = Duration::from_secs(120);

/// Nobody wants to see the same failure for each of twenty thousand objects.
const ALL: u16 = 50;

fn key(uid: &str, version: &str) -> String {
    format!("{uid} {version}")
}

fn listed(list: &Value) -> impl Iterator<Item = Listed> {
    let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| {
        let metadata = item.get("metadata")?;
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let (uid, version) = (text("uid").unwrap_or_default(), text("resourceVersion").unwrap_or_default());
        Some(Listed { namespace: text("namespace"), name: text("name")?, uid, version })
    })
}
