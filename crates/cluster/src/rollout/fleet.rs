//! A fleet, as it is in the cluster: listed once, and watched from then on.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_core::rollout::{ObjectPatch, FleetObject, Rollout, RolloutStatus};
use serde_json::Value;
use tokio::time::Instant as Deadline;

use super::error::RolloutError;
use super::fleet_watch::{FleetNews, FleetWatch};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::{Pages, items};

/// A fleet that was listed, with what was heard of its objects since.
pub(super) struct Fleet {
    crd: CrdState,
    version: String,
    pub(super) objects: Vec<FleetObject>,
    /// What was heard last of each object, by uid.
    heard: HashMap<String, Heard>,
    /// Uids of what is part of it whatever the StagedRollout selects: what is under way back, and what was written
    /// since.
    kept: BTreeSet<String>,
    watch: FleetWatch,
}

/// What was heard last of an object.
struct Heard {
    /// Its resourceVersion: whatever is older says nothing new.
    revision: u64,
    at: Instant,
}

impl Fleet {
    /// Lists all of it, page by page, each object given up for the little that a rollout looks at. The list is as of
    /// now: no cache is asked for what it may not know yet. What the status has under way back is part of it in any
    /// case.
    pub(super) async fn list(
        cluster: &Cluster,
        kind: &Kind,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<Self, RolloutError> {
        let kept = status.under_way_back();
        let (mut objects, mut heard, mut until) = (Vec::new(), HashMap::new(), None);
        let take = &mut |page: &Value| {
            // Of the first page: what came to be while the others were read is told again.
            until.get_or_insert_with(|| text(page, "resourceVersion").to_owned());
            for answer in items(page) {
                if let Some(object) = seen(answer, rollout, &kept) {
                    heard.insert(object.uid().to_owned(), Heard::now(answer));
                    objects.push(object);
                }
            }
        };
        let read_in = |stored: &str, served: &[&str]| rollout.read_in(stored, served).map(str::to_owned);
        let (plural, group) = rollout.source().unwrap_or_else(|| (kind.plural(), kind.group()));
        let (crd, version) = list_resource(cluster, (plural, group), kind, &read_in, take).await?;
        let watch = FleetWatch::after(crd.collection(&version), until.unwrap_or_default());
        Ok(Self { crd, version, objects, heard, kept, watch })
    }

    /// Lets go of what was only looked at as long as it was under way, and is not any more by this status.
    pub(super) fn keep(&mut self, status: &RolloutStatus) {
        self.kept = status.under_way_back();
        let (objects, heard, kept) = (&mut self.objects, &mut self.heard, &self.kept);
        objects.retain(|object| {
            let stays = !object.is_only_under_way() || kept.contains(object.uid());
            if !stays {
                heard.remove(object.uid());
            }
            stays
        });
    }

    /// Where an object is.
    pub(super) fn path(&self, namespace: Option<&str>, name: &str) -> String {
        self.crd.object(&self.version, namespace, name)
    }

    /// Listens for so long to what becomes of it. Returns whether all was told: else it has to be listed again.
    ///
    /// # Errors
    /// It cannot be watched.
    pub(super) async fn listen(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        patience: Duration,
    ) -> Result<bool, CallError> {
        let deadline = Deadline::now() + patience;
        loop {
            match self.watch.next(cluster, deadline).await? {
                FleetNews::Is(object) => self.take(&object, rollout),
                FleetNews::Gone(object) => self.forget(text(&object, "uid")),
                FleetNews::Nothing => return Ok(true),
                FleetNews::Lost => return Ok(false),
            }
            // There may be more than anybody can listen to.
            if Deadline::now() >= deadline {
                return Ok(true);
            }
        }
    }

    /// Reads some objects again, by uid, unless the watch or an answer has told lately how they are: what is decided by
    /// them is decided by what they are now. Returns whether anything is known now that was not before.
    pub(super) async fn reread(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        uids: &BTreeSet<&str>,
    ) -> Result<bool, CallError> {
        let mut is_new = false;
        for uid in uids.iter().copied() {
            if self.watch.has_told(LATELY) {
                break;
            }
            if self.heard.get(uid).is_none_or(|heard| heard.at.elapsed() < LATELY) {
                continue;
            }
            let Some(object) = self.objects.iter().find(|object| object.uid() == uid) else { continue };
            let (before, path) = (object.clone(), self.path(object.namespace(), object.name()));
            match cluster.find(&path).await?.filter(|now| text(now, "uid") == uid) {
                Some(now) => self.take(&now, rollout),
                None => self.forget(uid),
            }
            is_new |= self.objects.iter().find(|object| object.uid() == uid) != Some(&before);
        }
        Ok(is_new)
    }

    /// Reads an object again whose write found another state than the one that was read.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) async fn read_again(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        one: &ObjectPatch,
    ) -> Result<Again, CallError> {
        let path = self.path(one.namespace.as_deref(), &one.name);
        let Some(now) = cluster.find(&path).await?.filter(|now| text(now, "uid") == one.uid) else {
            return Ok(Again::Gone);
        };
        let version = |fleet: &Self| {
            let object = fleet.objects.iter().find(|object| object.uid() == one.uid);
            object.map(|object| object.version().map(str::to_owned))
        };
        let before = version(self);
        self.take(&now, rollout);
        Ok(if version(self) == before { Again::SameVersion } else { Again::OtherVersion })
    }

