//! A runner, call by call: the loop of `pointsman rollout run`, without any decisions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    ClockReading, FleetObject, LookupRequest, LookupResults, ObjectPatch, PlanInput, Rollout, RolloutPlan,
    RolloutStatus, RolloutWrite, RunnerCache, plan, rollout_lookups,
};
use serde_json::Value;

use super::database::Database;
use super::world::{NEW, NotWritten, World};

/// A process that runs the rollout.
#[derive(Default)]
pub(super) struct Runner {
    runner_cache: RunnerCache,
    writes: VecDeque<RolloutWrite>,
    /// The StagedRollout and its compiled form.
    rollout: Option<(Value, Rc<Rollout>)>,
    fleet: Option<Fleet>,
    /// The version of the StagedRollout that the plan used.
    version: u64,
    trouble: Option<String>,
    /// Time of the start, and of the last activity.
    started: u64,
    last: u64,
    pub(super) cached: bool,
    pub(super) lost: bool,
    pub(super) ahead: u64,
    /// Time of the last list of the fleet.
    pub(super) listed: u64,
    wants_list: bool,
}

/// The listed fleet, with later updates of its objects.
#[derive(Default)]
struct Fleet {
    objects: Rc<Vec<FleetObject>>,
    /// Revision of each object, and the time of its receipt.
    heard: Vec<(u64, u64)>,
    /// Time of the last watch event.
    told: u64,
}

impl Fleet {
    /// A list as of a given time; a cached list may be old.
    fn list(objects: &BTreeMap<String, Database>, rollout: &Rollout, as_of: u64) -> Self {
        let seen = objects.values().map(|object| FleetObject::of(&object.value(), rollout).unwrap());
        let heard = objects.values().map(|object| (object.revision, as_of));
        Self { objects: Rc::new(seen.collect()), heard: heard.collect(), told: 0 }
    }

    fn position(&self, uid: &str) -> Option<usize> {
        self.objects.iter().position(|known| known.uid() == uid)
    }

    /// Stores an object, unless a newer revision is known. Returns true if the object is new or changed.
    fn take(&mut self, object: &Database, rollout: &Rollout, now: u64) -> bool {
        let known = self.position(object.uid());
        if known.is_some_and(|at| self.heard[at].0 >= object.revision) {
            return false;
        }
        let next = FleetObject::of(&object.value(), rollout).unwrap();
        let objects = Rc::make_mut(&mut self.objects);
        match known {
            Some(at) => (objects[at], self.heard[at]) = (next, (object.revision, now)),
            None => {
                objects.push(next);
                self.heard.push((object.revision, now));
            }
        }
        true
    }

    fn forget(&mut self, at: usize) {
        Rc::make_mut(&mut self.objects).remove(at);
        self.heard.remove(at);
    }

    /// Receives watch events, which may lag arbitrarily.
    fn hear(&mut self, world: &World, rollout: &Rollout) {
        for at in (0..self.objects.len()).rev() {
            let known = world.cache.values().any(|object| object.uid() == self.objects[at].uid());
            if !known && self.heard[at].0 <= world.cached_until {
                self.forget(at);
                self.told = world.now;
            }
        }
        for object in world.cache.values() {
            if self.take(object, rollout, world.now) {
                self.told = world.now;
            }
        }
    }

    /// Rereads the given objects unless received recently. Returns true if any object changed.
    fn reread(&mut self, uids: &BTreeSet<&str>, world: &World, rollout: &Rollout) -> bool {
        let mut is_new = false;
        if world.now - self.told < LATELY {
            return false;
        }
        for uid in uids {
            let Some(at) = self.position(uid).filter(|at| world.now - self.heard[*at].1 >= LATELY) else { continue };
            match world.objects.get(self.objects[at].name()).filter(|now| now.uid() == *uid) {
                Some(now) => is_new |= self.take(now, rollout, world.now),
                None => {
                    self.forget(at);
                    is_new = true;
                }
            }
        }
        is_new
    }
}

/// The purpose of a patch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Of {
    Move,
    Hold,
}

/// The runner's last call.
pub(super) enum Done {
    Planned(Box<RolloutPlan>, Rc<Vec<FleetObject>>),
    Wrote(Box<RolloutStatus>),
    /// The patch, and the object's previous label.
    Moved(ObjectPatch, Option<String>),
    Nothing,
}

impl Runner {
    /// Same as [`Self::step`], but only with a Lease, and without calls that were planned over 10 s ago.
    pub(super) fn step_with_lease(&mut self, at: usize, kind: &Kind, world: &mut World) -> Done {
        let frozen = world.now - self.last;
        if !world.leases(at) {
            self.writes.clear();
            return Done::Nothing;
        }
        if frozen > 10 {
            self.writes.clear();
        }
        self.step(kind, world)
    }

    pub(super) fn started(now: u64, ahead: u64) -> Self {
        Self { started: now, last: now, ahead, ..Self::default() }
    }

    /// Makes the next call.
    pub(super) fn step(&mut self, kind: &Kind, world: &mut World) -> Done {
        self.last = world.now;
        match self.writes.pop_front() {
            None => self.look(kind, world),
            Some(RolloutWrite::Status(status)) => self.put(*status, world),
            Some(RolloutWrite::Move(write)) => self.patch(write, world, Of::Move),
            Some(RolloutWrite::Hold(write)) => {
                let (uid, is_known) = (write.uid.clone(), self.runner_cache.clone());
                let done = self.patch(write, world, Of::Hold);
                assert_eq!(self.runner_cache, is_known, "nobody minds that {uid} is held");
                if matches!(done, Done::Moved(..)) { Done::Nothing } else { done }
            }
            Some(RolloutWrite::Try(write)) => self.ask(&write, world),
            Some(RolloutWrite::Job(job)) => panic!("labels need no Job: {job:?}"),
            Some(RolloutWrite::Object(write)) => panic!("labels need no other object: {write:?}"),
        }
    }

