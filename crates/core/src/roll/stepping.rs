//! What comes next of an object on its journey, by what is seen of it and of its Jobs.

use std::time::Duration;

use super::fleet_object::FleetObject;
use super::fleet_roll::FleetRoll;
use super::job_write::{JobWrite, SeenJob, job_name, job_write};
use super::legs::{Leg, Legs};
use super::moment::wall;
use super::patch::FleetMove;
use super::standing::{Judge, shown};
use super::status::{HELD, JOB_FAILED, Reservation, SeenStepJob, TIMED_OUT};
use super::step_patch::{Half, Traveller};
use crate::definition::{JourneyAct, JourneyJob, JourneyStep, StepWay};

/// What comes next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Stepping {
    /// Nothing: it is where it is to go.
    Landed,
    /// This write.
    Next(StepWrite),
    /// Nothing yet, and why. `spent`: its Job has ended, and would have to be run anew.
    Waits { why: String, spent: bool },
    /// Nothing, before somebody resumes the roll, and why.
    Fails(String),
    /// Nothing: somebody else has changed a field that the roll has written.
    Held(String),
}

/// A write by which a step is done, or begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum StepWrite {
    Move(FleetMove),
    Job(Box<JobWrite>),
    /// So many steps of what a wave runs are done, which the Roll itself remembers.
    Ran {
        done: usize,
        half: bool,
    },
}

/// A Job that has to be looked for before it is known what comes next.
pub(super) struct WantedJob<'a> {
    /// With its namespace.
    pub(super) title: String,
    pub(super) job: &'a JourneyJob,
    step: usize,
    name: String,
    /// Whether it was seen before.
    is_known: bool,
}

impl<'a> Traveller<'a> {
    /// An object that is under way.
    pub(super) fn of(roll: &'a FleetRoll, object: &'a FleetObject, reservation: &Reservation) -> Option<Self> {
        let legs: &Legs = object.legs.as_deref()?;
        let wave = roll.waves.iter().position(|wave| wave.name == reservation.wave)?;
        Some(Self { roll, object, legs, leg: legs.under_way(wave)? })
    }

    fn steps(self) -> &'a [JourneyStep] {
        let journey = self.roll.waves.get(self.leg.wave).and_then(|wave| wave.journey.as_ref());
        journey.map_or(&[], |journey| journey.steps.as_slice())
    }

    /// Whether the last step waits for what the object says.
    pub(super) fn is_answered(self) -> bool {
        self.steps().last().is_some_and(|step| matches!(step.act, JourneyAct::Wait { .. }))
    }

    /// The Job that was seen of the step that is under way, whichever way it went.
    pub(super) fn seen_job(self, reservation: &Reservation) -> Option<&SeenStepJob> {
        reservation.job.as_ref().filter(|job| self.is_at(job))
    }

    /// Whether a Job is of the step that is under way.
    pub(super) fn is_at(self, job: &SeenStepJob) -> bool {
        job.step + usize::from(job.back) == self.leg.done
    }

    /// Whether a step that runs a Job counted as done without one: nothing is there to undo.
    fn was_by_hand(self, step: usize) -> bool {
        self.object.mark_of(self.roll).is_some_and(|mark| mark.kept.contains_key(&self.place(step)))
    }

    /// Whether any Job of the step at hand was seen, in this attempt or the one before.
    fn was_tried(self, reservation: &Reservation, step: usize) -> bool {
        [&reservation.job, &reservation.tried].into_iter().flatten().any(|job| job.step == step)
    }

    /// Whether anything of the leg is done, or was begun with.
    pub(super) fn has_begun(self, reservation: &Reservation) -> bool {
        let done = if reservation.back { self.leg.done < self.leg.steps || self.leg.half } else { self.leg.done > 0 };
        done || self.seen_job(reservation).is_some()
    }

    /// The step that comes next, and its index.
    pub(super) fn next_step(self, reservation: &Reservation) -> Option<(usize, &'a JourneyStep)> {
        let at = match reservation.back {
            true if self.leg.done > self.leg.floor => self.leg.done.checked_sub(1)?,
            true => return None,
            false => self.leg.done,
        };
        Some((at, self.steps().get(at)?))
    }

    /// The Job of the step that comes next.
    pub(super) fn wanted_job(self, reservation: &Reservation) -> Option<WantedJob<'a>> {
        let (step, it) = self.next_step(reservation)?;
        let JourneyAct::Job { job, undo } = &it.act else { return None };
        let (job, way) = if reservation.back { (undo.as_ref()?, StepWay::Undone) } else { (job, StepWay::Done) };
        if reservation.back && self.was_by_hand(step) {
            return None;
        }
        let name = job_name(self.roll, reservation, &it.name, way);
        let known = self.seen_job(reservation).filter(|seen| seen.back == reservation.back);
        let title = known.map_or_else(|| format!("{}/{name}", job.namespace()), |seen| seen.name.clone());
        Some(WantedJob { title, job, step, name, is_known: known.is_some() })
    }

    /// Whether the step under way can be undone, and something is there to undo.
    pub(super) fn can_go_back(self, reservation: &Reservation) -> bool {
        let is_held =
            |(_, step): (usize, &JourneyStep)| step.irreversible.is_some() && self.seen_job(reservation).is_some();
        let floor = self.leg.floor;
        !self.next_step(reservation).is_some_and(is_held) && (self.leg.done > floor || floor == 0)
    }

    /// The step that comes next, in words.
    fn told(self, reservation: &Reservation) -> String {
        self.at_hand(reservation).map_or_else(
            || "the end".to_owned(),
            |(step, way)| match way {
                StepWay::Done => format!("step {}", step.name),
                StepWay::Undone => format!("undoing step {}", step.name),
            },
        )
    }

    /// The step that something is done about, and which way: by the Job that was seen, which may be of before a turn.
    fn at_hand(self, reservation: &Reservation) -> Option<(&'a JourneyStep, StepWay)> {
        let way = |back| if back { StepWay::Undone } else { StepWay::Done };
        match self.seen_job(reservation) {
            Some(seen) => Some((self.steps().get(seen.step)?, way(seen.back))),
            None => self.next_step(reservation).map(|(_, step)| (step, way(reservation.back))),
        }
    }
}

