//! Workflows, as data: the ordered steps for one object of a rollout. The set of steps is closed, and each step defines
//! how it is reverted.

mod job;
mod job_spec;
mod object_step;
mod object_step_spec;
mod schemas;
mod selected_objects;
mod selected_objects_spec;
mod spec;
mod step_object;
mod step_place;
mod time_limit;
mod workflow;

pub(crate) use job::{JobSource, WorkflowJob, bad_manifest};
pub(crate) use job_spec::WorkflowJobSpec;
pub(crate) use object_step::{ObjectAction, Recreation, WaitedFor};
pub(crate) use selected_objects::{IfAny, ListWait, NamedDeletion, Touch};
pub(super) use spec::WorkflowStepSpec;
pub(super) use spec::compile;
pub(crate) use step_object::StepObject;
pub(crate) use step_place::StepPlace;
pub(crate) use workflow::{OF_LABELS, REWRITE, StepDirection, Workflow, WorkflowAct, WorkflowStep};
