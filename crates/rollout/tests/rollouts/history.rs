//! Runs a history and checks the properties of rollouts throughout.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    Direction, FleetObject, ObjectState, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite, WaveSide,
};
use serde_json::json;

use super::database::Database;
use super::runner::{Done, Runner};
use super::script::{Happening, Setup};
use super::world::{LATER, NEW, OLD, SOAK, World};

/// A violated property.
pub(super) struct Broken {
    pub(super) property: &'static str,
    pub(super) what: String,
    pub(super) log: Vec<String>,
}

/// A running history.
pub(super) struct History<'a> {
    setup: &'a Setup,
    kind: &'a Kind,
    world: World,
    runners: Vec<Runner>,
    /// The wave that the rollout has reached, by its moves.
    wave: usize,
    /// The rollout has reported the wave after the canaries; a recreated canary now moves with the others.
    is_behind_canaries: bool,
    /// Number of forward moves by rollouts, by uid.
    moved: BTreeMap<String, usize>,
    approved: bool,
    /// Waves approved before their start, since the last change of direction.
    admitted: BTreeSet<&'static str>,
    /// The current direction.
    direction: Direction,
    /// Time of the last move of a canary before other objects moved.
    canary_moved: Option<u64>,
    /// Objects in flight at the last status write, by uid.
    reserved: BTreeSet<String>,
    /// Failures written so far, by uid and time.
    failures: BTreeSet<(String, String)>,
    broken: Option<(&'static str, String)>,
    was_paused: bool,
    /// True if a runner acquires the Lease first.
    leases: bool,
    max_in_flight: MaxInFlight,
}

/// Upper bound of objects in flight.
enum MaxInFlight {
    Objects(usize),
    Percent(usize),
}

impl<'a> History<'a> {
    pub(super) fn new(setup: &'a Setup, kind: &'a Kind) -> Self {
        let world = World::new(setup);
        let runners = (0..setup.runners).map(|_| Runner::started(world.now, 0)).collect();
        Self {
            setup,
            kind,
            world,
            runners,
            wave: 0,
            is_behind_canaries: false,
            moved: BTreeMap::new(),
            approved: false,
            admitted: BTreeSet::new(),
            direction: Direction::Forward,
            canary_moved: None,
            reserved: BTreeSet::new(),
            failures: BTreeSet::new(),
            broken: None,
            was_paused: false,
            leases: setup.leases(),
            max_in_flight: match setup.max_in_flight.trim_matches('"').strip_suffix('%') {
                Some(percent) => MaxInFlight::Percent(percent.parse().unwrap()),
                None => MaxInFlight::Objects(setup.max_in_flight.parse().unwrap()),
            },
        }
    }

    /// Same as [`History::new`], with a log of events. The log helps to debug a failure and doubles the run time.
    pub(super) fn logged(setup: &'a Setup, kind: &'a Kind) -> Self {
        let mut history = Self::new(setup, kind);
        history.world.log = Some(Vec::new());
        history
    }

    pub(super) fn run(&mut self) -> Option<Broken> {
        for happening in &self.setup.script {
            self.happens(*happening);
            if self.broken.is_some() {
                break;
            }
        }
        if self.broken.is_none() {
            self.quiet();
        }
        let (property, what) = self.broken.take()?;
        Some(Broken { property, what, log: self.world.log.take().unwrap_or_default() })
    }

    /// The final phase, and whether the rollout was ever paused.
    pub(super) fn ends(&self) -> Vec<String> {
        let paused = self.was_paused.then(|| "was Paused".to_owned());
        paused.into_iter().chain([format!("{:?}", self.world.status.phase)]).collect()
    }

    fn breaks(&mut self, property: &'static str, what: String) {
        self.broken.get_or_insert((property, what));
    }

