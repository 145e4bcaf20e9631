//! The fields of a version that operations concern: objects of a large schema contain these fields more often.

use std::collections::BTreeMap;

use super::rollouts::rollouts;
use super::value::{Segment, way};
use crate::definition::{Kind, Level, Path, Side};

/// A field with operations on it or inside of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Focus {
    members: BTreeMap<String, Self>,
    items: Option<Box<Self>>,
}

impl Focus {
    /// The fields in objects of a version.
    pub(super) fn of(kind: &Kind, version: &str) -> Self {
        let mut focus = Self::default();
        for step in &kind.steps {
            for side in [Side::Older, Side::Newer] {
                if step.versions.of(side).as_ref() == version {
                    focus.add(&step.level, side);
                }
            }
        }
        for fields in rollouts(kind) {
            for field in [fields.request, fields.hash] {
                way(&field).into_iter().fold(&mut focus, |here, segment| match segment {
                    Segment::Name(name) => here.members.entry(name).or_default(),
                    Segment::Index(_) => here,
                });
            }
        }
        focus
    }

    fn add(&mut self, level: &Level, side: Side) {
        for operation in &level.operations {
            for place in operation.places.of(side) {
                let here = self.reach(&place.path);
                if let Some(items) = operation.items() {
                    here.items.get_or_insert_default().add(&items.level, side);
                }
            }
        }
    }

    fn reach(&mut self, path: &Path) -> &mut Self {
        path.names().iter().fold(self, |here, name| here.members.entry(name.to_string()).or_default())
    }

    /// A member of an object, or a value of a map.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name).or(self.items.as_deref())
    }

    /// The names in operations. In a map, these are keys.
    pub(super) fn names(&self) -> Vec<&str> {
        self.members.keys().map(String::as_str).collect()
    }

    /// The elements of a list.
    pub(super) fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }
}
