//! One operation for many places: a pattern in its path, such as `spec.receivers[*].*Configs[*].httpConfig.proxy`.

use crate::definition::path::Path;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};

/// The path of an operation, with patterns for names. `[*]` are the items of a list or map.
#[derive(Debug)]
pub(crate) struct Pattern<'t> {
    /// The path as written.
    pub(super) text: &'t str,
    parts: Vec<Part<'t>>,
}

#[derive(Debug)]
enum Part<'t> {
    /// A name, in which `*` is any text.
    Name(&'t str),
    Items,
}

/// A place that matches a pattern: the lists and maps around it, outermost first, and its path in the innermost one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MatchedPlace {
    pub(super) lists: Vec<Path>,
    pub(super) field: Path,
}

impl<'t> Pattern<'t> {
    /// Reads a path with `*`. `None` for other paths, and for a path with a quoted name.
    pub(super) fn read(path: &'t str) -> Option<Self> {
        if !path.contains('*') || path.contains("[\"") {
            return None;
        }
        // An operation at any depth would hide its effect. No field has an empty name, so that no field matches.
        if path.contains("**") {
            return Some(Self { text: path, parts: vec![Part::Name("")] });
        }
        let mut parts = Vec::new();
        for name in path.split('.') {
            let lists = name.matches(ITEMS).count();
            let name = name.get(..name.len() - lists * ITEMS.len()).unwrap_or_default();
            if name.is_empty() || name.contains(['[', ']']) {
                return None;
            }
            parts.push(Part::Name(name));
            parts.extend((0..lists).map(|_| Part::Items));
        }
        Some(Self { text: path, parts })
    }

    /// The places of both versions, or with a side those that only this version has. All lists around a place have the
    /// same path in both versions.
    pub(super) fn places(&self, schemas: &Sides<&Schema>, only: Option<Side>) -> Vec<MatchedPlace> {
        let side = only.unwrap_or(Side::Older);
        let mut found = Vec::new();
        let place = MatchedPlace::default();
        search(&self.parts, (*schemas.of(side), Some(*schemas.of(side.other()))), &place, &mut |place, is_in_both| {
            if is_in_both == only.is_none() {
                found.push(place);
            }
        });
        found
    }
}

const ITEMS: &str = "[*]";

/// Calls `found` with each place that matches, and whether both versions have the place.
fn search(
    parts: &[Part<'_>],
    (here, there): (&Schema, Option<&Schema>),
    place: &MatchedPlace,
    found: &mut dyn FnMut(MatchedPlace, bool),
) {
    match parts.split_first() {
        None => found(place.clone(), there.is_some()),
        Some((Part::Name(pattern), rest)) => {
            for (name, schema) in here.properties.iter().filter(|(name, _)| matches(pattern, name)) {
                let inner = MatchedPlace { lists: place.lists.clone(), field: place.field.join(name) };
                search(rest, (schema, there.and_then(|there| there.properties.get(name))), &inner, found);
            }
        }
        Some((Part::Items, rest)) => {
            let Some((here, there)) = here.each.as_deref().zip(there.and_then(|there| there.each.as_deref())) else {
                return;
            };
            let lists = [place.lists.as_slice(), std::slice::from_ref(&place.field)].concat();
            search(rest, (here, Some(there)), &MatchedPlace { lists, field: Path::default() }, found);
        }
    }
}

/// Returns whether a name matches a pattern, in which `*` is any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(end, _)| end).chain([name.len()]);
            ends.into_iter().any(|end| name.get(end..).is_some_and(|name| matches(rest, name)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_patterns() {
        for (pattern, name, is_match) in [
            ("*Configs", "slackConfigs", true),
            ("*Configs", "Configs", true),
            ("*Configs", "slackConfig", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("*", "é", true),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn other_paths_are_no_patterns() {
        for path in ["spec.a", "spec.labels[\"*\"]", "[*].a", ".", "spec..*", "spec.a[*]b"] {
            assert!(Pattern::read(path).is_none(), "{path}");
        }
        assert!(Pattern::read("spec.*[*][*].a").is_some());
    }
}
