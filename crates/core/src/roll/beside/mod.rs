//! What steps do to other objects than the one that a roll is about: what has to be looked up for that, what is seen of
//! it, and the one call that comes next. Nothing is remembered: a step is done where its objects say so, undone
//! likewise, and whatever is in between goes on from there, either way.

mod adopting;
mod ahead;
mod asking;
mod behind;
mod converting;
mod deleting;
mod deleting_named;
mod doing;
mod earlier;
mod looking;
mod names;
mod object_write;
mod obstacles;
mod owner;
mod progress;
mod readmitting;
mod recreated;
mod recreating;
mod returning;
mod rights_of;
mod room;
mod seen;
mod settled;
mod shared;
mod waiting;
mod waiting_for_all;

pub(super) use ahead::{ahead_questions, pods_ahead, pods_questions, refused_ahead};
pub(super) use asking::step_questions;
pub(super) use deleting::{has_become, kept_of, leftover_questions, leftovers};
pub(super) use doing::progress;
pub(super) use earlier::{beside_earlier, earlier_question};
pub(super) use names::{BECAME, MADE_BY, ON_WHAT_WAS_MADE};
pub use object_write::{Counterpart, ObjectCall, ObjectWrite, Propagation, Replacement, Successor};
pub(super) use progress::{Ahead, Beside, StepProgress};
pub(super) use readmitting::questions as readmitted;
pub(super) use returning::questions_again;
pub(super) use rights_of::{rights_elsewhere_of, rights_of};
pub(super) use room::PodSet;
pub(super) use seen::{annotation, held_by_finalizers, is_going, list};
pub use settled::not_left_behind;
