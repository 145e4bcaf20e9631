//! One look at everything that is stored, and a write of whatever may be old.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::mark::Mark;
use super::options::{MigrateError, MigrateEvent, Migrated, Unwritten};
use super::pace::Pace;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::pages::{items, next_page};
use crate::patience::Patience;

/// What all passes of a run share.
pub(super) struct MigrationRun<'r> {
    pub(super) cluster: &'r Cluster,
    pub(super) crd: CrdState,
    pub(super) mark: Option<Mark>,
    pub(super) page: u32,
    pub(super) pace: Pace,
    pub(super) patience: Patience,
    /// Objects that a write left as they were, since they were stored in the right version already, by uid: about
    /// 100 bytes each.
    pub(super) touched: HashSet<String>,
    /// What it comes to.
    pub(super) migrated: &'r mut Migrated,
    /// Whether everything was listed once.
    pub(super) counted: bool,
    /// Writes that failed one after the other.
    pub(super) in_a_row: u16,
    /// When the CRD was last looked at.
    pub(super) looked: Option<Instant>,
    pub(super) say: &'r mut dyn FnMut(MigrateEvent),
    pub(super) stop: &'r dyn Fn() -> bool,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ended {
    /// Nothing was seen that is not known to be in the storage version.
    Clean,
    /// Something may have been old: what was written, or what somebody else wrote at the same time.
    Wrote,
    /// Somebody asked to stop.
    Interrupted,
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
    /// It is stored anew.
    Rewritten,
    /// It was in the storage version, and was left as it was.
    Same,
    /// It was deleted. Made anew, it was stored in the storage version.
    Gone,
    /// It was written five times by others while the API server tried. The next pass sees in what version.
    Raced,
    Failed(CallError),
}

impl MigrationRun<'_> {
    /// Looks at everything once.
    pub(super) async fn pass(&mut self) -> Result<Ended, MigrateError> {
        let mut next: Option<String> = None;
        let mut ended = Ended::Clean;
        // What failed before may have been mended.
        self.migrated.failures.clear();
        loop {
            let Some(list) = self.list(next.as_deref()).await? else {
                // The list cannot go on, so that nobody knows what was not seen of it.
                return Ok(Ended::Wrote);
            };
            let remaining = list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64);
            let (old, new): (Vec<Listed>, Vec<Listed>) = listed(&list).partition(|listed| self.is_old(listed));
            if !self.counted {
                self.migrated.passed_over += new.len() as u64;
            }
            let (waiting, changed) = self.write_all(old).await?;
            if changed {
                ended = Ended::Wrote;
            }
            let left = remaining.map(|remaining| remaining + waiting);
            self.migrated.left = left.filter(|left| *left > 0);
            self.say_page(left);
            if waiting > 0 || (self.stop)() {
                return Ok(Ended::Interrupted);
            }
            next = next_page(&list);
            if next.is_none() {
                self.counted = true;
                self.migrated.left = None;
                return Ok(ended);
            }
        }
    }

    fn say_page(&mut self, remaining: Option<u64>) {
        let (written, passed_over) = (self.migrated.written, self.migrated.passed_over);
        let (failed, at_once) = (self.migrated.failures.len() as u64, self.pace.at_once() as u16);
        (self.say)(MigrateEvent::Page { written, passed_over, failed, remaining, at_once });
    }

    fn is_old(&self, listed: &Listed) -> bool {
        let covered = self.mark.as_ref().is_some_and(|mark| mark.covers(&listed.version));
        !covered && !self.touched.contains(&key(&listed.uid, &listed.version))
    }

    /// One page, at the storage version: what is stored in another one is converted on the way. Nothing where a list
    /// cannot go on.
    async fn list(&mut self, next: Option<&str>) -> Result<Option<Value>, MigrateError> {
        let collection = self.crd.collection(self.crd.storage());
        let (mut token, mut tried) = (next.map(str::to_owned), false);
        loop {
            let more = token.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
            let path = format!("{collection}?limit={}{more}", self.page);
            let error = match self.cluster.read(&path, Extent::MetadataOfAll).await {
                Ok(list) => {
                    if tried {
                        self.patience.is_over();
                    }
                    return Ok(Some(list));
                }
                Err(error) => error,
            };
            self.look(None).await?;
            match &error {
                // The list goes on as of now: nothing is missed that is old, since what is written meanwhile is new.
                CallError::Refused { code: 410, next: Some(next), .. } => token = Some(next.clone()),
                CallError::Refused { code: 410, .. } if token.is_some() => return Ok(None),
                error => {
                    let Some(pause) = self.patience.pause(error) else { return Err(error.clone().into()) };
                    tried = true;
                    self.tell_trouble();
                    sleep(pause).await;
                }
            }
        }
    }

    /// Writes these, a few at a time. Returns how many were not reached, because somebody asked to stop, and whether
    /// any of them may have been old.
    async fn write_all(&mut self, old: Vec<Listed>) -> Result<(u64, bool), MigrateError> {
        let (mut waiting, mut under_way, mut changed) = (old.into_iter(), JoinSet::new(), false);
        loop {
            if waiting.len() > 0 || !under_way.is_empty() {
                self.look(waiting.as_slice().first()).await?;
            }
            while under_way.len() < self.pace.at_once() && !(self.stop)() {
                let Some(listed) = waiting.next() else { break };
                let path = self.crd.object(self.crd.storage(), listed.namespace.as_deref(), &listed.name);
                let (cluster, patience) = (self.cluster.clone(), self.patience.clone());
                under_way.spawn(async move {
                    let (written, took) = rewrite(&cluster, &path, &listed.version, &patience).await;
                    (listed, written, took)
                });
            }
            let joined = timeout(LOOK, under_way.join_next()).await;
            self.tell_trouble();
            match joined {
                Ok(None) => return Ok((waiting.len() as u64, changed)),
                Ok(Some(Ok((listed, written, took)))) => {
                    match took {
                        Some(took) => self.pace.took(took),
                        None => self.pace.refused(),
                    }
                    changed |= !matches!(written, Written::Same);
                    self.note(listed, written)?;
                }
                // A task that panics is a bug of ours, and its object is seen again in the next pass.
                Ok(Some(Err(_))) => changed = true,
                Err(_) => {}
            }
        }
    }

    fn note(&mut self, listed: Listed, written: Written) -> Result<(), MigrateError> {
        match written {
            Written::Rewritten => self.migrated.written += 1,
            Written::Same => {
                self.migrated.passed_over += 1;
                self.touched.insert(key(&listed.uid, &listed.version));
            }
            Written::Gone => self.migrated.gone += 1,
            Written::Raced => self.migrated.raced += 1,
            Written::Failed(error) => return self.note_failure(listed, &error),
        }
        self.in_a_row = 0;
        Ok(())
    }

    fn note_failure(&mut self, listed: Listed, error: &CallError) -> Result<(), MigrateError> {
        let message = error.message();
        let reason = error.hint().map_or_else(|| message.clone(), |hint| format!("{message}: {hint}"));
        let (namespace, name) = (listed.namespace, listed.name);
        self.migrated.failures.push(Unwritten { namespace, name, reason });
        self.in_a_row += 1;
        if self.in_a_row < ALL {
            return Ok(());
        }
        Err(MigrateError::AllFail { count: ALL, last: message })
    }

    fn tell_trouble(&mut self) {
        if let Some((error, pause)) = self.patience.untold() {
            (self.say)(MigrateEvent::Trying { error, pause });
        }
    }

    /// Looks whether the CRD is the one that was begun with, and still converts what is `next`, where that was not seen
    /// a moment ago. Without the conversion, our own writes would put another version on objects, and fields would be
    /// lost.
    async fn look(&mut self, next: Option<&Listed>) -> Result<(), MigrateError> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(());
        }
        let seen = self.cluster.read(&self.crd.path(), Extent::Metadata).await;
        let same = match seen {
            Ok(now) => {
                let uid = now.pointer("/metadata/uid").and_then(Value::as_str);
                let generation = now.pointer("/metadata/generation").and_then(Value::as_u64);
                (uid, generation) == (Some(self.crd.uid()), Some(self.crd.generation()))
            }
            // Who is away or busy changes nothing either.
            Err(error) => error.code() != Some(404),
        };
        if !same {
            return Err(MigrateError::Changed { crd: self.crd.name() });
        }
        if let Some(next) = next {
            self.converts(next).await?;
        }
        self.looked = Some(Instant::now());
        Ok(())
    }

    /// Reads an object, which converts it. A write need not: an API server has converted what is in its cache, writes
    /// that, and where nobody converts then, forgets who manages which field (kubernetes#136919, until 1.37).
    async fn converts(&mut self, listed: &Listed) -> Result<(), MigrateError> {
        let path = self.crd.object(self.crd.storage(), listed.namespace.as_deref(), &listed.name);
        let mut tried = false;
        loop {
            let Err(error) = self.cluster.read(&path, Extent::Metadata).await else {
                if tried {
                    self.patience.is_over();
                }
                return Ok(());
            };
            // What is wrong with this object alone, its own write will say.
            if !error.passes() && error.code() != Some(403) {
                return Ok(());
            }
            let Some(pause) = self.patience.pause(&error) else { return Err(error.into()) };
            tried = true;
            self.tell_trouble();
            sleep(pause).await;
        }
    }
}

