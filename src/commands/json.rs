//! A YAML or JSON value whose numbers are text, so that they come out as they went in.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A value, members in the order they came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Array(Vec<Self>),
    Bool(bool),
    Null,
    /// As JSON writes numbers.
    Number(String),
    Object(Vec<(String, Self)>),
    String(String),
}

/// How deep values may nest. Kubernetes itself stops earlier; the stack of a process would at some point, too.
const DEPTH: usize = 128;

impl Json {
    /// Reads JSON.
    pub(crate) fn from_json(text: &str) -> anyhow::Result<Self> {
        read(text.trim(), 0)
    }

    pub(crate) fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// An object of these members.
    pub(crate) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Replaces a member where it stands, or appends it. Nothing where this is no object.
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

    /// JSON on one line.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// JSON as kubectl prints it: four spaces a level, and a line end.
    pub(crate) fn to_pretty_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(0));
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, indent: Option<usize>) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number),
            Self::String(text) => out.push_str(&quoted(text)),
            Self::Array(items) => {
                let entries = items.iter().map(|item| (None, item));
                write_all(out, ['[', ']'], entries, indent);
            }
            Self::Object(members) => {
                let entries = members.iter().map(|(name, value)| (Some(name.as_str()), value));
                write_all(out, ['{', '}'], entries, indent);
            }
        }
    }
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write_all<'n>(
    out: &mut String,
    [open, close]: [char; 2],
    entries: impl ExactSizeIterator<Item = (Option<&'n str>, &'n Json)>,
    indent: Option<usize>,
) {
    let empty = entries.len() == 0;
    let inner = indent.map(|indent| indent + 4);
    let line = |out: &mut String, indent: Option<usize>| {
        if let Some(indent) = indent.filter(|_| !empty) {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
        }
    };
    out.push(open);
    for (index, (name, value)) in entries.enumerate() {
        if index > 0 {
            out.push(',');
        }
        line(out, inner);
        if let Some(name) = name {
            out.push_str(&quoted(name));
            out.push_str(if indent.is_some() { ": " } else { ":" });
        }
        value.write(out, inner);
    }
    line(out, indent);
    out.push(close);
}

fn read(text: &str, depth: usize) -> anyhow::Result<Json> {
    anyhow::ensure!(depth <= DEPTH, "nests deeper than {DEPTH} levels");
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text)?;
            let mut names = HashSet::with_capacity(members.len());
            for (name, _) in &members {
                anyhow::ensure!(names.insert(name.as_str()), "names {name:?} twice");
            }
            let inner = members
                .iter()
                .map(|(name, value)| Ok((name.clone(), read(value.get(), depth + 1)?)));
            Json::Object(inner.collect::<anyhow::Result<_>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            Json::Array(
                items
                    .iter()
                    .map(|item| read(item.get(), depth + 1))
                    .collect::<anyhow::Result<_>>()?,
            )
        }
        Some(b'"') => Json::String(serde_json::from_str(text)?),
        _ => match serde_json::from_str::<&RawValue>(text)?.get() {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            number => Json::Number(number.to_owned()),
        },
    })
}

/// The members of a JSON object, one level opened.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
