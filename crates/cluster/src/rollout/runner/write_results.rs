//! The results of writes, which later plans and writes consider.

use std::collections::BTreeMap;

use pointsman_rollout::{Rollout, RolloutStatus, RolloutWrite, RunnerCache};

use super::event::RolloutEvent;
use super::session::LeaseSession;
use crate::call_error::CallError;
use crate::rollout::error::RolloutError;
use crate::rollout::fleet::Fleet;
use crate::rollout::pending_writes::{PendingWrites, UnacknowledgedWrite};
use crate::rollout::remote_lookups::RemoteLookups;
use crate::rollout::status_store::get_rollout;
use crate::rollout::writes::{WriteOutcome, in_turn};

/// Failures and unacknowledged writes since the start of the runner.
#[derive(Default)]
pub(super) struct WriteResults {
    pub(super) runner_cache: RunnerCache,
    /// The last temporary problem, which the next plan reports.
    pub(super) trouble: Option<String>,
    /// A write showed that the fleet must be listed again.
    pub(super) wants_list: bool,
    /// Unacknowledged writes.
    pub(super) pending: PendingWrites,
    /// The order of temporary write failures, by uid: these objects are written last.
    behind: BTreeMap<String, usize>,
}

/// The parts of a runner that writes use.
pub(super) struct WriteAccess<'w, 'r> {
    pub(super) session: &'w mut LeaseSession<'r>,
    pub(super) fleet: &'w mut Fleet,
    pub(super) rollout: &'w Rollout,
    pub(super) elsewhere: &'w mut RemoteLookups,
}

/// The follow-up of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AfterWrite {
    /// None, or none now.
    Nothing,
    /// More work may be due at once.
    More,
    /// The write opened a gap. The write that closes it follows, before anything that may block.
    CloseGap,
}

impl From<bool> for AfterWrite {
    fn from(more: bool) -> Self {
        if more { Self::More } else { Self::Nothing }
    }
}

impl WriteResults {
    /// Orders writes: see [`in_turn`].
    pub(super) fn in_turn(&self, writes: Vec<RolloutWrite>) -> Vec<RolloutWrite> {
        in_turn(writes, &self.behind)
    }

    /// Records an accepted write for an object.
    pub(super) fn accepted(&mut self, uid: &str) {
        self.behind.remove(uid);
        self.runner_cache.allowed(uid);
    }

    /// Forgets earlier failures of an object, so that it is no longer written last.
    pub(super) fn is_not_behind(&mut self, uid: &str) {
        self.behind.remove(uid);
    }

    /// Records a temporary failure of a write for an object.
    pub(super) fn later(&mut self, session: &mut LeaseSession<'_>, uid: &str, error: CallError) {
        let last = self.behind.values().max().copied().unwrap_or_default();
        self.behind.insert(uid.to_owned(), last + 1);
        session.failed(&error);
        self.trouble = Some(error.message());
        session.report(RolloutEvent::Trying(error));
    }

    /// Records an unacknowledged write.
    pub(super) fn add_pending(&mut self, session: &mut LeaseSession<'_>, one: UnacknowledgedWrite) {
        session.report(RolloutEvent::Noted(one.message()));
        self.pending.add(one);
        session.outlasts_calls(true);
    }

    /// True if an unacknowledged write may still take effect. Until then the runner makes no write that it could
    /// contradict.
    pub(super) async fn awaits_answers(&mut self, session: &mut LeaseSession<'_>) -> Result<bool, RolloutError> {
        if !self.pending.is_waited_for() {
            return Ok(false);
        }
        // Writes that close a gap are sent again.
        session.ensure_held().await?;
        let (cluster, clock) = (session.cluster, session.clock);
        let settles = async {
            self.pending.settle(cluster, clock).await;
            Ok::<(), RolloutError>(())
        };
        session.while_renewing(settles).await?;
        let document = get_rollout(cluster, session.name).await?;
        let before = RolloutStatus::of(&document);
        let now = self.pending.next_status(&before, clock.now());
        if now != before {
            session.ensure_held().await?;
            match session.put_status(&document, &now).await {
                // Written by another client: the next pass reads it again.
                Err(error) if error.code() == Some(409) => return Ok(true),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
        }
        self.pending.status_written();
        if !self.pending.is_waited_for() {
            // Observations may have missed the effect, and the earlier problem is solved.
            (self.wants_list, self.trouble) = (true, None);
        }
        Ok(self.pending.is_waited_for())
    }
}

/// True if a write with this method is unacknowledged.
pub(super) fn leaves_open(landed: &WriteOutcome, method: &str) -> bool {
    let WriteOutcome::Later(error) = landed else { return false };
    error.leaves_open() && error.operation().is_some_and(|operation| operation.starts_with(method))
}
