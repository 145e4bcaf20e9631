//! An operation of a drafted definition, with its comment.

use serde_json::Value;

use crate::definition::{Path, Sides};

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

    /// Returns whether the operation concerns a field or its contents, in any version.
    pub(super) fn is_inside(&self, field: &Path) -> bool {
        let paths = match self {
            Self::Each(lists, _) => vec![lists.older.clone(), lists.newer.clone()],
            Self::Line(_, argument) => {
                let named = ["field", "from", "to"].iter().filter_map(|key| argument.get(key));
                let texts = named.chain([argument]).filter_map(Value::as_str);
                texts.filter_map(|text| Path::parse(text).ok()).collect()
            }
        };
        paths.iter().any(|path| path.starts_with(field))
    }

    /// The field of an operation of this name with one field.
    pub(super) fn field_of(&self, name: &str) -> Option<Path> {
        let Self::Line(own, argument) = self else { return None };
        let path = argument.as_str().or_else(|| argument.get("field").and_then(Value::as_str));
        path.filter(|_| own == name).and_then(|path| Path::parse(path).ok())
    }
}
