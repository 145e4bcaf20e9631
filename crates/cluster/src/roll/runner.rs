//! The loop that runs a roll: look, plan, write, again.

use std::time::{Duration, Instant};

use pointsman_core::definition::{HttpAddress, Kind};
use pointsman_core::roll::{
    FleetMove, FleetRoll, JobWrite, ObjectWrite, Remembered, RollFacts, RollPhase, RollPlan, RollStatus, RollWrite,
    Standing, answered_roll, plan, step_questions,
};
use serde_json::Value;
use tokio::time::sleep;

use super::answering::{LookedUp, look_up_more};
use super::beside::write_beside;
use super::clock::RollClock;
use super::controllers::ControllerLeases;
use super::error::RollError;
use super::events::tell_events;
use super::fleet::Fleet;
use super::freezing::unfrozen;
use super::lease::{Leased, RollLease};
use super::local_times::local_times;
use super::others::others;
use super::store::{get_roll, put_status};
use super::writes::{Landed, Really, run_job, write};
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// How rolls are run.
#[derive(Clone, Debug)]
pub struct RollOptions {
    /// End once there is nothing left to do but to wait for others.
    pub once: bool,
    /// Who runs it: no two processes at a time by one name.
    pub holder: String,
    /// Where the Lease is.
    pub namespace: String,
    /// The Prometheus of the cluster, for checks that ask it.
    pub prometheus: Option<HttpAddress>,
}

/// What happens while a roll is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RollEvent {
    /// Somebody else runs it; this one takes over when they are gone.
    WaitsFor(String),
    /// The status was written.
    Status(Box<RollStatus>),
    /// An object was moved.
    Moved(String),
    /// A Job of a step was made, or was there already: its namespace and name, and what it is about.
    Ran(String, String),
    /// A step did something to another object: what, and what it is about.
    Wrote(String, String),
    /// An object is another one by now, or was moved by somebody else.
    Replaced(String),
    /// An object cannot be moved: who says so, and why.
    Refused(String, String),
    /// A call failed that may succeed in a moment.
    Trying(CallError),
    /// It is not run any more, or was not begun, and why.
    Left(String),
    /// It has come to an end, or, where it is run once, only waits.
    Ended(Box<RollStatus>),
}

/// Runs a roll until it is over, `stop` says so, or, with `once`, until only others can do something. It can be killed
/// at any point and run again.
///
/// # Errors
/// [`RollError`]. A roll that is paused or refused is no error: its status says so.
pub async fn run_roll(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RollOptions,
    say: &dyn Fn(RollEvent),
    stop: &dyn Fn() -> bool,
) -> Result<RollStatus, RollError> {
    let clock = RollClock::start();
    let lease = RollLease::new(name, &options.namespace, &options.holder, clock);
    let mut runner = RollRunner {
        cluster,
        kind,
        name,
        options,
        clock,
        lease,
        controllers: ControllerLeases::default(),
        looked_up: LookedUp::nothing(options.prometheus.as_ref()),
        fleet: None,
        spec: Value::Null,
        listed: None,
        remembered: Remembered::default(),
        trouble: None,
        say,
    };
    let ended = runner.run(stop).await;
    runner.lease.release(cluster).await;
    ended
}

/// A roll that is run.
struct RollRunner<'r> {
    cluster: &'r Cluster,
    kind: &'r Kind,
    name: &'r str,
    options: &'r RollOptions,
    clock: RollClock,
    lease: RollLease,
    controllers: ControllerLeases,
    looked_up: LookedUp,
    fleet: Option<Fleet>,
    /// What the Roll said when the fleet was listed.
    spec: Value,
    listed: Option<Instant>,
    remembered: Remembered,
    trouble: Option<String>,
    say: &'r dyn Fn(RollEvent),
}

/// How a pass went.
struct Passed {
    status: RollStatus,
    /// Whether there may be more to do at once.
    goes_on: bool,
    /// Whether time alone brings something to do.
    settles: bool,
    took: Duration,
}

