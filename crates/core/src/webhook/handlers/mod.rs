//! From a review to its answer: what is asked is read, decided object by object, and written down.

mod admission;
mod conversion;

pub(super) use admission::{mutate, mutate_with_mutations, validate};
pub(super) use conversion::convert;
