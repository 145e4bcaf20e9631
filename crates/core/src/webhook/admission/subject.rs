//! A write, converted to the version of a rule.

use super::{compare::same_value, field_path::field_in};
use crate::definition::{Kind, Path, VersionIndex};
use crate::json::Json;
use crate::webhook::convert::{ConvertError, Object, tree};

/// A write with a parsed new object, in the version of the request.
pub(super) struct OpenedWrite<'k: 'j, 'j> {
    pub(super) kind: &'k Kind,
    /// The index of the version.
    pub(super) at: VersionIndex,
    pub(super) new: Object<'j>,
    /// The old object, if it can be parsed.
    pub(super) old: Option<Object<'j>>,
    /// The new object in the newest version, if already converted.
    pub(super) newest: Option<Object<'j>>,
}

/// A write in the version of some rules.
pub(super) struct Subject<'k: 'j, 'j> {
    kind: &'k Kind,
    /// The version of the fields, and that of the request.
    at: VersionIndex,
    request: VersionIndex,
    new: Object<'j>,
    old: Option<Object<'j>>,
    /// The new and the old object as sent, if the old object cannot be converted.
    sent: Option<[Object<'j>; 2]>,
}

/// The value at a path. Null counts as absent.
pub(super) fn value<'j>(object: &mut Object<'j>, path: &Path) -> Option<Json<'j>> {
    let value = tree::get(&mut object.root, "", path).ok().flatten()?;
    (!value.is_null()).then(|| value.clone())
}

impl<'k: 'j, 'j> Subject<'k, 'j> {
    /// Converts a write. Fails if the new object cannot be converted.
    pub(super) fn of(opened: &mut OpenedWrite<'k, 'j>, at: VersionIndex) -> Result<Self, ConvertError> {
        let kind = opened.kind;
        let made = if at == kind.versions.newest() { opened.newest.take() } else { None };
        let mut new = made.unwrap_or_else(|| opened.new.clone());
        new.convert_to_read(kind, at)?;
        let convert = |mut old: Object<'j>| old.convert_to_read(kind, at).ok().map(|_| old);
        let old = opened.old.clone().and_then(convert);
        let sent = match (&old, &opened.old) {
            (None, Some(before)) => Some([opened.new.clone(), before.clone()]),
            _ => None,
        };
        Ok(Self { kind, at, request: opened.at, new, old, sent })
    }

    pub(super) fn version(&self) -> VersionIndex {
        self.at
    }

    pub(super) fn new_object(&self) -> &Object<'j> {
        &self.new
    }

    pub(super) fn old_object(&self) -> Option<&Object<'j>> {
        self.old.as_ref()
    }

    /// The new value of a field. Null counts as absent.
    pub(super) fn new_value(&mut self, path: &Path) -> Option<Json<'j>> {
        value(&mut self.new, path)
    }

    /// The old value of a field. Null counts as absent.
    pub(super) fn old_value(&mut self, path: &Path) -> Option<Json<'j>> {
        self.old.as_mut().and_then(|old| value(old, path))
    }

    /// The path of a field in the version of the request.
    pub(super) fn name(&self, path: &Path) -> Path {
        field_in(self.kind, path, self.at, self.request)
    }

    /// Returns whether an update left a field unchanged.
    pub(super) fn is_untouched(&mut self, path: &Path) -> bool {
        let name = self.name(path);
        let values = match &mut self.sent {
            Some([new, old]) => [value(new, &name), value(old, &name)],
            None if self.old.is_none() => return false,
            None => [self.new_value(path), self.old_value(path)],
        };
        match values {
            [None, None] => true,
            [Some(new), Some(old)] => same_value(&new, &old),
            _ => false,
        }
    }

    /// The old value of a field, even if the whole object cannot be converted.
    pub(super) fn was(&mut self, path: &Path) -> Option<Json<'j>> {
        let name = self.name(path);
        match &mut self.sent {
            Some([_, old]) => value(old, &name),
            None => self.old_value(path),
        }
    }
}
