//! The fact of a mutation: the property of another object that is watched.

use std::fmt;

use serde_json::Value;

use crate::apimachinery::ResourceName;
use crate::definition::path::Path;

/// The property of an object that a fact reads.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum FactQuery {
    /// An annotation, by its key.
    Annotation(String),
    /// A label, by its key.
    Label(String),
    /// A field, by its path.
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

/// The namespaces of the objects of a fact.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FactScope {
    /// Cluster-scoped.
    Cluster,
    /// Any namespace; it depends on the written object.
    Every,
    /// This namespace.
    One(String),
}

/// A fact that must be watched for a mutation: a condition on the objects of a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WatchedFact {
    /// The resource.
    pub resource: ResourceName,
    /// The API version to read. Defaults to the preferred version of the API server.
    pub version: Option<String>,
    /// The kind of its objects, if specified. A policy needs it.
    pub kind: Option<String>,
    /// The scope of its objects.
    pub scope: FactScope,
    /// The name of the only object. `None` if it depends on the written object.
    pub name: Option<String>,
    /// The property that is read.
    pub query: FactQuery,
    /// The required text. `None` requires only that the property is present.
    pub is: Option<String>,
}

impl WatchedFact {
    /// Returns whether the metadata suffices to read the fact.
    #[must_use]
    pub fn is_of_metadata(&self) -> bool {
        match &self.query {
            FactQuery::Annotation(_) | FactQuery::Label(_) => true,
            FactQuery::Field(names) => names.first().is_some_and(|name| name == "metadata"),
        }
    }

    /// Returns whether one request can read both facts, because they have the same objects.
    #[must_use]
    pub fn shares_objects(&self, other: &Self) -> bool {
        let same = (&self.resource, &self.version) == (&other.resource, &other.version);
        same && (&self.scope, &self.name) == (&other.scope, &other.name)
    }

    /// Returns whether an object in this namespace, empty for none, can belong to the fact.
    #[must_use]
    pub fn may_be_in(&self, namespace: &str) -> bool {
        match &self.scope {
            FactScope::Cluster => namespace.is_empty(),
            FactScope::Every => !namespace.is_empty(),
            FactScope::One(one) => namespace == one,
        }
    }

    /// Returns whether the fact is true for an object that the API server returned. A number or a boolean is compared
    /// as text.
    #[must_use]
    pub fn holds(&self, object: &Value) -> bool {
        match (self.query.of(object), &self.is) {
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
        write!(f, "{} of {}", self.query, self.resource)?;
        match &self.is {
            Some(is) => write!(f, " is {is:?}"),
            None => f.write_str(" is there"),
        }
    }
}

/// The fact of a mutation: the watched objects, and which of them applies to a written object.
#[derive(Clone, Debug)]
pub(crate) struct MutationFact {
    pub(crate) watched: WatchedFact,
    /// Empty for a cluster-scoped resource.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl MutationFact {
    /// Namespace and name of the fact's object for a written object.
    pub(crate) fn object_for(&self, namespace: &str, name: &str) -> (String, String) {
        let filled = |text: &str| text.replace(NAMESPACE, namespace).replace(NAME, name);
        (filled(&self.namespace), filled(&self.name))
    }
}

/// The placeholder for the namespace of the written object.
pub(crate) const NAMESPACE: &str = "{namespace}";
/// The placeholder for the name of the written object.
pub(crate) const NAME: &str = "{name}";
