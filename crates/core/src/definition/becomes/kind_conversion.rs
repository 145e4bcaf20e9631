//! How objects of another kind become objects of a kind, compiled.

use std::sync::Arc;

use serde_json::Value;

use crate::definition::admission::Admission;
use crate::definition::checks::Checks;
use crate::definition::gates::Gate;
use crate::definition::healthy::Health;
use crate::definition::path::Path;
use crate::definition::schema::Schema;
use crate::definition::side::Sides;
use crate::definition::step::Step;
use crate::definition::version::Versions;

/// How objects of another kind, that goes, become objects of a kind.
#[derive(Debug)]
pub struct KindConversion<K> {
    /// Both kinds as one, whose older version is the kind that goes.
    pub(super) bridge: K,
    pub(super) source_names: Vec<String>,
    pub(super) source_plural: String,
    /// What both kinds are called in the names of what is kept for their versions.
    pub(super) kept_names: Sides<String>,
    pub(super) source_api_version: String,
    pub(super) source_kind: Arc<str>,
    pub(super) from: String,
    pub(super) to: String,
    /// The names of the facts that are looked up, sorted.
    pub(super) facts: Vec<String>,
    pub(super) refusals: Vec<KindRefusal>,
    /// Of the kind that goes, with its status.
    pub(super) source_schema: Schema,
    /// Its objects are in namespaces.
    pub(super) is_namespaced: bool,
    /// What a healthy object of it looks like.
    pub(super) health: Option<Health>,
    /// The field of its status that is told why an object does not become another one.
    pub(super) told: Option<Path>,
    /// What is said to whoever makes a new object of it.
    pub(super) retirement: Option<Retirement>,
}

/// What is said to whoever makes a new object of the kind that goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Retirement {
    Warn,
    Deny,
}

/// A condition under which an object does not become another one.
#[derive(Debug)]
pub(crate) struct KindRefusal {
    /// What holds of such an object.
    pub(crate) gate: Gate,
    /// Why it is refused, for its owner.
    pub(crate) message: String,
}

/// What both kinds as one are made of.
#[derive(Debug)]
pub(in crate::definition) struct Bridge {
    pub(in crate::definition) name: String,
    pub(in crate::definition) group: String,
    pub(in crate::definition) kind: String,
    pub(in crate::definition) plural: String,
    pub(in crate::definition) versions: Versions,
    pub(in crate::definition) step: Step,
    pub(in crate::definition) checks: Checks,
    pub(in crate::definition) admission: Admission,
    pub(in crate::definition) crd: Value,
}

impl<K> KindConversion<K> {
    /// The same, with something else made of what both kinds are.
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
            is_namespaced: self.is_namespaced,
            health: self.health,
            told: self.told,
            retirement: self.retirement,
        }
    }

    /// The kind that goes.
    #[must_use]
    pub fn source_kind(&self) -> &str {
        &self.source_kind
    }

    /// The API group of the kind that goes.
    #[must_use]
    pub fn source_group(&self) -> &str {
        self.source_api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The plural of the kind that goes, as in URLs.
    #[must_use]
    pub fn source_plural(&self) -> &str {
        &self.source_plural
    }

    /// The version of the kind that goes that is converted.
    #[must_use]
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The version of the other kind that its objects become.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// What the kind that goes is called: as kubectl takes it, alone, with the group, and with the version and the
    /// group.
    #[must_use]
    pub fn source_names(&self) -> Vec<String> {
        let group = self.source_group();
        let all = self.source_names.iter();
        all.flat_map(|name| [name.clone(), format!("{name}.{group}"), format!("{name}.{}.{group}", self.from)])
            .collect()
    }

    /// The facts that its operations may need beside an object: their names, sorted.
    pub fn facts(&self) -> impl Iterator<Item = &str> {
        self.facts.iter().map(String::as_str)
    }

    /// Why objects are refused, one sentence for each reason.
    pub fn refusals(&self) -> impl Iterator<Item = &str> {
        self.refusals.iter().map(|refusal| refusal.message.as_str())
    }

    /// What both kinds are called in the names of what is kept for their versions.
    pub(crate) fn kept_names(&self) -> &Sides<String> {
        &self.kept_names
    }

    /// Both kinds as one of two versions, `PLURAL.VERSION` each, or `PLURAL.GROUP.VERSION` where the plural is the
    /// same, for the laws. Objects are converted between the two as they are, without a look at who they are.
    #[must_use]
    pub fn into_versions(self) -> K {
        self.bridge
    }

    /// The same, unconsumed: what happens between the two kinds is its one step.
    #[must_use]
    pub fn bridge(&self) -> &K {
        &self.bridge
    }

    /// The `apiVersion` of the kind that goes.
    pub(crate) fn source_api_version(&self) -> &str {
        &self.source_api_version
    }

    /// The schema of the kind that goes, with its status.
    pub(crate) fn source_schema(&self) -> &Schema {
        &self.source_schema
    }

    /// Whether objects of the kind that goes are in namespaces.
    pub(in crate::definition) fn is_namespaced(&self) -> bool {
        self.is_namespaced
    }

    /// Whether the kind that goes has a field.
    pub(crate) fn has_source_field(&self, field: &Path) -> bool {
        self.source_schema.find(field).is_ok()
    }

    /// What a healthy object of the kind that goes looks like.
    pub(crate) fn source_health(&self) -> Option<&Health> {
        self.health.as_ref()
    }

    /// The field of its status that is told why an object is refused.
    pub(crate) fn told(&self) -> Option<&Path> {
        self.told.as_ref()
    }

    /// What is said to whoever makes a new object of the kind that goes.
    pub(crate) fn retirement(&self) -> Option<Retirement> {
        self.retirement
    }

    /// Why an object of the kind that goes may be refused.
    pub(crate) fn refused(&self) -> &[KindRefusal] {
        &self.refusals
    }
}
