//! A YAML or JSON value with numbers as text, so that they are written unchanged.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Error as _, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::value::RawValue;

/// A value, with members in their original order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonTree {
    Array(Vec<Self>),
    Bool(bool),
    Null,
    /// The JSON text of a number.
    Number(String),
    Object(Vec<(String, Self)>),
    String(String),
}

/// The maximum nesting depth, to bound the stack. Kubernetes itself has a lower limit.
const DEPTH: usize = 128;

impl JsonTree {
    pub(crate) fn from_json(text: &str) -> anyhow::Result<Self> {
        read(text.trim(), 0)
    }

    pub(crate) fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    pub(crate) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Replaces a member in place, or appends it. Ignores values other than objects.
    pub(crate) fn set(&mut self, name: &str, value: Self) {
        let Self::Object(members) = self else { return };
        match members.iter_mut().find(|(key, _)| key == name) {
            Some((_, place)) => *place = value,
            None => members.push((name.to_owned(), value)),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// JSON on one line. `{:#}` prints it like kubectl, with four spaces a level.
impl fmt::Display for JsonTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        let written = match f.alternate() {
            true => {
                let layout = PrettyFormatter::with_indent(b"    ");
                self.serialize(&mut Serializer::with_formatter(&mut out, layout))
            }
            false => serde_json::to_writer(&mut out, self),
        };
        written.map_err(|_| fmt::Error)?;
        f.write_str(str::from_utf8(&out).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for JsonTree {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Array(items) => serializer.collect_seq(items),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Null => serializer.serialize_unit(),
            Self::Number(number) => {
                let raw = RawValue::from_string(number.clone()).map_err(S::Error::custom)?;
                raw.serialize(serializer)
            }
            Self::Object(members) => serializer.collect_map(members.iter().map(|(name, value)| (name, value))),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn read(text: &str, depth: usize) -> anyhow::Result<JsonTree> {
    anyhow::ensure!(depth <= DEPTH, "nests deeper than {DEPTH} levels");
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let RawMembers(members) = serde_json::from_str(text)?;
            let mut names = HashSet::with_capacity(members.len());
            for (name, _) in &members {
                anyhow::ensure!(names.insert(name.as_str()), "names {name:?} twice");
            }
            let inner = members.iter().map(|(name, value)| Ok((name.clone(), read(value.get(), depth + 1)?)));
            JsonTree::Object(inner.collect::<anyhow::Result<_>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            JsonTree::Array(items.iter().map(|item| read(item.get(), depth + 1)).collect::<anyhow::Result<_>>()?)
        }
        Some(b'"') => JsonTree::String(serde_json::from_str(text)?),
        _ => match serde_json::from_str::<&RawValue>(text)?.get() {
            "null" => JsonTree::Null,
            "true" => JsonTree::Bool(true),
            "false" => JsonTree::Bool(false),
            number => JsonTree::Number(number.to_owned()),
        },
    })
}

/// The members of a JSON object, one level parsed.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawMembersVisitor)
    }
}

struct RawMembersVisitor;

impl<'de> Visitor<'de> for RawMembersVisitor {
    type Value = RawMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(RawMembers(members))
    }
}
