//! JSON as text that is parsed only on demand.
//!
//! A [`Json`] borrows the bytes of the request. Fields without an operation stay text, so they are copied unchanged:
//! numbers keep every digit, members keep their order, unknown fields stay. Each value is checked by `grammar` when it
//! is read, and the outer levels are parsed on request. After that, splitting cannot fail.

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
pub(crate) use number::{decimal, go_number};
pub use pointer::{pointer_names, pointer_token};
pub(crate) use reader::Reader;
pub(crate) use scan::{string_end, unescape};
pub(crate) use value::{Duplicate, OnlyMembers};
pub use value::{Json, Members};
