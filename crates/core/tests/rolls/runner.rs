//! Whoever runs a roll, call by call: the loop of `pointsman roll run`, and nothing that decides.

use std::collections::VecDeque;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::roll::{
    FleetMove, FleetObject, FleetRoll, Moment, Remembered, RollFacts, RollPlan, RollStatus, RollWrite, answered_roll,
    plan,
};
use serde_json::Value;

use super::world::{NotWritten, World};

/// A process that runs the roll.
#[derive(Default)]
pub(super) struct Runner {
    remembered: Remembered,
    writes: VecDeque<RollWrite>,
    /// What the Roll says, and that compiled.
    roll: Option<(Value, FleetRoll)>,
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
        }
    }

    fn moment(&self, world: &World) -> Moment {
        Moment { wall: world.now + self.ahead, steady: Duration::from_secs(world.now - self.started) }
    }

    fn look(&mut self, kind: &Kind, world: &World) -> Done {
        if self.roll.as_ref().is_none_or(|(spec, _)| *spec != world.roll["spec"]) {
            let spec = world.roll["spec"].clone();
            self.roll = Some((spec, answered_roll(&world.roll, kind).unwrap()));
        }
        let roll = &self.roll.as_ref().unwrap().1;
        let cached = std::mem::take(&mut self.cached);
        let objects = if cached { &world.cache } else { &world.objects };
        let fleet: Vec<FleetObject> = objects.values().filter_map(|object| FleetObject::of(object, roll)).collect();
        let status = RollStatus::of(&world.roll);
        let facts = || RollFacts {
            remembered: self.remembered.clone(),
            consistent: !cached,
            trouble: self.trouble.clone(),
            others: Vec::new(),
        };
        let now = self.moment(world);
        let planned = plan(roll, &status, &fleet, facts(), now);
        if world.now.is_multiple_of(8) {
            let again = plan(roll, &status, &fleet, facts(), now);
            assert_eq!(format!("{planned:?}"), format!("{again:?}"), "the same input gives the same plan");
        }
        self.remembered = planned.remembered.clone();
        self.writes = planned.writes.clone().into();
        (self.version, self.listed, self.trouble) = (world.version, world.now, None);
        Done::Planned(planned, fleet)
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
            Err(NotWritten::Stale) => return Done::Nothing,
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
