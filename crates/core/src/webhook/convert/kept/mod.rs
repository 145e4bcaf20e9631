//! The kept format: values that the current version of an object cannot represent, in an annotation.
//!
//! `pointsman.dev/kept-<version>` contains the values that only `<version>` can represent. Its value is a JSON object
//! ([`Kept`]), mainly `fields`, from a place of `<version>` to an [`Entry`](entry). `docs/kept-fields.md` shows every
//! member with an example, and defines how the format may evolve. The format is stored in users' clusters, so every
//! written form stays readable (`tests/data/kept`). Only this module parses and writes it.
//!
//! Forging an annotation has no effect: entries for places without a conversion are ignored, and so are values with the
//! wrong JSON type. A value that is no such JSON object is ordinary user data.

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