    /// Takes in an object as it was answered to a write of it.
    pub(super) fn wrote(&mut self, answer: &Value, rollout: &Rollout) {
        self.watch.owes(revision(answer));
        self.kept.insert(text(answer, "uid").to_owned());
        self.take(answer, rollout);
    }

    /// Takes in an object as it was told, unless something newer is known of it.
    fn take(&mut self, answer: &Value, rollout: &Rollout) {
        let (uid, heard) = (text(answer, "uid"), Heard::now(answer));
        if self.heard.get(uid).is_some_and(|known| known.revision > heard.revision) {
            return;
        }
        let Some(now) = seen(answer, rollout, &self.kept) else { return self.forget(uid) };
        self.heard.insert(uid.to_owned(), heard);
        match self.objects.iter_mut().find(|object| object.uid() == uid) {
            Some(object) => *object = now,
            None => self.objects.push(now),
        }
    }

    fn forget(&mut self, uid: &str) {
        if self.heard.remove(uid).is_some() {
            self.objects.retain(|object| object.uid() != uid);
        }
    }
}

/// How an object is that was read again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Again {
    /// It has the version label that it had.
    SameVersion,
    /// Another client has set its label.
    OtherVersion,
    /// It is there no more, or another one has its name.
    Gone,
}

/// An object as a rollout sees it, of which these are part whatever it selects.
fn seen(answer: &Value, rollout: &Rollout, kept: &BTreeSet<String>) -> Option<FleetObject> {
    match kept.contains(text(answer, "uid")) {
        true => FleetObject::of_under_way(answer, rollout),
        false => FleetObject::of(answer, rollout),
    }
}

impl Heard {
    fn now(answer: &Value) -> Self {
        Self { revision: revision(answer), at: Instant::now() }
    }
}

/// A number wherever etcd is below; where it is none, the last word counts.
fn revision(answer: &Value) -> u64 {
    text(answer, "resourceVersion").parse().unwrap_or_default()
}

/// A member of the metadata.
fn text<'v>(document: &'v Value, name: &str) -> &'v str {
    document.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Lists every object of a kind, page by page, as of now, in the version that `read_in` names for the version that is
/// stored and those that are served. Returns the CRD, and that version.
///
/// # Errors
/// [`RolloutError::NotServed`]: none of those that are served will do; or the cluster cannot be asked.
pub(super) async fn list_objects(
    cluster: &Cluster,
    kind: &Kind,
    read_in: &dyn Fn(&str, &[&str]) -> Option<String>,
    take: &mut dyn FnMut(&Value),
) -> Result<(CrdState, String), RolloutError> {
    list_resource(cluster, (kind.plural(), kind.group()), kind, read_in, take).await
}

/// The same of objects of a plural and a group: of the kind, or of one whose objects become of it.
async fn list_resource(
    cluster: &Cluster,
    (plural, group): (&str, &str),
    kind: &Kind,
    read_in: &dyn Fn(&str, &[&str]) -> Option<String>,
    take: &mut dyn FnMut(&Value),
) -> Result<(CrdState, String), RolloutError> {
    let crd = CrdState::fetch(cluster, &format!("{plural}.{group}")).await?;
    let Some(version) = read_in(crd.storage(), &crd.served()) else {
        let served = crd.served().into_iter().map(str::to_owned).collect();
        let version = kind.versions().last().unwrap_or_default().to_owned();
        return Err(RolloutError::NotServed { crd: crd.name(), version, served });
    };
    let pages = Pages::new(cluster, crd.collection(&version), Extent::Objects, PAGE);
    pages.all(&mut |_, _| {}, &mut |page| take(&page)).await?;
    Ok((crd, version))
}

/// As kubectl's `--chunk-size`.
const PAGE: u32 = 500;

/// What was heard within this is as good as what an answer would say by the time it is read.
const LATELY: Duration = Duration::from_secs(2);
