//! A workflow, checked.

use std::time::Duration;

use serde_json::Value;

use super::object_step::{ObjectAction, ObjectStep};
use super::job::WorkflowJob;
use super::selected_objects::IfAny;
use crate::definition::gates::{Gate, GatedValue};
use crate::definition::path::Path;

/// The workflow of every kind whose objects have a version label: the label is changed.
pub(crate) const OF_LABELS: &str = "controller-version";

/// The workflow of every kind beside that: each object is stored anew.
pub(crate) const REWRITE: &str = "rewrite";

/// What happens to one object, step by step.
#[derive(Clone, Debug)]
pub(crate) struct Workflow {
    pub(crate) name: String,
    /// What holds of the objects that it is about. Others are left alone.
    pub(crate) when: Option<Gate>,
    /// It is about objects of the kind that goes, of which others become.
    pub(crate) is_of_source: bool,
    pub(crate) steps: Vec<WorkflowStep>,
    /// The same as it was written, by which it is told from others.
    pub(crate) words: Value,
}

/// A step: what is done, by one write, and how it is undone, by one write.
#[derive(Clone, Debug)]
pub(crate) struct WorkflowStep {
    /// What messages call it, and what a StagedRollout accepts where it cannot be undone.
    pub(crate) name: String,
    pub(crate) act: WorkflowAct,
    /// Why it cannot be undone.
    pub(crate) irreversible: Option<String>,
    /// It is for objects for which this list has something in it. For others it counts as done.
    pub(crate) if_any: Option<IfAny>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum WorkflowAct {
    /// Fields of the object get these values; without a value a field goes.
    Set(Vec<(Path, Option<Value>)>),
    /// Nothing, until this holds of the object.
    Wait { until: Gate, timeout: Option<Duration> },
    /// A Job runs, and another one where it is undone.
    Job { job: Box<WorkflowJob>, undo: Option<Box<WorkflowJob>> },
    /// Something about other objects.
    Beside(Box<ObjectStep>),
}

impl Workflow {
    /// The same for a rollout, whose versions stand in the place of `{from}` and `{to}`.
    pub(crate) fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        let steps = self.steps.iter().map(|step| WorkflowStep { act: step.act.filled(fill), ..step.clone() });
        Self {
            name: self.name.clone(),
            when: self.when.as_ref().map(|when| when.filled(fill)),
            is_of_source: self.is_of_source,
            steps: steps.collect(),
            words: self.words.clone(),
        }
    }

    /// The fields that are looked at or written.
    pub(crate) fn fields(&self) -> Vec<&Path> {
        let mut fields: Vec<&Path> = self.when.iter().flat_map(Gate::fields).collect();
        for step in &self.steps {
            match &step.act {
                WorkflowAct::Set(set) => fields.extend(set.iter().map(|(field, _)| field)),
                WorkflowAct::Wait { until, .. } => fields.extend(until.fields()),
                WorkflowAct::Job { job, undo } => {
                    let gates = [Some(job), undo.as_ref()].into_iter().flatten().filter_map(|job| job.until.as_ref());
                    fields.extend(gates.flat_map(Gate::fields));
                }
                WorkflowAct::Beside(_) => {}
            }
        }
        fields
    }

