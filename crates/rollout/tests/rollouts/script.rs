//! A history: an ordered list of events. A recorded history is deterministic, so that a failing history can be reduced
//! to the necessary events.

use pointsman_core::laws::Random;

use super::world::{NEW, OLD, OTHER};

/// The initial fleet and StagedRollout.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) objects: usize,
    /// Number of canaries, the first objects, if the rollout has a canary wave.
    pub(super) canaries: usize,
    pub(super) max_in_flight: String,
    pub(super) approval: bool,
    pub(super) soak: bool,
    pub(super) on_failure: &'static str,
    pub(super) max_unhealthy: usize,
    pub(super) settles: bool,
    /// The controllers of both versions share one field manager.
    pub(super) one_manager: bool,
    /// If false, every object is moved, also without a label.
    pub(super) from: bool,
    /// Objects whose writes a webhook rejects.
    pub(super) refused: usize,
    /// Objects with a label that a GitOps tool owns.
    pub(super) owned: usize,
    /// The last object is at neither the old nor the new version.
    pub(super) elsewhere: bool,
    pub(super) runners: usize,
    /// Pending objects are held until they are due.
    pub(super) hold: bool,
    /// Objects with a label that a GitOps tool owns are moved too.
    pub(super) takes_over: bool,
    /// Number of first objects that a deleted rollout holds: one of another name, one of the same name.
    pub(super) stale: [usize; 2],
    pub(super) gates: Gates,
    pub(super) script: Vec<Happening>,
}

/// The gates of waves, except the approval and the soak time after the canaries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Gates {
    /// The first wave needs an approval before its start.
    pub(super) first_approved: bool,
    /// The wave after the canaries needs an approval before its start.
    pub(super) rest_approved: bool,
    /// The start checks must pass again before the wave after the canaries.
    pub(super) rest_checked: bool,
    /// The wave after the canaries starts after a delay.
    pub(super) rest_later: bool,
    /// The checks must pass again after the canaries.
    pub(super) canaries_checked: bool,
    /// The checks must pass again at the end.
    pub(super) end_checked: bool,
}

