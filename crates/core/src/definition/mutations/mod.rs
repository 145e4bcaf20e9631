//! Mutations in stages: the state of foreign objects before a fact is true, and after.
//!
//! A definition of mutations has a `resource` in place of a CRD. pointsman has no schema for the resource. The set of
//! operations is closed. Each operation describes a desired state and leaves an object in that state unchanged. Other
//! modules watch the facts: see [`WatchedFact`] and `webhook::KnownFacts`.

mod argument;
mod command_line;
mod conflicts;
mod effects;
mod entries;
mod fact;
mod field_place;
mod list_item;
mod mutated_kind;
mod mutation;
mod mutation_operation;
mod mutation_spec;
mod operation_spec;
mod selection;
mod shell;

pub(crate) use argument::{FlagForm, is_truth};
pub(crate) use conflicts::conflict as are_against;
pub(crate) use effects::{hang_on_order, may_make_room};
pub(crate) use entries::FlagEntry;
pub use fact::{FactQuery, FactScope, WatchedFact};
pub(crate) use fact::{MutationFact, NAMESPACE};
pub(crate) use field_place::{ContainerName, FieldPlace, FieldRoot, LISTS};
pub use mutated_kind::MutatedKind;
pub(super) use mutated_kind::MutationsFileSpec;
pub(crate) use mutation::SETTLE_ROUNDS;
pub use mutation::{Mutation, MutationPhase};
pub(crate) use mutation_operation::MutationOperation;
pub use selection::MutationSelection;
pub(crate) use selection::{SYSTEM_NAMESPACE, namespace_and_name};
pub(crate) use shell::{OF_USER as SHELLS_OF_USER, SHELLS, TAKING as SCRIPT_OPTION_TAKING};
