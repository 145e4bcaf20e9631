//! JSON for the laws: numbers as written, members by name. Shares no code with the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::value::RawValue;

/// A JSON value. Two values are equal if their content and the spelling of their numbers are equal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Object(BTreeMap<String, Self>),
}

/// A name or an index in the path of a place.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Segment {
    /// A member of an object.
    Name(String),
    /// An element of a list, from 0.
    Index(usize),
}

/// The path of a field: `spec.a.b`, or with `/` if names contain dots.
#[must_use]
pub fn way(path: &str) -> Vec<Segment> {
    let separator = if path.contains('/') { '/' } else { '.' };
    path.split(separator).map(|name| Segment::Name(name.to_owned())).collect()
}

/// The path of a place that an operation names in an object: `spec.a[0].b`, `spec.labels["example.com/a"]`.
pub(super) fn place(path: &str) -> Vec<Segment> {
    let mut way = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let (segment, after) = match (rest.strip_prefix("[\""), rest.strip_prefix('[')) {
            (Some(quoted), _) => {
                let (name, after) = quoted.split_once("\"]").unwrap_or((quoted, ""));
                (Segment::Name(name.to_owned()), after)
            }
            (None, Some(index)) => {
                let (index, after) = index.split_once(']').unwrap_or((index, ""));
                (index.parse().map_or_else(|_| Segment::Name(index.to_owned()), Segment::Index), after)
            }
            (None, None) => {
                let (name, after) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
                (Segment::Name(name.to_owned()), after)
            }
        };
        // An operation on an item itself has no name after the dot of the item.
        if segment != Segment::Name(String::new()) {
            way.push(segment);
        }
        rest = after;
    }
    way
}

/// A path as in a definition: `spec.ports[0].name`, with quotes for other names.
pub(super) fn dotted(way: &[Segment]) -> String {
    let mut path = String::new();
    for segment in way {
        match segment {
            Segment::Index(index) => path.push_str(&format!("[{index}]")),
            Segment::Name(name) if name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) => {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(name);
            }
            Segment::Name(name) => path.push_str(&format!("[{name:?}]")),
        }
    }
    path
}