    fn happens(&mut self, happening: Happening) {
        let now = self.world.now;
        let world = &mut self.world;
        if !matches!(happening, Happening::Step(_)) {
            world.note(|| format!("{now} {happening:?}"));
        }
        match happening {
            Happening::Step(at) => self.step(at),
            Happening::Cached(at) => self.runners[at].cached = true,
            Happening::Sync => world.sync(),
            Happening::Kill(at) => self.runners[at] = Runner::started(now, self.runners[at].ahead),
            Happening::Lost(at) => self.runners[at].lost = true,
            Happening::Clock(at, ahead) => self.runners[at].ahead = ahead,
            Happening::Tick(seconds) => world.now += seconds,
            // A dead controller observes nothing.
            Happening::Look(..) if world.dead => {}
            Happening::Look(at, healthy) => world.look(&world.name(at), healthy),
            Happening::Noise(at) => world.noise(&world.name(at)),
            Happening::TurnBack(at) => world.turn_back(&world.name(at)),
            Happening::MoveOn(at) => world.move_on(&world.name(at)),
            Happening::Delete(at) => world.delete(&world.name(at)),
            Happening::Keep(at) => world.keep(&world.name(at)),
            Happening::LetGo(at) => world.let_go(&world.name(at)),
            Happening::Recreate(at) => world.recreate(&world.name(at)),
            Happening::Create => drop(world.create(Some(OLD), false)),
            Happening::CreateHeld(by) => world.create_held(by),
            Happening::Down => world.down = true,
            Happening::Up => world.down = false,
            Happening::Dead(dead) => world.dead = dead,
            Happening::Dark(dark) => world.dark = dark,
            Happening::OldWrites(at) => world.old_writes(&world.name(at)),
            Happening::Tell(at) => world.tell(at),
            Happening::Admit => self.admit(),
            Happening::Fog(fog) => world.fog = fog,
            Happening::Approve => self.approve(),
            Happening::Resume => self.resume(),
            Happening::Pause => world.set("paused", json!(true)),
            Happening::Back => world.set("direction", json!("Undo")),
            Happening::Stop => world.set("direction", json!("Abort")),
            Happening::Stranger(at, stranger) => world.stranger(&world.name(at), stranger),
            Happening::Hold(hold) => world.set("hold", json!(hold)),
            Happening::Unaware(unaware) => world.unaware = unaware,
        }
        self.others_leave_held_alone();
    }

    /// A held object keeps its version when other clients write to it, and the requested version is recorded.
    fn others_leave_held_alone(&mut self) {
        if let Some(name) = self.world.slipped.take() {
            self.breaks("other clients cannot move a held object", name);
        }
        if let Some(name) = self.world.unheard.take() {
            self.breaks("a requested version of a held object is recorded", name);
        }
        if let Some(name) = self.world.unmarked.take() {
            self.breaks("other clients cannot remove the annotations of a rollout", name);
        }
    }

    /// Before the first move, the runner holds all pending objects that existed at the start and that no client has
    /// touched.
    fn holds_the_others(&mut self) {
        // An owned object is never moved: the rollout releases its hold at the end and does not hold it again.
        let owned = self.setup.objects - self.setup.owned.min(self.setup.objects);
        let is_owned = |name: &str| (owned..self.setup.objects).any(|at| self.world.name(at) == name);
        let is_to_go = |name: &str, object: &Database| {
            let is_of_it = object.label() == Some(OLD) || (!self.setup.from && object.label() != Some(NEW));
            let by_others = [&self.world.touched, &self.world.freed].iter().any(|all| all.contains(object.uid()));
            let is_quiet = !by_others && !self.moved.contains_key(object.uid());
            let is_over = is_owned(name) && object.is_released();
            self.world.first.contains(object.uid()) && is_of_it && is_quiet && !is_over
        };
        let free = |(name, object): &(&String, &Database)| is_to_go(name, object) && !object.is_held();
        let free = self.world.objects.iter().find(free).map(|(name, _)| name.clone());
        let always = self.setup.hold && !self.setup.script.iter().any(|one| matches!(one, Happening::Hold(_)));
        if let Some(name) = free.filter(|_| always) {
            self.breaks("pending objects are held before the first move", name);
        }
    }

    /// A finished rollout holds no object, and a requested version is applied or reported.
    fn holds_nothing_back(&mut self, at: usize) {
        let listed = self.runners[at].listed;
        let is_known = |object: &Database| self.world.created[object.uid()] < listed;
        let held = self
            .world
            .objects
            .iter()
            .find(|(_, object)| object.is_held_by_it() && !object.is_going() && is_known(object));
        let held = held.map(|(name, _)| name.clone());
        let lost = self.world.objects.iter().find(|(_, object)| {
            let was_asked = self.world.asked.contains(object.uid()) && !self.moved.contains_key(object.uid());
            was_asked && object.label() != Some(NEW) && object.wanted() != Some(NEW)
        });
        let lost = lost.map(|(name, _)| name.clone());
        if let Some(name) = held {
            self.breaks("a finished rollout holds no object", name);
        }
        if let Some(name) = lost {
            self.breaks("a requested version is applied or reported", name);
        }
    }

