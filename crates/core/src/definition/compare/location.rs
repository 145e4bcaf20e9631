//! The current place of a comparison: its name in messages, and the operation path to it.

use crate::definition::path::Path;
use crate::definition::side::{Side, Sides};
use crate::definition::yaml::is_plain;

/// The place at which the paths of a comparison start.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// The name in messages: the path of the older version, with `[*]` for items. Empty for the object itself.
    at: String,
    /// The enclosing lists and maps, outermost first. Each path starts at an item of the previous list.
    lists: Vec<Sides<Path>>,
    /// The paths from the innermost item to this place.
    base: Sides<Path>,
    /// Whether the place of the newer version is in the items of a list that only this version has.
    is_newer_item: bool,
}

impl Ground {
    /// The name of a place in messages.
    pub(super) fn name(&self, path: &Path) -> String {
        path.after(&self.at)
    }

    /// The name of a field of one version in messages.
    pub(super) fn name_in(&self, side: Side, path: &Path) -> String {
        match side {
            Side::Newer if self.lists.is_empty() => self.paths(path).newer.to_string(),
            _ => self.name(path),
        }
    }

    /// The full path of a place of one version, with `[*]` for items.
    pub(super) fn place_in(&self, side: Side, path: &Path) -> String {
        let list = |at: String, list: &Sides<Path>| format!("{}[*]", list.of(side).after(&at));
        let at = self.lists.iter().fold(String::new(), list);
        match side {
            Side::Newer if self.is_newer_item => path.after(&format!("{}[*]", self.base.newer.after(&at))),
            _ => path.below(self.base.of(side)).after(&at),
        }
    }

    /// The paths of a place for an operation of the innermost level.
    pub(super) fn paths(&self, path: &Path) -> Sides<Path> {
        Sides { older: path.below(&self.base.older), newer: path.below(&self.base.newer) }
    }

    /// An item of a list or a value of a map.
    pub(super) fn item(&self, list: &Path) -> Self {
        let lists = [self.lists.clone(), vec![self.paths(list)]].concat();
        Self { at: format!("{}[*]", self.name(list)), lists, ..Self::default() }
    }

    /// The ground of the two places of an operation. `is_newer_item`: the newer place is a list, of which the items are
    /// compared.
    pub(super) fn moved(&self, places: &Sides<&Path>, is_newer_item: bool) -> Self {
        let Sides { older, newer } = places;
        let base = Sides { older: older.below(&self.base.older), newer: newer.below(&self.base.newer) };
        Self { at: self.name(older), lists: self.lists.clone(), base, is_newer_item }
    }

    /// An operation of the innermost level as written in a definition: under `each` for each enclosing list.
    pub(super) fn write(&self, operation: &str) -> String {
        self.lists.iter().rev().fold(operation.to_owned(), |inside, list| each(list, &format!("{{{inside}}}")))
    }

    /// An `each` without operations on the innermost list, if there is one.
    pub(super) fn innermost(&self) -> Option<String> {
        let (list, around) = self.lists.split_last()?;
        let around = Self { lists: around.to_vec(), ..Self::default() };
        Some(around.write(&each(list, "")))
    }

    /// Returns whether operations can reach a place. The API server itself converts the head of an object.
    pub(super) fn is_reachable(&self, path: &Path) -> bool {
        let path = self.paths(path).older;
        let is_head = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata");
        !self.lists.is_empty() || path.names().first().is_some_and(|first| !is_head(first))
    }
}

/// An `each` on a list or map.
pub(super) fn each(list: &Sides<Path>, operations: &str) -> String {
    let [older, newer] = [&list.older, &list.newer].map(|path| in_yaml(&path.to_string()));
    match older == newer {
        true => format!("each: {{in: {older}, operations: [{operations}]}}"),
        false => format!("each: {{from: {older}, to: {newer}, operations: [{operations}]}}"),
    }
}

/// A path as YAML inside of braces, quoted if necessary.
pub(super) fn in_yaml(path: &str) -> String {
    match path {
        "" => ".".to_owned(),
        path if is_plain(path) => path.to_owned(),
        path => format!("'{}'", path.replace('\'', "''")),
    }
}
