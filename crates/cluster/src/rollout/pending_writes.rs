//! Unacknowledged writes: requests without response that an API server may still process.
//!
//! Each write has preconditions on a state. But a reverted or deleted object may return to that state, or may never
//! have left it. A late write would then repeat a reverted change, or transfer dependents to a deleted object. A late
//! creation would add an unexpected object. So a runner waits until its write is observed, or its effect has become
//! impossible. A runner that ends earlier keeps its Lease for that time, which delays other runners.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pointsman_rollout::{
    ClockReading, JobWrite, LONGEST_CALL, ObjectCall, ObjectPatch, ObjectWrite, ROLLOUT_MANAGER, RolloutStatus,
    is_patched, patched_uid, rfc3339,
};
use serde_json::Value;

use super::clock::RolloutClock;
use super::fleet::Fleet;
use super::object_steps::place_of;
use super::writes::jobs_of;
use crate::cluster::Cluster;

/// A write without response.
#[derive(Debug)]
pub(super) struct UnacknowledgedWrite {
    /// The object, for messages.
    title: String,
    effect: Effect,
    /// The last time of the request.
    sent: Instant,
    /// Wall clock time after which it cannot take effect, as text.
    sure: String,
}

/// The observation that confirms a write.
#[derive(Debug)]
enum Effect {
    Made(Creation),
    /// The object at the path equals the result of the patch.
    Changed {
        path: String,
        patch: Value,
    },
    /// The object with this uid is deleted, terminating, or changed since it was read.
    Deleted {
        path: String,
        uid: String,
        version: String,
    },
    /// The path is unknown, so no observation is possible.
    Unseen,
}

/// An object that is created.
#[derive(Debug)]
struct Creation {
    /// The path of the collection.
    all: String,
    name: String,
    body: Value,
    /// An object was deleted for it, so the request is repeated at once. Names make this idempotent.
    is_urgent: bool,
    /// The request was repeated: the observed object may result from the repetition, and the first request may still
    /// take effect after its deletion.
    was_repeated: bool,
}

impl UnacknowledgedWrite {
    /// For a Job.
    pub(super) fn job(job: &JobWrite, sent: (Instant, RolloutClock)) -> Self {
        let (all, name, body) = (jobs_of(job), job.name.clone(), job.body.clone());
        let made = Creation { all, name, body, is_urgent: false, was_repeated: false };
        Self::new(format!("job {}/{}", job.namespace, job.name), Effect::Made(made), sent)
    }

    /// For a write of a fleet object.
    pub(super) fn of_fleet(fleet: &Fleet, one: &ObjectPatch, sent: (Instant, RolloutClock)) -> Self {
        let path = fleet.path(one.namespace.as_deref(), &one.name);
        Self::new(one.title(), Effect::Changed { path, patch: one.patch.clone() }, sent)
    }

    /// For a write of another object. `None` if its time is irrelevant.
    pub(super) async fn object(cluster: &Cluster, one: &ObjectWrite, sent: (Instant, RolloutClock)) -> Option<Self> {
        // A pending response of another cluster does not block this cluster.
        if matches!(one.call, ObjectCall::ReportRefusal(_) | ObjectCall::Readmit(_)) || one.cluster.is_some() {
            return None;
        }
        let effect = place_of(cluster, one).await.map_or(Effect::Unseen, |all| Effect::of(one, all));
        Some(Self::new(one.title(), effect, sent))
    }

    fn new(title: String, effect: Effect, (sent, clock): (Instant, RolloutClock)) -> Self {
        Self { title, effect, sent, sure: sure(sent, clock) }
    }

    /// The message about it.
    pub(super) fn message(&self) -> String {
        let (title, sure) = (&self.title, &self.sure);
        let (write, landed) = match self.effect {
            Effect::Made(_) => ("creation", format!("{title} exists")),
            Effect::Changed { .. } => ("change", "the change is observed".to_owned()),
            Effect::Deleted { .. } => ("deletion", format!("{title} is deleted")),
            Effect::Unseen => ("write", "the write is over".to_owned()),
        };
        format!(
            "{title}: the {write} was requested, and its result is unknown; the rollout waits until {landed}, or until \
             the request cannot succeed any more, at {sure}"
        )
    }

    /// True if no API server processes it any more.
    fn is_late(&self) -> bool {
        self.sent.elapsed() >= LONGEST
    }

    /// True if its outcome is certain: observed, impossible, or expired.
    async fn is_over(&mut self, cluster: &Cluster, clock: RolloutClock) -> bool {
        if self.is_late() {
            return true;
        }
        let path = match &self.effect {
            Effect::Made(made) => format!("{}/{}", made.all, made.name),
            Effect::Changed { path, .. } | Effect::Deleted { path, .. } => path.clone(),
            Effect::Unseen => return false,
        };
        // Without a response now, the earlier request is uncertain as well.
        let Ok(found) = cluster.find(&path).await else { return false };
        let text = |place: &str| found.as_ref().and_then(|object| object.pointer(place)?.as_str());
        let (uid, version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        match &mut self.effect {
            Effect::Unseen => false,
            // Preconditions protect a new object of this name, and any other state.
            Effect::Deleted { uid: of, version: at, .. } => {
                uid != Some(of) || version != Some(at) || found.as_ref().is_some_and(is_terminating)
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
                        cluster.wait_for_retry_after().await;
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
    /// From a write in this collection.
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
            ObjectCall::ReportRefusal(_) | ObjectCall::Readmit(_) => Self::Unseen,
        }
    }
}

impl Creation {
    /// Repeats the request. Returns true if the response is missing again.
    async fn again(&mut self, cluster: &Cluster) -> bool {
        self.was_repeated = true;
        let again = cluster.post(&format!("{}?fieldManager={ROLLOUT_MANAGER}", self.all), &self.body).await;
        again.is_err_and(|error| error.leaves_open())
    }
}

/// True if an object is terminating.
fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// The wall clock time after which a request cannot take effect.
fn sure(sent: Instant, clock: RolloutClock) -> String {
    let left = LONGEST.saturating_sub(sent.elapsed()).as_secs();
    rfc3339(clock.now().wall.saturating_add(left))
}

/// All unacknowledged writes, and the resulting wait.
#[derive(Default)]
pub(super) struct PendingWrites {
    all: Vec<UnacknowledgedWrite>,
    /// True if a wait happened whose end is not recorded in the status yet.
    is_waited_for: bool,
    /// The last awaited write.
    last: String,
    /// Writes whose wait has restarted timeouts, so that repeated failures of one write do not restart them endlessly.
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

    /// True if a write is pending, or its end is not recorded in the status yet.
    pub(super) fn is_waited_for(&self) -> bool {
        self.is_waited_for
    }

    /// Removes writes with certain outcome. Safe to cancel.
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

    /// Removes expired writes, without observation.
    pub(super) fn forget_late(&mut self) {
        self.all.retain(|one| !one.is_late());
    }

    /// The status now: the pending write, or a continuation with restarted timeouts after the forced wait.
    pub(super) fn next_status(&self, before: &RolloutStatus, now: ClockReading) -> RolloutStatus {
        match self.all.first() {
            Some(one) => before.awaiting(&one.message(), now),
            None if self.granted.contains(&self.last) => before.clone(),
            None => before.continuing(now),
        }
    }

    /// Records that the status is written.
    pub(super) fn status_written(&mut self) {
        if self.all.is_empty() {
            self.granted.insert(self.last.clone());
            self.is_waited_for = false;
        }
    }
}

/// Longest time that an API server works on a request.
const LONGEST: Duration = Duration::from_secs(LONGEST_CALL);