impl RollRunner<'_> {
    async fn run(&mut self, stop: &dyn Fn() -> bool) -> Result<RollStatus, RollError> {
        let mut told = String::new();
        let mut last = RollStatus::default();
        while !stop() {
            if !self.lease.is_fresh() {
                match self.lease.hold(self.cluster).await {
                    Ok(Leased::Held) => {}
                    Ok(Leased::By(by)) => {
                        if self.options.once {
                            return Err(RollError::Held { name: self.name.to_owned(), by });
                        }
                        if told != by {
                            (self.say)(RollEvent::WaitsFor(by.clone()));
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
            let passed = match self.pass().await {
                Ok(passed) => passed,
                Err(error) => {
                    self.passes(error).await?;
                    continue;
                }
            };
            last = passed.status;
            let refused = last.phase == RollPhase::Refused || last.phase == RollPhase::Pending;
            let waits = self.options.once && !passed.goes_on && !passed.settles;
            if last.is_over() || refused || waits {
                return Ok(last);
            }
            if !passed.goes_on {
                // A fleet that takes long to look at is looked at less often; the Lease has to be renewed all the same.
                sleep((passed.took * 5).clamp(LOOK, SELDOM)).await;
            }
        }
        Ok(last)
    }

    /// Waits a moment, where an error passes.
    async fn passes(&self, error: RollError) -> Result<(), RollError> {
        match error {
            RollError::Call(call) if call.passes() && !self.options.once => {
                let pause = call.retry_after().unwrap_or(LOOK).clamp(LOOK, LONGEST);
                (self.say)(RollEvent::Trying(call));
                sleep(pause).await;
                Ok(())
            }
            error => Err(error),
        }
    }

    /// One look, one plan, and its writes.
    async fn pass(&mut self) -> Result<Passed, RollError> {
        let began = Instant::now();
        let document = get_roll(self.cluster, self.name).await?;
        let roll = answered_roll(&document, self.kind)?;
        let status = RollStatus::of(&document);
        let consistent = self.look(&document, &roll, &status).await?;
        let shut = self.controllers.shut(self.cluster, &roll, &status, self.clock).await?;
        let asked = self.looked_up.answers(self.cluster, self.kind, &roll, &status);
        let mut answers = self.lease.beside(self.cluster, asked).await?;
        let steps = step_questions(&roll, &status, self.fleet.as_ref().map_or(&[], |fleet| fleet.objects.as_slice()));
        let looks = look_up_more(self.cluster, self.kind, &steps, &mut answers);
        self.lease.beside(self.cluster, looks).await?;
        let Some(fleet) = self.fleet.take() else { return Err(RollError::NoRoll(self.name.to_owned())) };
        let facts = RollFacts {
            remembered: self.remembered.clone(),
            consistent,
            shut,
            local: local_times(&roll, self.clock.now()),
            trouble: self.trouble.take(),
            others: match status.started {
                None => others(self.cluster, self.kind, &document, &fleet.objects).await?,
                Some(_) => Vec::new(),
            },
            unfrozen: if status.started.is_none() { unfrozen(self.cluster, &roll).await? } else { None },
            answers,
            ahead: false,
        };
        let had_trouble = facts.trouble.is_some();
        let planned = plan(&roll, &status, &fleet.objects, facts, self.clock.now());
        if planned.wants_list {
            self.listed = None;
        }
        let settles = planned.standings.contains(&Standing::Settling);
        let goes_on = planned.wants_list;
        self.remembered = planned.remembered.clone();
        let (status, wrote) = self.write(document, &fleet, planned).await?;
        self.fleet = Some(fleet);
        let goes_on = (goes_on || wrote) && !had_trouble && self.trouble.is_none();
        // After trouble, what is in the way is told by the next plan.
        let settles = settles || (self.trouble.is_some() && !had_trouble);
        Ok(Passed { status, goes_on, settles, took: began.elapsed() })
    }

    /// Looks at the fleet: all of it now and then, and where the plan wants it; else at what is under way. Returns
    /// whether it is all of it as of now.
    async fn look(&mut self, document: &Value, roll: &FleetRoll, status: &RollStatus) -> Result<bool, RollError> {
        let spec = document.get("spec").cloned().unwrap_or_default();
        let is_known = self.spec == spec && self.listed.is_some_and(|listed| listed.elapsed() < LIST);
        if let Some(fleet) = self.fleet.as_mut().filter(|_| is_known) {
            let uids: Vec<&str> = status.reserved.iter().map(|one| one.uid.as_str()).collect();
            if self.lease.beside(self.cluster, fleet.refresh(self.cluster, roll, &uids)).await? {
                return Ok(false);
            }
        }
        self.fleet = Some(self.lease.beside(self.cluster, Fleet::list(self.cluster, self.kind, roll)).await?);
        (self.spec, self.listed) = (spec, Some(Instant::now()));
        Ok(true)
    }

    /// Writes what was planned, in its order. Returns the status as it is then, and whether anything was written.
    async fn write(
        &mut self,
        mut document: Value,
        fleet: &Fleet,
        planned: RollPlan,
    ) -> Result<(RollStatus, bool), RollError> {
        let mut wrote = false;
        for next in planned.writes {
            if !self.lease.is_fresh()
                && let Leased::By(to) = self.lease.hold(self.cluster).await?
            {
                return Err(RollError::Lost { name: self.name.to_owned(), to });
            }
            match next {
                RollWrite::Status(status) => match put_status(self.cluster, &document, &status).await {
                    Ok(now) => {
                        tell_events(self.cluster, self.kind, &document, &self.options.holder, self.clock, &status)
                            .await;
                        document = now;
                        wrote = true;
                        (self.say)(RollEvent::Status(status));
                    }
                    // Somebody has approved, paused or resumed it: what was planned is of yesterday.
                    Err(error) if error.code() == Some(409) => return Ok((RollStatus::of(&document), true)),
                    Err(error) => return Err(error.into()),
                },
                RollWrite::Move(one) => {
                    wrote |= self.moved(&one, fleet).await?;
                    if self.trouble.is_some() {
                        break;
                    }
                }
                RollWrite::Job(one) => {
                    let landed = run_job(self.cluster, &one).await?;
                    wrote |= self.ran(&one, landed);
                    if self.trouble.is_some() {
                        break;
                    }
                }
                RollWrite::Object(one) => {
                    let landed = write_beside(self.cluster, &one).await?;
                    wrote |= self.wrote(&one, landed);
                    if self.trouble.is_some() {
                        break;
                    }
                }
                RollWrite::Try(one) => match write(self.cluster, fleet, &one, Really::Try).await? {
                    Landed::Written | Landed::Stale => {
                        self.remembered.allowed(&one.uid);
                        wrote = true;
                    }
                    Landed::Refused(why) => self.remembered.refused(&one.uid, &why, self.clock.now()),
                    Landed::Later(_) => {}
                },
            }
        }
        Ok((planned.status, wrote))
    }

    /// What came of it that a Job was to be made. Returns whether there may be more to do at once.
    fn ran(&mut self, one: &JobWrite, landed: Landed) -> bool {
        match landed {
            Landed::Written | Landed::Stale => {
                self.remembered.allowed(&one.uid);
                (self.say)(RollEvent::Ran(format!("{}/{}", one.namespace, one.name), one.of.clone()));
            }
            Landed::Refused(why) => {
                self.remembered.refused(&one.uid, &why, self.clock.now());
                (self.say)(RollEvent::Refused(format!("job {}/{}", one.namespace, one.name), why));
            }
            Landed::Later(error) => {
                self.trouble = Some(error.message());
                (self.say)(RollEvent::Trying(error));
                return false;
            }
        }
        true
    }

    /// What came of it that something was to be done to another object. Returns whether there may be more to do at
    /// once.
    fn wrote(&mut self, one: &ObjectWrite, landed: Landed) -> bool {
        match landed {
            Landed::Written => {
                self.remembered.allowed(&one.uid);
                (self.say)(RollEvent::Wrote(one.told(), one.of.clone()));
            }
            Landed::Stale => self.remembered.allowed(&one.uid),
            Landed::Refused(why) => {
                self.remembered.refused(&one.uid, &why, self.clock.now());
                (self.say)(RollEvent::Refused(one.title(), why));
            }
            Landed::Later(error) => {
                self.trouble = Some(error.message());
                (self.say)(RollEvent::Trying(error));
                return false;
            }
        }
        true
    }

    /// Moves an object. Returns whether there may be more to do at once.
    async fn moved(&mut self, one: &FleetMove, fleet: &Fleet) -> Result<bool, RollError> {
        match write(self.cluster, fleet, one, Really::Write).await? {
            Landed::Written => {
                self.remembered.allowed(&one.uid);
                (self.say)(RollEvent::Moved(one.title()));
            }
            Landed::Stale => {
                (self.say)(RollEvent::Replaced(one.title()));
                self.listed = None;
            }
            Landed::Refused(why) => {
                self.remembered.refused(&one.uid, &why, self.clock.now());
                (self.say)(RollEvent::Refused(one.title(), why));
            }
            Landed::Later(error) => {
                self.trouble = Some(error.message());
                (self.say)(RollEvent::Trying(error));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// How often what is under way is looked at.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// How often at least: whoever is not heard of for 15 s has lost the roll.
const SELDOM: Duration = Duration::from_secs(5);

/// How often the whole fleet is looked at while nothing asks for it: others may have become unhealthy.
pub(super) const LIST: Duration = Duration::from_secs(30);

const LONGEST: Duration = Duration::from_secs(15);
