//! The text of an object at another version of its kind.

use std::sync::Arc;

use super::change::{Change, Trace};
use super::error::ConvertError;
use super::annotation_budget::AnnotationBudget;
use super::object::{Metadata, Object};
use crate::definition::{Kind, VersionIndex};

/// A converted object.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The object, as JSON.
    pub text: String,
    /// The version it came in.
    pub from: Arc<str>,
    /// A change that waits for somebody was taken as completed, because the last request is.
    pub staged: bool,
    /// How what must be kept fits beside its other annotations.
    pub fit: AnnotationBudget,
}

/// What is to be said of a converted object beside its text: see [`Converted`].
pub(crate) struct ConversionEvents {
    pub(crate) staged: bool,
    pub(crate) fit: AnnotationBudget,
}

/// Converts an object to another version of its kind, and writes it where there is room for so many bytes. Nothing is
/// written of one that cannot be converted.
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

/// Converts an object, and says what was changed.
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

/// The text of an object that came in a version, and was converted.
pub(crate) fn written(object: Object<'_>, from: &Arc<str>, metadata: Metadata) -> Converted {
    let mut text = String::new();
    let out = &mut text;
    let fit = object.write(metadata, move |size| {
        out.reserve_exact(size);
        out
    });
    Converted { text, from: Arc::clone(from), staged: false, fit }
}
