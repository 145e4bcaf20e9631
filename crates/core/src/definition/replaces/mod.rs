//! Kind conversion: objects of a source kind are replaced by objects of the kind of the definition.
//!
//! Both kinds are compiled as one kind with two versions, each with its own `kind`. So operations, schema comparison,
//! laws and kept fields work as between two versions. Only the identity of objects differs, and operations do not
//! affect it.

mod kind_conversion;
mod spec;

pub(super) use kind_conversion::Bridge;
pub use kind_conversion::{KindConversion, KindRefusal, Retirement};
pub(super) use spec::ReplacesSpec;
