//! The kept format: what the version an object is in cannot say, in an annotation on it.
//!
//! `pointsman.dev/kept-<version>` holds what only `<version>` can say. Its value is a JSON object ([`Kept`]); most of
//! it are `fields`, from a place of `<version>` to an [`Entry`](entry). `docs/kept-fields.md` shows every member with
//! an example, and says how the format may evolve: it lives in users' clusters, so whatever was written once is read
//! for ever (`tests/data/kept`). It is parsed and written in this folder and nowhere else.
//!
//! Whoever may write annotations gains nothing by forging one: an entry for a place that no operation keeps is passed
//! over, and so is a value of another JSON type than its field. What is no such object at all is ordinary user data.

mod annotation;
mod entry;
mod items_writer;
mod kept_fields;
mod kept_items;
mod kept_text;
mod notes;
mod object_before;
mod object_writer;
mod values;

pub(super) use annotation::Kept;
pub use annotation::is_kept;
pub(super) use entry::Entry;
pub(super) use items_writer::{ItemEntries, ItemNote, ItemsWriter, OmittedItems};
pub(super) use kept_fields::KeptFields;
pub(super) use kept_items::{ItemIdentity, KeptItems};
pub(super) use kept_text::{KeptText, LONGEST};
pub(super) use object_before::ObjectBefore;
pub(super) use values::{filled, identical, is_identical, same, same_when_filled};
