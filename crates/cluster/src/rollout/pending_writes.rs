//! Writes that were sent and not answered: an API server may still be working on them.
//!
//! Each names the state that it is of, and lands on no other one. But what is undone, or deleted, may be in that state
//! again, and what was found undone has never left it: a write that comes late then does what was just taken back, or
//! hands something to an object that is gone meanwhile. What is made late would stand beside whatever was done. So a
//! runner that was not answered does nothing else before it sees that its write has landed, or cannot any more; and one
//! that ends before that keeps its Lease, which nobody takes over in that time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pointsman_core::rollout::{
    ObjectPatch, JobWrite, LONGEST_CALL, ClockReading, ObjectCall, ObjectWrite, ROLLOUT_MANAGER, RolloutStatus, is_patched,
    patched_uid, rfc3339,
};
use serde_json::Value;

use super::object_steps::place_of;
use super::clock::RolloutClock;
use super::fleet::Fleet;
use super::writes::jobs_of;
use crate::cluster::Cluster;

/// A write that was not answered.
#[derive(Debug)]
pub(super) struct UnacknowledgedWrite {
    /// What it is about, as people call it.
    title: String,
    effect: Effect,
    /// When it was sent last.
    sent: Instant,
    /// When it can come no more, by the clock on the wall, in words.
    sure: String,
}

/// By what it is seen that a write has landed.
#[derive(Debug)]
enum Effect {
    Made(Creation),
    /// The object at the path is as the patch makes it.
    Changed {
        path: String,
        patch: Value,
    },
    /// The object with the uid is gone from the path, or about to go, or was written since it was seen.
    Deleted {
        path: String,
        uid: String,
        version: String,
    },
    /// Where it is cannot be said now, so that nobody looks.
    Unseen,
}

/// What is made.
#[derive(Debug)]
struct Creation {
    /// Where it is made.
    all: String,
    name: String,
    body: Value,
    /// Something was deleted for it, so that it is sent again at once. It is the same then, and stands there once.
    is_urgent: bool,
    /// It was sent again: what is there may be that, and this one come after that is gone.
    was_repeated: bool,
}

impl UnacknowledgedWrite {
    /// A Job, which was sent then.
    pub(super) fn job(job: &JobWrite, sent: (Instant, RolloutClock)) -> Self {
        let (all, name, body) = (jobs_of(job), job.name.clone(), job.body.clone());
        let made = Creation { all, name, body, is_urgent: false, was_repeated: false };
        Self::new(format!("job {}/{}", job.namespace, job.name), Effect::Made(made), sent)
    }

    /// A write of an object of the fleet.
    pub(super) fn of_fleet(fleet: &Fleet, one: &ObjectPatch, sent: (Instant, RolloutClock)) -> Self {
        let path = fleet.path(one.namespace.as_deref(), &one.name);
        Self::new(one.title(), Effect::Changed { path, patch: one.patch.clone() }, sent)
    }

    /// A write of another object. Nothing where nothing depends on when it lands.
    pub(super) async fn object(cluster: &Cluster, one: &ObjectWrite, sent: (Instant, RolloutClock)) -> Option<Self> {
        // What another cluster does not answer holds up nobody here.
        if matches!(one.call, ObjectCall::Tell(_) | ObjectCall::Readmit(_)) || one.cluster.is_some() {
            return None;
        }
        let effect = place_of(cluster, one).await.map_or(Effect::Unseen, |all| Effect::of(one, all));
        Some(Self::new(one.title(), effect, sent))
    }

    fn new(title: String, effect: Effect, (sent, clock): (Instant, RolloutClock)) -> Self {
        Self { title, effect, sent, sure: sure(sent, clock) }
    }

    /// What is said of it.
    pub(super) fn told(&self) -> String {
        let (asked, landed) = match self.effect {
            Effect::Made(_) => ("was asked for, and nobody has said whether it is made", "it is there"),
            Effect::Changed { .. } => ("was to be changed, and nobody has said whether it is", "that is seen"),
            Effect::Deleted { .. } => ("was to be deleted, and nobody has said whether it is", "it is gone"),
            Effect::Unseen => ("was to be written, and nobody has said whether it is", "that is over"),
        };
        let (title, sure) = (&self.title, &self.sure);
        format!("{title} {asked}: nothing is done before {landed}, or cannot come any more, at {sure}")
    }

    /// Whether no API server works on it any more.
    fn is_late(&self) -> bool {
        self.sent.elapsed() >= LONGEST
    }

