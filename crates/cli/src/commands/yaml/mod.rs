//! YAML to values and back, with number text kept.
//!
//! Reading is serde-saphyr's, with the text of a number taken from the source where it is one that JSON can say.
//! Writing is ours, because the library has floats of its own spelling; it decides which strings may stand without
//! quotes.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