    fn approve(&mut self) {
        if self.setup.canaries > 0 && self.setup.approval {
            self.approved |= self.approves("canary", WaveSide::After);
        }
    }

    /// Approves every wave that needs an approval before its start.
    fn admit(&mut self) {
        let first = if self.setup.canaries > 0 { "canary" } else { "rest" };
        let gates = self.setup.gates;
        let asks = [(first, gates.first_approved), ("rest", gates.rest_approved && self.setup.canaries > 0)];
        for wave in asks.into_iter().filter(|(_, asks)| *asks).map(|(wave, _)| wave) {
            if self.approves(wave, WaveSide::Before) {
                self.admitted.insert(wave);
            }
        }
    }

    /// True if the approval is accepted.
    fn approves(&mut self, wave: &str, side: WaveSide) -> bool {
        let mut is_taken = false;
        self.world.change(self.kind, |status, rollout, _| is_taken = status.approve(rollout, wave, Some(side)).is_ok());
        is_taken
    }

    fn resume(&mut self) {
        self.world.change(self.kind, |status, _, now| status.resume(now));
        self.world.set("paused", json!(false));
    }

    fn step(&mut self, at: usize) {
        let done = match self.leases {
            true => self.runners[at].step_with_lease(at, self.kind, &mut self.world),
            false => self.runners[at].step(self.kind, &mut self.world),
        };
        let now = self.world.now;
        match done {
            Done::Nothing => {}
            Done::Planned(plan, fleet) => {
                if !plan.writes.is_empty() {
                    let RolloutStatus { phase, message, .. } = &plan.status;
                    self.world.note(|| format!("{now} runner {at} plans: {phase:?} {message}"));
                }
                self.is_in_order(&plan, &fleet);
                self.needs_both_controllers(&plan);
                self.says_what_runs(&plan, &fleet);
                self.needs_light(&plan);
                self.waits_for_checks(&plan);
                self.tells_what_is_lost(&plan);
                self.hears_answers(&plan.status);
            }
            Done::Wrote(status) => {
                self.world.note(|| {
                    let reserved: Vec<&str> = status.in_flight.iter().map(|one| one.object.as_str()).collect();
                    format!("{now} runner {at} writes: {:?} reserved {reserved:?}", status.phase)
                });
                if status.direction != self.direction {
                    // Approvals count once.
                    (self.approved, self.direction) = (false, status.direction);
                    self.admitted.clear();
                }
                self.was_paused |= status.phase == RolloutPhase::Paused;
                self.is_behind_canaries |= status.wave.as_deref().is_some_and(|wave| wave != "canary");
                self.is_through(&status, at);
            }
            Done::Moved(write, was) => {
                let to = self.world.objects[&write.name].label().unwrap_or("none").to_owned();
                self.world.note(|| format!("{now} runner {at} moves {} to {to}", write.name));
                if was.as_deref().unwrap_or("none") == to {
                    self.breaks("a move changes the version label", write.name.clone());
                }
                if to == NEW && was.as_deref() != Some(NEW) {
                    self.moved.entry(write.uid.clone()).or_default();
                    self.holds_the_others();
                    self.moves_forward(&write.uid, &write.name);
                    if self.setup.from && was.as_deref() != Some(OLD) {
                        self.breaks("objects of other versions are not moved", write.name.clone());
                    }
                }
            }
        }
        self.keeps_the_budget();
    }

    fn max_in_flight(&self) -> usize {
        match self.max_in_flight {
            // Percentage of a fleet that may have grown.
            MaxInFlight::Percent(percent) => (self.world.created.len() * percent / 100).max(1),
            MaxInFlight::Objects(objects) => objects,
        }
    }

    fn keeps_the_budget(&mut self) {
        let in_flux = self.world.in_flux.len();
        if in_flux > self.max_in_flight() {
            let what = format!("{in_flux} objects are neither healthy nor what they were: {:?}", self.world.in_flux);
            self.breaks("objects in flight stay within maxInFlight", what);
        }
    }

