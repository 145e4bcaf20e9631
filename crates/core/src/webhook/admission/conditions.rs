//! Conditions for the handover of an object to another controller version.

use super::{field_path::field_in, subject::value, write::Write};
use crate::definition::{Gated, Kind, Path, VersionIndex};
use crate::json::Json;
use crate::webhook::convert::Object;

/// Describes the unmet conditions of an object before a write. Empty if the object cannot be read, so that another
/// version can repair it.
pub(super) fn unmet(kind: &Kind, write: &Write<'_>) -> Vec<String> {
    if kind.admission.handover.is_empty() {
        return Vec::new();
    }
    let newest = kind.versions.newest();
    let Some(Ok(mut old)) = write.old.as_ref().map(|old| old.object()) else {
        return Vec::new();
    };
    let Ok(at) = old.version(kind) else {
        return Vec::new();
    };
    if old.convert_to_read(kind, newest).is_err() {
        return Vec::new();
    }
    let metadata = write.old.as_ref().and_then(|old| old.json().get("metadata"));
    let generation = metadata.and_then(|metadata| metadata.get("generation")?.scalar()?.parse().ok());
    let mut before = Before { kind, old, generation, at };
    kind.admission.handover.iter().filter_map(|gate| gate.unmet(&mut before)).collect()
}

/// An object before a write, in the newest version, and the version in which it was sent.
struct Before<'k, 'o> {
    kind: &'k Kind,
    old: Object<'o>,
    generation: Option<i64>,
    at: VersionIndex,
}

impl Gated for Before<'_, '_> {
    fn value(&mut self, field: &Path) -> Option<Json<'static>> {
        value(&mut self.old, field).map(Json::into_owned)
    }

    fn generation(&self) -> Option<i64> {
        self.generation
    }

    fn name(&self, field: &Path) -> String {
        field_in(self.kind, field, self.kind.versions.newest(), self.at).to_string()
    }
}
