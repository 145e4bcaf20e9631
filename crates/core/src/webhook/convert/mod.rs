//! One object from one version of its kind to another, losslessly, through every version between them.
//!
//! [`object`] walks the steps between the versions, which tell each other what they know ([`between_steps`]), such as
//! what [waits](pending) for a version further away; [`step`] does one of them: [`level`] takes the [pieces] that
//! operations are about out of an object ([`cut`]), lets them [cross] over, and puts them back into their [holders],
//! item by item in lists and maps ([`items`]); [`status`] says the rollout in that version's words; and what does not
//! fit is put into an annotation ([`annotations`]), whose format is [`kept`].

mod annotations;
mod between_steps;
mod bit_set;
mod change;
mod conditions;
mod context;
mod projection;
mod cut;
mod error;
mod facts;
mod annotation_budget;
mod shared_objects;
mod items;
mod join;
mod kept;
mod kept_values;
mod level;
mod object;
mod paths;
mod pending;
mod pieces;
mod proof;
mod prune;
mod result;
mod status;
mod step;
mod string_arena;
pub(super) mod tree;
mod pending_defaults;

pub use annotations::INCOMPLETE;
pub use change::Change;
pub(super) use change::Trace;
pub use error::ConvertError;
pub use facts::Facts;
pub(crate) use annotation_budget::BUDGET;
pub use annotation_budget::AnnotationBudget;
pub use kept::is_kept;
pub(super) use kept_values::{AddedValue, MistypedValue, added_values, mistyped_values};
pub use object::Metadata;
pub(super) use object::Object;
pub(super) use prune::{Pruned, is_brought, is_of_status, pruned, status_as_before};
pub use result::Converted;
pub(super) use result::{ConversionEvents, convert, convert_into, explain, written};
pub(super) use string_arena::StringArena;
