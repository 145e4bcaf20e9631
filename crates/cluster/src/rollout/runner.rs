//! The loop that runs a rollout: look, plan, write, again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pointsman_core::definition::{HttpAddress, Kind, MutatedKind};
use pointsman_core::rollout::{
    BadRollout, ObjectPatch, FleetObject, Rollout, JobWrite, ObjectCall, ObjectWrite, RateChange, RunnerCache,
    LookupResults, PlanInput, RolloutPhase, RolloutPlan, LookupRequest, RolloutStatus, RolloutWrite, ObjectState,
    ApiCallKind, answered_rollout, asks_for_others, formers, missing_mutations, plan, stays_over, step_questions,
    steps_not_compared, waiting_questions,
};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use super::object_steps::{try_made, write_beside};
use super::clock::RolloutClock;
use super::controllers::ControllerLeases;
use super::remote_lookups::RemoteLookups;
use super::error::RolloutError;
use super::events::tell_events;
use super::fleet::{Again, Fleet};
use super::freeze::unfrozen;
use super::lease::{LeaseState, RolloutLease};
use super::local_times::local_times;
use super::lookups::{Compiled, LookupCache, look_up_more};
use super::other_rollouts::others;
use super::pending_writes::{PendingWrites, UnacknowledgedWrite};
use super::status_store::{get_rollout, put_status};
use super::write_pace::WritePace;
use super::writes::{WriteOutcome, WriteMode, in_turn, run_job, try_write, write};
use crate::call_error::{CallError, RIGHTS, is_about_rights};
use crate::cluster::Cluster;

/// How rollouts are run.
#[derive(Clone, Debug)]
pub struct RolloutOptions {
    /// End once there is nothing left to do but to wait for others.
    pub once: bool,
    /// Who runs it: no two processes at a time by one name.
    pub holder: String,
    /// Where the Lease is.
    pub namespace: String,
    /// The Prometheus of the cluster, for checks that ask it.
    pub prometheus: Option<HttpAddress>,
    /// Definitions of stages, for steps that wait until one has seen an object.
    pub mutated: Vec<MutatedKind>,
}

/// What happens while a rollout is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RolloutEvent {
    /// Somebody else runs it; this one takes over when they are gone.
    WaitsFor(String),
    /// The status was written.
    Status(Box<RolloutStatus>),
    /// An object was moved.
    Moved(String),
    /// A Job of a step was made, or was there already: its namespace and name, and what it is about.
    Ran(String, String),
    /// A step did something to another object: what, and what it is about.
    Wrote(String, String),
    /// A step did something to another object, and that is not what it is to be yet: which, and why.
    NotYet(String),
    /// An object is another one by now, or was moved by somebody else.
    Replaced(String),
    /// An object cannot be moved: who says so, and why.
    Refused(String, String),
    /// A call failed that may succeed in a moment.
    Trying(CallError),
    /// Objects are written slower from now on, or faster again, and why.
    Pace(RateChange),
    /// Something that somebody should know, in words. It goes on.
    Noted(String),
    /// Whoever runs it may not do or read this, in words; each is said once. What does not take it goes on.
    NotAllowed(String),
    /// It is not run any more, or was not begun, and why.
    Left(String),
    /// It has come to an end, or, where it is run once, only waits.
    Ended(Box<RolloutStatus>),
}

/// Runs a rollout until it is over, `stop` says so, or, with `once`, until only others can do something. It can be
/// killed at any point and run again.
///
/// # Errors
/// [`RolloutError`]. A rollout that is paused or refused is no error: its status says so.
pub async fn run_rollout(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RolloutOptions,
    say: &dyn Fn(RolloutEvent),
    stop: &dyn Fn() -> bool,
) -> Result<RolloutStatus, RolloutError> {
    run_beside(cluster, kind, name, options, say, stop, &Mutex::new(())).await
}

/// The same beside other rollouts. `begins` is held while one begins: each has to see which others have.
pub(super) async fn run_beside(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RolloutOptions,
    say: &dyn Fn(RolloutEvent),
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
        looked_up: LookupCache::nothing(options.prometheus.as_ref()),
        elsewhere: RemoteLookups::default(),
        fleet: None,
        rollout: None,
        spec: Value::Null,
        wants_list: true,
        remembered: RunnerCache::default(),
        trouble: None,
        pace: WritePace::start(clock),
        forbidden: BTreeSet::new(),
        keeps_marks: None,
        knows_who_keeps: false,
        begins,
        has_begun: false,
        open: PendingWrites::default(),
        behind: BTreeMap::new(),
        say,
    };
    let ended = runner.run(stop).await;
    if let Err(error) = &ended {
        runner.waits_out(error, stop).await;
    }
    runner.releases().await;
    ended
}