    /// Whether nothing comes of it any more: it has landed, or never will, or too much time is over.
    async fn is_over(&mut self, cluster: &Cluster, clock: RolloutClock) -> bool {
        if self.is_late() {
            return true;
        }
        let path = match &self.effect {
            Effect::Made(made) => format!("{}/{}", made.all, made.name),
            Effect::Changed { path, .. } | Effect::Deleted { path, .. } => path.clone(),
            Effect::Unseen => return false,
        };
        // Who does not answer now has not answered what was asked before, either.
        let Ok(found) = cluster.find(&path).await else { return false };
        let text = |place: &str| found.as_ref().and_then(|object| object.pointer(place)?.as_str());
        let (uid, version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        match &mut self.effect {
            Effect::Unseen => false,
            // Another one by this name, or in another state, is not touched, whenever it comes.
            Effect::Deleted { uid: of, version: at, .. } => {
                uid != Some(of) || version != Some(at) || found.as_ref().is_some_and(goes)
            }
            Effect::Changed { patch, .. } => match &found {
                None => true,
                Some(_) if patched_uid(patch).is_some_and(|of| uid != Some(of)) => true,
                Some(object) => is_patched(patch, object) == Some(true),
            },
            Effect::Made(made) => match found {
                Some(_) => !made.was_repeated,
                None => {
                    if made.is_urgent {
                        cluster.may_be_asked().await;
                        let sent = Instant::now();
                        if made.again(cluster).await {
                            (self.sent, self.sure) = (sent, sure(sent, clock));
                        }
                    }
                    false
                }
            },
        }
    }
}

impl Effect {
    /// Of a write in this place.
    fn of(one: &ObjectWrite, all: String) -> Self {
        let path = format!("{all}/{}", one.name);
        match &one.call {
            ObjectCall::Create(body) | ObjectCall::Succeed(body) => {
                let (name, body, is_urgent) = (one.name.clone(), body.clone(), one.closes_gap());
                Self::Made(Creation { all, name, body, is_urgent, was_repeated: false })
            }
            ObjectCall::Delete { uid, resource_version, .. } => {
                Self::Deleted { path, uid: uid.clone(), version: resource_version.clone() }
            }
            ObjectCall::Patch(patch) => Self::Changed { path, patch: patch.clone() },
            ObjectCall::Tell(_) | ObjectCall::Readmit(_) => Self::Unseen,
        }
    }
}

impl Creation {
    /// Asks for it once more. Whether nobody has said what came of that.
    async fn again(&mut self, cluster: &Cluster) -> bool {
        self.was_repeated = true;
        let again = cluster.post(&format!("{}?fieldManager={ROLLOUT_MANAGER}", self.all), &self.body).await;
        again.is_err_and(|error| error.leaves_open())
    }
}

/// Whether an object is being deleted.
fn goes(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// When what was sent then can come no more, by the clock on the wall.
fn sure(sent: Instant, clock: RolloutClock) -> String {
    let left = LONGEST.saturating_sub(sent.elapsed()).as_secs();
    rfc3339(clock.now().wall.saturating_add(left))
}

/// Those that may still come, and whose time that was.
#[derive(Default)]
pub(super) struct PendingWrites {
    all: Vec<UnacknowledgedWrite>,
    /// They were waited for, and that nobody could do anything meanwhile is not noted yet.
    is_waited_for: bool,
    /// What was waited for last.
    last: String,
    /// For what objects got their time anew: not again and again for what is never answered.
    granted: BTreeSet<String>,
}

impl PendingWrites {
    pub(super) fn add(&mut self, one: UnacknowledgedWrite) {
        one.title.clone_into(&mut self.last);
        self.all.push(one);
        self.is_waited_for = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether one may still come, or the rollout is still to be told that none does.
    pub(super) fn is_waited_for(&self) -> bool {
        self.is_waited_for
    }

    /// Forgets those of which nothing comes any more. None is forgotten where it is cut off.
    pub(super) async fn settle(&mut self, cluster: &Cluster, clock: RolloutClock) {
        let mut at = 0;
        while let Some(one) = self.all.get_mut(at) {
            if one.is_over(cluster, clock).await {
                self.all.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Forgets those that no API server works on any more, without a look at what is there.
    pub(super) fn forget_late(&mut self) {
        self.all.retain(|one| !one.is_late());
    }

    /// What the status says now: what is waited for, or that the rollout goes on, and others have their time again, as
    /// they could do nothing meanwhile.
    pub(super) fn told(&self, before: &RolloutStatus, now: ClockReading) -> RolloutStatus {
        match self.all.first() {
            Some(one) => before.awaiting(&one.told(), now),
            None if self.granted.contains(&self.last) => before.clone(),
            None => before.going_on(now),
        }
    }

    /// The status says so.
    pub(super) fn was_told(&mut self) {
        if self.all.is_empty() {
            self.granted.insert(self.last.clone());
            self.is_waited_for = false;
        }
    }
}

/// As long as an API server works on a call.
const LONGEST: Duration = Duration::from_secs(LONGEST_CALL);
