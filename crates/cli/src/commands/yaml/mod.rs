//! YAML to values and back, with the text of numbers preserved.
//!
//! Parsing uses serde-saphyr, with the text of a number from the source if it is valid JSON. Writing is implemented
//! here, because the library spells floats differently. The library decides which strings need no quotes.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
