//! The reconcile loop of a rollout: observe, plan, write, repeat.

use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    ApiCallKind, BadRollout, ObjectState, PlanInput, Rollout, RolloutPhase, RolloutStatus, answered_rollout,
    missing_mutations, needs_other_rollouts, stays_over,
};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use super::event::RolloutEvent;
use super::observer::{FleetObserver, OwnState, plan_on_current_objects};
use super::options::RolloutOptions;
use super::session::{INTERVAL, LeaseSession, SELDOM};
use super::write_results::WriteAccess;
use super::writer::{PlanResult, PlanWriter};
use crate::call_error::is_about_rights;
use crate::rollout::error::RolloutError;
use crate::rollout::fleet::Fleet;
use crate::rollout::lease::LeaseState;
use crate::rollout::status_store::get_rollout;

/// A running rollout.
pub(super) struct RolloutRunner<'r> {
    session: LeaseSession<'r>,
    observer: FleetObserver<'r>,
    writer: PlanWriter<'r>,
    kind: &'r Kind,
    options: &'r RolloutOptions,
    begins: &'r Mutex<()>,
}

/// The result of a pass.
struct ReconcileResult {
    status: RolloutStatus,
    /// True if more work may be due at once.
    has_more: bool,
    /// True if only time must pass.
    settles: bool,
    /// True if objects were moved: an immediate pass would find only some of them healthy.
    moved: bool,
    /// True if the status is stale.
    stale: bool,
    took: Duration,
}

impl<'r> RolloutRunner<'r> {
    pub(super) fn new(
        session: LeaseSession<'r>,
        kind: &'r Kind,
        options: &'r RolloutOptions,
        begins: &'r Mutex<()>,
    ) -> Self {
        let (observer, writer) = (FleetObserver::new(kind, options), PlanWriter::new(&options.mutated));
        Self { session, observer, writer, kind, options, begins }
    }

    /// Runs until the end, waits for unacknowledged writes after an error, and releases the Lease.
    pub(super) async fn run_to_end(mut self, stop: &dyn Fn() -> bool) -> Result<RolloutStatus, RolloutError> {
        let ended = self.run(stop).await;
        if let Err(error) = &ended {
            self.wait_for_pending(error, stop).await;
        }
        self.release().await;
        ended
    }

    async fn run(&mut self, stop: &dyn Fn() -> bool) -> Result<RolloutStatus, RolloutError> {
        let mut reported = String::new();
        let mut last = RolloutStatus::default();
        while !stop() {
            match self.is_ready(&mut reported).await {
                Ok(true) => {}
                Ok(false) => {
                    sleep(INTERVAL).await;
                    continue;
                }
                Err(error) => {
                    self.session.pause_after(error, self.options.once).await?;
                    continue;
                }
            }
            let passed = match self.pass().await {
                Ok(passed) => passed,
                Err(error) => match self.recover(error).await? {
                    Some(paused) => return Ok(paused),
                    None => continue,
                },
            };
            last = passed.status;
            if passed.stale {
                continue;
            }
            // If a list is needed first, the decision is still open.
            let refused =
                matches!(last.phase, RolloutPhase::Refused | RolloutPhase::Pending) && !self.observer.wants_list;
            let waits = self.options.once && !passed.has_more && !passed.settles;
            if self.writer.results.pending.is_empty() && (last.is_over() || refused || waits) {
                return Ok(last);
            }
            if !passed.has_more || (passed.moved && !self.options.once) {
                // A fleet that takes long to list is observed less often; the Lease is renewed regardless.
                let patience = (passed.took * 5).clamp(INTERVAL, SELDOM);
                self.observer.listen(&mut self.session, patience).await?;
            }
        }
        Ok(last)
    }

    /// True if this process holds the Lease, and no earlier write is unacknowledged. `reported` is the last other
    /// holder.
    async fn is_ready(&mut self, reported: &mut String) -> Result<bool, RolloutError> {
        self.session.cluster.wait_for_retry_after().await;
        if let LeaseState::By { holder: by, is_alive } = self.session.hold().await? {
            // A killed process does not renew its Lease, so the Lease is taken over, also with `once`.
            if self.options.once && is_alive {
                return Err(RolloutError::Held { name: self.session.name.to_owned(), by });
            }
            if *reported != by {
                self.session.report(RolloutEvent::WaitsFor(by.clone()));
                *reported = by;
            }
            return Ok(false);
        }
        let waits = self.writer.results.awaits_answers(&mut self.session).await;
        self.note_lists();
        Ok(!waits?)
    }

    /// Lists the fleet in the next pass if a write needs this.
    fn note_lists(&mut self) {
        self.observer.wants_list |= std::mem::take(&mut self.writer.results.wants_list);
    }

    /// After an error, waits for unacknowledged writes: a restart in this process would not know them. If the rollout
    /// belongs to another process or is unreadable, only waits for their expiry.
    async fn wait_for_pending(&mut self, error: &RolloutError, stop: &dyn Fn() -> bool) {
        let mut is_ours = !matches!(error, RolloutError::Lost { .. });
        while !stop() && !self.writer.results.pending.is_empty() {
            if is_ours && let Err(error) = self.writer.results.awaits_answers(&mut self.session).await {
                is_ours = !matches!(error, RolloutError::Lost { .. });
            }
            self.writer.results.pending.forget_late();
            sleep(INTERVAL).await;
        }
    }

