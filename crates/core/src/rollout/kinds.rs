//! The two kinds of a roll over objects of which others become.

use serde_json::{Value, json};

use crate::apimachinery::ResourceName;
use crate::definition::{Gate, Kind, Path, is_taken_along, unmet_of};

/// A kind that goes, and the one that its objects become.
#[derive(Clone, Debug)]
pub(super) struct SourceAndTargetKind {
    pub(super) source: PairedKind,
    pub(super) target: PairedKind,
    /// Whether a Secret in the namespace of an object has a key, by name.
    pub(super) facts: Vec<SecretFact>,
    /// What holds of objects that do not become others, and why.
    refusals: Vec<(Gate, String)>,
    /// The field of the status of an object that is told why it is refused.
    told: Option<Path>,
    /// The annotation of the hash of what one of the kind that comes says, where it has one.
    hash: Option<String>,
}

/// One of two such kinds.
#[derive(Clone, Debug)]
pub(super) struct PairedKind {
    pub(super) resource: ResourceName,
    pub(super) kind: String,
    pub(super) api_version: String,
}

/// A fact that is looked up in a Secret.
#[derive(Clone, Debug)]
pub(super) struct SecretFact {
    name: String,
    /// The field that names the Secret.
    secret: Path,
    key: String,
}

/// A fact of one object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FactLookup {
    /// The fact.
    pub name: String,
    /// The Secret, in the namespace of the object; none where the object names none, and the fact is false.
    pub secret: Option<String>,
    /// The key that the Secret has where the fact is true.
    pub key: String,
}

impl SourceAndTargetKind {
    /// Those of a definition that says what becomes of another kind.
    pub(super) fn of(kind: &Kind) -> Option<Self> {
        let becoming = kind.becoming()?;
        let resource = |plural: &str, group: &str| ResourceName { plural: plural.to_owned(), group: group.to_owned() };
        let facts = becoming.bridge().steps.iter().flat_map(|step| &step.level.facts);
        Some(Self {
            source: PairedKind {
                resource: resource(becoming.source_plural(), becoming.source_group()),
                kind: becoming.source_kind().to_owned(),
                api_version: becoming.source_api_version().to_owned(),
            },
            target: PairedKind {
                resource: resource(kind.plural(), kind.group()),
                kind: kind.kind().to_owned(),
                api_version: format!("{}/{}", kind.group(), becoming.to()),
            },
            facts: facts
                .map(|fact| SecretFact {
                    name: fact.name.clone(),
                    secret: fact.secret.path.clone(),
                    key: fact.key.clone(),
                })
                .collect(),
            refusals: becoming.refused().iter().map(|one| (one.gate.clone(), one.message.clone())).collect(),
            told: becoming.told().cloned(),
            hash: kind.hash_annotation(),
        })
    }

    /// Whether a label or annotation of this name is the same on both objects: ours, and what says something of one of
    /// them alone, is not.
    pub(super) fn shares(&self, name: &str) -> bool {
        is_taken_along(name, self.hash.as_deref())
    }

    /// Why an object does not become another one, by its fields.
    pub(super) fn refuses(&self, object: &Value) -> Option<String> {
        let refusal = self.refusals.iter().find(|(gate, _)| unmet_of(gate, object).is_none());
        refusal.map(|(_, message)| message.clone())
    }

    /// What the status of an object says of why it is refused.
    pub(super) fn told_of(&self, object: &Value) -> Option<String> {
        let path = self.told.as_ref()?;
        let found = path.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        found.and_then(Value::as_str).map(str::to_owned)
    }

    /// Whether owners of objects are told in their status why these are refused.
    pub(super) fn tells_owners(&self) -> bool {
        self.told.is_some()
    }

    /// Whether it is one of the reasons for which objects are refused.
    pub(super) fn is_refusal(&self, told: &str) -> bool {
        self.refusals.iter().any(|(_, message)| message == told)
    }

    /// A merge patch by which it says so, or says nothing any more. Nothing where there is no place for it.
    pub(super) fn tells(&self, why: Option<&str>) -> Option<Value> {
        let names = self.told.as_ref()?.names();
        Some(names.iter().rev().fold(json!(why), |value, name| json!({name.as_ref(): value})))
    }

    /// What has to be looked up for an object to become another one.
    pub(super) fn wanted(&self, object: &Value) -> Vec<FactLookup> {
        let named = |path: &Path| path.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        let wanted = self.facts.iter().map(|fact| FactLookup {
            name: fact.name.clone(),
            secret: named(&fact.secret).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned),
            key: fact.key.clone(),
        });
        wanted.collect()
    }
}

impl PairedKind {
    /// Its version alone.
    pub(super) fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(self.api_version.as_str(), |(_, version)| version)
    }
}
