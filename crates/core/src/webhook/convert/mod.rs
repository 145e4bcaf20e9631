//! Lossless conversion of one object between two versions of its kind, through every version between them.
//!
//! [`object`] runs the steps between the versions, which share their state ([`between_steps`]), such as values that are
//! [`pending`] for a more distant version. [`step`] runs one step: [`level`] takes the [pieces] of operations
//! out of an object ([`cut`]), [projects](projection) them to the other side, and puts them back into their [shared
//! objects](shared_objects), item by item in lists and maps ([`items`]). [`status`] converts the status of a rollout.
//! Values that cannot be represented are stored in an annotation ([`annotations`]) in the [`kept`] format.

mod annotation_budget;
mod annotations;
mod between_steps;
mod bit_set;
mod change;
mod conditions;
mod context;
mod cut;
mod error;
mod facts;
mod items;
mod join;
mod kept;
mod kept_values;
mod level;
mod metadata_fields;
mod object;
mod paths;
mod pending;
mod pending_defaults;
mod pieces;
mod projection;
mod proof;
mod prune;
mod result;
mod shared_objects;
mod status;
mod step;
mod string_arena;
pub(super) mod tree;

pub use annotation_budget::AnnotationBudget;
pub(crate) use annotation_budget::BUDGET;
pub use annotations::INCOMPLETE;
pub use change::Change;
pub(super) use change::Trace;
pub use error::ConvertError;
pub use facts::Facts;
pub use kept::is_kept;
pub(super) use kept_values::{AddedValue, MistypedValue, added_values, mistyped_values};
pub use object::Metadata;
pub(super) use object::Object;
pub(super) use prune::{Pruned, is_brought, is_of_status, pruned, status_as_before};
pub use result::Converted;
pub(super) use result::{ConversionEvents, convert, convert_into, explain, written};
pub(super) use string_arena::StringArena;
