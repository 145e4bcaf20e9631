//! Kinds that nobody wrote: schemas by chance, operations between neighbouring versions by chance, so that what holds
//! holds for every definition that is accepted and not for those that somebody thought of.
//!
//! ```text
//! seed -> schemas: the oldest version -> steps, operations: one after the other -> draft: CRD and definition -> Kind
//! ```
//!
//! A sensible draft is what somebody might write, and most are accepted. A hostile one has operations that do not fit:
//! occupied targets, two operations on one field, differences that nothing explains.

mod defaults;
mod draft;
mod draft_step;
mod operations;
mod paths;
mod schemas;
mod smaller;
mod steps;

pub use draft::Draft;
pub use draft_step::Manner;
pub use smaller::smallest;