impl Gates {
    fn draw(random: &mut Random) -> Self {
        if random.percent(50) {
            return Self::default();
        }
        Self {
            first_approved: random.percent(30),
            rest_approved: random.percent(50),
            rest_checked: random.percent(50),
            rest_later: random.percent(40),
            canaries_checked: random.percent(30),
            end_checked: random.percent(30),
        }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Happening {
    /// A runner makes its next call. A runner without calls is frozen.
    Step(usize),
    /// A cache answers the runner's next list.
    Cached(usize),
    /// The cache catches up.
    Sync,
    /// A runner is killed and restarted.
    Kill(usize),
    /// A runner's next write succeeds, and its response is lost.
    Lost(usize),
    /// From now on, a runner's clock is ahead by this many seconds.
    Clock(usize, u64),
    Tick(u64),
    /// The object's controller reports the object as healthy or unhealthy.
    Look(usize, bool),
    /// Another client writes the status of the object.
    Noise(usize),
    TurnBack(usize),
    /// A client moves an object manually before the rollout does.
    MoveOn(usize),
    Delete(usize),
    /// A client deletes an object, and a finalizer keeps the object.
    Keep(usize),
    /// The finalizer's owner removes the finalizer.
    LetGo(usize),
    /// Another object with the same name.
    Recreate(usize),
    Create,
    /// Creates an object from an export, with a hold of a rollout of this uid and name.
    CreateHeld((&'static str, &'static str)),
    Down,
    Up,
    /// The new controller stops and reports nothing; or starts again.
    Dead(bool),
    /// A required condition elsewhere in the cluster fails, or passes again. The rollout neither starts nor continues
    /// without it.
    Dark(bool),
    /// The old controller writes to an object, even to an object of the other controller.
    OldWrites(usize),
    /// An operator prioritizes an object.
    Tell(usize),
    /// An operator approves every wave that waits before its start.
    Admit,
    /// The buoys, which are required for the start, become invisible or visible.
    Fog(bool),
    Approve,
    Resume,
    Pause,
    Back,
    Stop,
    /// A client with or without support for holds writes an object.
    Stranger(usize, Stranger),
    /// The StagedRollout starts or stops to hold objects.
    Hold(bool),
    /// Webhook servers without support for holds and annotations answer, or servers with support.
    Unaware(bool),
}

/// Writes by clients that change the objects of a rollout, but not the rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stranger {
    /// Sets another label manually.
    Labels(&'static str),
    /// Sets another label as a GitOps tool, by force.
    Applies(&'static str),
    /// Replaces the object without annotations.
    Replaces,
    /// Releases a known hold.
    LetsGo,
    /// Releases the hold and sets a label at once.
    Takes(&'static str),
    /// Records a wanted version, or cancels the request.
    Wishes(&'static str),
    /// Restores an old export: a hold of a deleted rollout.
    Restores,
    /// Writes a text into the rollout annotation, as a client without knowledge of rollouts does, or from an export of
    /// another rollout.
    Notes(&'static str),
}

/// Possible texts in the rollout annotation: empty, no valid annotation, a large one, and annotations of other
/// rollouts, of this rollout, and of a rollout with this uid and another target.
pub(super) const TEXTS: [&str; 13] = [
    "",
    "null",
    "0",
    "[]",
    "{",
    LARGE,
    "{\"a\":\"b\"}",
    "[\"rollout-1\",\"2.16.0\",\"2.17.0\",\"2026-11-18T11:06:40Z\"]",
    "{\"rollout\":\"rollout-1\",\"was\":[],\"to\":\"2.17.0\",\"at\":\"\"}",
    "{\"rollout\":\"rollout-0\",\"was\":null,\"to\":\"2.17.0\",\"at\":\"2026-11-18T11:00:00Z\"}",
    "{\"rollout\":\"rollout-1\",\"was\":\"2.16.0\",\"to\":\"2.17.0\",\"at\":\"2026-11-18T11:06:40Z\"}",
    "{\"rollout\":\"rollout-1\",\"was\":\"2.16.0\",\"to\":\"2.17.0\",\"at\":\"2999-01-01T00:00:00Z\"}",
    "{\"rollout\":\"rollout-1\",\"was\":\"2.16.0\",\"to\":\"9.9.9\",\"at\":\"soon\"}",
];

/// A placeholder for a text of the maximum length that an API server accepts.
pub(super) const LARGE: &str = "large";

impl Setup {
    /// A fleet in which only the rollout acts.
    pub(super) fn plain() -> Self {
        Self {
            objects: 1,
            canaries: 0,
            max_in_flight: "1".to_owned(),
            approval: false,
            soak: false,
            on_failure: "Pause",
            max_unhealthy: 1,
            settles: false,
            one_manager: false,
            from: true,
            refused: 0,
            owned: 0,
            elsewhere: false,
            runners: 1,
            hold: false,
            takes_over: false,
            stale: [0; 2],
            gates: Gates::default(),
            script: Vec::new(),
        }
    }

    pub(super) fn draw(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let objects = 1 + random.below(7);
        let runners = 1 + random.below(2);
        let max_in_flight = random.word(&["1", "2", "3", "\"50%\"", "\"1%\""]).to_owned();
        let on_failure = random.word(&["Pause", "Pause", "Undo", "UndoAll"]);
        let mut setup = Self {
            objects,
            canaries: if random.percent(60) { 1 + random.below(2) } else { 0 },
            max_in_flight,
            approval: random.percent(50),
            soak: random.percent(30),
            on_failure,
            max_unhealthy: random.below(4),
            settles: random.percent(40),
            one_manager: Random::new(seed ^ MANAGING).percent(50),
            from: random.percent(70),
            refused: if random.percent(20) { 1 } else { 0 },
            owned: if random.percent(20) { 1 } else { 0 },
            elsewhere: random.percent(20),
            runners,
            hold: Random::new(seed ^ HOLDING).percent(40),
            takes_over: false,
            stale: [0; 2],
            gates: Gates::default(),
            script: Vec::new(),
        };
        // Most fleets are mostly healthy.
        let health = *random.pick(&[100, 95, 70]).unwrap();
        let trouble = random.percent(70);
        let is_undo = random.percent(30);
        for _ in 0..20 + random.below(180) {
            let happening = setup.next(random, health, trouble, is_undo);
            setup.script.push(happening);
        }
        let setup = setup.gated(&mut Random::new(seed ^ GATED)).met(&mut Random::new(seed ^ STRANGE));
        setup.noted(&mut Random::new(seed ^ NOTED)).kept(&mut Random::new(seed ^ KEPT))
    }

    /// Adds objects that are deleted and kept for a while; the rest of the history is unchanged.
    fn kept(mut self, random: &mut Random) -> Self {
        if random.percent(75) {
            return self;
        }
        for _ in 0..1 + random.below(4) {
            let at = random.below(self.objects + 2);
            let happening = if random.percent(70) { Happening::Keep(at) } else { Happening::LetGo(at) };
            self.script.insert(random.below(self.script.len() + 1), happening);
        }
        self
    }

    /// Adds clients that overwrite the rollout annotation or create exported objects; the rest of the history is
    /// unchanged.
    fn noted(mut self, random: &mut Random) -> Self {
        if random.percent(65) {
            return self;
        }
        for _ in 0..1 + random.below(5) {
            let text = *random.pick(&TEXTS).unwrap();
            let held = *random.pick(&[("rollout-1", "r"), ("rollout-0", "r"), ("rollout-0", "q")]).unwrap();
            let noted = Happening::Stranger(random.below(self.objects + 2), Stranger::Notes(text));
            let happening = if random.percent(80) { noted } else { Happening::CreateHeld(held) };
            self.script.insert(random.below(self.script.len() + 1), happening);
        }
        self
    }

    /// Adds clients that change holds; the rest of the history is unchanged.
    fn met(mut self, random: &mut Random) -> Self {
        if random.percent(if self.hold { 30 } else { 80 }) {
            return self;
        }
        self.takes_over = random.percent(20);
        self.stale = [0, 1].map(|_| if random.percent(30) { 1 + random.below(2) } else { 0 });
        for _ in 0..random.below(14) {
            let happening = self.stranger(random);
            self.script.insert(random.below(self.script.len() + 1), happening);
        }
        self
    }

    fn stranger(&self, random: &mut Random) -> Happening {
        let version = *random.pick(&[NEW, NEW, OLD, OTHER]).unwrap();
        let stranger = match random.below(12) {
            0..3 => Stranger::Labels(version),
            3..6 => Stranger::Applies(version),
            6 => Stranger::Replaces,
            7 => Stranger::LetsGo,
            8 => Stranger::Takes(version),
            9 => Stranger::Wishes(if random.percent(50) { "" } else { version }),
            10 => Stranger::Restores,
            _ => {
                let on = random.percent(50);
                return if random.percent(70) { Happening::Hold(on) } else { Happening::Unaware(on) };
            }
        };
        Happening::Stranger(random.below(self.objects + 2), stranger)
    }

    /// Adds gates to the waves; the rest of the history is unchanged.
    fn gated(mut self, random: &mut Random) -> Self {
        self.gates = Gates::draw(random);
        if self.gates == Gates::default() {
            return self;
        }
        for _ in 0..random.below(10) {
            let happening = *random.pick(&[Happening::Admit, Happening::Fog(true), Happening::Fog(false)]).unwrap();
            self.script.insert(random.below(self.script.len() + 1), happening);
        }
        self
    }

    fn next(&self, random: &mut Random, health: usize, trouble: bool, is_undo: bool) -> Happening {
        let (runner, object) = (random.below(self.runners), random.below(self.objects + 2));
        match random.below(100) {
            0..45 => Happening::Step(runner),
            45..60 => Happening::Look(object, random.percent(health)),
            60..72 => {
                let most = if random.percent(10) { 100 } else { 8 };
                Happening::Tick(1 + random.below(most) as u64)
            }
            72..74 => Happening::Noise(object),
            74 => Happening::Tell(object),
            75 if trouble && random.percent(30) => Happening::OldWrites(object),
            75 => Happening::Noise(object),
            76..78 => Happening::Sync,
            78 if trouble => Happening::MoveOn(object),
            78 => Happening::Step(runner),
            79..83 => Happening::Approve,
            83..85 => Happening::Resume,
            _ if !trouble => Happening::Step(runner),
            85..88 => Happening::Kill(runner),
            88..90 => Happening::Lost(runner),
            90..92 => Happening::Cached(runner),
            92 => Happening::Clock(runner, random.below(200) as u64),
            93 => Happening::TurnBack(object),
            94 => Happening::Delete(object),
            95 => Happening::Recreate(object),
            96 => Happening::Create,
            97 => {
                let dead = [true, false].map(Happening::Dead);
                let dark = [true, false].map(Happening::Dark);
                *random.pick(&[[Happening::Down, Happening::Up], dead, dark].concat()).unwrap()
            }
            98 => Happening::Pause,
            _ if is_undo => {
                if random.percent(70) {
                    Happening::Back
                } else {
                    Happening::Stop
                }
            }
            _ => Happening::Step(runner),
        }
    }

    /// True if runners must hold the Lease. Two runners without a Lease are harmless only under these conditions: the
    /// fleet keeps one direction, and nothing is held. No foreign annotation text appears and disappears, and no
    /// deleted object is kept. Otherwise one runner may hold or move an object that the other one has read earlier. The
    /// other runner may then have ended, or have released the object because of the text or the deletion.
    pub(super) fn leases(&self) -> bool {
        let counts = |one: &Happening| {
            let is_text = matches!(one, Happening::Stranger(_, Stranger::Notes(_)));
            is_text || matches!(one, Happening::Back | Happening::Stop | Happening::Hold(_) | Happening::Keep(_))
        };
        self.hold || self.on_failure.starts_with("Undo") || self.script.iter().any(counts)
    }

    /// The smallest variant of the history that still fails.
    pub(super) fn shrunk(mut self, breaks: impl Fn(&Self) -> bool) -> Self {
        let mut size = self.script.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.script.len() {
                let mut less = self.clone();
                less.script.drain(at..(at + size).min(self.script.len()));
                if breaks(&less) { self = less } else { at += size }
            }
            size /= 2;
        }
        for change in [
            |setup: &mut Self| setup.objects -= usize::from(setup.objects > 1),
            |setup: &mut Self| setup.runners = 1,
            |setup: &mut Self| setup.canaries = 0,
            |setup: &mut Self| setup.refused = 0,
            |setup: &mut Self| setup.owned = 0,
            |setup: &mut Self| setup.soak = false,
            |setup: &mut Self| setup.hold = false,
            |setup: &mut Self| setup.takes_over = false,
            |setup: &mut Self| setup.stale = [0; 2],
            |setup: &mut Self| setup.approval = false,
            |setup: &mut Self| setup.gates.first_approved = false,
            |setup: &mut Self| setup.gates.rest_approved = false,
            |setup: &mut Self| setup.gates.rest_checked = false,
            |setup: &mut Self| setup.gates.rest_later = false,
            |setup: &mut Self| setup.gates.canaries_checked = false,
            |setup: &mut Self| setup.gates.end_checked = false,
        ] {
            for _ in 0..7 {
                let mut less = self.clone();
                change(&mut less);
                if less.runs() && breaks(&less) {
                    self = less;
                }
            }
        }
        self
    }

    /// True if every acting runner exists.
    fn runs(&self) -> bool {
        self.script.iter().all(|one| match one {
            Happening::Step(at)
            | Happening::Kill(at)
            | Happening::Lost(at)
            | Happening::Cached(at)
            | Happening::Clock(at, _) => *at < self.runners,
            _ => true,
        })
    }
}

/// Random seed of gates.
const GATED: u64 = 0x6a7e;

/// Random seed of holds.
const HOLDING: u64 = 0x401d;

/// Random seed of field managers.
const MANAGING: u64 = 0x3a9a;

/// Random seed of other clients.
const STRANGE: u64 = 0x57a9;

/// Random seed of overwritten rollout annotations.
const NOTED: u64 = 0x407e;

/// Random seed of kept deleted objects.
const KEPT: u64 = 0x6e97;
