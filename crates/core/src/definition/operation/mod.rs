//! The operations between two versions. Each file has one operation, or two that are alike.
//!
//! A file contains everything about an operation: its written form (`…Spec`), its checks when a definition is loaded
//! ([`compiler::Compile`]), and its mapping of values in both directions with its part in the comparison of schemas
//! ([`mapping::Mapping`]). A new operation needs a file, a line here, and a variant in `spec.rs`.

mod blank;
mod clamp;
mod common_fields;
mod compiler;
mod compute;
mod condition;
mod each;
mod each_item;
mod implications;
mod implied_lists;
mod mapping;
mod measure;
mod move_into_map;
mod nulls;
mod object_move;
mod pattern;
mod place_spec;
mod retype;
mod same;
mod schemaless;
mod single_version;
mod spec;
mod split;
mod values;
mod when;
mod wrap;

pub(super) use compiler::Compiler;
pub(crate) use compute::is_name;
pub(super) use compute::{LEAST_MEMORY, MEMORY};
#[cfg(feature = "laws")]
pub(crate) use condition::Condition;
pub(crate) use condition::is_set;
pub(super) use implications::filled;
pub(super) use implied_lists::lists_to_fill;
pub(crate) use mapping::{Fact, Fragment, Level, Operation};
pub(super) use nulls::nulls;
pub(super) use retype::retyped_by_itself;
pub(super) use schemaless::with_schemaless_fields;
pub(super) use spec::OperationSpec;
