//! A history: what happens, in which order. Nothing else is left to chance once it is written down, so that a history
//! that breaks a property can be made smaller until nothing can be left out.

use pointsman_core::laws::Random;

use super::world::{NEW, OLD, OTHER};

/// How the fleet and the StagedRollout look at first.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) objects: usize,
    /// The first so many are canaries, where there are such waves.
    pub(super) canaries: usize,
    pub(super) max_in_flight: String,
    pub(super) approval: bool,
    pub(super) soak: bool,
    pub(super) on_failure: &'static str,
    pub(super) max_unhealthy: usize,
    pub(super) settles: bool,
    /// The controllers of both versions write as one field manager.
    pub(super) one_manager: bool,
    /// Without it any object is moved, also those without a label.
    pub(super) from: bool,
    /// Objects that no webhook lets go.
    pub(super) refused: usize,
    /// Objects whose label a GitOps tool owns.
    pub(super) owned: usize,
    /// The last object is at a version that is neither the old nor the new one.
    pub(super) elsewhere: bool,
    pub(super) runners: usize,
    /// Objects are held until their turn.
    pub(super) hold: bool,
    /// Objects whose label a GitOps tool owns are moved as well.
    pub(super) takes_over: bool,
    /// The first objects, which a rollout holds that is there no more: of another name, and of the same.
    pub(super) stale: [usize; 2],
    pub(super) gates: Gates,
    pub(super) script: Vec<Happening>,
}

/// What is waited for beside waves, but for the approval and the time behind the canaries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Gates {
    /// Somebody approves the first wave before it begins.
    pub(super) first_approved: bool,
    /// The same of those behind the canaries, where there are such waves.
    pub(super) rest_approved: bool,
    /// The checks of the beginning hold again before these.
    pub(super) rest_checked: bool,
    /// Some seconds go by before these.
    pub(super) rest_later: bool,
    /// The checks hold again after the canaries.
    pub(super) canaries_checked: bool,
    /// The same at the end.
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

/// Something that happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Happening {
    /// A runner does its next call. One that does none is frozen.
    Step(usize),
    /// The next list of a runner is answered by a cache.
    Cached(usize),
    /// The cache hears of what is there.
    Sync,
    /// A runner is killed, and started again.
    Kill(usize),
    /// The next write of a runner happens, and its answer is lost.
    Lost(usize),
    /// The clock of a runner is so many seconds ahead from now on.
    Clock(usize, u64),
    Tick(u64),
    /// The controller that an object is in the hands of looks at it, and finds it healthy or not.
    Look(usize, bool),
    /// Somebody else writes its status.
    Noise(usize),
    TurnBack(usize),
    /// Somebody moves an object by hand, before the rollout does.
    MoveOn(usize),
    Delete(usize),
    /// Somebody deletes an object, and a finalizer keeps it.
    Keep(usize),
    /// Whoever set that finalizer takes it off.
    LetGo(usize),
    /// The same name, another object.
    Recreate(usize),
    Create,
    /// One that comes with what an export says: a rollout of this uid and name holds it.
    CreateHeld((&'static str, &'static str)),
    Down,
    Up,
    /// The new controller dies, and so is not there to look; or is there again.
    Dead(bool),
    /// Something else of the cluster, which a rollout must not begin or go on without, is amiss; or is mended.
    Dark(bool),
    /// The old controller writes to an object, in whosever hands it is.
    OldWrites(usize),
    /// Somebody tells an object to go next.
    Tell(usize),
    /// Somebody approves whatever asks for that before it begins.
    Admit,
    /// Nobody sees the buoys, without which a rollout must not begin; or somebody does.
    Fog(bool),
    Approve,
    Resume,
    Pause,
    Back,
    Stop,
    /// Somebody who may know of holds, or not, writes an object.
    Stranger(usize, Stranger),
    /// The StagedRollout holds from now on, or does not.
    Hold(bool),
    /// Servers answer that know nothing of holds and marks, or do.
    Unaware(bool),
}

/// What others write, who leave the rollout alone and its objects not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stranger {
    /// Another label, by hand.
    Labels(&'static str),
    /// The same as a GitOps tool, by force.
    Applies(&'static str),
    /// All of it, without any annotation.
    Replaces,
    /// Whoever knows of the hold lets it go.
    LetsGo,
    /// The same, with a label at once.
    Takes(&'static str),
    /// Notes a wish, or takes one back.
    Wishes(&'static str),
    /// What an export of yesterday says: a hold of a rollout that is there no more.
    Restores,
    /// A text where rollouts note what they have done, as who knows nothing of rollouts would, or an export of another
    /// rollout.
    Notes(&'static str),
}

/// What somebody may write there: nothing, no mark, a large one, and marks of other rollouts, of this one, and of one
/// that has its uid and leads elsewhere.
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

/// A large one, which stands for as many characters as an API server takes.
pub(super) const LARGE: &str = "large";

impl Setup {
    /// A fleet in which nothing happens but what the rollout does.
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
        // Most fleets are healthy most of the time.
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

    /// The same with objects that are deleted and kept for a while: the rest of a history stays what it was.
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

    /// The same with others who write where rollouts note what they have done, and who create what an export says: the
    /// rest of a history stays what it was.
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

    /// The same with others who do to holds what they like: the rest of a history stays what it was.
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

    /// The same with waits beside its waves: the rest of a history stays what it was.
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

    /// Whether whoever runs the rollout has its Lease first. Without one two runners do each other no harm as long as
    /// the fleet goes one way, nothing is held, nobody's text comes to stand on an object and goes again, and nothing
    /// that is deleted is kept: else what one of them holds or moves, the other may have seen before that, and be over,
    /// or let go for the text or the deletion.
    pub(super) fn leases(&self) -> bool {
        let counts = |one: &Happening| {
            let is_text = matches!(one, Happening::Stranger(_, Stranger::Notes(_)));
            is_text || matches!(one, Happening::Back | Happening::Stop | Happening::Hold(_) | Happening::Keep(_))
        };
        self.hold || self.on_failure.starts_with("Undo") || self.script.iter().any(counts)
    }

    /// The same history, as small as it still breaks something.
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

    /// Whether every runner that does something is there.
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

/// What waits are drawn by, beside all else of a history.
const GATED: u64 = 0x6a7e;

/// What holds are drawn by.
const HOLDING: u64 = 0x401d;

/// What field managers are drawn by.
const MANAGING: u64 = 0x3a9a;

/// What strangers are drawn by.
const STRANGE: u64 = 0x57a9;

/// What those who write where rollouts do are drawn by.
const NOTED: u64 = 0x407e;

/// What is deleted and kept is drawn by.
const KEPT: u64 = 0x6e97;