    async fn release(&mut self) {
        self.session.release(!self.writer.results.pending.is_empty()).await;
    }

    /// Waits after a failed pass that can be retried. Returns the status if it waits for an operator with `once`.
    async fn recover(&mut self, error: RolloutError) -> Result<Option<RolloutStatus>, RolloutError> {
        let reported = match error {
            RolloutError::Bad(bad) => self.unreadable(bad).await,
            error => Err(error),
        };
        match reported {
            Ok(paused) => Ok(paused.filter(|_| self.options.once)),
            Err(error) => self.session.pause_after(error, self.options.once).await.map(|()| None),
        }
    }

    /// Records an unreadable StagedRollout in the status of an active rollout, then retries. Meanwhile a newer process
    /// may take over.
    async fn unreadable(&mut self, bad: BadRollout) -> Result<Option<RolloutStatus>, RolloutError> {
        let session = &mut self.session;
        let document = get_rollout(session.cluster, session.name).await?;
        let before = RolloutStatus::of(&document);
        let Some(paused) = before.unreadable(&bad, session.clock.now()) else { return Err(bad.into()) };
        if answered_rollout(&document, self.kind).is_ok() {
            return Ok(None);
        }
        if paused != before {
            session.ensure_held().await?;
            match session.put_status(&document, &paused).await {
                Ok(_) => {}
                Err(error) if error.code() == Some(409) => return Ok(None),
                // An API server that refuses the spec now refuses its status too.
                Err(error) if error.code() == Some(422) => return Err(bad.into()),
                Err(error) => return Err(error.into()),
            }
            session.report_status(&document, &paused).await;
            session.report(RolloutEvent::Status(Box::new(paused.clone())));
        }
        if !self.options.once {
            self.release().await;
            sleep(SELDOM).await;
        }
        Ok(Some(paused))
    }

    /// One pass: observe, plan and write.
    async fn pass(&mut self) -> Result<ReconcileResult, RolloutError> {
        let began = Instant::now();
        let document = get_rollout(self.session.cluster, self.session.name).await?;
        self.session.took(ApiCallKind::Read, began);
        let rollout = answered_rollout(&document, self.kind)?;
        self.session.outlasts_calls(rollout.makes_objects());
        let status = RolloutStatus::of(&document);
        if let Some(why) = missing_mutations(&rollout, &status, &self.options.mutated) {
            return Err(RolloutError::Invalid(why));
        }
        let known = (&document, &rollout, &status);
        let consistent = self.observer.observe(&mut self.session, known).await?;
        let _begins = self.begin_alone(&rollout, &status).await?;
        let (runner_cache, has_begun) = (self.writer.results.runner_cache.clone(), self.writer.has_begun);
        let own = OwnState { runner_cache, has_begun, consistent };
        let mut facts = self.observer.facts(&mut self.session, known, own).await?;
        (self.writer.has_begun, facts.trouble) = (false, self.writer.results.trouble.take());
        if let Some(why) = stays_over(&rollout, &status, &facts) {
            return Err(RolloutError::Invalid(why));
        }
        let unread = facts.answers.unread().filter(|why| is_about_rights(why)).map(str::to_owned);
        self.session.reporter.not_allowed(unread);
        let Some(mut fleet) = self.observer.fleet.take() else {
            return Err(RolloutError::NoRollout { name: self.session.name.to_owned(), meant: String::new() });
        };
        let passed = self.decide(document, &rollout, &mut fleet, facts, began).await;
        self.note_lists();
        self.observer.put_back(fleet, rollout);
        passed
    }

    /// Waits until no other rollout of this process begins, if this one begins or changes direction after its end.
    async fn begin_alone(
        &mut self,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<Option<MutexGuard<'r, ()>>, RolloutError> {
        let begins = self.begins;
        if !needs_other_rollouts(rollout, status) {
            return Ok(None);
        }
        let alone = async { Ok::<_, RolloutError>(begins.lock().await) };
        self.session.while_renewing(alone).await.map(Some)
    }

    /// One plan and its writes.
    async fn decide(
        &mut self,
        document: Value,
        rollout: &Rollout,
        fleet: &mut Fleet,
        facts: PlanInput,
        began: Instant,
    ) -> Result<ReconcileResult, RolloutError> {
        let had_trouble = facts.trouble.is_some();
        let status = RolloutStatus::of(&document);
        let planned = plan_on_current_objects(&mut self.session, &status, rollout, fleet, &facts).await?;
        let took = began.elapsed();
        self.observer.wants_list |= planned.wants_list;
        let settles = planned.defers || planned.object_states.contains(&ObjectState::Settling);
        let has_more = planned.wants_list;
        let before = std::mem::replace(&mut self.writer.results.runner_cache, planned.runner_cache.clone());
        let session = &mut self.session;
        let mut access = WriteAccess { session, fleet, rollout, elsewhere: &mut self.observer.elsewhere };
        let PlanResult { status, any, moved, stale } = self.writer.write(&mut access, document, planned).await?;
        if self.writer.has_begun {
            // Other planned writes were not made: the next plan contains them again.
            self.writer.results.runner_cache = before;
        }
        let trouble = self.writer.results.trouble.is_some();
        let has_more = (has_more || any) && !had_trouble && !trouble;
        // After a problem, the next plan reports it.
        let settles = settles || (trouble && !had_trouble);
        Ok(ReconcileResult { status, has_more, settles, moved, stale, took })
    }
}
