//! Objects that lose fields while an object is converted, and may be empty afterwards.

use std::collections::BTreeSet;

use super::tree::{self, Was};
use super::{error::ConvertError, kept::Kept};
use crate::definition::{Level, Path, Side};
use crate::json::Json;

/// The objects that something was taken out of.
#[derive(Default)]
pub(super) struct Emptied(BTreeSet<Path>);

impl Emptied {
    /// Adds all objects on the way to a field.
    pub(super) fn add_parents(&mut self, path: &Path) {
        let mut path = path.clone();
        while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
            self.0.insert(parent.clone());
            path = parent;
        }
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.contains(path)
    }

    /// Takes out what remains of an object that the other version does not have. Nothing, if it was emptied just now.
    pub(super) fn take_remainder<'a>(
        &self,
        root: &mut Json<'a>,
        path: &Path,
        prefix: &str,
    ) -> Result<Option<Json<'a>>, ConvertError> {
        for inner in self.0.iter().rev().filter(|inner| inner.starts_with(path)) {
            if tree::is_empty(root, inner) {
                tree::take(root, prefix, inner)?;
            }
        }
        tree::take(root, prefix, path)
    }

    /// Objects that are empty now become what they were before moved fields filled them.
    pub(super) fn restore(
        &self,
        root: &mut Json<'_>,
        level: &Level,
        to: Side,
        kept: &Kept<'_>,
        prefix: &str,
    ) -> Result<(), ConvertError> {
        for path in self.0.iter().rev() {
            if !tree::is_empty(root, path) {
                continue;
            }
            let was = kept.entry(&path.to_string()).and_then(|entry| entry.was());
            match was.unwrap_or_else(|| usual(level, to, path)) {
                Was::Absent => {
                    tree::take(root, prefix, path)?;
                }
                Was::Empty => {}
                Was::Null => {
                    if let Some(place) = tree::get(root, prefix, path)? {
                        *place = Json::NULL;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What an object is on one side when nothing is left in it: it goes, unless that side requires it.
pub(super) fn usual(level: &Level, side: Side, path: &Path) -> Was {
    if level.stays.of(side).contains(path) { Was::Empty } else { Was::Absent }
}