/// A rollout that is run.
struct RolloutRunner<'r> {
    cluster: &'r Cluster,
    kind: &'r Kind,
    name: &'r str,
    options: &'r RolloutOptions,
    clock: RolloutClock,
    lease: RolloutLease,
    controllers: ControllerLeases,
    looked_up: LookupCache,
    elsewhere: RemoteLookups,
    fleet: Option<Fleet>,
    /// The StagedRollout, as it was when the fleet was looked at.
    rollout: Option<Rollout>,
    /// What the StagedRollout said when the fleet was listed.
    spec: Value,
    /// The fleet has to be listed before anything else.
    wants_list: bool,
    remembered: RunnerCache,
    trouble: Option<String>,
    pace: WritePace,
    /// What was said that whoever runs it may not do.
    forbidden: BTreeSet<String>,
    /// Whether the mark of each move was stored as it was written, so far: then a fleet that is moved by labels is not
    /// asked about each.
    keeps_marks: Option<bool>,
    /// Whether anybody keeps others from moving what is held was asked, and said.
    knows_who_keeps: bool,
    begins: &'r Mutex<()>,
    /// It has begun just now, and has written nothing else: others may have done so at the same moment.
    has_begun: bool,
    /// What was sent and not answered, and may still come.
    open: PendingWrites,
    /// Whose writes failed, and might have succeeded, by uid, and as the how many-th: they come last, in that order.
    behind: BTreeMap<String, usize>,
    say: &'r dyn Fn(RolloutEvent),
}

/// What was written.
struct Wrote {
    /// The status as it is then.
    status: RolloutStatus,
    /// Whether anything was.
    any: bool,
    /// Whether objects were moved, as many as were planned.
    moved: bool,
    /// Whether somebody has written the StagedRollout since it was read: its status is of yesterday.
    stale: bool,
}

/// What a write leaves to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AfterWrite {
    /// Nothing, or not now.
    Nothing,
    /// There may be more to do at once.
    More,
    /// It opened a gap. What closes it comes next, before anything that might have to be waited for.
    CloseGap,
}

impl From<bool> for AfterWrite {
    fn from(more: bool) -> Self {
        if more { Self::More } else { Self::Nothing }
    }
}

/// How a pass went.
struct ReconcileResult {
    status: RolloutStatus,
    /// Whether there may be more to do at once.
    goes_on: bool,
    /// Whether time alone brings something to do.
    settles: bool,
    /// Whether objects were moved: whoever looks at them at once finds some of them healthy, and not yet the others.
    moved: bool,
    /// Whether the status is of yesterday.
    stale: bool,
    took: Duration,
}

