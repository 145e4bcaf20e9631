//! Objects from files, directories and stdin: JSON or YAML, one or several documents, with or without lists.

mod documents;
mod files;
mod flat_documents;
mod input_object;
mod source;

pub(crate) use documents::{Document, documents, values};
pub(crate) use files::{Decided, EMPTY_LIST, FileArgs};
pub(crate) use flat_documents::{flat, flat_documents};
pub(crate) use input_object::InputObject;
pub(crate) use source::{Source, in_directory, is_document, read, read_crd, read_definition};
