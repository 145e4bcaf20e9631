//! An operation of a drafted definition, with its comment.

use serde_json::Value;

use crate::definition::{Path, Side, Sides};

/// An operation, with the reason for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) operation: Operation,
    /// Why the draft contains the operation. Operations that the comparison of the schemas proposes have none.
    pub(super) reason: Option<String>,
    /// A doubt about the operation, for the reader.
    pub(super) question: Option<String>,
}

/// An operation as written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Operation {
    /// An operation in one line, by name and argument.
    Line(String, Value),
    /// Operations on the items of a list or map.
    Each(Sides<Path>, Vec<Entry>),
}

impl Entry {
    /// A guess with its reason.
    pub(super) fn guess(operation: Operation, reason: impl Into<String>) -> Self {
        Self { operation, reason: Some(reason.into()), question: None }
    }

    /// An operation of a proposal. `None` if the text is no operation.
    pub(super) fn proposed(text: &str) -> Option<Self> {
        let value: Value = serde_saphyr::from_str(text).ok()?;
        Operation::read(&value).map(Self::plain)
    }

    /// An operation without a reason of its own.
    pub(super) fn plain(operation: Operation) -> Self {
        Self { operation, reason: None, question: None }
    }

    /// The number of operations, without the lists around them.
    pub(super) fn count(&self) -> usize {
        match &self.operation {
            Operation::Line(..) => 1,
            Operation::Each(_, inside) => inside.iter().map(Self::count).sum(),
        }
    }

    /// The number of open questions.
    pub(super) fn questions(&self) -> usize {
        let own = usize::from(self.question.is_some());
        match &self.operation {
            Operation::Line(..) => own,
            Operation::Each(_, inside) => own + inside.iter().map(Self::questions).sum::<usize>(),
        }
    }

    /// Adds an entry to a list. Operations on the items of one list are merged. Returns whether the list changed.
    pub(super) fn merge(self, entries: &mut Vec<Self>) -> bool {
        if let Operation::Each(lists, inside) = &self.operation {
            let same = entries.iter_mut().find_map(|other| match &mut other.operation {
                Operation::Each(others, inner) if others == lists => Some(inner),
                _ => None,
            });
            if let Some(inner) = same {
                let mut changed = false;
                for entry in inside {
                    changed |= entry.clone().merge(inner);
                }
                return changed;
            }
        }
        let is_new = entries.iter().all(|other| other.operation != self.operation);
        if is_new {
            // A guess about the contents of a field gives way to a proposal for the whole field.
            if let Some((side, field)) = self.operation.separated() {
                entries.retain(|other| !other.operation.is_inside(side, &field));
            }
            entries.push(self);
        }
        is_new
    }
}

impl Operation {
    /// An operation between two places: `name: PATH`, or `name: {from: …, to: …}`.
    pub(super) fn between(name: &str, places: &Sides<Path>) -> Self {
        let [from, to] = [&places.older, &places.newer].map(|path| Value::from(path.to_string()));
        let argument = match from == to {
            true => from,
            false => Value::Object([("from".to_owned(), from), ("to".to_owned(), to)].into_iter().collect()),
        };
        Self::Line(name.to_owned(), argument)
    }

    /// An operation between two places with a parameter: `name: {field: …, KEY: …}`.
    pub(super) fn with(name: &str, places: &Sides<Path>, key: &str, value: Value) -> Self {
        let mut argument = match Self::between(name, places) {
            Self::Line(_, Value::Object(members)) => members,
            Self::Line(_, path) => [("field".to_owned(), path)].into_iter().collect(),
            Self::Each(..) => serde_json::Map::new(),
        };
        argument.insert(key.to_owned(), value);
        Self::Line(name.to_owned(), Value::Object(argument))
    }

    fn read(value: &Value) -> Option<Self> {
        let (name, argument) = value.as_object()?.iter().next()?;
        let path = |key: &str| argument.get(key).and_then(Value::as_str).map(Path::parse).and_then(Result::ok);
        let lists = match (path("in"), path("from"), path("to")) {
            (Some(list), ..) => Some(Sides { older: list.clone(), newer: list }),
            (None, Some(older), Some(newer)) => Some(Sides { older, newer }),
            _ => None,
        };
        match (lists, argument.get("operations").and_then(Value::as_array)) {
            (Some(lists), Some(inside)) if name == "each" => {
                let mut entries = Vec::new();
                for operation in inside {
                    Entry::plain(Self::read(operation)?).merge(&mut entries);
                }
                Some(Self::Each(lists, entries))
            }
            _ => Some(Self::Line(name.clone(), argument.clone())),
        }
    }

    /// Returns whether the operation concerns a field of a version, or the contents of this field.
    pub(super) fn is_inside(&self, side: Side, field: &Path) -> bool {
        self.paths(side).iter().any(|path| path.starts_with(field))
    }

    /// The paths of the operation in one version.
    fn paths(&self, side: Side) -> Vec<Path> {
        let (name, argument) = match self {
            Self::Each(lists, _) => return vec![lists.of(side).clone()],
            Self::Line(name, argument) => (name.as_str(), argument),
        };
        let (key, other) = match side {
            Side::Older => ("from", "add"),
            Side::Newer => ("to", "drop"),
        };
        if name == other {
            return Vec::new();
        }
        let texts = [Some(argument), argument.get("field"), argument.get(key)];
        let parts = argument.get("into").filter(|_| side == Side::Newer).and_then(Value::as_array);
        let texts = texts.into_iter().flatten().chain(parts.into_iter().flatten());
        texts.filter_map(Value::as_str).filter_map(|text| Path::parse(text).ok()).collect()
    }

    /// The field that a proposal takes out of the conversion, and its version.
    fn separated(&self) -> Option<(Side, Path)> {
        let older = self.field_of("drop").map(|field| (Side::Older, field));
        older.or_else(|| self.field_of("add").map(|field| (Side::Newer, field)))
    }

    /// The field of an operation of this name with one field.
    pub(super) fn field_of(&self, name: &str) -> Option<Path> {
        let Self::Line(own, argument) = self else { return None };
        let path = argument.as_str().or_else(|| argument.get("field").and_then(Value::as_str));
        path.filter(|_| own == name).and_then(|path| Path::parse(path).ok())
    }
}
