//! The differences between the schemas of two versions that no operation explains, or that break a conversion.
//!
//! An overlooked difference causes data loss: a field of a list item that the other version prunes, a narrower enum, a
//! field that the other version requires. So each difference needs an operation, or an `accept` entry with a reason. A
//! difference that breaks a law of conversion cannot be accepted.

mod absences;
mod accept;
mod advice;
mod comparison;
mod counts;
mod least_value;
mod location;
mod presence;

pub(super) use absences::{AcceptedAbsences, Allowance};
pub(super) use accept::AcceptSpec;
pub(super) use comparison::{ComparedSchemas, compare};
