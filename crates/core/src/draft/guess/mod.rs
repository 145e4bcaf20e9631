//! Guesses which field of the older version is which field of the newer version, from names, places and types.
//!
//! ```text
//! level: the same paths, then the most likely pair, again and again
//!   version_names  places named after a version
//!   pool, score  fields without a counterpart, and how likely two of them are one
//!     words, shape   likeness of names and of types
//!   conversion   the operation between two fields
//!     item_map    a map and a list of named items
//!   reference    references to other objects
//! ```

mod conversion;
mod item_map;
mod level;
mod pool;
mod reference;
mod score;
mod shape;
mod step;
#[cfg(test)]
mod tests;
mod version_names;
mod words;

pub(super) use step::step;
