//! The text of an object in another version of its kind.

use std::sync::Arc;

use super::annotation_budget::AnnotationBudget;
use super::change::{Change, Trace};
use super::error::ConvertError;
use super::object::{Metadata, Object};
use crate::definition::{Kind, VersionIndex};

/// A converted object.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The object, as JSON.
    pub text: String,
    /// The original version.
    pub from: Arc<str>,
    /// A change that waits for approval was treated as completed, because the last request is.
    pub staged: bool,
    /// How the kept values fit into the annotations.
    pub fit: AnnotationBudget,
}

/// The properties of a converted object other than its text: see [`Converted`].
pub(crate) struct ConversionEvents {
    pub(crate) staged: bool,
    pub(crate) fit: AnnotationBudget,
}

/// Converts an object to another version of its kind, and writes it to a buffer with capacity for this many bytes. On
/// failure the buffer stays unchanged.
pub(crate) fn convert_into<'o, 'a>(
    kind: &'a Kind,
    mut object: Object<'a>,
    to: VersionIndex,
    metadata: Metadata,
    room: impl FnOnce(usize) -> &'o mut String,
) -> Result<ConversionEvents, ConvertError> {
    let staged = object.convert_traced(kind, to, &mut Trace::off())?;
    Ok(ConversionEvents { staged, fit: object.write(metadata, room) })
}

/// Converts an object to another version of its kind.
pub(crate) fn convert<'a>(
    kind: &'a Kind,
    object: Object<'a>,
    to: VersionIndex,
    metadata: Metadata,
) -> Result<Converted, ConvertError> {
    traced(kind, object, to, metadata, &mut Trace::off())
}

/// Converts an object, and returns the changes.
pub(crate) fn explain<'a>(
    kind: &'a Kind,
    object: Object<'a>,
    to: VersionIndex,
    metadata: Metadata,
) -> Result<(Converted, Vec<Change>), ConvertError> {
    let mut changes = Vec::new();
    let converted = traced(kind, object, to, metadata, &mut Trace::to(&mut changes))?;
    Ok((converted, changes))
}

fn traced<'a>(
    kind: &'a Kind,
    mut object: Object<'a>,
    to: VersionIndex,
    metadata: Metadata,
    trace: &mut Trace<'_>,
) -> Result<Converted, ConvertError> {
    let from = kind.version_at(object.version(kind)?).name.clone();
    let staged = object.convert_traced(kind, to, trace)?;
    Ok(Converted { staged, ..written(object, &from, metadata) })
}

/// The text of a converted object, and its original version.
pub(crate) fn written(object: Object<'_>, from: &Arc<str>, metadata: Metadata) -> Converted {
    let mut text = String::new();
    let out = &mut text;
    let fit = object.write(metadata, move |size| {
        out.reserve_exact(size);
        out
    });
    Converted { text, from: Arc::clone(from), staged: false, fit }
}
