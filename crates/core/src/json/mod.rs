//! JSON as text that is opened only where somebody has to look.
//!
//! A [`Json`] borrows the bytes of the request. What no operation touches is never parsed, so it comes out as it went
//! in: numbers keep every digit, members keep their order, unknown fields stay. Texts must be valid JSON when they
//! enter (`grammar` has checked the whole body by then); from there on splitting them cannot fail.

mod grammar;
mod normal;
mod number;
mod order;
mod reader;
mod scan;
mod spelled;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use normal::{Canonical, normal, normal_keeping_numbers};
pub(crate) use number::go_number;
pub(crate) use reader::Reader;
pub(crate) use scan::unescape;
pub(crate) use value::{Duplicate, Json, Members, Named};
