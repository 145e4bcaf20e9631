//! Conversion of an object to another kind.
//!
//! The fields are converted as between two versions, with both kinds as versions of one kind. This module changes group
//! and kind, and removes metadata that does not apply to the new object.
//!
//! Values that only other versions of the source kind can represent stay in annotations, with the kind in their names:
//! `pointsman.dev/kept-v2` of a widget becomes `pointsman.dev/kept-widgets.v2` on the object of another kind.

use super::convert::{
    self, AnnotationBudget, Change, ConvertError, Converted, INCOMPLETE, Metadata, Object, Trace, tree,
};
use crate::definition::{Gated, KEPT, Kind, KindConversion, Path, Schema, VersionIndex, is_taken_along};
use crate::json::Json;

/// The desired kind of an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OtherKind<'a> {
    /// The API group.
    pub group: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The version, such as `v1`. Defaults to the version in `replaces`.
    pub version: Option<&'a str>,
}

/// Why an object cannot be converted to another kind.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The conversion failed.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A value is missing that only another version of the source kind can represent.
    #[error("the object lacks values that exist only in another version: read the object at {}", match missing.as_str() {
        "" => "the storage version".to_owned(),
        missing => format!("the version in the name {missing}"),
    })]
    Incomplete {
        /// The missing annotations. Empty if unknown.
        missing: String,
    },
    /// No definition has this conversion.
    #[error("no definition converts a {from} to a {to}: add `replaces` to the definition of one of the two")]
    NoWay {
        /// The kind of the object, as `Kind.group`.
        from: String,
        /// The other kind, as `Kind.group`.
        to: String,
    },
    /// The definition refuses the object.
    #[error("{message}")]
    Refused {
        /// The reason and the fix, from the definition.
        message: String,
    },
    /// The values that only the source kind can represent exceed the size limit of annotations.
    #[error("values that exist only in {from} exceed the annotation limit of 256 KiB: make these values smaller first")]
    TooLarge {
        /// The version of the source object, as `plural.version`.
        from: String,
    },
}

/// A direction between two kinds.
struct Way<'k> {
    becoming: &'k KindConversion<Kind>,
    /// Kind and version of the object, as in kept annotations.
    here: (&'k str, &'k str),
    /// Kind and version of the result, as in kept annotations.
    there: (&'k str, &'k str),
    /// Converts from the source kind to the target kind.
    is_forward: bool,
}

/// Converts an object to another kind.
pub(super) fn convert<'a>(
    kinds: &'a [Kind],
    mut object: Object<'a>,
    to: OtherKind<'_>,
) -> Result<(Converted, Vec<Change>), ReplaceError> {
    let group = object.api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let name = object.kind.clone().into_owned();
    let way = way(kinds, (&group, &name), &to)?;
    let mut changes = Vec::new();
    let own = kinds.iter().find(|kind| (kind.group(), kind.kind()) == (&*group, &*name));
    if let Some(own) = own {
        let from = version(own, way.here.1)?;
        object.convert_traced(own, from, &mut Trace::to(&mut changes))?;
    }
    if let Some(missing) = object.annotations.text(INCOMPLETE) {
        return Err(ReplaceError::Incomplete { missing: missing.into_owned() });
    }
    if way.is_forward {
        refuse(way.becoming, &mut object.root)?;
    }
    leave(&mut object, &way, own);
    let bridge = way.becoming.bridge();
    let from = bridge.version_at(object.version(bridge)?).name.clone();
    let mut traced = Vec::new();
    object = object.written();
    object.convert_traced(
        bridge,
        version(bridge, &format!("{}.{}", way.there.0, way.there.1))?,
        &mut Trace::to(&mut traced),
    )?;
    changes.append(&mut traced);
    arrive(&mut object, &way);
    if let Some(other) = to.version.filter(|other| *other != way.there.1) {
        let kind =
            kinds.iter().find(|kind| kind.has(to.group, to.kind)).ok_or_else(|| nowhere((&group, &name), &to))?;
        object.convert_traced(kind, version(kind, other)?, &mut Trace::to(&mut traced))?;
        changes.append(&mut traced);
    }
    let converted = convert::written(object, &from, Metadata::New);
    match converted.fit {
        AnnotationBudget::Not => Err(ReplaceError::TooLarge { from: from.to_string() }),
        AnnotationBudget::Well | AnnotationBudget::Barely => Ok((converted, changes)),
    }
}

