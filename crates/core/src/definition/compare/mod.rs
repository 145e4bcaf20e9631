//! What differs between the schemas of two versions: what no operation explains, and what no operation can hold.
//!
//! A difference nobody thought of is how a conversion loses data: a field inside a list item that the other version
//! prunes, an enum that is narrower, a field that the other version requires. So each must have an operation, or be
//! accepted by name with a reason; and what would break a law of conversion cannot be accepted at all.

mod accept;
mod advice;
mod comparison;
mod counts;
mod location;
mod least_value;
mod presence;

pub(super) use accept::AcceptSpec;
pub(super) use comparison::{ComparedSchemas, compare};