    /// In-flight objects precede all other candidates and follow the objects that a wave waits for.
    fn is_in_order(&mut self, plan: &RolloutPlan, fleet: &[FleetObject]) {
        let new = |uid: &str| {
            plan.status.in_flight.iter().any(|one| one.uid == uid && !one.back && !self.reserved.contains(uid))
        };
        let reserved: Vec<&FleetObject> = fleet.iter().filter(|object| new(object.uid())).collect();
        // The wave of a deleted object that only a cache still lists is unknown.
        let is_canary = |object: &FleetObject| self.world.objects.get(object.name()).map(Database::is_canary);
        let mut wrong = None;
        for object in &reserved {
            for (other, object_state) in fleet.iter().zip(&plan.object_states) {
                let same = is_canary(object).is_some_and(|wave| is_canary(other) == Some(wave));
                if *object_state != ObjectState::Old || !same || self.wave != 0 {
                    continue;
                }
                let told = self.world.told(&other.title()).cmp(&self.world.told(&object.title()));
                let property = match told.then_with(|| other.name().cmp(object.name())) {
                    Ordering::Less if told == Ordering::Less => "prioritized objects move first in their wave",
                    Ordering::Less => "objects move in order",
                    _ => continue,
                };
                wrong = Some((property, format!("{} before {}", object.title(), other.title())));
            }
        }
        if let Some((property, what)) = wrong {
            self.breaks(property, what);
        }
        if !reserved.is_empty() {
            self.is_healthy_enough(plan, fleet);
        }
        self.is_in_reverse(plan, fleet);
    }

    /// Starts no object while more objects are unhealthy than allowed.
    fn is_healthy_enough(&mut self, plan: &RolloutPlan, fleet: &[FleetObject]) {
        let is_left_alone = |object_state: &ObjectState| {
            matches!(
                object_state,
                ObjectState::Old
                    | ObjectState::New
                    | ObjectState::Held(_)
                    | ObjectState::Waiting(_)
                    | ObjectState::Refused(_)
            )
        };
        let all = fleet.iter().zip(&plan.object_states);
        let unhealthy =
            all.filter(|(object, object_state)| is_left_alone(object_state) && object.unhealthy().is_some());
        let unhealthy = unhealthy.count();
        if unhealthy > self.setup.max_unhealthy {
            self.breaks("no move starts above maxUnhealthy", format!("{unhealthy} are not"));
        }
    }

    /// The reported lowest running version is never above a version that is observed or that an in-flight object may
    /// have.
    fn says_what_runs(&mut self, plan: &RolloutPlan, fleet: &[FleetObject]) {
        let written = plan.writes.iter().any(|write| matches!(write, RolloutWrite::Status(_)));
        let of_crew = plan.status.parts.get("crew").map(|range| &range.lowest);
        for said in plan.status.lowest.iter().chain(of_crew).filter(|_| written) {
            self.says_lowest(plan, fleet, &said.version);
        }
    }

    fn says_lowest(&mut self, plan: &RolloutPlan, fleet: &[FleetObject], said: &str) {
        let seen = fleet.iter().map(|object| object.version().map(str::to_owned));
        let under_way = fleet.iter().filter(|object| plan.status.in_flight.iter().any(|one| one.uid == object.uid()));
        // A deleted object may still be reported, while another object has its name.
        let is_it = |now: &&Database, uid: &str| now.uid() == uid && !self.world.forged.contains(uid);
        let was = under_way.filter_map(|object| {
            let now = self.world.objects.get(object.name());
            now.filter(|now| is_it(now, object.uid()))?.was()
        });
        let lower = seen.chain(was).find(|version| version.as_deref().is_none_or(|version| *version < *said));
        if let Some(lower) = lower {
            self.breaks("the reported lowest version is not too high", format!("{said} is said, and {lower:?} runs"));
        }
    }

    /// True if the plan moves something forward.
    fn goes_forward(&self, plan: &RolloutPlan) -> bool {
        let begins = plan.status.in_flight.iter().any(|one| !one.back && !self.reserved.contains(&one.uid));
        let is_back = |uid: &str| plan.status.in_flight.iter().any(|one| one.uid == uid && one.back);
        let moves = plan.writes.iter().any(|write| matches!(write, RolloutWrite::Move(one) if !is_back(&one.uid)));
        plan.status.direction == Direction::Forward && (moves || begins)
    }

