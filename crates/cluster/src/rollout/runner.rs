//! The reconcile loop of a rollout: observe, plan, write, repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pointsman_core::definition::{HttpAddress, Kind, MutatedKind};
use pointsman_rollout::{
    ApiCallKind, BadRollout, FleetObject, JobWrite, LookupRequest, LookupResults, ObjectCall, ObjectPatch, ObjectState,
    ObjectWrite, PlanInput, RateChange, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite, RunnerCache,
    answered_rollout, converted_sources, initial_wait_lookups, missing_mutations, needs_other_rollouts, plan,
    stays_over, step_lookups, steps_not_compared,
};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use super::clock::RolloutClock;
use super::controllers::ControllerLeases;
use super::error::RolloutError;
use super::events::write_events;
use super::fleet::{Again, Fleet};
use super::freeze::unfrozen;
use super::lease::{LeaseState, RolloutLease};
use super::local_times::local_times;
use super::lookups::{Compiled, LookupCache, perform_lookups};
use super::object_steps::{try_made, write_object};
use super::other_rollouts::others;
use super::pending_writes::{PendingWrites, UnacknowledgedWrite};
use super::remote_lookups::RemoteLookups;
use super::status_store::{get_rollout, put_status};
use super::write_pace::WritePace;
use super::writes::{WriteMode, WriteOutcome, in_turn, run_job, try_write, write};
use crate::call_error::{CallError, RIGHTS, is_about_rights};
use crate::cluster::Cluster;

/// Options of runners.
#[derive(Clone, Debug)]
pub struct RolloutOptions {
    /// Ends when the rollout only waits for others.
    pub once: bool,
    /// The identity of this process, unique at any time.
    pub holder: String,
    /// The namespace of the Lease.
    pub namespace: String,
    /// The Prometheus of the cluster, for checks that use it.
    pub prometheus: Option<HttpAddress>,
    /// Definitions with mutations, for steps that wait for one.
    pub mutated: Vec<MutatedKind>,
}

/// An event of a running rollout.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RolloutEvent {
    /// Another process runs it; this process waits to take over.
    WaitsFor(String),
    /// The status was written.
    Status(Box<RolloutStatus>),
    /// An object was moved.
    Moved(String),
    /// A Job of a step was created or existed: `namespace/name`, and the object.
    Ran(String, String),
    /// A step wrote another object: the message, and the rollout's object.
    Wrote(String, String),
    /// A step wrote another object without the intended effect yet: object and reason.
    NotYet(String),
    /// An object was replaced or moved by another client.
    Replaced(String),
    /// An object cannot be moved: object and reason.
    Refused(String, String),
    /// A call failed temporarily.
    Trying(CallError),
    /// The write rate changed, with the reason.
    Pace(RateChange),
    /// A notice for the operator. The run continues.
    Noted(String),
    /// A missing permission, reported once. Work that does not need it continues.
    NotAllowed(String),
    /// The run was stopped or skipped, with the reason.
    Left(String),
    /// The rollout has finished, or with `once` only waits.
    Ended(Box<RolloutStatus>),
}

/// Runs a rollout until it has finished, `stop` returns true, or, with `once`, until it only waits for others. The
/// process can be killed at any time, and the rollout run again.
///
/// # Errors
/// [`RolloutError`]. A paused or refused rollout is no error: its status contains the reason.
pub async fn run_rollout(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RolloutOptions,
    report: &dyn Fn(RolloutEvent),
    stop: &dyn Fn() -> bool,
) -> Result<RolloutStatus, RolloutError> {
    run_with_lock(cluster, kind, name, options, report, stop, &Mutex::new(())).await
}

/// The same alongside other rollouts. `begins` is locked while one begins, so that each sees earlier ones.
pub(super) async fn run_with_lock(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RolloutOptions,
    report: &dyn Fn(RolloutEvent),
    stop: &dyn Fn() -> bool,
    begins: &Mutex<()>,
) -> Result<RolloutStatus, RolloutError> {
    let (clock, cluster) = (RolloutClock::start(), &cluster.heeding());
    let lease = RolloutLease::new(name, &options.namespace, &options.holder, clock);
    let mut runner = RolloutRunner {
        cluster,
        kind,
        name,
        options,
        clock,
        lease,
        controllers: ControllerLeases::default(),
        lookup_cache: LookupCache::nothing(options.prometheus.as_ref()),
        elsewhere: RemoteLookups::default(),
        fleet: None,
        rollout: None,
        spec: Value::Null,
        wants_list: true,
        runner_cache: RunnerCache::default(),
        trouble: None,
        pace: WritePace::start(clock),
        forbidden: BTreeSet::new(),
        keeps_annotations: None,
        hold_protection_checked: false,
        begins,
        has_begun: false,
        open: PendingWrites::default(),
        behind: BTreeMap::new(),
        report,
    };
    let ended = runner.run(stop).await;
    if let Err(error) = &ended {
        runner.waits_out(error, stop).await;
    }
    runner.releases().await;
    ended
}

