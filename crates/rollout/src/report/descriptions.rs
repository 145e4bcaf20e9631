//! Descriptions of the gates and steps of a rollout, for the printed plan.

use crate::definition::workflows::{IfAny, ObjectAction, Workflow, WorkflowAct, WorkflowStep};
use crate::evaluate::object_state::shown;
use crate::spec::rollout::Rollout;
use crate::spec::waves::{WaveGate, WaveSide};
use crate::steps::actions::step_action;
use crate::steps::step_action::described_place;
use std::time::Duration;

/// A gate of a wave.
#[derive(Clone, Copy, Debug)]
pub struct GateDescription<'r> {
    /// The name of the wave.
    pub wave: &'r str,
    /// The side of the wave.
    pub side: WaveSide,
    /// True if an operator must approve.
    pub approval: bool,
    /// True if the start checks must pass again.
    pub checks: bool,
    /// The waiting time.
    pub wait: Option<Duration>,
}

impl GateDescription<'_> {
    /// Place and conditions as text, which begins with `after canary: `.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}: {}", self.side.of(self.wave), self.waits())
    }

    /// The conditions as text.
    #[must_use]
    pub fn waits(&self) -> String {
        let wait = self.wait.map(|wait| format!("{} go by", shown(wait)));
        let checks = self.checks.then(|| "the start checks pass again".to_owned());
        let approval = self.approval.then(|| "an approval".to_owned());
        [wait, checks, approval].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The waiting time, in the form of a StagedRollout: `30m`.
    #[must_use]
    pub fn time(&self) -> Option<String> {
        self.wait.map(shown)
    }
}

/// The gates of a rollout, in chronological order.
#[must_use]
pub fn gate_descriptions(rollout: &Rollout) -> Vec<GateDescription<'_>> {
    let sides = rollout.waves.iter().flat_map(|wave| WaveSide::BOTH.map(|side| (wave, side, wave.gate(side))));
    let waited = sides.filter(|(.., gate)| !gate.is_open());
    let gates = waited.map(|(wave, side, gate)| {
        let WaveGate { approval, checks, wait } = *gate;
        GateDescription { wave: &wave.name, side, approval, checks, wait }
    });
    gates.collect()
}

/// A step with its description.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StepDescription {
    /// Its workflow.
    pub workflow: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub does: String,
    /// The reason why it is irreversible, if so.
    pub irreversible: Option<String>,
}

/// The steps of each object, if other objects are written too or the object is stored again. Empty if steps only write
/// the object and run Jobs.
#[must_use]
pub fn step_descriptions(rollout: &Rollout) -> Vec<StepDescription> {
    let mut workflows = Vec::new();
    for workflow in rollout.waves.iter().filter(|wave| !wave.is_run).filter_map(|wave| wave.workflow.as_ref()) {
        let is_known = workflows.iter().any(|known: &&Workflow| known.name == workflow.name);
        let is_described = rollout.stores.is_some() || workflow.steps.iter().any(|step| step.object_step().is_some());
        if !is_known && is_described {
            workflows.push(workflow);
        }
    }
    let descriptions = workflows.into_iter().flat_map(|workflow| {
        workflow.steps.iter().map(|step| StepDescription {
            workflow: workflow.name.clone(),
            name: step.name.clone(),
            does: does(rollout, step) + again(workflow, step) + &only_for(step),
            irreversible: step.irreversible.clone(),
        })
    });
    descriptions.collect()
}

/// The effect of a rollback on a deleted object.
fn again(workflow: &Workflow, step: &WorkflowStep) -> &'static str {
    let is_deletion = step.object_step().is_some_and(|step| matches!(step.act, ObjectAction::DeleteSource));
    if is_deletion && workflow.returns() { "; an undo recreates the object from its replacement" } else { "" }
}

/// The condition under which a step applies.
fn only_for(step: &WorkflowStep) -> String {
    let only = |list: &IfAny| format!(", if {}{} exist", list.resource, described_place(&list.place));
    step.if_any.as_ref().map(only).unwrap_or_default()
}

fn does(rollout: &Rollout, step: &WorkflowStep) -> String {
    let target = rollout.pair.as_ref().map(|pair| pair.target.resource.to_string()).unwrap_or_default();
    match &step.act {
        WorkflowAct::Set(fields) if fields.is_empty() => {
            format!("only writes its progress, so that the object is stored as {}", rollout.to)
        }
        WorkflowAct::Set(fields) => {
            let fields: Vec<String> = fields.iter().map(|(field, _)| field.to_string()).collect();
            format!("writes {}", fields.join(", "))
        }
        WorkflowAct::Wait { .. } => "waits for the object".to_owned(),
        WorkflowAct::Job { .. } => "runs a Job".to_owned(),
        WorkflowAct::OnObjects(object_step) => step_action(&object_step.act).description(&target),
    }
}
