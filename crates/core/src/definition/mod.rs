//! Kind definitions: everything pointsman knows of a kind, read from data and checked against the kind's own schemas.
//!
//! A definition is compiled once, at start, into a [`Kind`]. Loading fails closed: a path that no schema has, a
//! difference between two versions that no operation explains, two operations on one field are all refused, with the
//! file, the line and the nearest existing name. So a typo never waits for production.

pub(crate) mod admission;
mod compare;
mod compile;
mod describe;
mod document;
mod load;
mod path;
mod schema;
#[cfg(test)]
mod tests;
mod unreadable;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use describe::{StepSummary, embedded_text};
pub use document::{API_VERSION, KIND};
pub(crate) use path::Path;
pub(crate) use schema::Schema;

pub(crate) use admission::Admission;

use crate::json::{Canonical, Json};

/// A kind, compiled: its versions and what happens between them.
#[derive(Debug)]
pub struct Kind {
    pub(crate) name: Arc<str>,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    /// Oldest first. `steps[i]` leads from `versions[i]` to `versions[i + 1]`.
    pub(crate) versions: Vec<Version>,
    pub(crate) steps: Vec<Step>,
    pub(crate) rollout: Option<Rollout>,
    pub(crate) admission: Admission,
    pub(crate) crd: Value,
}

/// A version of a kind.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: Arc<str>,
    /// `group/version`.
    pub(crate) api_version: String,
    pub(crate) schema: Schema,
    pub(crate) storage: bool,
    pub(crate) served: bool,
}

/// Which of a step's two versions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Newer,
    Older,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Newer => Self::Older,
            Self::Older => Self::Newer,
        }
    }
}

/// One thing for each side of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sides<T> {
    pub(crate) older: T,
    pub(crate) newer: T,
}

impl<T> Sides<T> {
    pub(crate) fn of(&self, side: Side) -> &T {
        match side {
            Side::Newer => &self.newer,
            Side::Older => &self.older,
        }
    }

    pub(crate) fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Newer => &mut self.newer,
            Side::Older => &mut self.older,
        }
    }
}

/// The conversion between two neighbouring versions.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) versions: Sides<Arc<str>>,
    /// The annotation that holds what only this side can say, on an object of the other side.
    pub(crate) kept: Sides<String>,
    pub(crate) level: Level,
    /// Fields that a complete object has, in both versions.
    pub(crate) complete: Vec<Sides<Path>>,
    /// Top-level fields that must be objects where they are present.
    pub(crate) objects: Vec<String>,
    pub(crate) status: Option<RolloutStatus>,
}

/// Operations on one object, and how the objects on their way are handled.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub(crate) operations: Vec<Operation>,
    /// Objects on the way that this side does not go without: they stay when they are emptied.
    pub(crate) stays: Sides<Vec<Path>>,
}

/// One operation, both directions.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Its key in the definition.
    pub(crate) name: &'static str,
    pub(crate) places: Sides<Vec<Place>>,
    pub(crate) lens: Lens,
}

/// A field that an operation reads on one side and writes on the other.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: Path,
    /// The path as it is written in kept fields.
    pub(crate) id: String,
    pub(crate) schema: Schema,
    /// What a complete object has here when nothing else is known.
    pub(crate) fill: Option<Json<'static>>,
    /// The version requires it of the object that holds it.
    pub(crate) required: bool,
    /// This is what is left of an object after other operations have taken their fields out of it.
    pub(crate) remainder: bool,
}

impl Place {
    /// Whether what is filled in is what the API server fills in too, so that a whole object never lacks it.
    pub(crate) fn fills_default(&self) -> bool {
        let default = self.schema.default.as_ref().map(|default| Json::owned(default.to_string()));
        matches!((&self.fill, &default), (Some(fill), Some(default)) if fill.same(default))
    }
}

