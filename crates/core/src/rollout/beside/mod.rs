//! What steps do to other objects than the one that a rollout is about: what has to be looked up for that, what is seen
//! of it, and the one call that comes next. Nothing is remembered: a step is done where its objects say so, undone
//! likewise, and whatever is in between goes on from there, either way.

mod adopt;
mod ahead;
mod behind;
mod convert;
mod copied_metadata;
mod delete;
mod delete_named;
mod earlier;
mod lookup;
mod names;
mod object_write;
mod observation;
mod obstacles;
mod owner;
mod perform;
mod progress;
mod recreate;
mod recreation_source;
mod revert;
mod rights_of;
mod room;
mod seen;
mod settlement;
mod touch;
mod wait;
mod waiting_for_all;

pub(super) use ahead::{ahead_questions, pods_ahead, pods_questions, refused_ahead};
pub(super) use delete::{has_become, kept_of, leftover_questions, leftovers};
pub(super) use earlier::{beside_earlier, earlier_question};
pub(super) use lookup::step_questions;
pub(super) use names::{BECAME, MADE_BY, ON_WHAT_WAS_MADE};
pub use object_write::{PreconditionObject, ObjectCall, ObjectWrite, Propagation, Replacement, ReplacementObject};
pub(super) use perform::progress;
pub(super) use progress::{PreflightFailure, ObjectStepInput, StepOutcome};
pub(super) use revert::questions_again;
pub(super) use rights_of::{rights_elsewhere_of, rights_of};
pub(super) use room::PodSet;
pub(super) use seen::{annotation, held_by_finalizers, is_going, list};
pub use settlement::not_left_behind;
pub(super) use touch::questions as readmitted;