/// A path for people: names and indices separated by `/`.
#[must_use]
pub fn shown(way: &[Segment]) -> String {
    way.iter().map(ToString::to_string).collect::<Vec<_>>().join("/")
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

impl Value {
    /// Parses JSON. Of duplicate members the last counts, as in Go.
    ///
    /// # Errors
    /// Invalid JSON, or nesting deeper than the limit of `serde_json` (128).
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let text = text.trim();
        match text.as_bytes().first() {
            Some(b'{') => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
                let members = members.into_iter();
                let members = members.map(|(name, raw)| Ok((name, Self::read(raw.get())?)));
                Ok(Self::Object(members.collect::<Result<_, serde_json::Error>>()?))
            }
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(text)?;
                let elements = elements.into_iter().map(|raw| Self::read(raw.get()));
                Ok(Self::List(elements.collect::<Result<_, _>>()?))
            }
            Some(b'"') => Ok(Self::Text(serde_json::from_str(text)?)),
            Some(b't' | b'f') => Ok(Self::Bool(serde_json::from_str(text)?)),
            Some(b'n') => serde_json::from_str::<()>(text).map(|()| Self::Null),
            _ => serde_json::from_str::<&RawValue>(text).map(|raw| Self::Number(raw.get().to_owned())),
        }
    }

    /// The value of a default or option in a schema.
    #[must_use]
    pub fn literal(value: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(value) => Self::Number(value.to_string()),
            Json::String(value) => Self::Text(value.clone()),
            Json::Array(elements) => Self::List(elements.iter().map(Self::literal).collect()),
            Json::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::literal(value))).collect())
            }
        }
    }

    /// An empty object.
    #[must_use]
    pub fn object() -> Self {
        Self::Object(BTreeMap::new())
    }

    /// A string.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The value as compact JSON, members sorted by name.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |_| {});
        out
    }

    /// Writes the value with a given order of the members of each object.
    pub fn write(&self, out: &mut String, order: &mut dyn FnMut(&mut [&String])) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => out.push_str(value),
            Self::Text(value) => quote(value, out),
            Self::List(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    element.write(out, order);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut names: Vec<&String> = members.keys().collect();
                order(&mut names);
                out.push('{');
                let ordered = names.into_iter().filter_map(|name| Some((name, members.get(name)?)));
                for (index, (name, value)) in ordered.enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    quote(name, out);
                    out.push(':');
                    value.write(out, order);
                }
                out.push('}');
            }
        }
    }

    /// Returns a member of an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(name),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the value is an object without members, or a list without elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Object(members) => members.is_empty(),
            Self::List(elements) => elements.is_empty(),
            _ => false,
        }
    }

    /// Returns whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The value at a path.
    #[must_use]
    pub fn at(&self, way: &[Segment]) -> Option<&Self> {
        way.iter().try_fold(self, |value, segment| match (segment, value) {
            (Segment::Name(name), Self::Object(members)) => members.get(name),
            (Segment::Index(index), Self::List(elements)) => elements.get(*index),
            _ => None,
        })
    }

    /// The mutable value at a path.
    pub fn at_mut(&mut self, way: &[Segment]) -> Option<&mut Self> {
        way.iter().try_fold(self, |value, segment| match (segment, value) {
            (Segment::Name(name), Self::Object(members)) => members.get_mut(name),
            (Segment::Index(index), Self::List(elements)) => elements.get_mut(*index),
            _ => None,
        })
    }

    /// The value of a field by its path.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Self> {
        self.at(&way(path))
    }

    /// Sets a field by its path. Creates absent parents.
    pub fn set(&mut self, path: &str, value: Self) {
        let mut here = self;
        for segment in way(path) {
            let Segment::Name(name) = segment else { return };
            if !here.is_object() {
                *here = Self::object();
            }
            let Self::Object(members) = here else { return };
            here = members.entry(name).or_insert(Self::Null);
        }
        *here = value;
    }

    /// Removes the value at a path.
    pub fn remove(&mut self, way: &[Segment]) -> Option<Self> {
        let (last, holder) = way.split_last()?;
        match (last, self.at_mut(holder)?) {
            (Segment::Name(name), Self::Object(members)) => members.remove(name),
            (Segment::Index(index), Self::List(elements)) if *index < elements.len() => Some(elements.remove(*index)),
            _ => None,
        }
    }

    /// Removes a field by its path.
    pub fn take(&mut self, path: &str) -> Option<Self> {
        self.remove(&way(path))
    }

    /// All places, outermost first.
    #[must_use]
    pub fn ways(&self) -> Vec<Vec<Segment>> {
        let places = Places::of(self);
        places.order.iter().map(|place| places.way(*place)).collect()
    }
}

/// The places of a value. A place refers to the one around it, so that only the paths in demand are written.
pub(super) struct Places<'v> {
    all: Vec<Place<'v>>,
    /// The indices of the places, outermost first.
    order: Vec<usize>,
}

struct Place<'v> {
    value: &'v Value,
    around: Option<(usize, SegmentRef<'v>)>,
    /// The number of segments of the path.
    depth: usize,
}

#[derive(Clone, Copy)]
enum SegmentRef<'v> {
    Name(&'v str),
    Index(usize),
}

impl<'v> Places<'v> {
    pub(super) fn of(value: &'v Value) -> Self {
        let mut all = vec![Place { value, around: None, depth: 0 }];
        let (mut order, mut open) = (Vec::new(), vec![0]);
        while let Some(outer) = open.pop() {
            order.push(outer);
            let Some(&Place { value, depth, .. }) = all.get(outer) else { continue };
            let first = all.len();
            let inner = |segment, value| Place { value, around: Some((outer, segment)), depth: depth + 1 };
            match value {
                Value::Object(members) => {
                    all.extend(members.iter().map(|(name, value)| inner(SegmentRef::Name(name), value)));
                }
                Value::List(elements) => {
                    all.extend(elements.iter().enumerate().map(|(i, value)| inner(SegmentRef::Index(i), value)));
                }
                _ => {}
            }
            open.extend(first..all.len());
        }
        order.sort_by_key(|place| all.get(*place).map(|place| place.depth));
        Self { all, order }
    }