/// How the two sides of an operation relate.
#[derive(Debug)]
pub(crate) enum Lens {
    /// The older string, or nothing where it is one of these.
    Blank { spellings: Vec<String> },
    /// A list or map at both places, and what happens inside.
    Each { level: Box<Level>, keys: Sides<Vec<Path>> },
    /// The older field becomes the entry, unless there is one.
    IntoMap { unset: Vec<Json<'static>> },
    /// One side only.
    OneSided,
    /// The same value at both places.
    Same,
    /// The older string is the newer parts.
    Split { separator: String },
    /// A scalar of another type.
    Type,
    /// Older value, newer value.
    Values { pairs: Vec<Sides<Json<'static>>> },
    /// The older value is the only element of the newer list.
    Wrap,
}

/// What calls for a rollout.
#[derive(Debug)]
pub(crate) struct Rollout {
    /// The top-level field that is hashed.
    pub(crate) of: String,
    /// The index of the version whose shape is hashed.
    pub(crate) at: usize,
    /// Members that count where they are absent, in canonical form, sorted by name.
    pub(crate) defaults: Vec<(String, String)>,
    pub(crate) force: Option<String>,
    /// Which strings are UUIDs, and which members do not count.
    pub(crate) canonical: Canonical,
}

/// How the status of two versions speaks of a rollout.
#[derive(Debug)]
pub(crate) struct RolloutStatus {
    /// The newer version's hashes, carried by the older one.
    pub(crate) hashes: Requested,
    /// The older version's requests.
    pub(crate) requests: Requested,
    pub(crate) reasons: Path,
    pub(crate) promoting: String,
    pub(crate) staged: Vec<String>,
}

/// What was asked for, and what was done last.
#[derive(Debug)]
pub(crate) struct Requested {
    pub(crate) requested: Place,
    pub(crate) completed: Place,
}

/// Something a definition says that cannot be so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The definition's file.
    pub file: String,
    /// The line, from 1; 0 where there is none.
    pub line: u64,
    /// What is wrong and what would be right, with the path.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// A definition that was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct BadDefinition {
    /// All that is wrong with it.
    pub problems: Vec<Problem>,
}

impl Kind {
    /// Reads and checks a definition. `read` gives the text of the CRD file it names.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn load(
        file: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> std::io::Result<String>,
    ) -> Result<Self, BadDefinition> {
        load::load(file, text, read)
    }

    /// The definitions that are built in.
    ///
    /// # Errors
    /// None in a build that passed its tests.
    pub fn embedded() -> Result<Vec<Self>, BadDefinition> {
        EMBEDDED
            .iter()
            .map(|(file, text, crd)| Self::load(file, text, &mut |_| Ok((*crd).to_owned())))
            .collect()
    }

    /// What the command line calls this kind.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API group.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The kind of its objects.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The plural, as in URLs.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// The versions, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(|version| version.name.as_ref())
    }

    /// The version that is stored, as the CRD says.
    #[must_use]
    pub fn storage(&self) -> &str {
        self.versions
            .iter()
            .find(|version| version.storage)
            .map_or("", |version| version.name.as_ref())
    }

    /// The `CustomResourceDefinition` as the definition gives it.
    #[must_use]
    pub fn crd(&self) -> &Value {
        &self.crd
    }

    /// The version whose shape the rollout hash is made of, if there is a rollout hash.
    #[must_use]
    pub fn hash_version(&self) -> Option<&str> {
        let rollout = self.rollout.as_ref()?;
        self.versions.get(rollout.at).map(|version| version.name.as_ref())
    }

    /// The index of a version, by its name.
    pub(crate) fn version(&self, name: &str) -> Option<usize> {
        self.versions.iter().position(|version| version.name.as_ref() == name)
    }
}

/// The JSON Schema of a definition file, for editors.
#[must_use]
pub fn json_schema() -> Value {
    schemars::schema_for!(document::Document).into()
}

const EMBEDDED: [(&str, &str, &str); 2] = [
    (
        "elasticsearch.yaml",
        include_str!("../../kinds/elasticsearch/elasticsearch.yaml"),
        include_str!("../../kinds/elasticsearch/elasticsearches.crd.yaml"),
    ),
    (
        "materialize.yaml",
        include_str!("../../kinds/materialize/materialize.yaml"),
        include_str!("../../kinds/materialize/materializes.crd.yaml"),
    ),
];
