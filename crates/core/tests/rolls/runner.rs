//! Whoever runs a roll, call by call: the loop of `pointsman roll run`, and nothing that decides.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::roll::{
    FleetMove, FleetObject, FleetRoll, Moment, Remembered, RollAnswers, RollFacts, RollPlan, RollStatus, RollWrite,
    answered_roll, plan, roll_questions,
};
use serde_json::Value;

use super::world::{NEW, NotWritten, World, uid};

/// A process that runs the roll.
#[derive(Default)]
pub(super) struct Runner {
    remembered: Remembered,
    writes: VecDeque<RollWrite>,
    /// What the Roll says, and that compiled.
    roll: Option<(Value, FleetRoll)>,
    /// Objects by name, as they were when the fleet was listed or when they were read again since.
    fleet: Option<BTreeMap<String, Value>>,
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

/// What a runner has just done.
pub(super) enum Done {
    Planned(RollPlan, Vec<FleetObject>),
    Wrote(RollStatus),
    Moved(FleetMove),
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
        }
    }

    fn moment(&self, world: &World) -> Moment {
        Moment { wall: world.now + self.ahead, steady: Duration::from_secs(world.now - self.started) }
    }

    fn look(&mut self, kind: &Kind, world: &World) -> Done {
        if self.roll.as_ref().is_none_or(|(spec, _)| *spec != world.roll["spec"]) {
            let spec = world.roll["spec"].clone();
            self.roll = Some((spec, answered_roll(&world.roll, kind).unwrap()));
            self.fleet = None;
        }
        let status = RollStatus::of(&world.roll);
        let consistent = self.look_at_the_fleet(&status, world);
        let roll = &self.roll.as_ref().unwrap().1;
        let objects = self.fleet.iter().flat_map(BTreeMap::values);
        let fleet: Vec<FleetObject> = objects.filter_map(|object| FleetObject::of(object, roll)).collect();
        let needed = status.leases(roll).iter().any(|(version, _, _)| *version == NEW);
        let shut = (world.dead && needed).then(|| "the new controller does not run".to_owned());
        let mut answers = RollAnswers::default();
        roll_questions(roll, &status).iter().for_each(|question| answers.saw(question, &world.lighthouses()));
        let facts = || RollFacts {
            shut: shut.clone(),
            local: BTreeMap::new(),
            remembered: self.remembered.clone(),
            consistent,
            trouble: self.trouble.clone(),
            others: Vec::new(),
            unfrozen: None,
            answers: answers.clone(),
        };
        let now = self.moment(world);
        let planned = plan(roll, &status, &fleet, facts(), now);
        if world.now.is_multiple_of(8) {
            let again = plan(roll, &status, &fleet, facts(), now);
            assert_eq!(format!("{planned:?}"), format!("{again:?}"), "the same input gives the same plan");
        }
        self.remembered = planned.remembered.clone();
        self.writes = planned.writes.clone().into();
        (self.version, self.wants_list, self.trouble) = (world.version, planned.wants_list, None);
        Done::Planned(planned, fleet)
    }

    /// All of the fleet now and then, and where the plan wants it; else what is under way. Returns whether it is all of
    /// it as of now. A cache may lag behind with everything but what is under way, which is read one by one.
    fn look_at_the_fleet(&mut self, status: &RollStatus, world: &World) -> bool {
        let cached = std::mem::take(&mut self.cached);
        let reserved = |(_, object): &(&String, &Value)| status.reserved.iter().any(|one| one.uid == uid(object));
        let known = self.fleet.take().filter(|_| !self.wants_list && world.now - self.listed < LIST);
        let now: BTreeMap<String, Value> =
            world.objects.iter().filter(reserved).map(|(name, object)| (name.clone(), object.clone())).collect();
        let known = known.filter(|fleet| fleet.iter().filter(reserved).all(|(name, _)| now.contains_key(name)));
        let consistent = known.is_none() && !cached;
        let mut fleet = known.unwrap_or_else(|| {
            self.listed = world.now;
            if cached { world.cache.clone() } else { world.objects.clone() }
        });
        for (name, object) in now {
            // What is not known yet cannot be read again.
            fleet.entry(name).and_modify(|known| *known = object);
        }
        self.fleet = Some(fleet);
        consistent
    }

    fn put(&mut self, status: RollStatus, world: &mut World) -> Done {
        if self.version != world.version {
            self.writes.clear();
            return Done::Nothing;
        }
        world.roll["status"] = status.to_json();
        world.version += 1;
        self.version = world.version;
        if std::mem::take(&mut self.lost) {
            self.writes.clear();
        }
        Done::Wrote(status)
    }

    fn patch(&mut self, write: FleetMove, world: &mut World) -> Done {
        let answer = world.patch(&write.name, &write.patch);
        let lost = std::mem::take(&mut self.lost);
        match answer {
            Ok(()) if lost => self.writes.clear(),
            Ok(()) => {}
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
        Done::Moved(write)
    }

    /// A dry run changes nothing.
    fn ask(&mut self, write: &FleetMove, world: &World) -> Done {
        match world.clone().patch(&write.name, &write.patch) {
            Err(NotWritten::Refused(why)) => self.remembered.refused(&write.uid, &why, self.moment(world)),
            Err(NotWritten::Down) => {}
            Ok(()) | Err(NotWritten::Stale) => self.remembered.allowed(&write.uid),
        }
        Done::Nothing
    }
}

/// A member of the spec that somebody sets.
pub(super) fn set(world: &mut World, name: &str, value: Value) {
    world.roll["spec"][name] = value;
    world.version += 1;
}

/// What somebody does to the status by a command.
pub(super) fn change(world: &mut World, kind: &Kind, change: impl FnOnce(&mut RollStatus, &FleetRoll, Moment)) {
    let roll = answered_roll(&world.roll, kind).unwrap();
    let mut status = RollStatus::of(&world.roll);
    change(&mut status, &roll, Moment { wall: world.now, steady: Duration::ZERO });
    world.roll["status"] = status.to_json();
    world.version += 1;
}

/// Seconds after which the whole fleet is looked at, as in `pointsman roll run`.
const LIST: u64 = 30;
