//! Kind definitions: the description of a kind, read from data and checked against the schemas of the kind.
//!
//! A definition is compiled once, at start, into a [`Kind`]. Loading fails closed. It rejects a path that no schema
//! has, a difference between two versions without an operation, and two operations on one field. Each error names the
//! file, the line and the nearest existing name. So a typo is found before production.
//!
//! `health`, `checks` and `workflows` are read by rollouts, from [`Kind::definition`].
//!
//! Types that end in `Spec` describe the file as written, next to the type that they compile to.

mod accessed_fields;
pub mod admission;
mod built_in;
mod carried_metadata;
mod compare;
mod completeness;
mod crd;
mod crd_paths;
mod crd_versions;
mod definition_spec;
mod either;
mod field_change;
pub(crate) mod frontier;
mod gates;
mod growth;
mod hold;
mod kind;
mod made_up_values;
mod metadata_field;
mod move_effects;
mod mutations;
mod note;
mod object_lifetimes;
mod operation;
mod path;
mod place;
mod problems;
mod remedy;
mod replaces;
mod rollout_hash;
mod rollout_parts;
mod schema;
mod schema_check;
mod side;
mod step;
#[cfg(test)]
mod tests;
pub mod upgrade;
mod version;
pub mod version_words;
pub mod yaml;

pub use built_in::{embedded_crd, embedded_text};
pub use carried_metadata::is_taken_along;
pub use crd_paths::missing_crd_paths;
pub use definition_spec::{API_VERSION, KIND};
pub use either::{Definition, json_schema};
pub use field_change::FieldChange;
pub use gates::{Gate, GateCompiler, GateSpec, foreign_gate, unmet_of};
pub use hold::{HELD, HoldMark, RELEASE_REQUEST, RELEASED, WANTED};
pub use kind::Kind;
pub use move_effects::{MOVED, ROLLOUT_MANAGER};
pub use mutations::{FactQuery, FactScope, MutatedKind, Mutation, MutationPhase, MutationSelection, WatchedFact};
pub use note::read_note;
pub use path::Path;
pub use problems::{BadDefinition, Problem, Problems, Warning};
pub use remedy::{Remedy, StepEdit};
pub use replaces::{KindConversion, KindRefusal, Retirement};
pub use schema::Schema;
pub use step::StepSummary;

pub(crate) use accessed_fields::AccessedFields;
pub(crate) use completeness::{Completeness, Required};
#[cfg(feature = "laws")]
pub(crate) use crd::version_schema;
pub(crate) use crd_versions::CrdVersions;
pub(crate) use gates::Gated;
pub(crate) use growth::{Added, Growth};
pub(crate) use hold::{HeldMetadata, HeldWrite, held_write};
pub(crate) use metadata_field::{MetadataField, MetadataMap};
pub(crate) use move_effects::lost_mark;
pub(crate) use mutations::{
    ContainerName, FieldPlace, FieldRoot, FlagEntry, FlagForm, LISTS, MutationFact, MutationOperation, NAMESPACE,
    SCRIPT_OPTION_TAKING, SETTLE_ROUNDS, SHELLS, SHELLS_OF_USER, SYSTEM_NAMESPACE, are_against, hang_on_order,
    is_truth, may_make_room, namespace_and_name,
};
#[cfg(feature = "laws")]
pub(crate) use operation::Condition;
pub(crate) use operation::{Fragment, Level, Operation, is_name, is_set};
pub(crate) use place::Place;
pub(crate) use rollout_hash::{HashedFields, StatusMapping};
pub(crate) use schema::ANYTHING;
pub(crate) use side::{Side, Sides};
pub(crate) use step::{KEPT, Step};
pub(crate) use version::VersionIndex;
pub(crate) use yaml::is_plain;
