//! How far an object is on its workflows: one leg for each wave that takes it along.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fleet_rollout::Rollout;
use super::kinds::FactLookup;
use super::rollout_annotation::RolloutAnnotation;
use super::observed_field::ObservedField;
use super::status::RolloutStatus;
use super::wave::Wave;
use crate::definition::{WorkflowAct, Path, StepDirection};

/// The legs of an object, in the order of their waves, and what is seen of the fields that their steps write.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ObjectProgress {
    pub(super) legs: Vec<WaveProgress>,
    pub(super) fields: BTreeMap<Path, ObservedField>,
    /// What has to be looked up for it to become an object of another kind.
    pub(super) facts: Vec<FactLookup>,
    /// Why it does not become one, by its own fields.
    pub(super) refused: Option<String>,
    /// What its status says of that.
    pub(super) told: Option<String>,
    /// It is no object: what a wave runs stands for it.
    pub(super) is_run: bool,
}

/// The workflow of one wave, as far as an object has gone it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct WaveProgress {
    pub(super) wave: usize,
    /// Whether the object goes it: by its labels, or because it has gone a part of it. Other waves may have it under
    /// way.
    is_own: bool,
    /// Whether its wave says which objects it is for.
    is_chosen: bool,
    /// How many of its steps are done.
    pub(super) done: usize,
    /// The last of them counts as done only so that it can be undone.
    pub(super) half: bool,
    /// The next one was begun, and nobody knows how far it came.
    pub(super) open: bool,
    /// How many it has.
    pub(super) steps: usize,
    /// How many of those that are done stay done.
    pub(super) floor: usize,
    /// Why the workflow is not about the object.
    outside: Option<String>,
    /// What does not hold, for each step, before it is done.
    done_unmet: Vec<Option<String>>,
    /// The same before it is undone.
    undone_unmet: Vec<Option<String>>,
}

impl ObjectProgress {
    /// The legs of an object. These waves take it along, by their indices; of the others it is known how far it is,
    /// since it may be under way with them from before somebody changed its labels.
    pub(super) fn of(object: &Value, rollout: &Rollout, waves: &[usize], mark: Option<&RolloutAnnotation>) -> Self {
        let facts = rollout.pair.as_ref().map(|pair| pair.wanted(object)).unwrap_or_default();
        let refused = rollout.pair.as_ref().and_then(|pair| pair.refuses(object));
        let told = rollout.pair.as_ref().and_then(|pair| pair.told_of(object));
        let mut all = Self { facts, refused, told, ..Self::default() };
        for (at, wave) in rollout.waves.iter().enumerate().filter(|(_, wave)| !wave.is_run) {
            let Some(workflow) = &wave.workflow else { continue };
            let done = mark.and_then(|mark| mark.step.get(&wave.name).copied()).unwrap_or_default();
            let unmet = |way| workflow.steps.iter().map(|step| step.unmet(object, way)).collect();
            all.legs.push(WaveProgress {
                wave: at,
                is_own: waves.contains(&at),
                is_chosen: !wave.chosen.is_everything(),
                done: done.min(workflow.steps.len()),
                half: mark.is_some_and(|mark| mark.unknown_waves.contains(&wave.name)),
                open: mark.is_some_and(|mark| mark.open.contains(&wave.name)),
                steps: workflow.steps.len(),
                floor: workflow.floor(done),
                outside: workflow.unmet(object),
                done_unmet: unmet(StepDirection::Done),
                undone_unmet: unmet(StepDirection::Undone),
            });
            for step in &workflow.steps {
                let WorkflowAct::Set(fields) = &step.act else { continue };
                let seen = fields.iter().map(|(field, _)| (field.clone(), ObservedField::of(object, field)));
                all.fields.extend(seen);
            }
        }
        all
    }

    /// The legs of an object that is there no more, by what it said last. Nothing where it cannot be made anew.
    pub(super) fn of_former(rollout: &Rollout, waves: &[usize], mark: &RolloutAnnotation) -> Option<Self> {
        let all = Self::of(&Value::Null, rollout, waves, Some(mark));
        let legs = Self { legs: all.legs, ..Self::default() };
        let last = legs.last().filter(|leg| leg.is_done())?;
        let workflow = rollout.waves.get(last.wave)?.workflow.as_ref()?;
        workflow.returns().then_some(legs)
    }

