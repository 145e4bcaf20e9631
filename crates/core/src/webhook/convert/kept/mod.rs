//! The kept format: what the version an object is in cannot say, in an annotation on it.
//!
//! `pointsman.dev/kept-<version>` holds what only `<version>` can say. Its value is a JSON object: from the path of a field
//! to an entry. `docs/kept-fields.md` shows every member of an entry with an example, and says how the format may
//! evolve: it lives in users' clusters, so whatever was written once is read for ever (`tests/data/kept`). It is parsed and
//! written in this folder and nowhere else.
//!
//! Whoever may write annotations gains nothing by forging one: entries for fields that nothing keeps are passed over, and
//! values that the schema does not admit are too. What is no such object at all is somebody else's annotation.

mod annotation;
mod entry;
mod items;
mod recognize;
mod values;

pub(super) use annotation::{ANNOTATIONS, DISPLACED, Kept};
pub(super) use items::{KeptItems, each};
pub(super) use recognize::recognized;
pub(super) use values::{identical, same};
