//! Creations that were asked for and not answered: an API server may still be working on them.
//!
//! Nothing else that a roll writes takes effect late: a change or a deletion names the state that it is of. What is
//! made late would stand beside whatever was done meanwhile. So a runner that was not answered does nothing else before
//! what it asked for is there, or cannot come any more; and one that ends before that keeps its Lease, which nobody
//! takes over in that time.

use std::time::{Duration, Instant};

use pointsman_core::roll::{
    JobWrite, LONGEST_CALL, Moment, ObjectCall, ObjectWrite, ROLL_MANAGER, RollStatus, rfc3339,
};
use serde_json::Value;

use super::beside::place_of;
use super::clock::RollClock;
use super::writes::jobs_of;
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// A creation that was not answered.
#[derive(Debug)]
pub(super) struct UnansweredCreation {
    /// What it makes, as people call it.
    title: String,
    /// Where it is made.
    all: String,
    name: String,
    body: Value,
    /// When it was sent last.
    sent: Instant,
    /// When it can come no more, by the clock on the wall, in words.
    sure: String,
    /// Something was deleted for it, so that it is sent again at once. It is the same then, and stands there once.
    is_urgent: bool,
    /// It was sent again: what is there may be that, and this one come after that is gone.
    was_repeated: bool,
}

impl UnansweredCreation {
    /// A Job, which was sent then.
    pub(super) fn job(job: &JobWrite, sent: Instant, clock: RollClock) -> Self {
        let title = format!("job {}/{}", job.namespace, job.name);
        let (all, name, body) = (jobs_of(job), job.name.clone(), job.body.clone());
        Self { title, all, name, body, sent, sure: sure(sent, clock), is_urgent: false, was_repeated: false }
    }

    /// Another object, which was sent then. Nothing where none was to be made.
    pub(super) async fn object(
        cluster: &Cluster,
        one: &ObjectWrite,
        (sent, clock): (Instant, RollClock),
    ) -> Result<Option<Self>, CallError> {
        let (ObjectCall::Create(body) | ObjectCall::Succeed(body)) = &one.call else { return Ok(None) };
        let (title, name, body) = (one.title(), one.name.clone(), body.clone());
        // It names its version, so that nobody is asked.
        let all = place_of(cluster, one).await?;
        let is_urgent = one.closes_gap();
        let sure = sure(sent, clock);
        Ok(Some(Self { title, all, name, body, sent, sure, is_urgent, was_repeated: false }))
    }

    /// What is said of it.
    pub(super) fn told(&self) -> String {
        format!(
            "{} was asked for, and nobody has said whether it is made: nothing is done before it is there, or cannot come \
             any more, at {}",
            self.title, self.sure
        )
    }

    /// Whether no API server works on it any more.
    fn is_late(&self) -> bool {
        self.sent.elapsed() >= LONGEST
    }

    /// Whether nothing comes of it any more: it is there, or too much time is over.
    async fn is_over(&mut self, cluster: &Cluster, clock: RollClock) -> bool {
        if self.is_late() {
            return true;
        }
        match cluster.find(&format!("{}/{}", self.all, self.name)).await {
            Ok(Some(_)) => !self.was_repeated,
            Ok(None) if self.is_urgent => {
                cluster.may_be_asked().await;
                let sent = Instant::now();
                self.was_repeated = true;
                let again = cluster.post(&format!("{}?fieldManager={ROLL_MANAGER}", self.all), &self.body).await;
                if again.is_err_and(|error| error.leaves_open()) {
                    (self.sent, self.sure) = (sent, sure(sent, clock));
                }
                false
            }
            // Who does not answer now has not answered what was asked before, either.
            Ok(None) | Err(_) => false,
        }
    }
}

/// When what was sent then can come no more, by the clock on the wall.
fn sure(sent: Instant, clock: RollClock) -> String {
    let left = LONGEST.saturating_sub(sent.elapsed()).as_secs();
    rfc3339(clock.now().wall.saturating_add(left))
}

/// Those that may still come, and whose time that was.
#[derive(Default)]
pub(super) struct OpenCreations {
    all: Vec<UnansweredCreation>,
    /// They were waited for, and that nobody could do anything meanwhile is not noted yet.
    is_waited_for: bool,
    /// What was waited for last.
    last: String,
    /// For what objects got their time anew last: not again and again for what is never answered.
    granted: String,
}

impl OpenCreations {
    pub(super) fn add(&mut self, one: UnansweredCreation) {
        one.title.clone_into(&mut self.last);
        self.all.push(one);
        self.is_waited_for = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether one may still come, or the roll is still to be told that none does.
    pub(super) fn is_waited_for(&self) -> bool {
        self.is_waited_for
    }

    /// Forgets those of which nothing comes any more. None is forgotten where it is cut off.
    pub(super) async fn settle(&mut self, cluster: &Cluster, clock: RollClock) {
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

    /// What the status says now: what is waited for, or that the roll goes on, and others have their time again, as
    /// they could do nothing meanwhile.
    pub(super) fn told(&self, before: &RollStatus, now: Moment) -> RollStatus {
        match self.all.first() {
            Some(one) => before.awaiting(&one.told()),
            None if self.last == self.granted => before.clone(),
            None => before.going_on(now),
        }
    }

    /// The status says so.
    pub(super) fn was_told(&mut self) {
        if self.all.is_empty() {
            self.granted.clone_from(&self.last);
            self.is_waited_for = false;
        }
    }
}

/// As long as an API server works on a call.
const LONGEST: Duration = Duration::from_secs(LONGEST_CALL);