/// Writes an object as it is. An empty merge patch: the API server takes the object from etcd, so that nobody's write
/// is overwritten, finds that what it would store differs from what is stored where that is of another version, and
/// writes it (`apiserver/pkg/storage/etcd3/store.go`, `GuaranteedUpdate`; Kubernetes' own conversion tests do so).
/// Where it is of the storage version already, nothing is written at all.
///
/// Returns how long it took, where it succeeded or failed at once.
async fn rewrite(cluster: &Cluster, path: &str, listed: &str, patience: &Patience) -> (Written, Option<Duration>) {
    let mut tried = false;
    loop {
        let asked = Instant::now();
        let answer = cluster.patch(path, PatchForm::Merge, &json!({}), Extent::Metadata).await;
        let took = (!tried).then(|| asked.elapsed());
        let written = match answer {
            Ok(object) => {
                let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
                if version == Some(listed) { Written::Same } else { Written::Rewritten }
            }
            Err(error) => match (error.code(), patience.pause(&error)) {
                (Some(404), _) => Written::Gone,
                (Some(409), _) => Written::Raced,
                (_, Some(pause)) => {
                    tried = true;
                    sleep(pause).await;
                    continue;
                }
                (_, None) => Written::Failed(error),
            },
        };
        if tried && !matches!(written, Written::Failed(_)) {
            patience.is_over();
        }
        return (written, took);
    }
}

/// Nobody wants to see the same failure for each of twenty thousand objects.
const ALL: u16 = 50;

/// An API server takes about as long to hear of a change of the CRD.
const LOOK: Duration = Duration::from_millis(100);

fn key(uid: &str, version: &str) -> String {
    format!("{uid} {version}")
}

fn listed(list: &Value) -> impl Iterator<Item = Listed> {
    items(list).filter_map(|item| {
        let metadata = item.get("metadata")?;
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let (uid, version) = (text("uid").unwrap_or_default(), text("resourceVersion").unwrap_or_default());
        Some(Listed { namespace: text("namespace"), name: text("name")?, uid, version })
    })
}
