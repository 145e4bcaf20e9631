//! A compiled workflow.

use std::time::Duration;

use serde_json::Value;

use super::job::WorkflowJob;
use super::object_step::{ObjectAction, ObjectStep};
use super::selected_objects::IfAny;
use pointsman_core::definition::{Gate, Path, unmet_of};

/// The built-in workflow for every kind with a version label: changes the label.
pub(crate) const OF_LABELS: &str = "controller-version";

/// The other built-in workflow: stores each object again.
pub(crate) const REWRITE: &str = "rewrite";

/// The steps for one object.
#[derive(Clone, Debug)]
pub(crate) struct Workflow {
    /// The name, unique in the definition.
    pub(crate) name: String,
    /// Selects the objects. Others are skipped.
    pub(crate) when: Option<Gate>,
    /// The workflow concerns objects of the source kind of a kind conversion.
    pub(crate) is_of_source: bool,
    /// The steps, in order.
    pub(crate) steps: Vec<WorkflowStep>,
    /// The workflow as written, to detect changes.
    pub(crate) words: Value,
}

/// A step: one write to apply it, and one write to revert it.
#[derive(Clone, Debug)]
pub(crate) struct WorkflowStep {
    /// The name in messages. A StagedRollout accepts an irreversible step by this name.
    pub(crate) name: String,
    /// The action of the step.
    pub(crate) act: WorkflowAct,
    /// Why the step cannot be reverted.
    pub(crate) irreversible: Option<String>,
    /// If set, the step is skipped for objects for which this list is empty.
    pub(crate) if_any: Option<IfAny>,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub(crate) enum WorkflowAct {
    /// Sets fields of the object. `None` removes a field.
    Set(Vec<(Path, Option<Value>)>),
    /// Waits until a condition holds for the object.
    Wait {
        /// The condition.
        until: Gate,
        /// The time limit. `None` waits without limit.
        timeout: Option<Duration>,
    },
    /// Runs a Job, and another Job for the revert.
    Job {
        /// The Job.
        job: Box<WorkflowJob>,
        /// The Job that reverts it. `None` if nothing has to be reverted.
        undo: Option<Box<WorkflowJob>>,
    },
    /// An action on other objects.
    OnObjects(Box<ObjectStep>),
}

impl Workflow {
    /// The workflow for a rollout, with its versions in place of `{from}` and `{to}`.
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

    /// The fields that are read or written.
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
                WorkflowAct::OnObjects(_) => {}
            }
        }
        fields
    }

    /// Describes why the workflow does not select an object.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        unmet_of(self.when.as_ref()?, object)
    }

    /// Returns whether a text of the workflow contains this placeholder.
    pub(crate) fn mentions(&self, words: &str) -> bool {
        // Gates are filled for the workflow. Set values and Job variables are filled for each object.
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
            WorkflowAct::OnObjects(step) => step.act.texts().iter().any(|text| text.contains(words)),
        });
        let mut lists = self.steps.iter().filter_map(|step| step.if_any.as_ref()).flat_map(|list| list.place.texts());
        let in_steps = in_steps || lists.any(|text| text.contains(words));
        in_steps || format!("{without:?}") != format!("{self:?}")
    }

    /// Of the first `done` steps, the number that stay applied: those up to the last irreversible step. A deleted
    /// object is recreated as a new object.
    pub(crate) fn floor(&self, done: usize) -> usize {
        let undone = self.steps.len().checked_sub(1).filter(|_| self.returns());
        let all = self.steps.iter().enumerate().take(done).filter(|(at, _)| Some(*at) != undone);
        all.filter(|(_, step)| step.irreversible.is_some()).map(|(at, _)| at + 1).max().unwrap_or_default()
    }

    /// Returns whether an object that the last step deleted can be recreated from its replacement, and all earlier
    /// steps be reverted.
    pub(crate) fn returns(&self) -> bool {
        let acts = || self.steps.iter().filter_map(WorkflowStep::object_step).map(|step| &step.act);
        let Some((last, before)) = self.steps.split_last() else { return false };
        last.object_step().is_some_and(|last| matches!(last.act, ObjectAction::DeleteSource))
            && before.iter().all(|step| step.irreversible.is_none())
            && acts().any(|act| matches!(act, ObjectAction::Convert))
            && !acts().any(|act| matches!(act, ObjectAction::Recreate(recreation) if recreation.was.is_empty()))
    }
}

impl WorkflowStep {
    /// The action on other objects, if any.
    pub(crate) fn object_step(&self) -> Option<&ObjectStep> {
        match &self.act {
            WorkflowAct::OnObjects(step) => Some(step),
            _ => None,
        }
    }

    /// Returns whether the step only waits.
    pub(crate) fn is_wait(&self) -> bool {
        match &self.act {
            WorkflowAct::Wait { .. } => true,
            WorkflowAct::OnObjects(step) => step.act.is_wait(),
            WorkflowAct::Set(_) | WorkflowAct::Job { .. } => false,
        }
    }

    /// Describes the condition that an object does not meet yet before the step is applied or reverted.
    pub(crate) fn unmet(&self, object: &Value, way: StepDirection) -> Option<String> {
        let gate = match (&self.act, way) {
            (WorkflowAct::Wait { until, .. }, StepDirection::Done) => Some(until),
            (WorkflowAct::Job { job, .. }, StepDirection::Done) => job.until.as_ref(),
            (WorkflowAct::Job { undo, .. }, StepDirection::Undone) => {
                undo.as_ref().and_then(|undo| undo.until.as_ref())
            }
            _ => None,
        };
        unmet_of(gate?, object)
    }

    /// The time limit, if specified.
    pub(crate) fn timeout(&self, way: StepDirection) -> Option<Duration> {
        match (&self.act, way) {
            (WorkflowAct::Set(_), _) => None,
            (WorkflowAct::Wait { timeout, .. }, _) => *timeout,
            (WorkflowAct::Job { job, .. }, StepDirection::Done) => job.timeout,
            (WorkflowAct::Job { undo, .. }, StepDirection::Undone) => undo.as_ref().and_then(|undo| undo.timeout),
            (WorkflowAct::OnObjects(step), _) => step.timeout,
        }
    }
}

/// The direction of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StepDirection {
    /// Forward: the step is applied.
    Done,
    /// Backward: the step is reverted.
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
            Self::OnObjects(step) => {
                Self::OnObjects(Box::new(ObjectStep { act: step.act.filled(fill), timeout: step.timeout }))
            }
        }
    }
}
