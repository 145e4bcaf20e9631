//! JSON as the tests see it: numbers as they are written, members by name. Shares no code with what it judges.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

/// One step on the way to a place in a value.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

pub(crate) type Way = Vec<Step>;

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The way to a field: `spec.a.b`, with `/` where names have dots in them.
pub(crate) fn way(path: &str) -> Way {
    let separator = if path.contains('/') { '/' } else { '.' };
    path.split(separator).map(|name| Step::Name(name.to_owned())).collect()
}

impl Value {
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        let raw = |raw: &RawValue| Self::parse(raw.get());
        match text.as_bytes().first() {
            Some(b'{') => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
                Self::Object(members.into_iter().map(|(name, value)| (name, raw(value))).collect())
            }
            Some(b'[') => Self::List(
                serde_json::from_str::<Vec<&RawValue>>(text)
                    .unwrap()
                    .into_iter()
                    .map(raw)
                    .collect(),
            ),
            Some(b'"') => Self::Text(serde_json::from_str(text).unwrap()),
            Some(b't' | b'f') => Self::Bool(text == "true"),
            Some(b'n') => Self::Null,
            _ => Self::Number(text.to_owned()),
        }
    }

    /// Reads YAML, or plain JSON whose numbers are ordinary.
    pub(crate) fn yaml(text: &str) -> Self {
        let value: serde_json::Value = serde_saphyr::from_str(text).unwrap();
        Self::parse(&value.to_string())
    }

    pub(crate) fn object() -> Self {
        Self::Object(BTreeMap::new())
    }

    pub(crate) fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |_| {});
        out
    }

    /// Writes it with the members of each object in an order of somebody's choice.
    pub(crate) fn write(&self, out: &mut String, order: &mut dyn FnMut(&mut Vec<&String>)) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => out.push_str(value),
            Self::Text(value) => out.push_str(&serde_json::to_string(value).unwrap()),
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
                for (index, name) in names.into_iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push_str(&serde_json::to_string(name).unwrap());
                    out.push(':');
                    members[name].write(out, order);
                }
                out.push('}');
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(name),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Object(members) => members.is_empty(),
            Self::List(elements) => elements.is_empty(),
            _ => false,
        }
    }

    pub(crate) fn at(&self, way: &[Step]) -> Option<&Self> {
        way.iter().try_fold(self, |value, step| match (step, value) {
            (Step::Name(name), Self::Object(members)) => members.get(name),
            (Step::Index(index), Self::List(elements)) => elements.get(*index),
            _ => None,
        })
    }

    pub(crate) fn at_mut(&mut self, way: &[Step]) -> Option<&mut Self> {
        way.iter().try_fold(self, |value, step| match (step, value) {
            (Step::Name(name), Self::Object(members)) => members.get_mut(name),
            (Step::Index(index), Self::List(elements)) => elements.get_mut(*index),
            _ => None,
        })
    }

    /// The value of a field by its path.
    pub(crate) fn field(&self, path: &str) -> Option<&Self> {
        self.at(&way(path))
    }

    /// Sets a field by its path; objects on the way are made.
    pub(crate) fn set(&mut self, path: &str, value: Self) {
        let mut here = self;
        for step in way(path) {
            let Step::Name(name) = step else { return };
            if !matches!(here, Self::Object(_)) {
                *here = Self::object();
            }
            let Self::Object(members) = here else { return };
            here = members.entry(name).or_insert(Self::Null);
        }
        *here = value;
    }

    pub(crate) fn remove(&mut self, way: &[Step]) -> Option<Self> {
        let (last, holder) = way.split_last()?;
        match (last, self.at_mut(holder)?) {
            (Step::Name(name), Self::Object(members)) => members.remove(name),
            (Step::Index(index), Self::List(elements)) if *index < elements.len() => {
                Some(elements.remove(*index))
            }
            _ => None,
        }
    }

    pub(crate) fn take(&mut self, path: &str) -> Option<Self> {
        self.remove(&way(path))
    }

    /// All places, outermost first.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let mut found = Vec::new();
        let mut queue: Vec<(Way, &Self)> = vec![(Vec::new(), self)];
        while let Some((way, value)) = queue.pop() {
            let inner = |step: Step| [way.clone(), vec![step]].concat();
            match value {
                Self::Object(members) => queue.extend(
                    members.iter().map(|(name, value)| (inner(Step::Name(name.clone())), value)),
                ),
                Self::List(elements) => queue.extend(
                    elements.iter().enumerate().map(|(i, value)| (inner(Step::Index(i)), value)),
                ),
                _ => {}
            }
            found.push(way);
        }
        found.sort_by_key(Vec::len);
        found
    }
}

/// The first place where two values differ, for people.
pub(crate) fn difference(one: &Value, two: &Value) -> Option<String> {
    if one == two {
        return None;
    }
    let mut ways = one.ways();
    ways.extend(two.ways());
    ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
    let way = ways.into_iter().find(|way| one.at(way) != two.at(way))?;
    let show = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_text);
    Some(format!("{}: {} is not {}", shown(&way), show(two.at(&way)), show(one.at(&way))))
}

pub(crate) fn shown(way: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Name(name) => name.clone(),
        Step::Index(index) => index.to_string(),
    };
    way.iter().map(step).collect::<Vec<_>>().join("/")
}
