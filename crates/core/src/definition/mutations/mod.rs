//! Staged mutation: what objects of a kind that is not ours look like before a fact is true, and after it.
//!
//! A definition of stages has a `resource` in the place of a CRD: pointsman knows no schema of it. What is done to an
//! object is a closed set of operations, each of which says how something has to be; one that is so already is left
//! alone. What the fact is of, and whether it is true, others look at: see [`WatchedFact`] and `webhook::KnownFacts`.

mod argument;
mod command_line;
mod conflicts;
mod effects;
mod entries;
mod fact;
mod field_place;
mod list_item;
mod mutation;
mod operation_spec;
mod selection;
mod shell;
mod mutation_operation;
mod mutation_spec;
mod mutated_kind;

pub(crate) use argument::{FlagForm, is_truth};
pub(crate) use conflicts::conflict as are_against;
pub(crate) use effects::{hang_on_order, may_make_room};
pub(crate) use entries::FlagEntry;
pub use fact::{FactQuery, FactScope, WatchedFact};
pub(crate) use fact::{NAMESPACE, MutationFact};
pub(crate) use field_place::{ContainerName, FieldPlace, FieldRoot, LISTS};
pub(crate) use mutation::{Mutation, SETTLE_ROUNDS, MutationPhase};
pub(crate) use selection::{SYSTEM_NAMESPACE, MutationSelection, namespace_and_name};
pub(crate) use shell::{OF_USER as SHELLS_OF_USER, SHELLS, TAKING as SCRIPT_OPTION_TAKING};
pub(crate) use mutation_operation::MutationOperation;
pub use mutated_kind::MutatedKind;
pub(super) use mutated_kind::MutationsFileSpec;
