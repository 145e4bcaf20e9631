//! Actions of steps on other objects: lookups, observed state, and the next API call. No state is kept in memory: the
//! objects show whether a step is applied or reverted, and a partial step continues in either direction.

mod adopt;
mod annotations;
mod controller_reference;
mod convert;
mod copied_metadata;
mod delete;
mod deletion_by_name;
mod list_wait;
mod lookup;
mod name_reuse;
mod object_write;
mod observation;
mod observed_object;
mod obstacles;
mod perform;
mod preflight;
mod quota;
mod recreate;
mod recreation_source;
mod required_rights;
mod revert;
mod revert_preflight;
mod settlement;
mod step_outcome;
mod touch;
mod wait;

pub(super) use annotations::{BECAME, MADE_BY, ON_WHAT_WAS_MADE};
pub(super) use delete::{is_replaced, kept_of, leftover_lookups, leftovers};
pub(super) use lookup::step_lookups;
pub(super) use name_reuse::{conflicting_replacement_outcome, name_reuse_lookup};
pub use object_write::{ObjectCall, ObjectWrite, PreconditionObject, Propagation, Replacement, ReplacementObject};
pub(super) use observed_object::{annotation, held_by_finalizers, is_terminating, list};
pub(super) use perform::progress;
pub(super) use preflight::{pods_ahead, pods_lookups, preflight_lookups, refused_ahead};
pub(super) use quota::PodSet;
pub(super) use required_rights::{rights_elsewhere_of, rights_of};
pub(super) use revert::recreation_lookups;
pub use settlement::not_left_behind;
pub(super) use step_outcome::{ObjectStepInput, PreflightFailure, StepOutcome};
pub(super) use touch::lookups as readmitted;
