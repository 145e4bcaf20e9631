//! Whoever runs a roll, call by call: the loop of `pointsman roll run`, and nothing that decides.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::roll::{
    FleetMove, FleetObject, FleetRoll, Moment, Remembered, RollAnswers, RollFacts, RollPlan, RollStatus, RollWrite,
    plan, roll_questions,
};
use serde_json::Value;

use super::boat::Boat;
use super::world::{NEW, NotWritten, World};

/// A process that runs the roll.
#[derive(Default)]
pub(super) struct Runner {
    remembered: Remembered,
    writes: VecDeque<RollWrite>,
    /// What the Roll says, and that compiled.
    roll: Option<(Value, Rc<FleetRoll>)>,
    fleet: Option<Fleet>,
    /// The version of the Roll that the plan was made of.
    version: u64,
    trouble: Option<String>,
    /// When it was started, and when it last did something.
    started: u64,
    last: u64,
    pub(super) cached: bool,
    pub(super) lost: bool,
    pub(super) ahead: u64,
    /// When its fleet was listed.
    pub(super) listed: u64,
    wants_list: bool,
}

/// A fleet, in the order of its names, as it was when it was listed or when its objects were read again since.
#[derive(Default)]
struct Fleet {
    objects: Rc<Vec<FleetObject>>,
    /// The revision of each.
    revisions: Vec<u64>,
}

impl Fleet {
    fn list(objects: &BTreeMap<String, Boat>, roll: &FleetRoll) -> Self {
        let seen = objects.values().map(|object| FleetObject::of(&object.value(), roll).unwrap());
        Self { objects: Rc::new(seen.collect()), revisions: objects.values().map(|object| object.revision).collect() }
    }

    /// Reads an object again. What is not known yet cannot be.
    fn read(&mut self, name: &str, object: &Boat, roll: &FleetRoll) {
        let known = self.objects.iter().position(|known| known.name() == name);
        if let Some(at) = known.filter(|at| self.revisions[*at] != object.revision) {
            self.revisions[at] = object.revision;
            Rc::make_mut(&mut self.objects)[at] = FleetObject::of(&object.value(), roll).unwrap();
        }
    }
}

/// What a runner has just done.
pub(super) enum Done {
    Planned(RollPlan, Rc<Vec<FleetObject>>),
    Wrote(RollStatus),
    /// With the label that the object had before.
    Moved(FleetMove, Option<String>),
    Nothing,
}

impl Runner {
    /// The same for one that makes no call without a Lease, and none that it has meant to make 10 s ago.
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

    /// The next call.
    pub(super) fn step(&mut self, kind: &Kind, world: &mut World) -> Done {
        self.last = world.now;
        match self.writes.pop_front() {
            None => self.look(kind, world),
            Some(RollWrite::Status(status)) => self.put(*status, world),
            Some(RollWrite::Move(write)) => self.patch(write, world),
            Some(RollWrite::Try(write)) => self.ask(&write, world),
            Some(RollWrite::Job(job)) => panic!("labels need no Job: {job:?}"),
            Some(RollWrite::Object(write)) => panic!("labels need no other object: {write:?}"),
        }
    }

    fn moment(&self, world: &World) -> Moment {
        Moment { wall: world.now + self.ahead, steady: Duration::from_secs(world.now - self.started) }
    }