    /// Starts nothing while the new controller is not running.
    fn needs_both_controllers(&mut self, plan: &RolloutPlan) {
        if self.world.dead && self.goes_forward(plan) {
            let reserved = format!("{:?}", plan.status.in_flight);
            self.breaks("no object moves to a controller that does not run", reserved);
        }
    }

    /// Starts neither the rollout nor an object while a lighthouse is dark.
    fn needs_light(&mut self, plan: &RolloutPlan) {
        let began = self.world.status.started.is_none() && plan.status.started.is_some();
        if (self.world.dark || self.world.fog) && began {
            self.breaks("no rollout starts while a check fails", plan.status.message.clone());
        }
        if self.world.dark && self.goes_forward(plan) {
            let reserved = format!("{:?}", plan.status.in_flight);
            self.breaks("no object moves forward while a check fails", reserved);
        }
    }

    /// No wave starts, and the rollout neither passes a wave nor ends, while the required checks fail.
    fn waits_for_checks(&mut self, plan: &RolloutPlan) {
        let (gates, before, after) = (self.setup.gates, &self.world.status, &plan.status);
        let is_at_rest = |status: &RolloutStatus| status.wave.as_deref() == Some("rest");
        let has_begun = |status: &RolloutStatus| is_at_rest(status) && !status.before;
        let has_canaries = self.setup.canaries > 0;
        let goes_on = after.direction == Direction::Forward && before.started.is_some() && !before.is_over();
        let begins = gates.rest_checked && !has_begun(before) && has_begun(after);
        let leaves = gates.canaries_checked && !is_at_rest(before) && is_at_rest(after);
        let ends = gates.end_checked && matches!(after.phase, RolloutPhase::Complete | RolloutPhase::Failed);
        if self.world.fog && goes_on && ((has_canaries && (begins || leaves)) || ends) {
            self.breaks("a failing check blocks its wave and the end", format!("{:?}: {}", after.phase, after.message));
        }
    }

    /// An undo processes the objects in reverse order.
    fn is_in_reverse(&mut self, plan: &RolloutPlan, fleet: &[FleetObject]) {
        if plan.status.direction != Direction::Undo {
            return;
        }
        let new = |uid: &str| plan.status.in_flight.iter().any(|one| one.uid == uid) && !self.reserved.contains(uid);
        let is_its = |object: &Database| object.is_marked() && !self.world.forged.contains(object.uid());
        let marked = |name: &str| self.world.objects.get(name).is_some_and(is_its);
        let canary = |name: &str| self.world.objects.get(name).is_some_and(Database::is_canary);
        let mut wrong = None;
        for object in fleet.iter().filter(|object| new(object.uid())) {
            for (other, object_state) in fleet.iter().zip(&plan.object_states) {
                let same = canary(object.name()) == canary(other.name());
                if *object_state == ObjectState::New && marked(other.name()) && same && other.name() > object.name() {
                    wrong = Some(format!("{} before {}", object.title(), other.title()));
                }
            }
        }
        if let Some(what) = wrong {
            self.breaks("an undo reverts objects in reverse order", what);
        }
    }

    fn moves_forward(&mut self, moved: &str, name: &str) {
        let held = self.world.turned.contains(moved);
        if held {
            self.breaks("an object that a client reverted is not moved again", name.to_owned());
        }
        *self.moved.entry(moved.to_owned()).or_default() += 1;
        let canary = self.world.objects[name].is_canary();
        self.is_admitted(canary, name);
        if canary || self.setup.canaries == 0 {
            let counts = self.wave == 0 && !self.is_behind_canaries;
            self.canary_moved = Some(self.world.now).filter(|_| counts).or(self.canary_moved);
            return;
        }
        let clocks_agree = !self.setup.script.iter().any(|one| matches!(one, Happening::Clock(..)));
        let (soak, later) = (u64::from(self.setup.soak) * SOAK, u64::from(self.setup.gates.rest_later) * LATER);
        let is_early = self.canary_moved.is_some_and(|canary| self.world.now < canary + soak + later);
        if self.wave == 0 && clocks_agree && is_early {
            self.breaks("no object of the next wave moves during the soak", name.to_owned());
        }
        if self.setup.approval && !self.approved {
            self.breaks("no object of the next wave moves without approval", name.to_owned());
        }
        // A canary that existed at the start and that is not refused, owned or changed by another client moved first.
        let skipped = (0..self.setup.canaries.min(self.setup.objects)).map(|at| self.world.name(at)).find(|name| {
            self.world.objects.get(name).is_some_and(|object| {
                let from_the_beginning = self.world.first.contains(object.uid());
                let never = !self.moved.contains_key(object.uid());
                from_the_beginning
                    && never
                    && object.label() == Some(OLD)
                    && !self.is_stuck(name)
                    && !self.world.touched.contains(object.uid())
            })
        });
        if let Some(canary) = skipped {
            self.breaks("waves move in order", format!("{name} before {canary}"));
        }
        self.wave = 1;
    }

