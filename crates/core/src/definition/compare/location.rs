//! Where a comparison is: how messages name a place, and how an operation reaches it.

use crate::definition::path::Path;
use crate::definition::side::{Side, Sides};

/// The place at which paths of a comparison begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// Its name in messages: the path of the older version, with `[*]` for items. Empty for the object itself.
    at: String,
    /// The lists and maps around it, outermost first. Each path begins at an item of the one before.
    lists: Vec<Sides<Path>>,
    /// The paths from the innermost item to it.
    base: Sides<Path>,
}

impl Ground {
    /// A place as messages name it.
    pub(super) fn name(&self, path: &Path) -> String {
        path.after(&self.at)
    }

    /// A field of one version as messages name it.
    pub(super) fn name_in(&self, side: Side, path: &Path) -> String {
        match side {
            Side::Newer if self.lists.is_empty() => self.paths(path).newer.to_string(),
            _ => self.name(path),
        }
    }

    /// The paths that an operation of the innermost level has for a place.
    pub(super) fn paths(&self, path: &Path) -> Sides<Path> {
        Sides { older: path.below(&self.base.older), newer: path.below(&self.base.newer) }
    }

    /// An item of a list or map, or a value of it.
    pub(super) fn item(&self, list: &Path) -> Self {
        let lists = [self.lists.clone(), vec![self.paths(list)]].concat();
        Self { at: format!("{}[*]", self.name(list)), lists, base: Sides::default() }
    }

    /// What an operation has at two places.
    pub(super) fn moved(&self, places: &Sides<&Path>) -> Self {
        let Sides { older, newer } = places;
        let base = Sides { older: older.below(&self.base.older), newer: newer.below(&self.base.newer) };
        Self { at: self.name(older), lists: self.lists.clone(), base }
    }

    /// An operation of the innermost level as it is written into a definition: under `each` for each list around it.
    pub(super) fn write(&self, operation: &str) -> String {
        self.lists.iter().rev().fold(operation.to_owned(), |inside, list| each(list, &format!("{{{inside}}}")))
    }

    /// An `each` without operations on the innermost list, if there is one.
    pub(super) fn innermost(&self) -> Option<String> {
        let (list, around) = self.lists.split_last()?;
        let around = Self { lists: around.to_vec(), ..Self::default() };
        Some(around.write(&each(list, "")))
    }

    /// Whether operations reach a place: the API server itself converts the head of an object.
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

/// A path as YAML takes it inside of braces: in quotes, where it would be read as something else.
pub(super) fn in_yaml(path: &str) -> String {
    let is_plain = path.starts_with(|first: char| first.is_ascii_alphabetic())
        && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$'));
    // The words of YAML 1.1 as well, which some read.
    let words = ["y", "yes", "n", "no", "on", "off", "true", "false", "null"];
    match path {
        "" => ".".to_owned(),
        path if is_plain && !words.contains(&path.to_lowercase().as_str()) => path.to_owned(),
        "." => ".".to_owned(),
        path => format!("'{}'", path.replace('\'', "''")),
    }
}