    /// The places in the members of these names, outermost first.
    pub(super) fn below(&self, names: &[&str]) -> Vec<usize> {
        let mut is_below = vec![false; self.all.len()];
        let mut found = Vec::new();
        for place in &self.order {
            let is_found = match self.all.get(*place).and_then(|place| place.around) {
                Some((0, SegmentRef::Name(name))) => names.contains(&name),
                Some((outer, _)) => is_below.get(outer).is_some_and(|outer| *outer),
                None => false,
            };
            if is_found {
                found.push(*place);
                is_below.get_mut(*place).into_iter().for_each(|below| *below = true);
            }
        }
        found
    }

    /// The path of a place.
    pub(super) fn way(&self, place: usize) -> Vec<Segment> {
        let mut way = Vec::new();
        let mut here = self.all.get(place);
        while let Some((outer, segment)) = here.and_then(|place| place.around) {
            way.push(match segment {
                SegmentRef::Name(name) => Segment::Name(name.to_owned()),
                SegmentRef::Index(index) => Segment::Index(index),
            });
            here = self.all.get(outer);
        }
        way.reverse();
        way
    }
}

/// Writes a JSON string.
fn quote(text: &str, out: &mut String) {
    let is_plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if is_plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// The innermost place where two values differ.
#[must_use]
pub fn differing(one: &Value, two: &Value) -> Option<Vec<Segment>> {
    if one == two {
        return None;
    }
    let mut ways = one.ways();
    ways.extend(two.ways());
    ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
    ways.into_iter().find(|way| one.at(way) != two.at(way))
}

/// The outermost places where two values differ. Objects, and lists of equal length, are compared by their contents.
#[must_use]
pub fn differences(one: &Value, two: &Value) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    note_differences(Some(one), Some(two), &mut Vec::new(), &mut found);
    found
}

fn note_differences(one: Option<&Value>, two: Option<&Value>, way: &mut Vec<Segment>, found: &mut Vec<Vec<Segment>>) {
    let names: BTreeSet<Segment> = match (one, two) {
        _ if one == two => return,
        (Some(Value::Object(one)), Some(Value::Object(two))) => {
            one.keys().chain(two.keys()).cloned().map(Segment::Name).collect()
        }
        (Some(Value::List(one)), Some(Value::List(two))) if one.len() == two.len() => {
            (0..one.len()).map(Segment::Index).collect()
        }
        _ => return found.push(way.clone()),
    };
    for name in names {
        let step = std::slice::from_ref(&name);
        let (one, two) = (one.and_then(|one| one.at(step)), two.and_then(|two| two.at(step)));
        way.push(name.clone());
        note_differences(one, two, way, found);
        way.pop();
    }
}

/// Describes the first difference of two values, for people.
#[must_use]
pub fn difference(one: &Value, two: &Value) -> Option<String> {
    let way = differing(one, two)?;
    let show = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_text);
    Some(format!("{}: {} is not {}", shown(&way), show(two.at(&way)), show(one.at(&way))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_in_definitions() {
        let name = |name: &str| Segment::Name(name.to_owned());
        let way = [name("metadata"), name("annotations"), name("a.b/c\""), name("x-y"), Segment::Index(2), name("z")];
        assert_eq!(dotted(&way), r#"metadata.annotations["a.b/c\""].x-y[2].z"#);
    }

    #[test]
    fn each_difference_is_found_once() {
        let read = |text: &str| Value::read(text).unwrap();
        let one = read(r#"{"a":{"b":1,"c":[1,2]},"d":"x","e":{}}"#);
        let two = read(r#"{"a":{"b":2,"c":[1,3]},"e":{"f":{"g":1}},"h":[]}"#);
        let found: Vec<String> = differences(&one, &two).iter().map(|way| shown(way)).collect();
        assert_eq!(found, ["a/b", "a/c/1", "d", "e/f", "h"]);
        assert!(differences(&one, &one).is_empty());
    }

    #[test]
    fn places_match_operation_paths() {
        for (path, names) in [
            ("spec.a.b", "spec a b"),
            ("spec.a[0].b[12].c", "spec a 0 b 12 c"),
            ("spec.labels[\"example.com/a\"].b", "spec labels example.com/a b"),
            ("spec.modes[1]..", "spec modes 1"),
            ("spec.modes[1].", "spec modes 1"),
        ] {
            let shown = place(path).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            assert_eq!(shown, names, "{path}");
        }
        assert_eq!(place("a[3]").last(), Some(&Segment::Index(3)));
    }
}