/// The conversion between two kinds.
fn way<'k>(kinds: &'k [Kind], (group, name): (&str, &str), to: &OtherKind<'_>) -> Result<Way<'k>, ReplaceError> {
    for kind in kinds {
        let Some(becoming) = kind.becoming() else { continue };
        let source = (becoming.source_group(), becoming.source_kind());
        let target = (kind.group(), kind.kind());
        let names = becoming.kept_names();
        let older = (names.older.as_str(), becoming.from());
        let newer = (names.newer.as_str(), becoming.to());
        if (source, target) == ((group, name), (to.group, to.kind)) {
            return Ok(Way { becoming, here: older, there: newer, is_forward: true });
        }
        if (target, source) == ((group, name), (to.group, to.kind)) {
            return Ok(Way { becoming, here: newer, there: older, is_forward: false });
        }
    }
    Err(nowhere((group, name), to))
}

fn nowhere((group, name): (&str, &str), to: &OtherKind<'_>) -> ReplaceError {
    ReplaceError::NoWay { from: format!("{name}.{group}"), to: format!("{}.{}", to.kind, to.group) }
}

fn version(kind: &Kind, name: &str) -> Result<VersionIndex, ConvertError> {
    kind.version(name).ok_or_else(|| ConvertError::unknown_version("apiVersion", name, kind))
}

/// Checks the refusals against the object as the API server would have stored it.
fn refuse(becoming: &KindConversion<Kind>, root: &mut Json<'_>) -> Result<(), ReplaceError> {
    let mut fields = Fields { root, schema: becoming.source_schema() };
    let refusal = becoming.refused().iter().find(|refusal| refusal.gate.unmet(&mut fields).is_none());
    refusal.map_or(Ok(()), |refusal| Err(ReplaceError::Refused { message: refusal.message.clone() }))
}

/// The fields of an object for gates, with the API server's defaults.
struct Fields<'r, 'a, 's> {
    root: &'r mut Json<'a>,
    schema: &'s Schema,
}

impl Fields<'_, '_, '_> {
    /// The default of a field, or of a parent.
    fn filled(&mut self, field: &Path) -> Option<Json<'static>> {
        for depth in (1..=field.len()).rev() {
            let (outer, inner) = field.split_at(depth);
            if tree::has_holder(self.root, &outer) {
                let default = self.schema.at(&outer)?.default_value()?;
                let inside =
                    |value: Json<'static>, name: &_| value.get(name).map(|member| Json::owned(member.to_text()));
                return inner.names().iter().try_fold(default, |value, name| inside(value, name));
            }
        }
        None
    }
}

impl Gated for Fields<'_, '_, '_> {
    fn value(&mut self, field: &Path) -> Option<Json<'static>> {
        let there = tree::get(self.root, "", field).ok().flatten().filter(|value| !value.is_null());
        let there = there.map(|value| Json::owned(value.to_text()));
        there.or_else(|| self.filled(field)).filter(|value| !value.is_null())
    }

    fn generation(&self) -> Option<i64> {
        None
    }
}

/// Removes metadata that is not carried over, and adds the kind to the names of kept annotations.
fn leave(object: &mut Object<'_>, way: &Way<'_>, own: Option<&Kind>) {
    let hash = own.and_then(Kind::hash_annotation);
    let (kind, version) = way.here;
    let own_version = format!("{KEPT}{version}");
    object.annotations.rename(&mut |name| match name.strip_prefix(KEPT) {
        // On an object of this version, this annotation belongs to no conversion.
        Some(_) if name == own_version => None,
        Some(kept) if !kept.contains('.') => Some(format!("{KEPT}{kind}.{kept}")),
        Some(_) => Some(name.to_owned()),
        None => is_taken_along(name, hash.as_deref()).then(|| name.to_owned()),
    });
    if let Json::Object(members) = &mut object.root {
        members.remove("status");
    }
}

/// Removes the kind from the names of kept annotations of the new kind.
fn arrive(object: &mut Object<'_>, way: &Way<'_>) {
    let prefix = format!("{KEPT}{}.", way.there.0);
    object.annotations.rename(&mut |name| {
        let kept = name.strip_prefix(&prefix).filter(|kept| *kept != way.there.1);
        Some(kept.map_or_else(|| name.to_owned(), |kept| format!("{KEPT}{kept}")))
    });
}
