//! Ratcheting: what was wrong before and is not touched must not stop an update, or nobody could change the object.

use std::collections::HashMap;

use super::compare::same_value;
use super::write::{SentObject, Write};
use crate::definition::{Kind, Path};
use crate::json::{Json, Members};

/// What a write is excused from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ratchet {
    /// Everything: metadata and status are written by many who never saw the spec, and must always get through.
    Everything,
    /// Nothing: the object is new here.
    Nothing,
    /// What an update leaves as it was.
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

    /// Whether an error at a path of an object that cannot be taken apart is excused; for a path into a list, what
    /// counts is the member that the list is in.
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
    // One that names a member twice.
    let (mut new, mut old) = (new.json().members(), old.json().members());
    for members in [&mut new, &mut old] {
        members.retain(|(name, _)| counts(name));
    }
    let before: HashMap<_, _> = old.iter().map(|(name, value)| (name.as_ref(), value)).collect();
    new.len() == old.len()
        && new.iter().all(|(name, value)| before.get(name.as_ref()).is_some_and(|old| old.same(value)))
}

/// Whether a write leaves alone what annotations say for another version: that is a part of the spec. One that is left
/// out is no edit, for whoever leaves it out cannot have meant it, and where `/mutate` is asked it is back already.
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

/// The value at a path. Looks only along the path: what is wrong beside it is no reason to refuse.
fn at(sent: &SentObject<'_>, path: &Path) -> Option<Json<'static>> {
    let whole = sent.json().view().into_owned();
    path.names().iter().try_fold(whole, |json, name| json.get(name).map(Json::into_owned))
}
