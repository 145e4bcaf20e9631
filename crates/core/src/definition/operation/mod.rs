//! Operations: what can change between two versions, each in a file, or two that are alike in one.
//!
//! A file holds all there is to know of an operation: how it is written (`…Spec`), what is checked when a definition is
//! loaded ([`compiler::Compile`]), and what it makes of values in both directions, leaves to the comparison of the
//! schemas and says of itself ([`mapping::Mapping`]). A new operation is a file, a line here, and a variant in
//! `spec.rs`.

mod blank;
mod clamp;
mod compiler;
mod condition;
mod each;
mod each_item;
mod implications;
mod implied_lists;
mod mapping;
mod move_into_map;
mod nulls;
mod place_spec;
mod retype;
mod same;
mod single_version;
mod spec;
mod split;
mod values;
mod when;
mod wrap;

pub(super) use compiler::Compiler;
#[cfg(feature = "laws")]
pub(crate) use condition::Condition;
pub(crate) use condition::is_set;
pub(super) use implications::filled;
pub(super) use implied_lists::lists_to_fill;
pub(crate) use mapping::{Fact, Fragment, Level, Operation};
pub(super) use nulls::nulls;
pub(super) use retype::retyped_by_itself;
pub(super) use spec::OperationSpec;