/// A running rollout.
struct RolloutRunner<'r> {
    cluster: &'r Cluster,
    kind: &'r Kind,
    name: &'r str,
    options: &'r RolloutOptions,
    clock: RolloutClock,
    lease: RolloutLease,
    controllers: ControllerLeases,
    lookup_cache: LookupCache,
    elsewhere: RemoteLookups,
    fleet: Option<Fleet>,
    /// The StagedRollout at the last observation of the fleet.
    rollout: Option<Rollout>,
    /// The spec when the fleet was listed.
    spec: Value,
    /// The fleet must be listed before anything else.
    wants_list: bool,
    runner_cache: RunnerCache,
    trouble: Option<String>,
    pace: WritePace,
    /// Reported missing permissions.
    forbidden: BTreeSet<String>,
    /// True if annotations of moves were stored as written so far: label moves then need no dry run each.
    keeps_annotations: Option<bool>,
    /// True if the protection of held objects was checked.
    hold_protection_checked: bool,
    begins: &'r Mutex<()>,
    /// The rollout began just now, without other writes: another one may have begun at the same time.
    has_begun: bool,
    /// Unacknowledged writes.
    open: PendingWrites,
    /// The order of temporary write failures, by uid: these objects are written last.
    behind: BTreeMap<String, usize>,
    report: &'r dyn Fn(RolloutEvent),
}

/// The result of the writes of a plan.
struct Wrote {
    /// The stored status.
    status: RolloutStatus,
    /// True if anything was written.
    any: bool,
    /// True if all planned moves were made.
    moved: bool,
    /// True if another client changed the StagedRollout since it was read: the status is stale.
    stale: bool,
}

