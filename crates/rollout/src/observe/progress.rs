//! The progress of an object on its workflows: one entry per wave that contains it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::observed_field::ObservedField;
use super::rollout_annotation::RolloutAnnotation;
use super::status::RolloutStatus;
use crate::definition::workflows::{StepDirection, WorkflowAct};
use crate::lookup::request::FactLookup;
use crate::spec::rollout::Rollout;
use crate::spec::waves::Wave;
use pointsman_core::definition::Path;

/// The wave entries of an object, in wave order, and the observed fields that steps write.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ObjectProgress {
    pub(crate) waves: Vec<WaveProgress>,
    pub(crate) fields: BTreeMap<Path, ObservedField>,
    /// The facts that its conversion to another kind needs.
    pub(crate) facts: Vec<FactLookup>,
    /// The reason in its own fields that excludes it from conversion.
    pub(crate) refused: Option<String>,
    /// The refusal reason in its status.
    pub(crate) recorded_refusal: Option<String>,
    /// True for a placeholder that represents a wave run.
    pub(crate) is_run: bool,
}

/// The progress of an object on the workflow of one wave.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WaveProgress {
    pub(crate) wave: usize,
    /// True if the wave contains the object, by its labels or because it has begun the wave. The object may be in
    /// flight in other waves.
    is_own: bool,
    /// True if the wave has a selector.
    is_chosen: bool,
    /// The number of applied steps.
    pub(crate) done: usize,
    /// The last applied step counts only so that a rollback reverts it.
    pub(crate) half: bool,
    /// The next step has begun, with unknown progress.
    pub(crate) open: bool,
    /// The number of steps.
    pub(crate) steps: usize,
    /// The number of applied steps that are irreversible.
    pub(crate) floor: usize,
    /// The reason why the workflow does not select the object.
    outside: Option<String>,
    /// The unmet condition of each step before it is applied.
    done_unmet: Vec<Option<String>>,
    /// The unmet condition of each step before it is reverted.
    undone_unmet: Vec<Option<String>>,
}

impl ObjectProgress {
    /// The progress of an object. `waves` are the indices of waves that contain it. Other waves are included, since the
    /// object may be in flight there from before a label change.
    pub(crate) fn of(object: &Value, rollout: &Rollout, waves: &[usize], mark: Option<&RolloutAnnotation>) -> Self {
        let facts = rollout.pair.as_ref().map(|pair| pair.wanted(object)).unwrap_or_default();
        let refused = rollout.pair.as_ref().and_then(|pair| pair.refuses(object));
        let recorded_refusal = rollout.pair.as_ref().and_then(|pair| pair.recorded_refusal_of(object));
        let mut all = Self { facts, refused, recorded_refusal, ..Self::default() };
        for (at, wave) in rollout.waves.iter().enumerate().filter(|(_, wave)| !wave.is_run) {
            let Some(workflow) = &wave.workflow else { continue };
            let done = mark.and_then(|mark| mark.step.get(&wave.name).copied()).unwrap_or_default();
            let unmet = |way| workflow.steps.iter().map(|step| step.unmet(object, way)).collect();
            all.waves.push(WaveProgress {
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

    /// The progress of a deleted object, from its last annotation. `None` if it cannot be recreated.
    pub(crate) fn of_former(rollout: &Rollout, waves: &[usize], mark: &RolloutAnnotation) -> Option<Self> {
        let all = Self::of(&Value::Null, rollout, waves, Some(mark));
        let object_progress = Self { waves: all.waves, ..Self::default() };
        let last = object_progress.last().filter(|wave_progress| wave_progress.is_done())?;
        let workflow = rollout.waves.get(last.wave)?.workflow.as_ref()?;
        workflow.returns().then_some(object_progress)
    }

    /// The progress of a wave run, as an object.
    pub(crate) fn of_run(at: usize, wave: &Wave, status: &RolloutStatus) -> Option<Self> {
        let done = usize::from(status.completed_run_waves.contains(&wave.name));
        let workflow = wave.workflow.as_ref().filter(|_| wave.is_run)?;
        let wave_progress = WaveProgress {
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
        (wave_progress.steps > 0).then(|| Self { waves: vec![wave_progress], is_run: true, ..Self::default() })
    }

    /// The next wave in forward direction.
    pub(crate) fn forward(&self) -> Option<&WaveProgress> {
        self.own().find(|wave_progress| !wave_progress.is_done() && wave_progress.counts())
    }

    /// The earlier wave that the object must pass first, with the obstacle: the wave selects the object, and the
    /// workflow's condition fails now.
    pub(crate) fn held(&self) -> Option<(&WaveProgress, &str)> {
        let next = self.forward()?;
        let before = self.own().take_while(|wave_progress| wave_progress.wave != next.wave);
        before.filter(|wave_progress| wave_progress.is_chosen).find_map(|wave_progress| {
            Some((wave_progress, wave_progress.outside.as_deref().filter(|_| !wave_progress.counts())?))
        })
    }

    fn own(&self) -> impl DoubleEndedIterator<Item = &WaveProgress> {
        self.waves.iter().filter(|wave_progress| wave_progress.is_own)
    }

    /// The wave to roll back next. Irreversible steps end a rollback.
    pub(crate) fn back(&self) -> Option<&WaveProgress> {
        self.last().filter(|wave_progress| wave_progress.done > wave_progress.floor || wave_progress.open)
    }

    /// The last wave with an applied step.
    pub(crate) fn last(&self) -> Option<&WaveProgress> {
        self.own().rev().find(|wave_progress| wave_progress.done > 0 || wave_progress.open)
    }

    /// The entry of a wave that contains the object.
    pub(crate) fn of_wave(&self, wave: usize) -> Option<&WaveProgress> {
        self.own().find(|wave_progress| wave_progress.wave == wave)
    }

    /// The entry of a wave in which the object is in flight, whatever its labels.
    pub(crate) fn under_way(&self, wave: usize) -> Option<&WaveProgress> {
        self.waves.iter().find(|wave_progress| wave_progress.wave == wave)
    }

    /// True if the object is in the middle of a wave.
    pub(crate) fn is_half_way(&self) -> bool {
        self.last().is_some_and(|wave_progress| !wave_progress.is_done())
    }

    /// True for an object without applied steps.
    pub(crate) fn is_home(&self) -> bool {
        !self.is_run && !self.has_begun()
    }

    /// True if a step is applied.
    pub(crate) fn has_begun(&self) -> bool {
        self.last().is_some()
    }
}

impl WaveProgress {
    /// True if the wave is complete in a direction.
    pub(crate) fn is_move_observed(&self, back: bool) -> bool {
        if back { self.done <= self.floor && !self.open } else { self.is_done() }
    }

    /// The unmet condition for applying or reverting a step.
    pub(crate) fn unmet(&self, step: usize, way: StepDirection) -> Option<&str> {
        let unmet = match way {
            StepDirection::Done => &self.done_unmet,
            StepDirection::Undone => &self.undone_unmet,
        };
        unmet.get(step)?.as_deref()
    }

    /// True if the workflow does not select the object now.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// True if the object counts in its wave.
    pub(crate) fn counts(&self) -> bool {
        self.done > 0 || self.open || self.outside.is_none()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done >= self.steps && !self.half
    }
}
