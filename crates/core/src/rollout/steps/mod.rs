//! What steps do to other objects than the one that a rollout is about: what has to be looked up for that, what is seen
//! of it, and the one call that comes next. Nothing is remembered: a step is done where its objects say so, undone
//! likewise, and whatever is in between goes on from there, either way.

mod adopt;
mod preflight;
mod revert_preflight;
mod convert;
mod copied_metadata;
mod delete;
mod delete_named;
mod name_reuse;
mod lookup;
mod annotations;
mod object_write;
mod observation;
mod obstacles;
mod controller_reference;
mod perform;
mod step_outcome;
mod recreate;
mod recreation_source;
mod revert;
mod required_rights;
mod quota;
mod observed_object;
mod settlement;
mod touch;
mod wait;
mod list_wait;

pub(super) use preflight::{ahead_questions, pods_ahead, pods_questions, refused_ahead};
pub(super) use delete::{is_replaced, kept_of, leftover_questions, leftovers};
pub(super) use name_reuse::{beside_earlier, earlier_question};
pub(super) use lookup::step_questions;
pub(super) use annotations::{BECAME, MADE_BY, ON_WHAT_WAS_MADE};
pub use object_write::{PreconditionObject, ObjectCall, ObjectWrite, Propagation, Replacement, ReplacementObject};
pub(super) use perform::progress;
pub(super) use step_outcome::{PreflightFailure, ObjectStepInput, StepOutcome};
pub(super) use revert::questions_again;
pub(super) use required_rights::{rights_elsewhere_of, rights_of};
pub(super) use quota::PodSet;
pub(super) use observed_object::{annotation, held_by_finalizers, is_going, list};
pub use settlement::not_left_behind;
pub(super) use touch::questions as readmitted;
