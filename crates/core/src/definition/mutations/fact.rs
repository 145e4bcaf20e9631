//! The fact of a stage: what is read of which other object.

use std::fmt;

use serde_json::Value;

use crate::apimachinery::ResourceName;
use crate::definition::path::Path;

/// What is read of an object.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum FactQuery {
    /// An annotation, by its key.
    Annotation(String),
    /// A label, by its key.
    Label(String),
    /// A field, by the names that lead to it.
    Field(Vec<String>),
}

impl FactQuery {
    fn of<'o>(&self, object: &'o Value) -> Option<&'o Value> {
        let found = match self {
            Self::Annotation(key) => object.get("metadata")?.get("annotations")?.get(key),
            Self::Label(key) => object.get("metadata")?.get("labels")?.get(key),
            Self::Field(names) => names.iter().try_fold(object, |here, name| here.get(name)),
        };
        found.filter(|value| !value.is_null())
    }
}

impl fmt::Display for FactQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation(key) => write!(f, "annotation {key}"),
            Self::Label(key) => write!(f, "label {key}"),
            Self::Field(names) => {
                let path = names.iter().fold(Path::default(), |path, name| path.join(name));
                write!(f, "field {path}")
            }
        }
    }
}

/// In which namespaces the objects are that say a fact.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FactScope {
    /// In none.
    Cluster,
    /// In any: which one hangs on the object that is written.
    Every,
    /// In this one.
    One(String),
}

/// What somebody has to watch, so that a stage can be decided: of all objects of a resource, those of which something
/// is true.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WatchedFact {
    /// The resource.
    pub resource: ResourceName,
    /// The version of its API in which it is read; the one that the API server prefers where none is said.
    pub version: Option<String>,
    /// The kind of its objects, where that is said: a policy names it.
    pub kind: Option<String>,
    /// Where its objects are.
    pub scope: FactScope,
    /// The one object that says it; nothing where that hangs on the object that is written.
    pub name: Option<String>,
    /// What is read.
    pub look: FactQuery,
    /// The text that it must be. Without one it only has to be there.
    pub is: Option<String>,
}

impl WatchedFact {
    /// Whether metadata alone says it.
    #[must_use]
    pub fn is_of_metadata(&self) -> bool {
        match &self.look {
            FactQuery::Annotation(_) | FactQuery::Label(_) => true,
            FactQuery::Field(names) => names.first().is_some_and(|name| name == "metadata"),
        }
    }

    /// Whether one request can read both: they are said by the same objects.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        let same = (&self.resource, &self.version) == (&other.resource, &other.version);
        same && (&self.scope, &self.name) == (&other.scope, &other.name)
    }

    /// Whether an object of this namespace, empty for none, can be one that a stage asks for.
    #[must_use]
    pub fn may_be_in(&self, namespace: &str) -> bool {
        match &self.scope {
            FactScope::Cluster => namespace.is_empty(),
            FactScope::Every => !namespace.is_empty(),
            FactScope::One(one) => namespace == one,
        }
    }

    /// Whether it is true of an object, as an API server answers it. A number or a boolean is compared by its text.
    #[must_use]
    pub fn holds(&self, object: &Value) -> bool {
        match (self.look.of(object), &self.is) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(Value::String(text)), Some(is)) => text == is,
            (Some(Value::Bool(truth)), Some(is)) => is == if *truth { "true" } else { "false" },
            (Some(Value::Number(number)), Some(is)) => is.as_str() == number.to_string(),
            (Some(_), Some(_)) => false,
        }
    }
}

impl fmt::Display for WatchedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.look, self.resource)?;
        match &self.is {
            Some(is) => write!(f, " is {is:?}"),
            None => f.write_str(" is there"),
        }
    }
}

/// The fact of a stage: what is watched, and which of the objects counts for one that is written.
#[derive(Clone, Debug)]
pub(crate) struct MutationFact {
    pub(crate) watched: WatchedFact,
    /// Empty where the resource is in no namespace.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl MutationFact {
    /// Namespace and name of the object that says it for an object of these.
    pub(crate) fn object_for(&self, namespace: &str, name: &str) -> (String, String) {
        let filled = |text: &str| text.replace(NAMESPACE, namespace).replace(NAME, name);
        (filled(&self.namespace), filled(&self.name))
    }
}

/// What stands for the namespace of the object that is written.
pub(crate) const NAMESPACE: &str = "{namespace}";
/// What stands for its name.
pub(crate) const NAME: &str = "{name}";