impl Judge<'_> {
    /// What comes next of an object that is under way.
    pub(super) fn stepping(&self, traveller: Traveller<'_>, reservation: &Reservation) -> Stepping {
        let leg = traveller.leg;
        if let Some(other) = traveller.seen_job(reservation).filter(|seen| seen.back != reservation.back) {
            // It was begun with when the roll went the other way, and nobody knows what it does half-way through.
            let seen = SeenJob::of(&other.name, &self.facts.answers);
            let is_whole = seen == SeenJob::Complete && leg.unmet(other.step, StepWay::Done).is_none();
            return match seen {
                SeenJob::Unknown(why) => Stepping::Waits { why, spent: false },
                SeenJob::Runs => {
                    Stepping::Waits { why: format!("job {} still runs, and ends first", other.name), spent: false }
                }
                SeenJob::Absent | SeenJob::Complete | SeenJob::Failed(_) if other.back => {
                    self.counts(traveller, StepWay::Undone, Half::Whole)
                }
                SeenJob::Absent | SeenJob::Complete | SeenJob::Failed(_) => {
                    self.counts(traveller, StepWay::Done, if is_whole { Half::Whole } else { Half::Half })
                }
            };
        }
        if leg.half && !reservation.back {
            return self.counts(traveller, StepWay::Undone, Half::Half);
        }
        let landed = leg.has_landed(reservation.back);
        let Some((at, step)) = traveller.next_step(reservation).filter(|_| !landed) else { return Stepping::Landed };
        let way = if reservation.back { StepWay::Undone } else { StepWay::Done };
        let is_begun = traveller.seen_job(reservation).is_some();
        if let Some(why) = self.roll.not_accepted(step).filter(|_| !reservation.back && !is_begun) {
            return Stepping::Waits { why, spent: false };
        }
        match (&step.act, traveller.wanted_job(reservation)) {
            (JourneyAct::Wait { .. }, _) => match leg.unmet(at, way) {
                Some(why) => Stepping::Waits { why: why.to_owned(), spent: false },
                None => self.counts(traveller, way, Half::Whole),
            },
            (JourneyAct::Job { .. }, Some(wanted)) => self.of_job(traveller, reservation, &wanted, step),
            (JourneyAct::Set(_), _) if reservation.back => {
                match traveller.not_left().filter(|_| !self.is_known(traveller)) {
                    Some(why) => Stepping::Held(why),
                    None => self.counts(traveller, way, Half::Whole),
                }
            }
            _ => self.counts(traveller, way, Half::Whole),
        }
    }

    /// What comes next where that is a Job.
    fn of_job(
        &self,
        traveller: Traveller<'_>,
        reservation: &Reservation,
        wanted: &WantedJob<'_>,
        step: &JourneyStep,
    ) -> Stepping {
        let (title, way) = (&wanted.title, if reservation.back { StepWay::Undone } else { StepWay::Done });
        let is_ours = reservation.back || traveller.was_tried(reservation, wanted.step);
        let unmet = traveller.leg.unmet(wanted.step, way);
        // Whoever has done it by hand has done it.
        let is_done = wanted.job.until.is_some() && unmet.is_none();
        match (SeenJob::of(title, &self.facts.answers), unmet) {
            (SeenJob::Unknown(why), _) => Stepping::Waits { why, spent: false },
            (SeenJob::Runs, _) => Stepping::Waits { why: format!("job {title} runs"), spent: false },
            (SeenJob::Complete, Some(why)) => {
                Stepping::Waits { why: format!("job {title} is complete, and {why}"), spent: true }
            }
            (SeenJob::Complete, None) => self.counts(traveller, way, Half::Whole),
            (SeenJob::Absent, _) if is_done && !is_ours => self.counts(traveller, way, Half::ByHand),
            _ if is_done => self.counts(traveller, way, Half::Whole),
            (SeenJob::Failed(why), _) => Stepping::Fails(format!("job {title} failed: {why}")),
            (SeenJob::Absent, _) if wanted.is_known => {
                Stepping::Fails(format!("job {title} is gone, and nobody knows what it has done"))
            }
            (SeenJob::Absent, _) => {
                if let Some(why) = traveller.changed() {
                    return Stepping::Held(why);
                }
                match job_write(traveller, &step.name, wanted.job, &wanted.name, &self.facts.answers) {
                    Ok(write) => Stepping::Next(StepWrite::Job(Box::new(write))),
                    Err(why) => Stepping::Waits { why, spent: false },
                }
            }
        }
    }

    /// Whether somebody was told that a field of an object is not what the roll left there, and has gone on.
    fn is_known(&self, traveller: Traveller<'_>) -> bool {
        let mut held = self.status.failures.iter().filter(|one| one.reason == HELD && one.cleared);
        held.any(|one| one.uid == traveller.object.uid)
    }

    /// The step counts as done, or undone, by this write. What is half done and counts as undone is not touched.
    fn counts(&self, traveller: Traveller<'_>, way: StepWay, half: Half) -> Stepping {
        let done = traveller.leg.done;
        let is_half = half == Half::Half;
        Stepping::Next(match way {
            StepWay::Done if traveller.legs.is_run => StepWrite::Ran { done: done + 1, half: is_half },
            StepWay::Undone if traveller.legs.is_run => StepWrite::Ran { done: done.saturating_sub(1), half: false },
            StepWay::Done => StepWrite::Move(traveller.forward(self.now, half)),
            StepWay::Undone if is_half => StepWrite::Move(traveller.again(self.now)),
            StepWay::Undone => StepWrite::Move(traveller.back(self.now)),
        })
    }

    /// Why an object that is under way does not get on: a word, and a sentence.
    pub(super) fn trouble(
        &self,
        traveller: Traveller<'_>,
        reservation: &Reservation,
    ) -> Option<(&'static str, String)> {
        let place = traveller.told(reservation);
        let (why, reason) = match self.stepping(traveller, reservation) {
            Stepping::Fails(why) => return Some((JOB_FAILED, format!("{place}: {why}"))),
            Stepping::Held(why) => return Some((HELD, format!("{place}: {why}"))),
            Stepping::Landed => return None,
            Stepping::Waits { why, spent } => (why, if spent { JOB_FAILED } else { TIMED_OUT }),
            Stepping::Next(_) => (self.facts.remembered.answer(&traveller.object.uid)?.message.clone(), TIMED_OUT),
        };
        let is_begun = traveller.has_begun(reservation) || reservation.back;
        let own = traveller.at_hand(reservation).and_then(|(step, way)| step.timeout(way));
        let timeout = own.unwrap_or(self.roll.timeout);
        let since = self.since(traveller.object, reservation);
        let lasted = Duration::from_secs(self.now.wall.saturating_sub(since));
        let is_refused = !is_begun && self.facts.remembered.answer(&traveller.object.uid).is_some();
        (lasted > timeout && !is_refused)
            .then(|| (reason, format!("{place}: not done within {}: {why}", shown(timeout))))
    }

    /// Since when an object is at the step that it is at.
    pub(super) fn since(&self, object: &FleetObject, reservation: &Reservation) -> u64 {
        let marked = object.mark_of(self.roll).and_then(|mark| mark.moved());
        let reserved = wall(&reservation.since).or(marked).unwrap_or(self.now.wall);
        marked.unwrap_or(reserved).max(reserved).max(self.status.resumed_at())
    }

    /// What is said of an object that is on a step.
    pub(super) fn waits(&self, traveller: Traveller<'_>, reservation: &Reservation) -> String {
        let place = traveller.told(reservation);
        let refused = self.facts.remembered.answer(&traveller.object.uid).map(|answer| answer.message.clone());
        match (self.stepping(traveller, reservation), refused) {
            (Stepping::Waits { why, .. } | Stepping::Fails(why) | Stepping::Held(why), _) => format!("{place}: {why}"),
            (Stepping::Next(_), Some(refused)) => format!("{place}: {refused}"),
            (Stepping::Next(_) | Stepping::Landed, _) => place,
        }
    }
}

impl Leg {
    /// Whether the leg is where a way leads.
    pub(super) fn has_landed(&self, back: bool) -> bool {
        if back { self.done <= self.floor } else { self.is_done() }
    }
}
