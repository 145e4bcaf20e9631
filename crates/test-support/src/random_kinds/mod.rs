//! Random kinds: random schemas, and random operations between neighbouring versions, so that the laws are tested on
//! all accepted definitions instead of a few chosen ones.
//!
//! ```text
//! seed -> schemas: the oldest version -> steps, operations: one after the other -> draft: CRD and definition -> Kind
//! ```
//!
//! A sensible draft is plausible, and most are accepted. A hostile draft has invalid operations: occupied targets, two
//! operations on one field, unexplained differences.

mod annotations;
mod defaults;
mod draft;
mod draft_step;
mod forms;
mod operations;
mod paths;
mod schemaless;
mod schemas;
mod smaller;
mod steps;

pub use draft::Draft;
pub use draft_step::Manner;
pub use smaller::smallest;