    fn look(&mut self, kind: &Kind, world: &World) -> Done {
        let known = self.roll.take().filter(|(spec, _)| *spec == world.spec);
        if known.is_none() {
            self.fleet = None;
        }
        let (spec, roll) = known.unwrap_or_else(|| (world.spec.clone(), world.roll(kind)));
        let status = Rc::clone(&world.status);
        let (fleet, consistent) = self.look_at_the_fleet(&status, &roll, world);
        let needed = status.leases(&roll).iter().any(|(version, _, _)| *version == NEW);
        let shut = (world.dead && needed).then(|| "the new controller does not run".to_owned());
        let mut answers = RollAnswers::default();
        roll_questions(&roll, &status).iter().for_each(|question| answers.saw(question, &world.lighthouses()));
        let facts = RollFacts {
            shut,
            local: BTreeMap::new(),
            remembered: std::mem::take(&mut self.remembered),
            consistent,
            trouble: self.trouble.take(),
            others: Vec::new(),
            unfrozen: None,
            answers,
            ahead: false,
        };
        let now = self.moment(world);
        let again = world.now.is_multiple_of(8).then(|| facts.clone());
        let planned = plan(&roll, &status, &fleet.objects, facts, now);
        if let Some(facts) = again {
            let again = plan(&roll, &status, &fleet.objects, facts, now);
            assert_eq!(planned, again, "the same input gives the same plan");
        }
        self.remembered = planned.remembered.clone();
        self.writes = planned.writes.clone().into();
        (self.version, self.wants_list) = (world.version, planned.wants_list);
        let objects = Rc::clone(&fleet.objects);
        (self.roll, self.fleet) = (Some((spec, roll)), Some(fleet));
        Done::Planned(planned, objects)
    }

    /// All of the fleet now and then, and where the plan wants it; else what is under way. Returns whether it is all of
    /// it as of now, too. A cache may lag behind with everything but what is under way, which is read one by one.
    fn look_at_the_fleet(&mut self, status: &RollStatus, roll: &FleetRoll, world: &World) -> (Fleet, bool) {
        let cached = std::mem::take(&mut self.cached);
        let is_reserved = |uid: &str| status.reserved.iter().any(|one| one.uid == uid);
        let is_there = |object: &FleetObject| {
            world.objects.get(object.name()).is_some_and(|now| is_reserved(now.uid())) || !is_reserved(object.uid())
        };
        let known = self.fleet.take().filter(|_| !self.wants_list && world.now - self.listed < LIST);
        let known = known.filter(|fleet| fleet.objects.iter().all(is_there));
        let consistent = known.is_none() && !cached;
        let mut fleet = known.unwrap_or_else(|| {
            self.listed = world.now;
            Fleet::list(if cached { &world.cache } else { &world.objects }, roll)
        });
        for (name, object) in world.objects.iter().filter(|(_, object)| is_reserved(object.uid())) {
            fleet.read(name, object, roll);
        }
        (fleet, consistent)
    }

    fn put(&mut self, status: RollStatus, world: &mut World) -> Done {
        if self.version != world.version {
            self.writes.clear();
            return Done::Nothing;
        }
        world.put(&status);
        self.version = world.version;
        if std::mem::take(&mut self.lost) {
            self.writes.clear();
        }
        Done::Wrote(status)
    }

    fn patch(&mut self, write: FleetMove, world: &mut World) -> Done {
        let answer = world.patch(&write.name, &write.patch);
        let was = answer.as_ref().ok().cloned().flatten();
        let lost = std::mem::take(&mut self.lost);
        match answer {
            Ok(_) if lost => self.writes.clear(),
            Ok(_) => {}
            Err(NotWritten::Stale) => {
                self.fleet = None;
                return Done::Nothing;
            }
            Err(NotWritten::Refused(why)) => {
                let now = self.moment(world);
                self.remembered.refused(&write.uid, &why, now);
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

    /// A dry run changes nothing.
    fn ask(&mut self, write: &FleetMove, world: &World) -> Done {
        match world.try_patch(&write.name, &write.patch) {
            Err(NotWritten::Refused(why)) => self.remembered.refused(&write.uid, &why, self.moment(world)),
            Err(NotWritten::Down) => {}
            Ok(_) | Err(NotWritten::Stale) => self.remembered.allowed(&write.uid),
        }
        Done::Nothing
    }
}

/// Seconds after which the whole fleet is looked at, as in `pointsman roll run`.
const LIST: u64 = 30;
