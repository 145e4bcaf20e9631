//! Ratcheting: errors that existed before and are unchanged do not block an update.

use std::collections::HashMap;

use super::compare::same_value;
use super::write::{SentObject, Write};
use crate::definition::{Kind, Path};
use crate::json::{Json, Members};

/// The errors that are accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ratchet {
    /// All errors: writes of metadata and status are made by clients that ignore the spec, and must not be blocked.
    Everything,
    /// No errors: the object is new for this server.
    Nothing,
    /// Errors in fields that an update leaves unchanged.
    Untouched,
}

impl Ratchet {
    pub(super) fn of(kind: &Kind, write: &Write<'_>) -> Self {
        match &write.old {
            None => Self::Nothing,
            Some(old) if same_but_metadata_and_status(&write.new, old) && same_kept_fields(kind, &write.new, old) => {
                Self::Everything
            }
            Some(_) => Self::Untouched,
        }
    }

    /// Returns whether an error at a path is accepted, for an object that cannot be parsed. For a path into a list, the
    /// member that contains the list counts.
    pub(super) fn excuses(self, write: &Write<'_>, path: &str) -> bool {
        match (self, &write.old) {
            (Self::Everything, _) => true,
            (Self::Untouched, Some(old)) => is_untouched(&write.new, old, path),
            (Self::Untouched | Self::Nothing, _) => false,
        }
    }
}

fn same_but_metadata_and_status(new: &SentObject<'_>, old: &SentObject<'_>) -> bool {
    let counts = |name: &str| !matches!(name, "metadata" | "status");
    if let (Json::Object(new), Json::Object(old)) = (new.json(), old.json()) {
        let count = |members: &Members<'_>| members.iter().filter(|(name, _)| counts(name)).count();
        let mut members = new.iter().filter(|(name, _)| counts(name));
        return count(new) == count(old)
            && members.all(|(name, value)| old.get(name).is_some_and(|old| old.same(value)));
    }
    // The object has duplicate members.
    let (mut new, mut old) = (new.json().members(), old.json().members());
    for members in [&mut new, &mut old] {
        members.retain(|(name, _)| counts(name));
    }
    let before: HashMap<_, _> = old.iter().map(|(name, value)| (name.as_ref(), value)).collect();
    new.len() == old.len()
        && new.iter().all(|(name, value)| before.get(name.as_ref()).is_some_and(|old| old.same(value)))
}

/// Returns whether a write leaves the kept values of other versions unchanged, which are part of the spec. An omitted
/// annotation is no change: the omission is not intended, and `/mutate` restores it.
fn same_kept_fields(kind: &Kind, new: &SentObject<'_>, old: &SentObject<'_>) -> bool {
    let mut keys = kind.versions.indices().filter_map(|version| kind.kept_annotation(version));
    keys.all(|key| new.annotation(key).is_none_or(|new| old.annotation(key).is_some_and(|old| new.same(&old))))
}

fn is_untouched(new: &SentObject<'_>, old: &SentObject<'_>, path: &str) -> bool {
    let member = Path::default().join(path.split(['.', '[']).next().unwrap_or(path));
    let path = Path::parse(path).unwrap_or_else(|_| member.clone());
    let same = |path: &Path| match (at(new, path), at(old, path)) {
        (Some(new), Some(old)) => Some(same_value(&new, &old)),
        (None, None) => None,
        _ => Some(false),
    };
    same(&path).or_else(|| same(&member)).unwrap_or(false)
}

/// The value at a path. Ignores errors outside of the path.
fn at(sent: &SentObject<'_>, path: &Path) -> Option<Json<'static>> {
    let whole = sent.json().view().into_owned();
    path.names().iter().try_fold(whole, |json, name| json.get(name).map(Json::into_owned))
}