impl<'r> RolloutRunner<'r> {
    async fn run(&mut self, stop: &dyn Fn() -> bool) -> Result<RolloutStatus, RolloutError> {
        let mut told = String::new();
        let mut last = RolloutStatus::default();
        while !stop() {
            self.cluster.may_be_asked().await;
            if !self.lease.is_fresh() {
                match self.lease.hold(self.cluster).await {
                    Ok(LeaseState::Held) => {}
                    Ok(LeaseState::By { holder: by, is_alive }) => {
                        // Whoever was killed renews nothing: then it is taken over, also by whoever runs it once.
                        if self.options.once && is_alive {
                            return Err(RolloutError::Held { name: self.name.to_owned(), by });
                        }
                        if told != by {
                            (self.say)(RolloutEvent::WaitsFor(by.clone()));
                            told = by;
                        }
                        sleep(LOOK).await;
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
                    sleep(LOOK).await;
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
            // Where the fleet has to be listed first, nothing is decided yet.
            let refused = matches!(last.phase, RolloutPhase::Refused | RolloutPhase::Pending) && !self.wants_list;
            let waits = self.options.once && !passed.goes_on && !passed.settles;
            if self.open.is_empty() && (last.is_over() || refused || waits) {
                return Ok(last);
            }
            if !passed.goes_on || (passed.moved && !self.options.once) {
                // A fleet that takes long to look at is looked at less often; the Lease has to be renewed all the same.
                self.listen((passed.took * 5).clamp(LOOK, SELDOM)).await?;
            }
        }
        Ok(last)
    }

    /// Whether something may still come that was not answered. Until then nothing is done that it could stand beside,
    /// or undo.
    async fn awaits_answers(&mut self) -> Result<bool, RolloutError> {
        if !self.open.is_waited_for() {
            return Ok(false);
        }
        // What closes a gap is sent again.
        self.holds().await?;
        let settles = async {
            self.open.settle(self.cluster, self.clock).await;
            Ok::<(), RolloutError>(())
        };
        self.lease.beside(self.cluster, settles).await?;
        let document = get_rollout(self.cluster, self.name).await?;
        let before = RolloutStatus::of(&document);
        let now = self.open.told(&before, self.clock.now());
        if now != before {
            self.holds().await?;
            match self.put(&document, &now).await {
                // Somebody has written it: it is read again in a moment.
                Err(error) if error.code() == Some(409) => return Ok(true),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
        }
        self.open.was_told();
        if !self.open.is_waited_for() {
            // What has come is not known from what was heard, and what was in the way is there no more.
            (self.wants_list, self.trouble) = (true, None);
        }
        Ok(self.open.is_waited_for())
    }

    /// Waits, after an error, until nothing comes any more: who begins again at once, in this process, would not know
    /// of it. Where somebody else has the rollout, or it cannot be asked, only time is waited for.
    async fn waits_out(&mut self, error: &RolloutError, stop: &dyn Fn() -> bool) {
        let mut is_ours = !matches!(error, RolloutError::Lost { .. });
        while !stop() && !self.open.is_empty() {
            if is_ours && let Err(error) = self.awaits_answers().await {
                is_ours = !matches!(error, RolloutError::Lost { .. });
            }
            self.open.forget_late();
            sleep(LOOK).await;
        }
    }

    /// Lets the Lease go, unless somebody who takes it at once could undo what is still being made.
    async fn releases(&mut self) {
        if self.open.is_empty() {
            self.lease.release(self.cluster).await;
        } else if self.lease.is_held() {
            // For how long it is kept is said; where that fails, it was said before by whoever makes objects.
            let _ = self.lease.hold(self.cluster).await;
        }
    }

    /// Waits a moment, where an error passes.
    async fn passes(&mut self, error: RolloutError) -> Result<(), RolloutError> {
        match error {
            RolloutError::Call(call) if call.passes() && !self.options.once => {
                let pause = call.retry_after().unwrap_or(LOOK).clamp(LOOK, LONGEST);
                self.failed(&call);
                (self.say)(RolloutEvent::Trying(call));
                sleep(pause).await;
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Waits a moment after a pass that failed, where it may be better then. Returns the status where it only waits for
    /// somebody, and is run once.
    async fn recovers(&mut self, error: RolloutError) -> Result<Option<RolloutStatus>, RolloutError> {
        let told = match error {
            RolloutError::Bad(bad) => self.unreadable(bad).await,
            error => Err(error),
        };
        match told {
            Ok(paused) => Ok(paused.filter(|_| self.options.once)),
            Err(error) => self.passes(error).await.map(|()| None),
        }
    }

    /// Nobody can read what the StagedRollout says: its status says so where it is under way, and it is read again in a
    /// moment. Meanwhile somebody else may run it, who knows more.
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
                // An API server that would not take it any more takes no status of it either.
                Err(error) if error.code() == Some(422) => return Err(bad.into()),
                Err(error) => return Err(error.into()),
            }
            self.tells(&document, &paused).await;
            (self.say)(RolloutEvent::Status(Box::new(paused.clone())));
        }
        if !self.options.once {
            self.releases().await;
            sleep(SELDOM).await;
        }
        Ok(Some(paused))
    }

    /// Waits for so long, and listens to what becomes of the fleet meanwhile.
    async fn listen(&mut self, patience: Duration) -> Result<(), RolloutError> {
        let (Some(fleet), Some(rollout)) = (self.fleet.as_mut(), self.rollout.as_ref()) else {
            sleep(patience).await;
            return Ok(());
        };
        match self.lease.beside(self.cluster, fleet.listen(self.cluster, rollout, patience)).await {
            Ok(all) => {
                self.wants_list |= !all;
                Ok(())
            }
            Err(error) => self.passes(error).await,
        }
    }

    /// One look, one plan, and its writes.
    async fn pass(&mut self) -> Result<ReconcileResult, RolloutError> {
        let began = Instant::now();
        let asked = Instant::now();
        let document = get_rollout(self.cluster, self.name).await?;
        self.took(ApiCallKind::Look, asked);
        let rollout = answered_rollout(&document, self.kind)?;
        self.lease.outlasts_calls(rollout.makes_objects());
        let status = RolloutStatus::of(&document);
        if let Some(why) = missing_mutations(&rollout, &status, &self.options.mutated) {
            return Err(RolloutError::Asked(why));
        }
        let consistent = self.look(&document, &rollout, &status).await?;
        let _begins = self.begins_alone(&rollout, &status).await?;
        let facts = self.facts(&document, &rollout, &status, consistent).await?;
        if let Some(why) = stays_over(&rollout, &status, &facts) {
            return Err(RolloutError::Asked(why));
        }
        self.may_not(facts.answers.unread().filter(|why| is_about_rights(why)).map(str::to_owned));
        let Some(mut fleet) = self.fleet.take() else {
            return Err(RolloutError::NoRollout { name: self.name.to_owned(), meant: String::new() });
        };
        let passed = self.decide(document, &rollout, &mut fleet, facts, began).await;
        // What is known of it is not known less for a call that failed.
        (self.fleet, self.rollout) = (Some(fleet), Some(rollout));
        passed
    }

    /// Waits until no other rollout of this process begins, where this one does, or turns after its end.
    async fn begins_alone(
        &mut self,
        rollout: &Rollout,
        status: &RolloutStatus,
    ) -> Result<Option<MutexGuard<'r, ()>>, RolloutError> {
        let begins = self.begins;
        if !asks_for_others(rollout, status) {
            return Ok(None);
        }
        let alone = async { Ok::<_, RolloutError>(begins.lock().await) };
        self.lease.beside(self.cluster, alone).await.map(Some)
    }

    /// What has to be known beside the fleet.
    async fn facts(
        &mut self,
        document: &Value,
        rollout: &Rollout,
        status: &RolloutStatus,
        consistent: bool,
    ) -> Result<PlanInput, RolloutError> {
        let shut = self.controllers.shut(self.cluster, rollout, status, self.clock).await?;
        if consistent && rollout.asks_others() {
            // What is said at the end stays.
            self.looked_up.forget();
        }
        let asked = self.looked_up.answers(self.cluster, self.kind, rollout, status);
        let mut answers = self.lease.beside(self.cluster, asked).await?;
        let objects = self.fleet.as_ref().map_or(&[][..], |fleet| fleet.objects.as_slice());
        let known = Compiled { kind: self.kind, mutated: &self.options.mutated };
        let (now, slowly) = questions(rollout, status, objects);
        let looks = look_up_more(self.cluster, known, &now, &mut answers);
        self.lease.beside(self.cluster, looks).await?;
        self.elsewhere.forget(&now);
        // Whoever runs it once waits as long as an answer may take.
        let patience = if self.options.once { SELDOM * 3 } else { LOOK };
        let looks = async {
            self.elsewhere.tell(self.cluster, &slowly, patience, &mut answers).await;
            Ok::<(), RolloutError>(())
        };
        self.lease.beside(self.cluster, looks).await?;
        Ok(PlanInput {
            remembered: self.remembered.clone(),
            consistent,
            shut,
            local: local_times(rollout, self.clock.now()),
            others: self.others(document, rollout, status, &answers).await?,
            unfrozen: if status.started.is_none() { unfrozen(self.cluster, rollout).await? } else { None },
            answers,
            ahead: false,
            trouble: self.trouble.take(),
        })
    }

    /// Other rolls over the same objects, where that has to be known.
    async fn others(
        &mut self,
        document: &Value,
        rollout: &Rollout,
        status: &RolloutStatus,
        answers: &LookupResults,
    ) -> Result<Vec<(String, Vec<String>)>, RolloutError> {
        if !asks_for_others(rollout, status) && !self.has_begun {
            return Ok(Vec::new());
        }
        let there = self.fleet.as_ref().map_or(&[][..], |fleet| fleet.objects.as_slice());
        let gone = formers(rollout, status, there, answers);
        let found = others(self.cluster, self.kind, document, there.iter().chain(&gone)).await?;
        self.has_begun = false;
        Ok(found)
    }

    /// One plan, and its writes.
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
        let settles = planned.defers || planned.standings.contains(&ObjectState::Settling);
        let goes_on = planned.wants_list;
        let before = std::mem::replace(&mut self.remembered, planned.remembered.clone());
        let wrote = self.write(document, fleet, rollout, planned).await?;
        if self.has_begun {
            // What was planned beside that was not written: the next plan has it again.
            self.remembered = before;
        }
        let goes_on = (goes_on || wrote.any) && !had_trouble && self.trouble.is_none();
        // After trouble, what is in the way is told by the next plan.
        let settles = settles || (self.trouble.is_some() && !had_trouble);
        let Wrote { status, moved, stale, .. } = wrote;
        Ok(ReconcileResult { status, goes_on, settles, moved, stale, took })
    }

    /// Looks at the fleet: all of it where the plan wants it, or somebody has changed the StagedRollout; else what was
    /// heard of it since. Returns whether it is all of it as of now.
    async fn look(
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
            && self.lease.beside(self.cluster, fleet.listen(self.cluster, rollout, GLANCE)).await?
        {
            return Ok(false);
        }
        self.wants_list = true;
        // Two fleets in memory would be the most that is ever held.
        self.fleet = None;
        self.fleet =
            Some(self.lease.beside(self.cluster, Fleet::list(self.cluster, self.kind, rollout, status)).await?);
        (self.spec, self.wants_list) = (spec, false);
        Ok(true)
    }

    /// Plans what is to be written. What nothing else guards is decided by what an object is now, and not by what was
    /// heard of it some time ago.
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
            if !self.lease.beside(self.cluster, again).await? {
                return Ok(planned);
            }
        }
    }

