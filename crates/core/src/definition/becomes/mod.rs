//! A kind becomes another kind: what the definition of the kind that comes says of the one that goes.
//!
//! The two are compiled as one kind of two versions, of which each has a kind of its own. So all that holds between two
//! versions holds between two kinds: the same operations, the same comparison of schemas, the same laws and the same
//! kept fields. What differs is who an object is, and that is not for operations.

mod kind_conversion;
mod spec;

pub use kind_conversion::KindConversion;
pub(super) use kind_conversion::Bridge;
pub(crate) use kind_conversion::Retirement;
pub(super) use spec::BecomesSpec;