    /// No object of a wave moves before the required approval.
    fn is_admitted(&mut self, canary: bool, name: &str) {
        let (gates, has_canaries) = (self.setup.gates, self.setup.canaries > 0);
        let first = if has_canaries { "canary" } else { "rest" };
        let of_first = gates.first_approved && !self.admitted.contains(first);
        let of_rest = gates.rest_approved && has_canaries && !canary && !self.admitted.contains("rest");
        if of_first || of_rest {
            self.breaks("no object of a wave moves before its approval", name.to_owned());
        }
    }

    /// True if the object can never be moved.
    fn is_stuck(&self, name: &str) -> bool {
        let last = self.setup.objects - (self.setup.owned + self.setup.refused).min(self.setup.objects);
        (last..self.setup.objects).any(|at| self.world.name(at) == name)
    }

    /// A released object was healthy after its move; a complete rollout has no pending objects.
    fn is_through(&mut self, status: &RolloutStatus, at: usize) {
        let reserved: BTreeSet<String> = status.in_flight.iter().map(|one| one.uid.clone()).collect();
        let gone: Vec<String> = self.reserved.difference(&reserved).cloned().collect();
        for uid in gone {
            // If other clients set the label before, a cached list reports the health since their write.
            if self.world.in_flux.contains(&uid) && !self.world.touched.contains(&uid) {
                self.breaks("health from before the move does not count", format!("{uid} was let go"));
            }
        }
        self.reserved = reserved;
        if status.is_over() && status.started.is_some() {
            self.holds_nothing_back(at);
        }
        if status.is_over() && !status.in_flight.is_empty() {
            self.breaks("no object is in flight at the end", format!("{:?}: {:?}", status.phase, status.in_flight));
        }
        let failed = status.failures.iter().any(|failure| failure.reason == "TimedOut" && !failure.cleared);
        let goes_on = status.direction == Direction::Forward && status.phase != RolloutPhase::Paused;
        if self.setup.on_failure == "Pause" && failed && goes_on {
            self.breaks("a failure pauses the rollout", format!("{:?}", status.phase));
        }
        if status.phase == RolloutPhase::Complete {
            let listed = self.runners[at].listed;
            let left = self.world.objects.iter().find(|(name, object)| {
                let known = self.world.created[object.uid()] < listed;
                known
                    && object.label() == Some(OLD)
                    && !self.is_stuck(name)
                    && !self.world.touched.contains(object.uid())
            });
            if let Some(name) = left.map(|(name, _)| name.clone()) {
                self.breaks("a complete rollout has no pending objects", name);
            }
        }
    }

    /// No object fails for a missing controller write if the controller did write, even directly after the move.
    fn hears_answers(&mut self, status: &RolloutStatus) {
        for failure in &status.failures {
            let is_new = self.failures.insert((failure.uid.clone(), failure.at.clone()));
            // A client that sets the label of a held object owns the label afterwards, although admission keeps the
            // value.
            let is_of_rollout =
                self.world.objects.values().any(|one| one.uid() == failure.uid && one.is_label_of_rollout());
            let is_told_apart = is_of_rollout
                && ![&self.world.touched, &self.world.blurred].iter().any(|all| all.contains(&failure.uid));
            let until = self.world.cached_until;
            let answered = self.world.answered.get(&failure.uid).is_some_and(|revision| *revision <= until);
            let waits = failure.message.contains("has not written to the object since the move");
            if is_new && waits && answered && is_told_apart {
                let what = format!("{}: {}", failure.object, failure.message);
                self.breaks("a controller write right after the move is noticed", what);
            }
        }
    }