    /// Why it is not about an object, in words.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        self.when.as_ref()?.unmet(&mut GatedValue(object))
    }

    /// Whether a text of it has these words, which a rollout fills in.
    pub(crate) fn mentions(&self, words: &str) -> bool {
        // Gates are filled in with the workflow; what is set, and variables of Jobs, for each object.
        let without = self.filled(&|text| text.replace(words, ""));
        let in_steps = self.steps.iter().any(|step| match &step.act {
            WorkflowAct::Set(fields) => {
                fields.iter().filter_map(|(_, value)| value.as_ref()).any(|value| value.to_string().contains(words))
            }
            WorkflowAct::Wait { .. } => false,
            WorkflowAct::Job { job, undo } => {
                let jobs = [Some(job), undo.as_ref()].into_iter().flatten();
                jobs.flat_map(|job| job.env.iter()).any(|(_, value)| value.contains(words))
            }
            WorkflowAct::Beside(step) => step.act.texts().iter().any(|text| text.contains(words)),
        });
        let mut lists = self.steps.iter().filter_map(|step| step.if_any.as_ref()).flat_map(|list| list.place.texts());
        let in_steps = in_steps || lists.any(|text| text.contains(words));
        in_steps || format!("{without:?}") != format!("{self:?}")
    }

    /// Of the first so many steps, which are done, how many stay done: those up to the last one that cannot be undone.
    /// An object that was deleted comes back as another one.
    pub(crate) fn floor(&self, done: usize) -> usize {
        let undone = self.steps.len().checked_sub(1).filter(|_| self.returns());
        let all = self.steps.iter().enumerate().take(done).filter(|(at, _)| Some(*at) != undone);
        all.filter(|(_, step)| step.irreversible.is_some()).map(|(at, _)| at + 1).max().unwrap_or_default()
    }

    /// Whether an object that went by its last step can be made anew of what it has become, and everything before that
    /// be undone.
    pub(crate) fn returns(&self) -> bool {
        let acts = || self.steps.iter().filter_map(WorkflowStep::beside).map(|step| &step.act);
        let Some((last, before)) = self.steps.split_last() else { return false };
        last.beside().is_some_and(|last| matches!(last.act, ObjectAction::DeleteSource))
            && before.iter().all(|step| step.irreversible.is_none())
            && acts().any(|act| matches!(act, ObjectAction::Convert))
            && !acts().any(|act| matches!(act, ObjectAction::Recreate(recreation) if recreation.was.is_empty()))
    }
}

impl WorkflowStep {
    /// What it does to other objects.
    pub(crate) fn beside(&self) -> Option<&ObjectStep> {
        match &self.act {
            WorkflowAct::Beside(step) => Some(step),
            _ => None,
        }
    }

    /// Whether it does nothing but wait.
    pub(crate) fn is_wait(&self) -> bool {
        match &self.act {
            WorkflowAct::Wait { .. } => true,
            WorkflowAct::Beside(step) => step.act.is_wait(),
            WorkflowAct::Set(_) | WorkflowAct::Job { .. } => false,
        }
    }

    /// What does not hold of an object that has to before the step is done, or undone, in words.
    pub(crate) fn unmet(&self, object: &Value, way: StepDirection) -> Option<String> {
        let gate = match (&self.act, way) {
            (WorkflowAct::Wait { until, .. }, StepDirection::Done) => Some(until),
            (WorkflowAct::Job { job, .. }, StepDirection::Done) => job.until.as_ref(),
            (WorkflowAct::Job { undo, .. }, StepDirection::Undone) => undo.as_ref().and_then(|undo| undo.until.as_ref()),
            _ => None,
        };
        gate?.unmet(&mut GatedValue(object))
    }

    /// How long it may take, where it says so.
    pub(crate) fn timeout(&self, way: StepDirection) -> Option<Duration> {
        match (&self.act, way) {
            (WorkflowAct::Set(_), _) => None,
            (WorkflowAct::Wait { timeout, .. }, _) => *timeout,
            (WorkflowAct::Job { job, .. }, StepDirection::Done) => job.timeout,
            (WorkflowAct::Job { undo, .. }, StepDirection::Undone) => undo.as_ref().and_then(|undo| undo.timeout),
            (WorkflowAct::Beside(step), _) => step.timeout,
        }
    }
}

/// Which way a step is gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StepDirection {
    Done,
    Undone,
}

impl WorkflowAct {
    fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Set(fields) => Self::Set(fields.clone()),
            Self::Wait { until, timeout } => Self::Wait { until: until.filled(fill), timeout: *timeout },
            Self::Job { job, undo } => Self::Job {
                job: Box::new(job.filled(fill)),
                undo: undo.as_ref().map(|undo| Box::new(undo.filled(fill))),
            },
            Self::Beside(step) => {
                Self::Beside(Box::new(ObjectStep { act: step.act.filled(fill), timeout: step.timeout }))
            }
        }
    }
}