    /// Writes what was planned, in its order.
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
                // Whoever pauses the rollout does not wait for hundreds of them.
                if began.get_or_insert_with(Instant::now).elapsed() > LOOK {
                    return Ok(Wrote { any: true, moved: false, ..wrote });
                }
                self.paced().await;
            }
            self.holds().await?;
            match next {
                RolloutWrite::Status(status) => match self.put(&document, &status).await {
                    Ok(now) => {
                        self.tells(&document, &status).await;
                        self.has_begun = RolloutStatus::of(&document).started.is_none() && status.started.is_some();
                        document = now;
                        wrote.any = true;
                        (self.say)(RolloutEvent::Status(status));
                        if self.has_begun {
                            // Nothing is moved before it is known that no other one has begun at the same moment.
                            return Ok(wrote);
                        }
                    }
                    // Somebody has approved, paused or resumed it: what was planned is of yesterday.
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

    /// Writes what is no status.
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

    /// Makes a Job. Returns whether there may be more to do at once.
    async fn job(&mut self, one: &JobWrite) -> Result<bool, CallError> {
        self.cluster.may_be_asked().await;
        let sent = Instant::now();
        let landed = run_job(self.cluster, one).await?;
        if leaves_open(&landed, "POST") {
            self.may_come(UnacknowledgedWrite::job(one, (sent, self.clock)));
        }
        Ok(self.ran(one, landed))
    }

    /// Writes another object.
    async fn object(&mut self, one: &ObjectWrite) -> Result<AfterWrite, RolloutError> {
        if let Some(no) = try_made(self.cluster, one).await? {
            return Ok(self.wrote(one, no).into());
        }
        // Right before it is written: what was asked before may have taken long.
        self.holds().await?;
        self.cluster.may_be_asked().await;
        match write_beside(self.cluster, &self.options.mutated, &mut self.elsewhere, one).await {
            Ok(landed) => {
                // Before a deletion more is asked, and that may take long. So it counts from now.
                let sent = (Instant::now(), self.clock);
                // What is asked before it is written leaves nothing open.
                if leaves_open(&landed, one.call.verb())
                    && let Some(open) = UnacknowledgedWrite::object(self.cluster, one, sent).await
                {
                    self.may_come(open);
                }
                let opened_gap = one.opens_gap() && matches!(landed, WriteOutcome::Written(_));
                let more = self.wrote(one, landed);
                Ok(if opened_gap { AfterWrite::CloseGap } else { more.into() })
            }
            // What is told an object is said in the StagedRollout as well.
            Err(error) if matches!(one.call, ObjectCall::Tell(_)) => {
                self.may_not(Some(format!("{error}: {RIGHTS}")));
                Ok(AfterWrite::Nothing)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was deleted for another one is followed by that, whatever becomes of others and of anything else. Returns
    /// whether there may be more to do at once.
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

    /// Waits until the next write may be made.
    async fn paced(&mut self) {
        let change = self.pace.next().await;
        self.tell(change);
    }

    /// A call failed: who is too busy is written to slower.
    fn failed(&mut self, error: &CallError) {
        let change = self.pace.failed(error);
        self.tell(change);
    }

    /// A call has ended: who takes longer than at the beginning is written to slower.
    fn took(&mut self, call: ApiCallKind, since: Instant) {
        let change = self.pace.took(call, since.elapsed());
        self.tell(change);
    }

    fn tell(&self, change: Option<RateChange>) {
        if let Some(change) = change {
            (self.say)(RolloutEvent::Pace(change));
        }
    }

    async fn put(&mut self, document: &Value, status: &RolloutStatus) -> Result<Value, CallError> {
        let asked = Instant::now();
        let answer = put_status(self.cluster, document, status).await;
        self.took(ApiCallKind::Status, asked);
        answer
    }

    /// Nothing is written without the Lease.
    async fn holds(&mut self) -> Result<(), RolloutError> {
        self.cluster.may_be_asked().await;
        if !self.lease.is_fresh()
            && let LeaseState::By { holder: to, .. } = self.lease.hold(self.cluster).await?
        {
            return Err(RolloutError::Lost { name: self.name.to_owned(), to });
        }
        Ok(())
    }

    /// Tells what is new in the status.
    async fn tells(&mut self, document: &Value, status: &RolloutStatus) {
        if let Some(why) = steps_not_compared(&RolloutStatus::of(document), status) {
            (self.say)(RolloutEvent::Noted(why));
        }
        let told = tell_events(self.cluster, self.kind, document, &self.options.holder, self.clock, status).await;
        self.may_not(told.err().map(|error| format!("{error}: {RIGHTS}")));
    }

    /// Says what whoever runs this may not do, each once.
    fn may_not(&mut self, why: impl IntoIterator<Item = String>) {
        for why in why {
            if self.forbidden.insert(why.clone()) {
                (self.say)(RolloutEvent::NotAllowed(why));
            }
        }
    }

    /// What came of it that a Job was to be made. Returns whether there may be more to do at once.
    fn ran(&mut self, one: &JobWrite, landed: WriteOutcome) -> bool {
        match landed {
            WriteOutcome::Written(_) | WriteOutcome::Stale => {
                self.allowed(&one.uid);
                (self.say)(RolloutEvent::Ran(format!("{}/{}", one.namespace, one.name), one.of.clone()));
            }
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                self.remembered.refused(&one.uid, &why, self.clock.now());
                (self.say)(RolloutEvent::Refused(format!("job {}/{}", one.namespace, one.name), why));
            }
            WriteOutcome::Later(error) => {
                self.later(&one.uid, error);
                return false;
            }
        }
        true
    }

    /// What came of it that something was to be done to another object. Returns whether there may be more to do at
    /// once.
    fn wrote(&mut self, one: &ObjectWrite, landed: WriteOutcome) -> bool {
        match landed {
            WriteOutcome::Written(_) => {
                self.allowed(&one.uid);
                (self.say)(RolloutEvent::Wrote(one.told(), one.of.clone()));
            }
            WriteOutcome::Stale => {
                // It is looked at again in a moment, and not at once: whoever writes it may do so all the time.
                self.remembered.allowed(&one.uid);
                return false;
            }
            WriteOutcome::NotYet(why) => {
                self.remembered.not_yet(&one.uid, &why, self.clock.now());
                (self.say)(RolloutEvent::NotYet(why));
                return false;
            }
            WriteOutcome::Refused(why) => {
                // What closes a gap is tried all the time: it is said once, and not at once again.
                let is_known = self.remembered.is_refused(&one.uid, &why);
                self.remembered.refused(&one.uid, &why, self.clock.now());
                if !is_known {
                    (self.say)(RolloutEvent::Refused(one.title(), why));
                }
                return !is_known;
            }
            WriteOutcome::Later(error) => {
                // Where it is never done it is known why.
                self.remembered.failed(&one.uid, &format!("{}: {}", one.title(), error.message()));
                self.later(&one.uid, error);
                return false;
            }
        }
        true
    }

    /// Something was sent, and may still come.
    fn may_come(&mut self, one: UnacknowledgedWrite) {
        (self.say)(RolloutEvent::Noted(one.told()));
        self.open.add(one);
        self.lease.outlasts_calls(true);
    }

    /// Something was written for an object, and nobody minds any more.
    fn allowed(&mut self, uid: &str) {
        self.behind.remove(uid);
        self.remembered.allowed(uid);
    }

    /// A write for an object failed that may succeed in a moment.
    fn later(&mut self, uid: &str, error: CallError) {
        let last = self.behind.values().max().copied().unwrap_or_default();
        self.behind.insert(uid.to_owned(), last + 1);
        self.failed(&error);
        self.trouble = Some(error.message());
        (self.say)(RolloutEvent::Trying(error));
    }

    /// Writes an object, and notes how long that took.
    async fn written(&mut self, one: &ObjectPatch, fleet: &Fleet) -> Result<WriteOutcome, CallError> {
        let asked = Instant::now();
        let landed = write(self.cluster, fleet, one, WriteMode::Write).await;
        self.took(ApiCallKind::Object, asked);
        if landed.as_ref().is_ok_and(|landed| leaves_open(landed, "PATCH")) {
            self.may_come(UnacknowledgedWrite::of_fleet(fleet, one, (asked, self.clock)));
        }
        landed
    }

    /// Moves an object. Returns whether there may be more to do at once.
    async fn moved(
        &mut self,
        one: &ObjectPatch,
        fleet: &mut Fleet,
        rollout: &Rollout,
    ) -> Result<bool, RolloutError> {
        let is_tried = one.notes() && (rollout.has_workflows() || self.keeps_marks != Some(true));
        let stands_against = match is_tried {
            true => try_write(self.cluster, fleet, one).await?,
            false => None,
        };
        let landed = match stands_against {
            Some(no) => no,
            None => {
                // What was asked before may have taken long.
                self.holds().await?;
                self.written(one, fleet).await?
            }
        };
        match landed {
            WriteOutcome::Written(now) => {
                self.allowed(&one.uid);
                fleet.wrote(&now, rollout);
                (self.say)(RolloutEvent::Moved(one.title()));
                self.notes_mark(one, &now, rollout);
            }
            WriteOutcome::Stale => self.overtaken(one, fleet, rollout).await?,
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                self.remembered.refused(&one.uid, &why, self.clock.now());
                (self.say)(RolloutEvent::Refused(one.title(), why));
            }
            WriteOutcome::Later(error) => {
                self.later(&one.uid, error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads an object again that another client has written since it was read: its controller, whose last write is
    /// recorded with the move, or another one, which has moved or replaced it.
    async fn overtaken(
        &mut self,
        one: &ObjectPatch,
        fleet: &mut Fleet,
        rollout: &Rollout,
    ) -> Result<(), RolloutError> {
        self.remembered.overtaken(&one.uid);
        let reads = fleet.read_again(self.cluster, rollout, one);
        match self.lease.beside(self.cluster, reads).await? {
            Again::SameVersion => {}
            Again::OtherVersion => (self.say)(RolloutEvent::Replaced(one.title())),
            Again::Gone => {
                (self.say)(RolloutEvent::Replaced(one.title()));
                self.wants_list = true;
            }
        }
        Ok(())
    }

    /// Looks whether the mark of a move was stored: a step that is not noted is taken again, but not again and again,
    /// and what is moved without one is not taken back.
    fn notes_mark(&mut self, one: &ObjectPatch, now: &Value, rollout: &Rollout) {
        match one.unkept(now) {
            Some(why) if rollout.has_workflows() => {
                self.remembered.not_yet(&one.uid, &why, self.clock.now());
                (self.say)(RolloutEvent::NotYet(format!("{}: {why}", one.title())));
            }
            Some(why) => {
                self.keeps_marks = Some(false);
                let then = "`pointsman rollout undo` will not know that it was moved";
                (self.say)(RolloutEvent::Noted(format!("{}: {why}: {then}", one.title())));
            }
            None if one.notes() => self.keeps_marks = self.keeps_marks.or(Some(true)),
            None => {}
        }
    }

    /// Holds an object, or lets it go. Returns whether there may be more to do at once.
    async fn held(&mut self, one: &ObjectPatch, fleet: &mut Fleet, rollout: &Rollout) -> Result<bool, RolloutError> {
        match self.written(one, fleet).await? {
            WriteOutcome::Written(now) => {
                self.behind.remove(&one.uid);
                fleet.wrote(&now, rollout);
                self.asks_who_keeps(&now, fleet, rollout).await?;
            }
            WriteOutcome::Stale => self.wants_list = true,
            WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => {
                self.remembered.refused_hold(&one.uid);
                (self.say)(RolloutEvent::Refused(one.title(), why));
            }
            WriteOutcome::Later(error) => {
                self.later(&one.uid, error);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Says once whether anybody keeps others from moving what is held, by a dry run of what they would do to the first
    /// one.
    async fn asks_who_keeps(&mut self, now: &Value, fleet: &Fleet, rollout: &Rollout) -> Result<(), RolloutError> {
        let object = FleetObject::of(now, rollout).filter(|_| !self.knows_who_keeps);
        let Some(one) = object.and_then(|object| ObjectPatch::by_somebody_else(rollout, &object)) else { return Ok(()) };
        if let WriteOutcome::Written(answer) = write(self.cluster, fleet, &one, WriteMode::Try).await? {
            self.knows_who_keeps = true;
            if FleetObject::of(&answer, rollout).is_some_and(|object| object.version() == Some(rollout.to())) {
                let why = "is held, and others can move it all the same: /mutate of pointsman serve is not registered for \
                           it, or a server answers that is older than holds";
                (self.say)(RolloutEvent::Noted(format!("{} {why}", one.title())));
            }
        }
        Ok(())
    }

    /// Asks again about an object that was refused. Returns whether there may be more to do at once.
    async fn tried(&mut self, one: &ObjectPatch, fleet: &Fleet) -> Result<bool, RolloutError> {
        match try_write(self.cluster, fleet, one).await? {
            None | Some(WriteOutcome::Written(_) | WriteOutcome::Stale) => {
                self.allowed(&one.uid);
                return Ok(true);
            }
            Some(WriteOutcome::Refused(why) | WriteOutcome::NotYet(why)) => {
                self.remembered.refused(&one.uid, &why, self.clock.now());
            }
            Some(WriteOutcome::Later(error)) => self.failed(&error),
        }
        Ok(false)
    }
}

/// Whether nobody has said what came of a write by this method, so that it may still be done.
fn leaves_open(landed: &WriteOutcome, method: &str) -> bool {
    let WriteOutcome::Later(error) = landed else { return false };
    error.leaves_open() && error.asked().is_some_and(|asked| asked.starts_with(method))
}

/// What has to be known as of now, and what may be some seconds old: what is in other clusters, and what is waited for
/// before an object begins.
fn questions(
    rollout: &Rollout,
    status: &RolloutStatus,
    objects: &[FleetObject],
) -> (Vec<LookupRequest>, Vec<LookupRequest>) {
    let of_steps = step_questions(rollout, status, objects).into_iter();
    let (now, mut slowly): (Vec<_>, Vec<_>) = of_steps.partition(|question| question.cluster.is_none());
    let known: BTreeSet<String> = now.iter().chain(&slowly).map(LookupRequest::id).collect();
    let waiting = waiting_questions(rollout, status, objects).into_iter();
    slowly.extend(waiting.filter(|question| !known.contains(&question.id())));
    (now, slowly)
}

/// How often it is planned, at most: what was heard within a second is decided upon together, by one write of the
/// status.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// How often at least: whoever is not heard of for 15 s has lost the rollout.
const SELDOM: Duration = Duration::from_secs(5);

/// What has arrived by now is heard within this.
const GLANCE: Duration = Duration::from_millis(10);

/// How often a rollout that was refused is looked at again.
pub(super) const AGAIN: Duration = Duration::from_secs(30);

/// How long whoever is away is left alone at most, where it says how long.
const LONGEST: Duration = Duration::from_secs(15);