    /// What a wave runs, as if it were an object.
    pub(super) fn of_run(at: usize, wave: &Wave, status: &RolloutStatus) -> Option<Self> {
        let done = usize::from(status.completed_run_waves.contains(&wave.name));
        let workflow = wave.workflow.as_ref().filter(|_| wave.is_run)?;
        let leg = WaveProgress {
            wave: at,
            is_own: true,
            is_chosen: false,
            done: done.min(workflow.steps.len()),
            half: status.unknown_run_waves.contains(&wave.name),
            open: false,
            steps: workflow.steps.len(),
            floor: workflow.floor(done),
            outside: None,
            done_unmet: vec![None; workflow.steps.len()],
            undone_unmet: vec![None; workflow.steps.len()],
        };
        (leg.steps > 0).then(|| Self { legs: vec![leg], is_run: true, ..Self::default() })
    }

    /// The leg that comes next on the way forward.
    pub(super) fn forward(&self) -> Option<&WaveProgress> {
        self.own().find(|leg| !leg.is_done() && leg.counts())
    }

    /// The leg before that one which the object has to go first, and why it cannot: its wave has chosen the object, and
    /// what its workflow is about does not hold now.
    pub(super) fn held(&self) -> Option<(&WaveProgress, &str)> {
        let next = self.forward()?;
        let before = self.own().take_while(|leg| leg.wave != next.wave);
        before
            .filter(|leg| leg.is_chosen)
            .find_map(|leg| Some((leg, leg.outside.as_deref().filter(|_| !leg.counts())?)))
    }

    fn own(&self) -> impl DoubleEndedIterator<Item = &WaveProgress> {
        self.legs.iter().filter(|leg| leg.is_own)
    }

    /// The leg that is taken back next. Nobody goes back over what cannot be undone.
    pub(super) fn back(&self) -> Option<&WaveProgress> {
        self.last().filter(|leg| leg.done > leg.floor || leg.open)
    }

    /// The last leg of which anything is done.
    pub(super) fn last(&self) -> Option<&WaveProgress> {
        self.own().rev().find(|leg| leg.done > 0 || leg.open)
    }

    /// The leg of a wave that takes the object along.
    pub(super) fn of_wave(&self, wave: usize) -> Option<&WaveProgress> {
        self.own().find(|leg| leg.wave == wave)
    }

    /// The leg of a wave that an object is under way with, whether its labels still say so or not.
    pub(super) fn under_way(&self, wave: usize) -> Option<&WaveProgress> {
        self.legs.iter().find(|leg| leg.wave == wave)
    }

    /// Whether it is somewhere on a leg, and not at its end.
    pub(super) fn is_half_way(&self) -> bool {
        self.last().is_some_and(|leg| !leg.is_done())
    }

    /// Whether it is an object of which no step is done.
    pub(super) fn is_home(&self) -> bool {
        !self.is_run && !self.has_begun()
    }

    /// Whether any step of it was done.
    pub(super) fn has_begun(&self) -> bool {
        self.last().is_some()
    }
}

impl WaveProgress {
    /// Whether the leg is where a way leads.
    pub(super) fn has_landed(&self, back: bool) -> bool {
        if back { self.done <= self.floor && !self.open } else { self.is_done() }
    }

    /// What does not hold that has to before a step is done, or undone.
    pub(super) fn unmet(&self, step: usize, way: StepDirection) -> Option<&str> {
        let unmet = match way {
            StepDirection::Done => &self.done_unmet,
            StepDirection::Undone => &self.undone_unmet,
        };
        unmet.get(step)?.as_deref()
    }

    /// Whether its workflow is not about the object, as that is now.
    pub(super) fn is_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// Whether it counts among the objects of its wave.
    pub(super) fn counts(&self) -> bool {
        self.done > 0 || self.open || self.outside.is_none()
    }

    pub(super) fn is_done(&self) -> bool {
        self.done >= self.steps && !self.half
    }
}
