//! A history of workflows: the initial state and the events.

use pointsman_core::laws::Random;

use crate::script::TEXTS;

/// A step of a workflow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Drawn {
    /// Sets an absent field.
    Lock,
    /// Sets a label, and fields with absent parents.
    Deep,
    /// Sets an existing field.
    Unset,
    /// Waits for the result of a Job or of manual work.
    Wait,
    Job,
    /// A Job that is done if the object has a certain state.
    Until,
    /// A step without undo.
    Irreversible,
}

/// An event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Event {
    /// A runner makes its next call.
    Step(usize),
    /// A runner is killed and restarted.
    Kill(usize),
    /// The response to a runner's next write is lost.
    Lost(usize),
    Tick(u64),
    /// A running Job succeeds or fails.
    Ends(usize, bool),
    /// An observed Job is deleted.
    Drop(usize),
    /// An operator does the work of a Job manually.
    ByHand(usize),
    /// A webhook rejects writes of an object, or of none.
    Deny(Option<usize>),
    Delete(usize),
    Create,
    /// A client changes the label by which a wave selects objects.
    Relabel(usize),
    /// A client writes one of [`TEXTS`] into the rollout annotation.
    Notes(usize, usize),
    Resume,
    Pause,
    Forward,
    Back,
    Stop,
}

/// The initial fleet and StagedRollout, and the events.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) objects: usize,
    pub(super) canaries: usize,
    pub(super) max_in_flight: usize,
    pub(super) on_failure: &'static str,
    /// The steps of the first workflow, and of an optional second one (empty: none).
    pub(super) steps: Vec<Drawn>,
    pub(super) more: Vec<Drawn>,
    /// A wave without objects in between that runs a Job; true if the Job can be undone.
    pub(super) run: Option<bool>,
    pub(super) runners: usize,
    pub(super) script: Vec<Event>,
}

impl Draft {
    pub(super) fn draw(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let objects = 1 + random.below(5);
        let steps = steps(random, 1);
        let more = if random.percent(40) { steps_after(random, &steps) } else { Vec::new() };
        let mut draft = Self {
            objects,
            canaries: if random.percent(60) { 1 } else { 0 },
            max_in_flight: 1 + random.below(2),
            on_failure: random.word(&["Pause", "Pause", "Undo", "UndoAll"]),
            steps,
            more,
            run: if random.percent(40) { Some(random.percent(60)) } else { None },
            runners: 1 + random.below(2),
            script: Vec::new(),
        };
        let (trouble, turns) = (random.percent(70), random.percent(40));
        for _ in 0..30 + random.below(200) {
            let event = draft.event(random, trouble, turns);
            draft.script.push(event);
        }
        draft.noted(&mut Random::new(seed ^ NOTED))
    }

    /// Adds a client that overwrites rollout annotations; the rest of the history is unchanged.
    fn noted(mut self, random: &mut Random) -> Self {
        let count = if random.percent(75) { 0 } else { 1 + random.below(3) };
        for _ in 0..count {
            let event = Event::Notes(random.below(self.objects), random.below(TEXTS.len()));
            self.script.insert(random.below(self.script.len() + 1), event);
        }
        self
    }

    fn event(&self, random: &mut Random, trouble: bool, turns: bool) -> Event {
        let (runner, object) = (random.below(self.runners), random.below(self.objects + 1));
        match random.below(100) {
            0..52 => Event::Step(runner),
            52..68 => Event::Ends(random.below(4), !trouble || random.percent(75)),
            68..78 => {
                let most = if random.percent(10) { 100 } else { 6 };
                Event::Tick(1 + random.below(most) as u64)
            }
            78..82 => Event::Resume,
            _ if !trouble => Event::Step(runner),
            82..87 => Event::Kill(runner),
            87..89 => Event::Lost(runner),
            89 => Event::Drop(random.below(4)),
            90 => Event::ByHand(object),
            91 => Event::Deny(if random.percent(60) { Some(object) } else { None }),
            92 if random.percent(40) => Event::Delete(object),
            93 if random.percent(40) => Event::Create,
            94 if random.percent(50) => Event::Relabel(object),
            94 => Event::Pause,
            95..98 if turns => *random.pick(&[Event::Back, Event::Back, Event::Forward, Event::Stop]).unwrap(),
            _ => Event::Step(runner),
        }
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
            |draft: &mut Self| draft.objects -= usize::from(draft.objects > 1),
            |draft: &mut Self| draft.canaries = 0,
            |draft: &mut Self| draft.more.clear(),
            |draft: &mut Self| draft.run = None,
            |draft: &mut Self| draft.steps.truncate(draft.steps.len().saturating_sub(1)),
        ] {
            for _ in 0..4 {
                let mut less = self.clone();
                change(&mut less);
                if !less.steps.is_empty() && breaks(&less) {
                    self = less;
                }
            }
        }
        self
    }
}

/// Random seed of overwritten rollout annotations.
const NOTED: u64 = 0x407e;

/// Draws steps; the last step may be irreversible. A Job precedes each wait for its result.
fn steps(random: &mut Random, least: usize) -> Vec<Drawn> {
    let mut steps: Vec<Drawn> = Vec::new();
    for _ in 0..least + random.below(4) {
        let step =
            *random.pick(&[Drawn::Lock, Drawn::Deep, Drawn::Unset, Drawn::Wait, Drawn::Job, Drawn::Until]).unwrap();
        let brings = steps.iter().any(|step| matches!(step, Drawn::Job | Drawn::Until));
        // At most one of each: a field that was set before exists.
        if !steps.contains(&step) && (step != Drawn::Wait || brings) {
            steps.push(step);
        }
    }
    if random.percent(20) || steps.is_empty() {
        steps.push(Drawn::Irreversible);
    }
    steps
}

/// Draws steps of a second workflow, which write other fields than the first workflow.
fn steps_after(random: &mut Random, first: &[Drawn]) -> Vec<Drawn> {
    let mut steps = steps(random, 1);
    steps.retain(|step| !first.contains(step) || matches!(step, Drawn::Job));
    steps.retain(|step| *step != Drawn::Wait);
    steps
}
