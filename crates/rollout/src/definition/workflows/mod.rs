//! Workflows, as data: the ordered steps for one object of a rollout. The set of steps is closed, and each step defines
//! how it is reverted.

mod forms;
mod job;
mod object_step;
mod selected_objects;
mod step_object;
mod step_place;
mod workflow;

pub(crate) use forms::job::WorkflowJobSpec;
pub(super) use forms::workflow::{WorkflowStepSpec, compile};
pub(crate) use job::{JobSource, WorkflowJob, bad_manifest};
pub(crate) use object_step::{ObjectAction, Recreation, WaitedFor};
pub(crate) use selected_objects::{IfAny, ListWait, NamedDeletion, Touch};
pub(crate) use step_object::StepObject;
pub(crate) use step_place::StepPlace;
pub(crate) use workflow::{OF_LABELS, REWRITE, StepDirection, Workflow, WorkflowAct, WorkflowStep};
