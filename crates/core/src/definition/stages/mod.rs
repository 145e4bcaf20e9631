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
mod mutation_stage;
mod operation_spec;
mod selection;
mod shell;
mod stage_operation;
mod stage_spec;
mod staged_kind;

pub(crate) use argument::{FlagForm, is_truth};
pub(crate) use conflicts::conflict as are_against;
pub(crate) use effects::{hang_on_order, may_make_room};
pub(crate) use entries::FlagEntry;
pub use fact::{FactQuery, FactScope, WatchedFact};
pub(crate) use fact::{NAMESPACE, StageFact};
pub(crate) use field_place::{ContainerName, FieldPlace, FieldRoot, LISTS};
pub(crate) use mutation_stage::{MutationStage, SETTLE_ROUNDS, StagePhase};
pub(crate) use selection::{SYSTEM_NAMESPACE, StageSelection, namespace_and_name};
pub(crate) use shell::{OF_USER as SHELLS_OF_USER, SHELLS, TAKING as SCRIPT_OPTION_TAKING};
pub(crate) use stage_operation::StageOperation;
pub use staged_kind::StagedKind;
pub(super) use staged_kind::StagesFileSpec;
