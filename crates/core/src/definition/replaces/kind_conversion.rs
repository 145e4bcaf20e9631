//! The compiled conversion of objects of another kind into objects of this kind.

use std::sync::Arc;

use serde_json::Value;

use crate::definition::admission::Admission;
use crate::definition::gates::Gate;
use crate::definition::path::Path;
use crate::definition::schema::Schema;
use crate::definition::side::Sides;
use crate::definition::step::Step;
use crate::definition::version::Versions;

/// The conversion of objects of a source kind into objects of another kind, the target. The target replaces the source.
#[derive(Debug)]
pub struct KindConversion<K> {
    /// Both kinds as one kind, whose older version is the source kind.
    pub(super) bridge: K,
    pub(super) source_names: Vec<String>,
    pub(super) source_plural: String,
    /// The names of both kinds in kept annotations.
    pub(super) kept_names: Sides<String>,
    pub(super) source_api_version: String,
    pub(super) source_kind: Arc<str>,
    pub(super) from: String,
    pub(super) to: String,
    /// The names of the facts, sorted.
    pub(super) facts: Vec<String>,
    pub(super) refusals: Vec<KindRefusal>,
    /// The schema of the source kind, with its status.
    pub(super) source_schema: Schema,
    /// The status field of the source object that receives the reason of a refusal.
    pub(super) error_field: Option<Path>,
    /// The response to the creation of a new source object.
    pub(super) retirement: Option<Retirement>,
}

/// The response to the creation of a new object of the source kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Retirement {
    /// A new object is accepted with a warning.
    Warn,
    /// A new object is rejected.
    Deny,
}

/// A condition under which an object is not replaced.
#[derive(Debug)]
pub struct KindRefusal {
    /// The gate that such an object passes.
    pub gate: Gate,
    /// The reason of the refusal, for the owner of the object.
    pub message: String,
}

/// The parts of the kind that contains both kinds.
#[derive(Debug)]
pub(in crate::definition) struct Bridge {
    pub(in crate::definition) name: String,
    pub(in crate::definition) group: String,
    pub(in crate::definition) kind: String,
    pub(in crate::definition) plural: String,
    pub(in crate::definition) versions: Versions,
    pub(in crate::definition) step: Step,
    pub(in crate::definition) is_namespaced: bool,
    pub(in crate::definition) admission: Admission,
    pub(in crate::definition) crd: Value,
}

impl<K> KindConversion<K> {
    /// Converts the type of the kind that contains both kinds.
    pub(in crate::definition) fn map<L>(self, make: impl FnOnce(K) -> L) -> KindConversion<L> {
        KindConversion {
            bridge: make(self.bridge),
            source_names: self.source_names,
            source_plural: self.source_plural,
            kept_names: self.kept_names,
            source_api_version: self.source_api_version,
            source_kind: self.source_kind,
            from: self.from,
            to: self.to,
            facts: self.facts,
            refusals: self.refusals,
            source_schema: self.source_schema,
            error_field: self.error_field,
            retirement: self.retirement,
        }
    }

    /// The source kind.
    #[must_use]
    pub fn source_kind(&self) -> &str {
        &self.source_kind
    }

    /// The API group of the source kind.
    #[must_use]
    pub fn source_group(&self) -> &str {
        self.source_api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The plural of the source kind, as in URLs.
    #[must_use]
    pub fn source_plural(&self) -> &str {
        &self.source_plural
    }

    /// The version of the source kind that is converted.
    #[must_use]
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The version of the target kind.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// All names that kubectl accepts for the source kind: alone, with the group, and with version and group.
    #[must_use]
    pub fn source_names(&self) -> Vec<String> {
        let group = self.source_group();
        let all = self.source_names.iter();
        all.flat_map(|name| [name.clone(), format!("{name}.{group}"), format!("{name}.{}.{group}", self.from)])
            .collect()
    }

    /// The names of the facts that the operations may use in addition to the object, sorted.
    pub fn facts(&self) -> impl Iterator<Item = &str> {
        self.facts.iter().map(String::as_str)
    }

    /// The reasons for refusals, one sentence each.
    pub fn refusals(&self) -> impl Iterator<Item = &str> {
        self.refusals.iter().map(|refusal| refusal.message.as_str())
    }

    /// The names of both kinds in kept annotations.
    pub(crate) fn kept_names(&self) -> &Sides<String> {
        &self.kept_names
    }

    /// Takes the kind that has both kinds as its versions, for the laws. The versions are named `PLURAL.VERSION`, or
    /// `PLURAL.GROUP.VERSION` if both plurals are equal. Converts objects without checks of their identity.
    #[must_use]
    pub fn into_versions(self) -> K {
        self.bridge
    }

    /// Borrows the kind that has both kinds as its versions. Its one step is the conversion.
    #[must_use]
    pub fn bridge(&self) -> &K {
        &self.bridge
    }

    /// The `apiVersion` of the source kind.
    pub fn source_api_version(&self) -> &str {
        &self.source_api_version
    }

    /// The schema of the source kind, with its status.
    pub fn source_schema(&self) -> &Schema {
        &self.source_schema
    }

    /// Returns whether the source kind has a field.
    pub fn has_source_field(&self, field: &Path) -> bool {
        self.source_schema.find(field).is_ok()
    }

    /// The status field that receives the reason of a refusal.
    pub fn error_field(&self) -> Option<&Path> {
        self.error_field.as_ref()
    }

    /// The response to the creation of a new object of the source kind.
    pub fn retirement(&self) -> Option<Retirement> {
        self.retirement
    }

    /// The conditions under which an object of the source kind is refused.
    pub fn refused(&self) -> &[KindRefusal] {
        &self.refusals
    }
}