    fn moment(&self, world: &World) -> ClockReading {
        ClockReading { wall: world.now + self.ahead, steady: Duration::from_secs(world.now - self.started) }
    }

    fn look(&mut self, kind: &Kind, world: &World) -> Done {
        let known = self.rollout.take().filter(|(spec, _)| *spec == world.spec);
        if known.is_none() {
            self.fleet = None;
        }
        let (spec, rollout) = known.unwrap_or_else(|| (world.spec.clone(), world.rollout(kind)));
        let status = Rc::clone(&world.status);
        let (mut fleet, consistent) = self.look_at_the_fleet(&rollout, world);
        let needed = status.leases(&rollout).iter().any(|(version, _, _)| *version == NEW);
        let shut = (world.dead && needed).then(|| "the new controller does not run".to_owned());
        let mut answers = LookupResults::default();
        let found = |lookup: &LookupRequest| world.others(&lookup.plural);
        rollout_lookups(&rollout, &status).iter().for_each(|lookup| answers.saw(lookup, &found(lookup)));
        let facts = PlanInput {
            closed_gate: shut,
            local: BTreeMap::new(),
            runner_cache: std::mem::take(&mut self.runner_cache),
            consistent,
            trouble: self.trouble.take(),
            others: Vec::new(),
            unfrozen: None,
            answers,
            ahead: false,
        };
        let now = self.moment(world);
        let again = world.now.is_multiple_of(8).then(|| facts.clone());
        let mut planned = plan(&rollout, &status, &fleet.objects, facts.clone(), now);
        while !consistent && fleet.reread(&planned.judged(&rollout, &status), world, &rollout) {
            planned = plan(&rollout, &status, &fleet.objects, facts.clone(), now);
        }
        if let Some(facts) = again {
            let again = plan(&rollout, &status, &fleet.objects, facts, now);
            assert_eq!(planned, again, "the same input gives the same plan");
        }
        self.runner_cache = planned.runner_cache.clone();
        self.writes = planned.writes.clone().into();
        (self.version, self.wants_list) = (world.version, planned.wants_list);
        let objects = Rc::clone(&fleet.objects);
        (self.rollout, self.fleet) = (Some((spec, rollout)), Some(fleet));
        Done::Planned(Box::new(planned), objects)
    }

    /// Lists the fleet if the plan requires it; otherwise applies watch events. Returns the fleet, and true if the list
    /// is complete and current. A cache may also answer a list.
    fn look_at_the_fleet(&mut self, rollout: &Rollout, world: &World) -> (Fleet, bool) {
        let cached = std::mem::take(&mut self.cached);
        match self.fleet.take().filter(|_| !self.wants_list) {
            Some(mut fleet) => {
                fleet.hear(world, rollout);
                (fleet, false)
            }
            None => {
                self.listed = world.now;
                let (objects, as_of) = if cached { (&world.cache, 0) } else { (&world.objects, world.now) };
                (Fleet::list(objects, rollout, as_of), !cached)
            }
        }
    }

    fn put(&mut self, status: RolloutStatus, world: &mut World) -> Done {
        if self.version != world.version {
            self.writes.clear();
            return Done::Nothing;
        }
        world.put(&status);
        self.version = world.version;
        if std::mem::take(&mut self.lost) {
            self.writes.clear();
        }
        Done::Wrote(Box::new(status))
    }

    fn patch(&mut self, write: ObjectPatch, world: &mut World, of: Of) -> Done {
        let answer = world.patch(&write.name, &write.patch);
        let was = answer.as_ref().ok().cloned().flatten();
        let lost = std::mem::take(&mut self.lost);
        match answer {
            Ok(_) if lost => self.writes.clear(),
            Ok(_) => self.answered(&write.name, world),
            Err(NotWritten::Stale) if of == Of::Move => {
                self.runner_cache.overtaken(&write.uid);
                match world.objects.get(&write.name) {
                    Some(object) if object.uid() == write.uid => self.answered(&write.name, world),
                    _ => self.fleet = None,
                }
                return Done::Nothing;
            }
            Err(NotWritten::Stale) => {
                self.fleet = None;
                return Done::Nothing;
            }
            Err(NotWritten::Refused(why)) => {
                let now = self.moment(world);
                self.runner_cache.refused(&write.uid, &why, now);
                return Done::Nothing;
            }
            Err(NotWritten::Down) => {
                self.writes.clear();
                self.trouble = Some("a webhook does not answer".to_owned());
                return Done::Nothing;
            }
        }
        Done::Moved(write, was)
    }

    /// Stores the response of a write.
    fn answered(&mut self, name: &str, world: &World) {
        if let (Some(fleet), Some((_, rollout))) = (&mut self.fleet, &self.rollout) {
            fleet.take(&world.objects[name], rollout, world.now);
        }
    }

    /// Sends a dry run, which changes nothing.
    fn ask(&mut self, write: &ObjectPatch, world: &World) -> Done {
        match world.try_patch(&write.name, &write.patch) {
            Err(NotWritten::Refused(why)) => self.runner_cache.refused(&write.uid, &why, self.moment(world)),
            Err(NotWritten::Down) => {}
            Ok(_) | Err(NotWritten::Stale) => self.runner_cache.allowed(&write.uid),
        }
        Done::Nothing
    }
}

/// Seconds during which a received object counts as current, as in `pointsman rollout run`.
const LATELY: u64 = 2;
