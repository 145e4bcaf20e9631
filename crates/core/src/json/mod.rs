//! JSON as text that is opened only where somebody has to look.
//!
//! A [`Json`] borrows the bytes of the request. What no operation touches stays text, so it comes out as it went in:
//! numbers keep every digit, members keep their order, unknown fields stay. Each value is held against `grammar` as it
//! is read, the outer levels opened on the way where that is asked for; from there on splitting it cannot fail.

mod grammar;
mod is_canonical;
mod normal;
mod number;
mod order;
mod pointer;
mod reader;
mod scan;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use normal::{Canonical, normal, normal_keeping_numbers};
pub(crate) use number::go_number;
pub use pointer::{pointer_names, pointer_token};
pub(crate) use reader::Reader;
pub(crate) use scan::{string_end, unescape};
pub(crate) use value::{Duplicate, Json, Members, OnlyMembers};
