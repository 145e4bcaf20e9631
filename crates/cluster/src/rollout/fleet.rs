//! The fleet in the cluster: listed once, then watched.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_rollout::{FleetObject, ObjectPatch, Rollout, RolloutStatus};
use serde_json::Value;
use tokio::time::Instant as Deadline;

use super::error::RolloutError;
use super::fleet_watch::{FleetNews, FleetWatch};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::{Pages, items};

/// A listed fleet with later observations.
pub(super) struct Fleet {
    crd: CrdState,
    version: String,
    pub(super) objects: Vec<FleetObject>,
    /// The last observation of each object, by uid.
    observed: HashMap<String, Observation>,
    /// Uids of objects that belong to the fleet regardless of the selector: objects in rollback, and objects written
    /// since.
    kept: BTreeSet<String>,
    watch: FleetWatch,
}

/// The last observation of an object.
struct Observation {
    /// Its resourceVersion: older observations are ignored.
    revision: u64,
    at: Instant,
}

impl Fleet {
    /// Lists the fleet page by page, and reduces each object to the inspected members. The list is consistent, not from
    /// a cache. Includes objects in rollback by the status.
    pub(super) async fn list(
        cluster: &Cluster,
        kind: &Kind,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<Self, RolloutError> {
        let kept = status.under_way_back();
        let (mut objects, mut observed, mut until) = (Vec::new(), HashMap::new(), None);
        let take = &mut |page: &Value| {
            // Of the first page: the watch reports changes during later pages.
            until.get_or_insert_with(|| text(page, "resourceVersion").to_owned());
            for answer in items(page) {
                if let Some(object) = seen(answer, rollout, &kept) {
                    observed.insert(object.uid().to_owned(), Observation::now(answer));
                    objects.push(object);
                }
            }
        };
        let read_in = |stored: &str, served: &[&str]| rollout.read_in(stored, served).map(str::to_owned);
        let (plural, group) = rollout.source().unwrap_or_else(|| (kind.plural(), kind.group()));
        let (crd, version) = list_resource(cluster, (plural, group), kind, &read_in, take).await?;
        let watch = FleetWatch::after(crd.collection(&version), until.unwrap_or_default());
        Ok(Self { crd, version, objects, observed, kept, watch })
    }

    /// Drops objects kept only for their rollback, once the status no longer lists them.
    pub(super) fn keep(&mut self, status: &RolloutStatus) {
        self.kept = status.under_way_back();
        let (objects, observed, kept) = (&mut self.objects, &mut self.observed, &self.kept);
        objects.retain(|object| {
            let stays = !object.is_only_under_way() || kept.contains(object.uid());
            if !stays {
                observed.remove(object.uid());
            }
            stays
        });
    }

    /// The path of an object.
    pub(super) fn path(&self, namespace: Option<&str>, name: &str) -> String {
        self.crd.object(&self.version, namespace, name)
    }

    /// Watches for `patience`. Returns false if events were lost: the fleet must be listed again.
    ///
    /// # Errors
    /// The watch is refused.
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
                FleetNews::Deleted(object) => self.forget(text(&object, "uid")),
                FleetNews::Nothing => return Ok(true),
                FleetNews::Lost => return Ok(false),
            }
            // Events may arrive faster than they are processed.
            if Deadline::now() >= deadline {
                return Ok(true);
            }
        }
    }

    /// Reads some objects again, by uid, unless a recent observation exists: their decisions need current data. Returns
    /// true if an object changed.
    pub(super) async fn reread(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        uids: &BTreeSet<&str>,
    ) -> Result<bool, CallError> {
        let mut is_new = false;
        for uid in uids.iter().copied() {
            if self.watch.has_event(LATELY) {
                break;
            }
            if self.observed.get(uid).is_none_or(|observed| observed.at.elapsed() < LATELY) {
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

    /// Reads an object again after a stale write.
    ///
    /// # Errors
    /// The object cannot be read.
    pub(super) async fn read_again(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        one: &ObjectPatch,
    ) -> Result<Again, CallError> {
        let path = self.path(one.namespace.as_deref(), &one.name);
        let Some(now) = cluster.find(&path).await?.filter(|now| text(now, "uid") == one.uid) else {
            return Ok(Again::Deleted);
        };
        let version = |fleet: &Self| {
            let object = fleet.objects.iter().find(|object| object.uid() == one.uid);
            object.map(|object| object.version().map(str::to_owned))
        };
        let before = version(self);
        self.take(&now, rollout);
        Ok(if version(self) == before { Again::SameVersion } else { Again::OtherVersion })
    }

    /// Records the response to a write of an object.
    pub(super) fn wrote(&mut self, answer: &Value, rollout: &Rollout) {
        self.watch.owes(revision(answer));
        self.kept.insert(text(answer, "uid").to_owned());
        self.take(answer, rollout);
    }

    /// Records an observation, unless a newer one is known.
    fn take(&mut self, answer: &Value, rollout: &Rollout) {
        let (uid, observed) = (text(answer, "uid"), Observation::now(answer));
        if self.observed.get(uid).is_some_and(|known| known.revision > observed.revision) {
            return;
        }
        let Some(now) = seen(answer, rollout, &self.kept) else { return self.forget(uid) };
        self.observed.insert(uid.to_owned(), observed);
        match self.objects.iter_mut().find(|object| object.uid() == uid) {
            Some(object) => *object = now,
            None => self.objects.push(now),
        }
    }

    fn forget(&mut self, uid: &str) {
        if self.observed.remove(uid).is_some() {
            self.objects.retain(|object| object.uid() != uid);
        }
    }
}

/// The state of an object that was read again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Again {
    /// Its version label is unchanged.
    SameVersion,
    /// Another client changed its label.
    OtherVersion,
    /// Deleted, or replaced by another object of its name.
    Deleted,
}

/// Parses an object of the fleet, including kept objects that are not selected.
fn seen(answer: &Value, rollout: &Rollout, kept: &BTreeSet<String>) -> Option<FleetObject> {
    match kept.contains(text(answer, "uid")) {
        true => FleetObject::of_under_way(answer, rollout),
        false => FleetObject::of(answer, rollout),
    }
}

impl Observation {
    fn now(answer: &Value) -> Self {
        Self { revision: revision(answer), at: Instant::now() }
    }
}

/// A number with etcd as storage; otherwise zero, and the latest observation counts.
fn revision(answer: &Value) -> u64 {
    text(answer, "resourceVersion").parse().unwrap_or_default()
}

/// A metadata member.
fn text<'v>(document: &'v Value, name: &str) -> &'v str {
    document.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Lists all objects of a kind, page by page and consistently, in the version that `read_in` selects from the storage
/// version and served versions. Returns the CRD, and that version.
///
/// # Errors
/// [`RolloutError::NotServed`] if no suitable version is served, or the error of an API call.
pub(super) async fn list_objects(
    cluster: &Cluster,
    kind: &Kind,
    read_in: &dyn Fn(&str, &[&str]) -> Option<String>,
    take: &mut dyn FnMut(&Value),
) -> Result<(CrdState, String), RolloutError> {
    list_resource(cluster, (kind.plural(), kind.group()), kind, read_in, take).await
}

/// The same for a plural and group: of the kind, or of its source kind.
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

/// Same as the default `--chunk-size` of kubectl.
const PAGE: u32 = 500;

/// An observation of this age is as good as a new read.
const LATELY: Duration = Duration::from_secs(2);
