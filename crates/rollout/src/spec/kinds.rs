//! The source and target kind of a rollout that converts objects to another kind.

use serde_json::{Value, json};

use crate::lookup::request::{FactLookup, PairedKind};
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::{Gate, Kind, Path, is_taken_along, unmet_of};

/// A kind, and the kind that replaces it.
#[derive(Clone, Debug)]
pub(crate) struct SourceAndTargetKind {
    pub(crate) source: PairedKind,
    pub(crate) target: PairedKind,
    /// Facts: whether a Secret in the namespace of an object has a key, by name.
    pub(crate) facts: Vec<SecretFact>,
    /// Conditions under which an object is not converted, each with its message.
    refusals: Vec<(Gate, String)>,
    /// The status field of an object that receives the refusal reason.
    refusal_field: Option<Path>,
    /// The annotation with the hash of an object of the target kind, if defined.
    hash: Option<String>,
}

/// A fact that is read from a Secret.
#[derive(Clone, Debug)]
pub(crate) struct SecretFact {
    name: String,
    /// The field that contains the name of the Secret.
    secret: Path,
    key: String,
}

impl SourceAndTargetKind {
    /// From a definition that replaces another kind.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        let becoming = kind.becoming()?;
        let resource = |plural: &str, group: &str| ResourceName { plural: plural.to_owned(), group: group.to_owned() };
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
            facts: kind
                .secret_facts()
                .map(|(name, secret, key)| SecretFact {
                    name: name.to_owned(),
                    secret: secret.clone(),
                    key: key.to_owned(),
                })
                .collect(),
            refusals: becoming.refused().iter().map(|one| (one.gate.clone(), one.message.clone())).collect(),
            refusal_field: becoming.error_field().cloned(),
            hash: kind.hash_annotation(),
        })
    }

    /// True if both objects share a label or annotation of this name. Excludes those of pointsman, and those that
    /// concern one object only.
    pub(crate) fn shares(&self, name: &str) -> bool {
        is_taken_along(name, self.hash.as_deref())
    }

    /// The reason in the object's fields that excludes it from conversion.
    pub(crate) fn refuses(&self, object: &Value) -> Option<String> {
        let refusal = self.refusals.iter().find(|(gate, _)| unmet_of(gate, object).is_none());
        refusal.map(|(_, message)| message.clone())
    }

    /// The refusal reason in the status of an object.
    pub(crate) fn recorded_refusal_of(&self, object: &Value) -> Option<String> {
        let path = self.refusal_field.as_ref()?;
        let found = path.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        found.and_then(Value::as_str).map(str::to_owned)
    }

    /// True if refusal reasons are written to the status of objects.
    pub(crate) fn writes_refusals(&self) -> bool {
        self.refusal_field.is_some()
    }

    /// True if the text is one of the refusal reasons.
    pub(crate) fn is_refusal(&self, text: &str) -> bool {
        self.refusals.iter().any(|(_, message)| message == text)
    }

    /// A merge patch that sets or clears the reason in the status. `None` if no field is defined.
    pub(crate) fn refusal_patch(&self, why: Option<&str>) -> Option<Value> {
        let names = self.refusal_field.as_ref()?.names();
        Some(names.iter().rev().fold(json!(why), |value, name| json!({name.as_ref(): value})))
    }

    /// The facts that the conversion of an object needs.
    pub(crate) fn wanted(&self, object: &Value) -> Vec<FactLookup> {
        let named = |path: &Path| path.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        let wanted = self.facts.iter().map(|fact| FactLookup {
            name: fact.name.clone(),
            secret: named(&fact.secret).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned),
            key: fact.key.clone(),
        });
        wanted.collect()
    }
}