    /// All errors stop, all objects are healthy, and an operator acts on request: the rollout ends, or reports what it
    /// waits for.
    fn quiet(&mut self) {
        self.world.note(|| "quiet".to_owned());
        (self.world.down, self.world.dead, self.world.dark, self.world.fog) = (false, false, false, false);
        self.world.unaware = false;
        self.runners.iter_mut().for_each(|runner| runner.ahead = 0);
        let (mut helped, mut still) = (0, 0);
        for _ in 0..1_000 {
            self.world.now += 5;
            let names: Vec<String> = self.world.objects.keys().cloned().collect();
            names.iter().for_each(|name| self.world.look(name, true));
            self.world.sync();
            let before = Rc::clone(&self.world.status);
            // A plan and its first write. A controller that writes between any two calls would invalidate every plan.
            self.step(0);
            self.step(0);
            if self.broken.is_some() {
                return;
            }
            let status = Rc::clone(&self.world.status);
            still = if before == status { still + 1 } else { 0 };
            if still < 12 {
                continue;
            }
            if status.is_over() {
                return self.is_home(&status);
            }
            if status.direction != Direction::Forward && status.waits_for_approval() {
                return self.breaks("an undo or abort needs no approval", status.message.clone());
            }
            if helped < 10 {
                if helped == 5 {
                    self.tells_of_texts(&status);
                    self.world.takes_texts_off();
                    self.world.let_all_go();
                }
                (helped, still) = (helped + 1, 0);
                self.admit();
                self.approve();
                self.resume();
                continue;
            }
            let stuck = self.setup.refused + self.setup.owned > 0;
            if status.message.is_empty() || !stuck || status.phase == RolloutPhase::Rolling {
                let what = format!("{:?}, and says {:?}", status.phase, status.message);
                self.breaks("a rollout ends or reports the cause of its wait", what);
            }
            return;
        }
        self.breaks("a rollout ends or reports the cause of its wait", "it does not end".to_owned());
    }

    /// Objects skipped because of another client's annotation text are reported, and block the end of the rollout.
    fn tells_of_texts(&mut self, status: &RolloutStatus) {
        let is_to_go = |object: &&Database| object.has_text() && object.label() == Some(OLD) && !object.is_going();
        let texts = self.world.objects.values().filter(is_to_go).count();
        let goes = status.direction == Direction::Forward && status.started.is_some();
        let counts = &status.counts;
        if goes && counts.refused + counts.held + counts.failed < texts {
            let what = format!("{texts} are not moved: {:?} {:?}", status.counts, status.message);
            self.breaks("objects with unreadable annotations are reported", what);
        }
    }

    /// If everything was undone, the end reports the objects whose previous state is unknown.
    fn tells_what_is_lost(&mut self, plan: &RolloutPlan) {
        let ends = plan.writes.iter().any(|write| matches!(write, RolloutWrite::Status(_)));
        if !ends || plan.status.reason.as_deref() != Some("RolledBack") {
            return;
        }
        let is_lost = |object: &&Database| {
            let has_none = object.noted() == Some("") || object.has_text();
            has_none && object.label() == Some(NEW) && !object.is_going()
        };
        let lost = self.world.objects.values().filter(is_lost).count();
        if plan.status.counts.refused < lost || plan.status.leaves_objects() != (lost > 0) {
            let what = format!("{lost} have lost their marks: {:?} {:?}", plan.status.counts, plan.status.message);
            self.breaks("objects with an unknown previous state are reported", what);
        }
    }

    /// A reverted object equals its state before the move.
    fn is_home(&mut self, status: &RolloutStatus) {
        if status.reason.as_deref() != Some("RolledBack") {
            return;
        }
        let away = self.world.objects.iter().find(|(_, object)| {
            let marked = object.is_marked();
            let was = self.world.before[object.uid()].as_deref();
            !self.world.touched.contains(object.uid()) && (marked || object.label() != was)
        });
        if let Some(what) = away.map(|(name, object)| format!("{name}: {}", object.metadata())) {
            self.breaks("an undo restores the state before the move", what);
        }
    }
}
