//! An object of one kind becomes an object of another kind.
//!
//! What the fields become is a conversion like any other, between the two kinds taken as one of two versions. Here is
//! what a conversion must not do: another group and kind, and metadata that is not the old object's any more.
//!
//! The object keeps what only other versions of its own kind can say, under names that say of which kind they are:
//! `pointsman.dev/kept-v2` of a widget is `pointsman.dev/kept-widgets.v2` while it is something else.

use super::convert::{self, Change, ConvertError, Converted, AnnotationBudget, INCOMPLETE, Metadata, Object, Trace, tree};
use crate::definition::{KindConversion, Gated, KEPT, Kind, Path, Schema, VersionIndex, is_taken_along};
use crate::json::Json;

/// Another kind, as which an object is wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OtherKind<'a> {
    /// Its API group.
    pub group: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// Its version, such as `v1`; the one that `replaces` says, where it is none.
    pub version: Option<&'a str>,
}

/// Why an object does not become one of another kind.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// It cannot be converted at all.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// It lacks what only another version of its kind can say.
    #[error("it lacks what only another version of its kind can say: read it at {}", match missing.as_str() {
        "" => "the version that is stored".to_owned(),
        missing => format!("the version in the name {missing}"),
    })]
    Incomplete {
        /// The annotations that are missing; empty where nobody knows which.
        missing: String,
    },
    /// No definition says how.
    #[error(
        "no definition says how a {from} becomes a {to}: that stands under `replaces` in the definition of one of them"
    )]
    NoWay {
        /// The kind of the object, as `Kind.group`.
        from: String,
        /// The other kind, as `Kind.group`.
        to: String,
    },
    /// The definition refuses it.
    #[error("{message}")]
    Refused {
        /// Why, and what to do, as the definition says.
        message: String,
    },
    /// What only the kind that it was can say is larger than the annotations of an object may be.
    #[error("what only {from} can say takes more than the 256 KiB that annotations may have: make it smaller first")]
    TooLarge {
        /// The version it came in, as `plural.version`.
        from: String,
    },
}

/// One of the two directions between two kinds.
struct Way<'k> {
    becoming: &'k KindConversion<Kind>,
    /// What is kept for the kind that the object is of is called so, and its version, where the way starts.
    here: (&'k str, &'k str),
    /// The same of the other one, where it ends.
    there: (&'k str, &'k str),
    /// To the kind that comes.
    is_forward: bool,
}

/// Makes an object of another kind of an object.
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
    let mut told = Vec::new();
    object = object.written();
    object.convert_traced(
        bridge,
        version(bridge, &format!("{}.{}", way.there.0, way.there.1))?,
        &mut Trace::to(&mut told),
    )?;
    changes.append(&mut told);
    arrive(&mut object, &way);
    if let Some(other) = to.version.filter(|other| *other != way.there.1) {
        let kind =
            kinds.iter().find(|kind| kind.has(to.group, to.kind)).ok_or_else(|| nowhere((&group, &name), &to))?;
        object.convert_traced(kind, version(kind, other)?, &mut Trace::to(&mut told))?;
        changes.append(&mut told);
    }
    let converted = convert::written(object, &from, Metadata::New);
    match converted.fit {
        AnnotationBudget::Not => Err(ReplaceError::TooLarge { from: from.to_string() }),
        AnnotationBudget::Well | AnnotationBudget::Barely => Ok((converted, changes)),
    }
}

/// How an object of a group and kind becomes one of another.
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

/// An object is refused as it is once an API server has stored it.
fn refuse(becoming: &KindConversion<Kind>, root: &mut Json<'_>) -> Result<(), ReplaceError> {
    let mut fields = Fields { root, schema: becoming.source_schema() };
    let refusal = becoming.refused().iter().find(|refusal| refusal.gate.unmet(&mut fields).is_none());
    refusal.map_or(Ok(()), |refusal| Err(ReplaceError::Refused { message: refusal.message.clone() }))
}

/// The fields of an object, as gates look at them: with what the API server fills in.
struct Fields<'r, 'a, 's> {
    root: &'r mut Json<'a>,
    schema: &'s Schema,
}

impl Fields<'_, '_, '_> {
    /// What is filled in at a field, or at one that it is inside of.
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

/// Takes from an object what is not to be taken along, and gives what is kept for other versions of its kind the name
/// of that kind.
fn leave(object: &mut Object<'_>, way: &Way<'_>, own: Option<&Kind>) {
    let hash = own.and_then(Kind::hash_annotation);
    let (kind, version) = way.here;
    let own_version = format!("{KEPT}{version}");
    object.annotations.rename(&mut |name| match name.strip_prefix(KEPT) {
        // On an object of that very version it is nobody's to keep.
        Some(_) if name == own_version => None,
        Some(kept) if !kept.contains('.') => Some(format!("{KEPT}{kind}.{kept}")),
        Some(_) => Some(name.to_owned()),
        None => is_taken_along(name, hash.as_deref()).then(|| name.to_owned()),
    });
    if let Json::Object(members) = &mut object.root {
        members.remove("status");
    }
}

/// Gives what waited for other versions of the kind that an object now is the names that they have there.
fn arrive(object: &mut Object<'_>, way: &Way<'_>) {
    let prefix = format!("{KEPT}{}.", way.there.0);
    object.annotations.rename(&mut |name| {
        let kept = name.strip_prefix(&prefix).filter(|kept| *kept != way.there.1);
        Some(kept.map_or_else(|| name.to_owned(), |kept| format!("{KEPT}{kept}")))
    });
}
