//! Two revisions of a CRD as one CRD with the versions of both.

use serde_json::{Value, json};

use crate::definition::{BadDefinition, CrdVersions};

/// A CRD with the versions of two revisions.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct MergedCrd {
    /// The CRD, without status and metadata other than the name. `None` if the newer revision has all versions.
    pub crd: Option<Value>,
    /// The versions that only the older revision has.
    pub only_older: Vec<String>,
    /// The versions whose schemas differ between the revisions. The schema of the newer revision is used.
    pub changed: Vec<String>,
}

/// Why two CRDs have no common CRD.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A CRD cannot be read, or the API server refuses it.
    #[error("cannot read the CRD")]
    Crd(#[source] BadDefinition),
    /// The CRDs are of two kinds.
    #[error("{older} and {newer} are two kinds: name two revisions of one CRD")]
    Kinds {
        /// `Kind.group` of the older revision.
        older: String,
        /// `Kind.group` of the newer revision.
        newer: String,
    },
}

impl MergedCrd {
    /// Merges two revisions of a CRD, each with its file name in messages and its text in YAML or JSON. A version of
    /// only the older revision is not the storage version.
    ///
    /// # Errors
    /// A text is no CRD, or the CRDs are of two kinds.
    pub fn of((older_file, older): (&str, &str), (newer_file, newer): (&str, &str)) -> Result<Self, MergeError> {
        let older = CrdVersions::read(older_file, older).map_err(MergeError::Crd)?;
        let newer = CrdVersions::read(newer_file, newer).map_err(MergeError::Crd)?;
        if older.name != newer.name {
            return Err(MergeError::Kinds { older: older.name, newer: newer.name });
        }
        let (mut only_older, mut changed) = (Vec::new(), Vec::new());
        let mut merged = newer.document.clone();
        let versions = merged.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
        for version in versions_of(&older.document) {
            let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
            match versions_of(&newer.document).iter().find(|other| other.get("name") == version.get("name")) {
                Some(other) if other.get("schema") != version.get("schema") => changed.push(name.to_owned()),
                Some(_) => {}
                None => only_older.push(name.to_owned()),
            }
        }
        let is_only_older = |version: &&Value| only_older.iter().any(|name| version.get("name") == Some(&json!(name)));
        let kept = versions_of(&older.document).iter().filter(is_only_older).cloned().map(|mut version| {
            if let Some(members) = version.as_object_mut() {
                members.insert("storage".to_owned(), json!(false));
            }
            version
        });
        versions.into_iter().for_each(|versions| versions.extend(kept.clone()));
        let crd = (!only_older.is_empty()).then(|| bare(&merged));
        Ok(Self { crd, only_older, changed })
    }
}

fn versions_of(document: &Value) -> &[Value] {
    document.pointer("/spec/versions").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The CRD with its name and spec only.
fn bare(document: &Value) -> Value {
    json!({
        "apiVersion": document.get("apiVersion"),
        "kind": document.get("kind"),
        "metadata": {"name": document.pointer("/metadata/name")},
        "spec": document.get("spec"),
    })
}
