//! From a review to its response: parses the request, decides object by object, and writes the response.

mod admission;
mod conversion;

pub(super) use admission::{mutate, validate};
pub(super) use conversion::convert;