/// The follow-up of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AfterWrite {
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
    async fn run(&mut self, stop: &dyn Fn() -> bool) -> Result<RolloutStatus, RolloutError> {
        let mut reported = String::new();
        let mut last = RolloutStatus::default();
        while !stop() {
            self.cluster.wait_for_retry_after().await;
            if !self.lease.is_fresh() {
                match self.lease.hold(self.cluster).await {
                    Ok(LeaseState::Held) => {}
                    Ok(LeaseState::By { holder: by, is_alive }) => {
                        // A killed process does not renew its Lease, so the Lease is taken over, also with `once`.
                        if self.options.once && is_alive {
                            return Err(RolloutError::Held { name: self.name.to_owned(), by });
                        }
                        if reported != by {
                            (self.report)(RolloutEvent::WaitsFor(by.clone()));
                            reported = by;
                        }
                        sleep(INTERVAL).await;
                        continue;
                    }
                    Err(error) => {
                        self.passes(error).await?;
                        continue;
                    }
                }
            }
            match self.awaits_answers().await {
                Ok(false) => {}
                Ok(true) => {
                    sleep(INTERVAL).await;
                    continue;
                }
                Err(error) => {
                    self.passes(error).await?;
                    continue;
                }
            }
            let passed = match self.pass().await {
                Ok(passed) => passed,
                Err(error) => match self.recovers(error).await? {
                    Some(paused) => return Ok(paused),
                    None => continue,
                },
            };
            last = passed.status;
            if passed.stale {
                continue;
            }
            // If a list is needed first, the decision is still open.
            let refused = matches!(last.phase, RolloutPhase::Refused | RolloutPhase::Pending) && !self.wants_list;
            let waits = self.options.once && !passed.has_more && !passed.settles;
            if self.open.is_empty() && (last.is_over() || refused || waits) {
                return Ok(last);
            }
            if !passed.has_more || (passed.moved && !self.options.once) {
                // A fleet that takes long to list is observed less often; the Lease is renewed regardless.
                self.listen((passed.took * 5).clamp(INTERVAL, SELDOM)).await?;
            }
        }
        Ok(last)
    }

    /// True if an unacknowledged write may still take effect. Until then the runner makes no write that it could
    /// contradict.
    async fn awaits_answers(&mut self) -> Result<bool, RolloutError> {
        if !self.open.is_waited_for() {
            return Ok(false);
        }
        // Writes that close a gap are sent again.
        self.holds().await?;
        let settles = async {
            self.open.settle(self.cluster, self.clock).await;
            Ok::<(), RolloutError>(())
        };
        self.lease.while_renewing(self.cluster, settles).await?;
        let document = get_rollout(self.cluster, self.name).await?;
        let before = RolloutStatus::of(&document);
        let now = self.open.next_status(&before, self.clock.now());
        if now != before {
            self.holds().await?;
            match self.put(&document, &now).await {
                // Written by another client: the next pass reads it again.
                Err(error) if error.code() == Some(409) => return Ok(true),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
        }
        self.open.status_written();
        if !self.open.is_waited_for() {
            // Observations may have missed the effect, and the earlier problem is solved.
            (self.wants_list, self.trouble) = (true, None);
        }
        Ok(self.open.is_waited_for())
    }

    /// After an error, waits for unacknowledged writes: a restart in this process would not know them. If the rollout
    /// belongs to another process or is unreadable, only waits for their expiry.
    async fn waits_out(&mut self, error: &RolloutError, stop: &dyn Fn() -> bool) {
        let mut is_ours = !matches!(error, RolloutError::Lost { .. });
        while !stop() && !self.open.is_empty() {
            if is_ours && let Err(error) = self.awaits_answers().await {
                is_ours = !matches!(error, RolloutError::Lost { .. });
            }
            self.open.forget_late();
            sleep(INTERVAL).await;
        }
    }

    /// Releases the Lease, unless unacknowledged writes could conflict with the next holder.
    async fn releases(&mut self) {
        if self.open.is_empty() {
            self.lease.release(self.cluster).await;
        } else if self.lease.is_held() {
            // Writes the extended duration; if this fails, an earlier write contains it already for runners that create
            // objects.
            let _ = self.lease.hold(self.cluster).await;
        }
    }

    /// Waits after a temporary error.
    async fn passes(&mut self, error: RolloutError) -> Result<(), RolloutError> {
        match error {
            RolloutError::Call(call) if call.passes() && !self.options.once => {
                let pause = call.retry_after().unwrap_or(INTERVAL).clamp(INTERVAL, LONGEST);
                self.failed(&call);
                (self.report)(RolloutEvent::Trying(call));
                sleep(pause).await;
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Waits after a failed pass that can be retried. Returns the status if it waits for an operator with `once`.
    async fn recovers(&mut self, error: RolloutError) -> Result<Option<RolloutStatus>, RolloutError> {
        let reported = match error {
            RolloutError::Bad(bad) => self.unreadable(bad).await,
            error => Err(error),
        };
        match reported {
            Ok(paused) => Ok(paused.filter(|_| self.options.once)),
            Err(error) => self.passes(error).await.map(|()| None),
        }
    }

    /// Records an unreadable StagedRollout in the status of an active rollout, then retries. Meanwhile a newer process
    /// may take over.
    async fn unreadable(&mut self, bad: BadRollout) -> Result<Option<RolloutStatus>, RolloutError> {
        let document = get_rollout(self.cluster, self.name).await?;
        let before = RolloutStatus::of(&document);
        let Some(paused) = before.unreadable(&bad, self.clock.now()) else { return Err(bad.into()) };
        if answered_rollout(&document, self.kind).is_ok() {
            return Ok(None);
        }
        if paused != before {
            self.holds().await?;
            match self.put(&document, &paused).await {
                Ok(_) => {}
                Err(error) if error.code() == Some(409) => return Ok(None),
                // An API server that refuses the spec now refuses its status too.
                Err(error) if error.code() == Some(422) => return Err(bad.into()),
                Err(error) => return Err(error.into()),
            }
            self.report_status(&document, &paused).await;
            (self.report)(RolloutEvent::Status(Box::new(paused.clone())));
        }
        if !self.options.once {
            self.releases().await;
            sleep(SELDOM).await;
        }
        Ok(Some(paused))
    }

    /// Waits, and watches the fleet meanwhile.
    async fn listen(&mut self, patience: Duration) -> Result<(), RolloutError> {
        let (Some(fleet), Some(rollout)) = (self.fleet.as_mut(), self.rollout.as_ref()) else {
            sleep(patience).await;
            return Ok(());
        };
        match self.lease.while_renewing(self.cluster, fleet.listen(self.cluster, rollout, patience)).await {
            Ok(all) => {
                self.wants_list |= !all;
                Ok(())
            }
            Err(error) => self.passes(error).await,
        }
    }

    /// One pass: observe, plan and write.
    async fn pass(&mut self) -> Result<ReconcileResult, RolloutError> {
        let began = Instant::now();
        let started = Instant::now();
        let document = get_rollout(self.cluster, self.name).await?;
        self.took(ApiCallKind::Read, started);
        let rollout = answered_rollout(&document, self.kind)?;
        self.lease.outlasts_calls(rollout.makes_objects());
        let status = RolloutStatus::of(&document);
        if let Some(why) = missing_mutations(&rollout, &status, &self.options.mutated) {
            return Err(RolloutError::Invalid(why));
        }
        let consistent = self.observe(&document, &rollout, &status).await?;
        let _begins = self.begins_alone(&rollout, &status).await?;
        let facts = self.facts(&document, &rollout, &status, consistent).await?;
        if let Some(why) = stays_over(&rollout, &status, &facts) {
            return Err(RolloutError::Invalid(why));
        }
        self.may_not(facts.answers.unread().filter(|why| is_about_rights(why)).map(str::to_owned));
        let Some(mut fleet) = self.fleet.take() else {
            return Err(RolloutError::NoRollout { name: self.name.to_owned(), meant: String::new() });
        };
        let passed = self.decide(document, &rollout, &mut fleet, facts, began).await;
        // A failed call does not invalidate observations.
        (self.fleet, self.rollout) = (Some(fleet), Some(rollout));
        passed
    }

    /// Waits until no other rollout of this process begins, if this one begins or changes direction after its end.
    async fn begins_alone(
        &mut self,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<Option<MutexGuard<'r, ()>>, RolloutError> {
        let begins = self.begins;
        if !needs_other_rollouts(rollout, status) {
            return Ok(None);
        }
        let alone = async { Ok::<_, RolloutError>(begins.lock().await) };
        self.lease.while_renewing(self.cluster, alone).await.map(Some)
    }

    /// Planner input outside of the fleet.
    async fn facts(
        &mut self,
        document: &Value,
        rollout: &Rollout,
        status: &RolloutStatus,
        consistent: bool,
    ) -> Result<PlanInput, RolloutError> {
        let shut = self.controllers.shut(self.cluster, rollout, status, self.clock).await?;
        if consistent && rollout.has_external_versions() {
            // The final status uses new lookups.
            self.lookup_cache.forget();
        }
        let initial_lookups = self.lookup_cache.answers(self.cluster, self.kind, rollout, status);
        let mut answers = self.lease.while_renewing(self.cluster, initial_lookups).await?;
        let objects = self.fleet.as_ref().map_or(&[][..], |fleet| fleet.objects.as_slice());
        let known = Compiled { kind: self.kind, mutated: &self.options.mutated };
        let (now, slowly) = lookups(rollout, status, objects);
        let lookup_calls = perform_lookups(self.cluster, known, &now, &mut answers);
        self.lease.while_renewing(self.cluster, lookup_calls).await?;
        self.elsewhere.forget(&now);
        // With `once`, waits as long as a response may take.
        let patience = if self.options.once { SELDOM * 3 } else { INTERVAL };
        let lookup_calls = async {
            self.elsewhere.results(self.cluster, &slowly, patience, &mut answers).await;
            Ok::<(), RolloutError>(())
        };
        self.lease.while_renewing(self.cluster, lookup_calls).await?;
        Ok(PlanInput {
            runner_cache: self.runner_cache.clone(),
            consistent,
            closed_gate: shut,
            local: local_times(rollout, self.clock.now()),
            others: self.others(document, rollout, status, &answers).await?,
            unfrozen: if status.started.is_none() { unfrozen(self.cluster, rollout).await? } else { None },
            answers,
            ahead: false,
            trouble: self.trouble.take(),
        })
    }

    /// Active rollouts over the same objects, if needed.
    async fn others(
        &mut self,
        document: &Value,
        rollout: &Rollout,
        status: &RolloutStatus,
        answers: &LookupResults,
    ) -> Result<Vec<(String, Vec<String>)>, RolloutError> {
        if !needs_other_rollouts(rollout, status) && !self.has_begun {
            return Ok(Vec::new());
        }
        let there = self.fleet.as_ref().map_or(&[][..], |fleet| fleet.objects.as_slice());
        let deleted = converted_sources(rollout, status, there, answers);
        let found = others(self.cluster, self.kind, document, there.iter().chain(&deleted)).await?;
        self.has_begun = false;
        Ok(found)
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
        let planned = self.plans(&RolloutStatus::of(&document), rollout, fleet, &facts).await?;
        let took = began.elapsed();
        self.wants_list |= planned.wants_list;
        let settles = planned.defers || planned.object_states.contains(&ObjectState::Settling);
        let has_more = planned.wants_list;
        let before = std::mem::replace(&mut self.runner_cache, planned.runner_cache.clone());
        let wrote = self.write(document, fleet, rollout, planned).await?;
        if self.has_begun {
            // Other planned writes were not made: the next plan contains them again.
            self.runner_cache = before;
        }
        let has_more = (has_more || wrote.any) && !had_trouble && self.trouble.is_none();
        // After a problem, the next plan reports it.
        let settles = settles || (self.trouble.is_some() && !had_trouble);
        let Wrote { status, moved, stale, .. } = wrote;
        Ok(ReconcileResult { status, has_more, settles, moved, stale, took })
    }

    /// Observes the fleet: lists it if the plan requests it or the spec changed, otherwise processes watch events.
    /// Returns true if the fleet is consistent.
    async fn observe(
        &mut self,
        document: &Value,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<bool, RolloutError> {
        let spec = document.get("spec").cloned().unwrap_or_default();
        self.wants_list |= self.spec != spec;
        if let Some(fleet) = &mut self.fleet {
            fleet.keep(status);
        }
        if let Some(fleet) = self.fleet.as_mut().filter(|_| !self.wants_list)
            && self.lease.while_renewing(self.cluster, fleet.listen(self.cluster, rollout, GLANCE)).await?
        {
            return Ok(false);
        }
        self.wants_list = true;
        // Frees the old fleet first, to limit memory.
        self.fleet = None;
        self.fleet =
            Some(self.lease.while_renewing(self.cluster, Fleet::list(self.cluster, self.kind, rollout, status)).await?);
        (self.spec, self.wants_list) = (spec, false);
        Ok(true)
    }

    /// Plans the next writes. Decisions without precondition use current objects instead of earlier observations.
    async fn plans(
        &mut self,
        status: &RolloutStatus,
        rollout: &Rollout,
        fleet: &mut Fleet,
        facts: &PlanInput,
    ) -> Result<RolloutPlan, RolloutError> {
        loop {
            let planned = plan(rollout, status, &fleet.objects, facts.clone(), self.clock.now());
            if facts.consistent {
                return Ok(planned);
            }
            let judged = planned.judged(rollout, status);
            let again = fleet.reread(self.cluster, rollout, &judged);
            if !self.lease.while_renewing(self.cluster, again).await? {
                return Ok(planned);
            }
        }
    }

    /// Performs the planned writes in order.
    async fn write(
        &mut self,
        mut document: Value,
        fleet: &mut Fleet,
        rollout: &Rollout,
        planned: RolloutPlan,
    ) -> Result<Wrote, RolloutError> {
        let mut wrote = Wrote { status: planned.status, any: false, moved: false, stale: false };
        let mut began = None;
        let is_gap = |write: &RolloutWrite| matches!(write, RolloutWrite::Object(one) if one.closes_gap());
        let (gaps, writes): (Vec<_>, Vec<_>) = planned.writes.into_iter().partition(is_gap);
        wrote.any |= self.close(&gaps).await?;
        if self.trouble.is_some() {
            return Ok(wrote);
        }
        for next in in_turn(writes, &self.behind) {
            if !matches!(next, RolloutWrite::Status(_)) {
                // A pause takes effect without waiting for hundreds of writes.
                if began.get_or_insert_with(Instant::now).elapsed() > INTERVAL {
                    return Ok(Wrote { any: true, moved: false, ..wrote });
                }
                self.paced().await;
            }
            self.holds().await?;
            match next {
                RolloutWrite::Status(status) => match self.put(&document, &status).await {
                    Ok(now) => {
                        self.report_status(&document, &status).await;
                        self.has_begun = RolloutStatus::of(&document).started.is_none() && status.started.is_some();
                        document = now;
                        wrote.any = true;
                        (self.report)(RolloutEvent::Status(status));
                        if self.has_begun {
                            // No object moves before it is certain that no other rollout began at the same time.
                            return Ok(wrote);
                        }
                    }
                    // Another client approved, paused or resumed the rollout: the plan is stale.
                    Err(error) if error.code() == Some(409) => {
                        return Ok(Wrote {
                            status: RolloutStatus::of(&document),
                            any: true,
                            moved: false,
                            stale: true,
                        });
                    }
                    Err(error) => return Err(error.into()),
                },
                other => {
                    wrote.moved |= matches!(other, RolloutWrite::Move(_)) && !rollout.has_workflows();
                    let then = self.carries_out(&other, fleet, rollout).await?;
                    wrote.any |= then != AfterWrite::Nothing;
                    if then == AfterWrite::CloseGap {
                        break;
                    }
                }
            }
            if self.trouble.is_some() {
                break;
            }
        }
        Ok(wrote)
    }

    /// Performs a write other than the status.
    async fn carries_out(
        &mut self,
        write: &RolloutWrite,
        fleet: &mut Fleet,
        rollout: &Rollout,
    ) -> Result<AfterWrite, RolloutError> {
        Ok(match write {
            RolloutWrite::Status(_) => AfterWrite::Nothing,
            RolloutWrite::Move(one) => self.moved(one, fleet, rollout).await?.into(),
            RolloutWrite::Job(one) => self.job(one).await?.into(),
            RolloutWrite::Object(one) => self.object(one).await?,
            RolloutWrite::Hold(one) => self.held(one, fleet, rollout).await?.into(),
            RolloutWrite::Try(one) => self.tried(one, fleet).await?.into(),
        })
    }

    /// Creates a Job. Returns true if more work may be due at once.
    async fn job(&mut self, one: &JobWrite) -> Result<bool, CallError> {
        self.cluster.wait_for_retry_after().await;
        let sent = Instant::now();
        let landed = run_job(self.cluster, one).await?;
        if leaves_open(&landed, "POST") {
            self.add_pending(UnacknowledgedWrite::job(one, (sent, self.clock)));
        }
        Ok(self.ran(one, landed))
    }

    /// Writes another object.
    async fn object(&mut self, one: &ObjectWrite) -> Result<AfterWrite, RolloutError> {
        if let Some(no) = try_made(self.cluster, one).await? {
            return Ok(self.wrote(one, no).into());
        }
        // Right before the write: earlier checks may have been slow.
        self.holds().await?;
        self.cluster.wait_for_retry_after().await;
        match write_object(self.cluster, &self.options.mutated, &mut self.elsewhere, one).await {
            Ok(landed) => {
                // Checks before a deletion may be slow, so the time starts now.
                let sent = (Instant::now(), self.clock);
                // Checks before the write leave no unacknowledged write.
                if leaves_open(&landed, one.call.verb())
                    && let Some(open) = UnacknowledgedWrite::object(self.cluster, one, sent).await
                {
                    self.add_pending(open);
                }
                let opened_gap = one.opens_gap() && matches!(landed, WriteOutcome::Written(_));
                let more = self.wrote(one, landed);
                Ok(if opened_gap { AfterWrite::CloseGap } else { more.into() })
            }
            // The StagedRollout contains the message for the object as well.
            Err(error) if matches!(one.call, ObjectCall::ReportRefusal(_)) => {
                self.may_not(Some(format!("{error}: {RIGHTS}")));
                Ok(AfterWrite::Nothing)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Recreates objects deleted for another one, regardless of other errors. Returns true if more work may be due at
    /// once.
    async fn close(&mut self, gaps: &[RolloutWrite]) -> Result<bool, RolloutError> {
        let (mut any, mut failed) = (false, None);
        for gap in gaps {
            let RolloutWrite::Object(one) = gap else { continue };
            self.paced().await;
            self.holds().await?;
            match self.object(one).await {
                Ok(then) => any |= then != AfterWrite::Nothing,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(any), Err)
    }

    /// Waits until the next write is allowed.
    async fn paced(&mut self) {
        let change = self.pace.next().await;
        self.report_rate(change);
    }

    /// Records a failed call, which may lower the write rate.
    fn failed(&mut self, error: &CallError) {
        let change = self.pace.failed(error);
        self.report_rate(change);
    }

    /// Records a finished call; slow calls lower the write rate.
    fn took(&mut self, call: ApiCallKind, since: Instant) {
        let change = self.pace.took(call, since.elapsed());
        self.report_rate(change);
    }

    fn report_rate(&self, change: Option<RateChange>) {
        if let Some(change) = change {
            (self.report)(RolloutEvent::Pace(change));
        }
    }

    async fn put(&mut self, document: &Value, status: &RolloutStatus) -> Result<Value, CallError> {
        let started = Instant::now();
        let answer = put_status(self.cluster, document, status).await;
        self.took(ApiCallKind::Status, started);
        answer
    }

    /// Ensures that the Lease is held before a write.
    async fn holds(&mut self) -> Result<(), RolloutError> {
        self.cluster.wait_for_retry_after().await;
        if !self.lease.is_fresh()
            && let LeaseState::By { holder: to, .. } = self.lease.hold(self.cluster).await?
        {
            return Err(RolloutError::Lost { name: self.name.to_owned(), to });
        }
        Ok(())
    }

    /// Reports changes of the status.
    async fn report_status(&mut self, document: &Value, status: &RolloutStatus) {
        if let Some(why) = steps_not_compared(&RolloutStatus::of(document), status) {
            (self.report)(RolloutEvent::Noted(why));
        }
        let reported = write_events(self.cluster, self.kind, document, &self.options.holder, self.clock, status).await;
        self.may_not(reported.err().map(|error| format!("{error}: {RIGHTS}")));
    }

    /// Reports missing permissions, once each.
    fn may_not(&mut self, why: impl IntoIterator<Item = String>) {
        for why in why {
            if self.forbidden.insert(why.clone()) {
                (self.report)(RolloutEvent::NotAllowed(why));
            }
        }
    }

    /// Records the outcome of a Job creation. Returns true if more work may be due at once.
    fn ran(&mut self, one: &JobWrite, landed: WriteOutcome) -> bool {
        match landed {
            WriteOutcome::Written(_) | WriteOutcome::Stale => {
                self.allowed(&one.uid);
                (self.report)(RolloutEvent::Ran(format!("{}/{}", one.namespace, one.name), one.of.clone()));
            }
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                self.runner_cache.refused(&one.uid, &why, self.clock.now());
                (self.report)(RolloutEvent::Refused(format!("job {}/{}", one.namespace, one.name), why));
            }
            WriteOutcome::Later(error) => {
                self.later(&one.uid, error);
                return false;
            }
        }
        true
    }

    /// Records the outcome of a write of another object. Returns true if more work may be due at once.
    fn wrote(&mut self, one: &ObjectWrite, landed: WriteOutcome) -> bool {
        match landed {
            WriteOutcome::Written(_) => {
                self.allowed(&one.uid);
                (self.report)(RolloutEvent::Wrote(one.message(), one.of.clone()));
            }
            WriteOutcome::Stale => {
                // Read again after a pause: another client may write it continuously.
                self.runner_cache.allowed(&one.uid);
                return false;
            }
            WriteOutcome::NotYet(why) => {
                self.runner_cache.not_yet(&one.uid, &why, self.clock.now());
                (self.report)(RolloutEvent::NotYet(why));
                return false;
            }
            WriteOutcome::Refused(why) => {
                // A write that closes a gap is repeated continuously: a refusal is reported once.
                let is_known = self.runner_cache.is_refused(&one.uid, &why);
                self.runner_cache.refused(&one.uid, &why, self.clock.now());
                if !is_known {
                    (self.report)(RolloutEvent::Refused(one.title(), why));
                }
                return !is_known;
            }
            WriteOutcome::Later(error) => {
                // If no retry succeeds, the reason is known.
                self.runner_cache.failed(&one.uid, &format!("{}: {}", one.title(), error.message()));
                self.later(&one.uid, error);
                return false;
            }
        }
        true
    }

    /// Records an unacknowledged write.
    fn add_pending(&mut self, one: UnacknowledgedWrite) {
        (self.report)(RolloutEvent::Noted(one.message()));
        self.open.add(one);
        self.lease.outlasts_calls(true);
    }

    /// Records an accepted write for an object.
    fn allowed(&mut self, uid: &str) {
        self.behind.remove(uid);
        self.runner_cache.allowed(uid);
    }

    /// Records a temporary failure of a write for an object.
    fn later(&mut self, uid: &str, error: CallError) {
        let last = self.behind.values().max().copied().unwrap_or_default();
        self.behind.insert(uid.to_owned(), last + 1);
        self.failed(&error);
        self.trouble = Some(error.message());
        (self.report)(RolloutEvent::Trying(error));
    }

    /// Writes an object, and records the duration.
    async fn written(&mut self, one: &ObjectPatch, fleet: &Fleet) -> Result<WriteOutcome, CallError> {
        let started = Instant::now();
        let landed = write(self.cluster, fleet, one, WriteMode::Write).await;
        self.took(ApiCallKind::Object, started);
        if landed.as_ref().is_ok_and(|landed| leaves_open(landed, "PATCH")) {
            self.add_pending(UnacknowledgedWrite::of_fleet(fleet, one, (started, self.clock)));
        }
        landed
    }

    /// Moves an object. Returns true if more work may be due at once.
    async fn moved(&mut self, one: &ObjectPatch, fleet: &mut Fleet, rollout: &Rollout) -> Result<bool, RolloutError> {
        let is_tried = one.notes() && (rollout.has_workflows() || self.keeps_annotations != Some(true));
        let stands_against = match is_tried {
            true => try_write(self.cluster, fleet, one).await?,
            false => None,
        };
        let landed = match stands_against {
            Some(no) => no,
            None => {
                // Earlier checks may have been slow.
                self.holds().await?;
                self.written(one, fleet).await?
            }
        };
        match landed {
            WriteOutcome::Written(now) => {
                self.allowed(&one.uid);
                fleet.wrote(&now, rollout);
                (self.report)(RolloutEvent::Moved(one.title()));
                self.check_annotation(one, &now, rollout);
            }
            WriteOutcome::Stale => self.overtaken(one, fleet, rollout).await?,
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                self.runner_cache.refused(&one.uid, &why, self.clock.now());
                (self.report)(RolloutEvent::Refused(one.title(), why));
            }
            WriteOutcome::Later(error) => {
                self.later(&one.uid, error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads an object again after a conflict with another client: its controller, whose last write the move records,
    /// or a client that moved or replaced it.
    async fn overtaken(&mut self, one: &ObjectPatch, fleet: &mut Fleet, rollout: &Rollout) -> Result<(), RolloutError> {
        self.runner_cache.overtaken(&one.uid);
        let reads = fleet.read_again(self.cluster, rollout, one);
        match self.lease.while_renewing(self.cluster, reads).await? {
            Again::SameVersion => {}
            Again::OtherVersion => (self.report)(RolloutEvent::Replaced(one.title())),
            Again::Deleted => {
                (self.report)(RolloutEvent::Replaced(one.title()));
                self.wants_list = true;
            }
        }
        Ok(())
    }

    /// Checks that the annotation of a move was stored. An unrecorded step is repeated with back-off, and an unrecorded
    /// move cannot be undone.
    fn check_annotation(&mut self, one: &ObjectPatch, now: &Value, rollout: &Rollout) {
        match one.unkept(now) {
            Some(why) if rollout.has_workflows() => {
                self.runner_cache.not_yet(&one.uid, &why, self.clock.now());
                (self.report)(RolloutEvent::NotYet(format!("{}: {why}", one.title())));
            }
            Some(why) => {
                self.keeps_annotations = Some(false);
                let then = "so `pointsman rollout undo` will not move this object back: restore the annotation, or move the object by hand";
                (self.report)(RolloutEvent::Noted(format!("{}: {why}: {then}", one.title())));
            }
            None if one.notes() => self.keeps_annotations = self.keeps_annotations.or(Some(true)),
            None => {}
        }
    }

    /// Holds or releases an object. Returns true if more work may be due at once.
    async fn held(&mut self, one: &ObjectPatch, fleet: &mut Fleet, rollout: &Rollout) -> Result<bool, RolloutError> {
        match self.written(one, fleet).await? {
            WriteOutcome::Written(now) => {
                self.behind.remove(&one.uid);
                fleet.wrote(&now, rollout);
                self.check_hold_protection(&now, fleet, rollout).await?;
            }
            WriteOutcome::Stale => self.wants_list = true,
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                self.runner_cache.refused_hold(&one.uid);
                (self.report)(RolloutEvent::Refused(one.title(), why));
            }
            WriteOutcome::Later(error) => {
                self.later(&one.uid, error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks once that the webhook protects held objects, with a dry run of another client's change.
    async fn check_hold_protection(
        &mut self,
        now: &Value,
        fleet: &Fleet,
        rollout: &Rollout,
    ) -> Result<(), RolloutError> {
        let object = FleetObject::of(now, rollout).filter(|_| !self.hold_protection_checked);
        let Some(one) = object.and_then(|object| ObjectPatch::by_another_client(rollout, &object)) else {
            return Ok(());
        };
        if let WriteOutcome::Written(answer) = write(self.cluster, fleet, &one, WriteMode::Try).await? {
            self.hold_protection_checked = true;
            if FleetObject::of(&answer, rollout).is_some_and(|object| object.version() == Some(rollout.to())) {
                let why = "is held, but other clients can still move the object: /mutate is not registered for the object, or an older server without holds responds: run pointsman doctor";
                (self.report)(RolloutEvent::Noted(format!("{} {why}", one.title())));
            }
        }
        Ok(())
    }

    /// Retries a refused object as dry run. Returns true if more work may be due at once.
    async fn tried(&mut self, one: &ObjectPatch, fleet: &Fleet) -> Result<bool, RolloutError> {
        match try_write(self.cluster, fleet, one).await? {
            None | Some(WriteOutcome::Written(_) | WriteOutcome::Stale) => {
                self.allowed(&one.uid);
                return Ok(true);
            }
            Some(WriteOutcome::Refused(why) | WriteOutcome::NotYet(why)) => {
                self.runner_cache.refused(&one.uid, &why, self.clock.now());
            }
            Some(WriteOutcome::Later(error)) => self.failed(&error),
        }
        Ok(false)
    }
}

/// True if a write with this method is unacknowledged.
fn leaves_open(landed: &WriteOutcome, method: &str) -> bool {
    let WriteOutcome::Later(error) = landed else { return false };
    error.leaves_open() && error.operation().is_some_and(|operation| operation.starts_with(method))
}

/// Lookups that need current data, and lookups that may be some seconds old: in other clusters, and for waits before an
/// object begins.
fn lookups(
    rollout: &Rollout,
    status: &RolloutStatus,
    objects: &[FleetObject],
) -> (Vec<LookupRequest>, Vec<LookupRequest>) {
    let of_steps = step_lookups(rollout, status, objects).into_iter();
    let (now, mut slowly): (Vec<_>, Vec<_>) = of_steps.partition(|lookup| lookup.cluster.is_none());
    let known: BTreeSet<String> = now.iter().chain(&slowly).map(LookupRequest::id).collect();
    let waiting = initial_wait_lookups(rollout, status, objects).into_iter();
    slowly.extend(waiting.filter(|lookup| !known.contains(&lookup.id())));
    (now, slowly)
}

/// Shortest interval of plans: changes within a second share one status write.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// Longest interval: a holder without renewal for 15 s loses the rollout.
const SELDOM: Duration = Duration::from_secs(5);

/// Time to process events that have already arrived.
const GLANCE: Duration = Duration::from_millis(10);

/// Retry interval for a refused rollout.
pub(super) const AGAIN: Duration = Duration::from_secs(30);

/// Maximum pause for `Retry-After`.
const LONGEST: Duration = Duration::from_secs(15);
