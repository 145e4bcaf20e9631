//! What a run is to come to: which objects it writes, and what of them.

use std::collections::HashSet;

use pointsman_core::pointer_token;
use serde_json::{Value, json};

use super::mark::Mark;
use crate::cluster::PatchForm;

/// What all objects are to be in the end.
pub(super) enum Aim<'a> {
    /// In the storage version.
    Stored {
        /// Since when everybody has written that version, where it is known.
        mark: Option<Mark>,
        /// Objects that a write left as they were, since they were stored in the right version already, by uid and
        /// resourceVersion: about 100 bytes each.
        touched: HashSet<String>,
    },
    /// Without the annotation that keeps what only one version could say.
    Forgotten {
        /// The annotation.
        key: String,
        /// Whether a text is what we keep.
        is_ours: &'a dyn Fn(&str) -> bool,
        /// Objects with an annotation of that name that is somebody else's.
        foreign: u64,
    },
}

impl<'a> Aim<'a> {
    /// Everything in the storage version.
    pub(super) fn stored(mark: Option<Mark>) -> Self {
        Self::Stored { mark, touched: HashSet::new() }
    }

    /// Nothing kept under this annotation.
    pub(super) fn forgotten(key: String, is_ours: &'a dyn Fn(&str) -> bool) -> Self {
        Self::Forgotten { key, is_ours, foreign: 0 }
    }

    /// Everything is looked at, from the first object on.
    pub(super) fn begin(&mut self) {
        if let Self::Forgotten { foreign, .. } = self {
            *foreign = 0;
        }
    }

    /// An object of a page, and how it is to be written; nothing where it is known to be as it should.
    pub(super) fn listed(&mut self, item: &Value) -> Option<Listed> {
        let text = |name: &str| item.get("metadata")?.get(name)?.as_str().map(str::to_owned);
        let (uid, version) = (text("uid").unwrap_or_default(), text("resourceVersion").unwrap_or_default());
        let change = match self {
            Self::Stored { mark, touched } => {
                let covered = mark.as_ref().is_some_and(|mark| mark.covers(&version));
                (!covered && !touched.contains(&seen_as(&uid, &version))).then_some(ObjectChange::AsItIs)
            }
            Self::Forgotten { key, is_ours, foreign } => {
                let kept = annotation(item, key)?;
                // Somebody has emptied it, to be rid of what it held.
                let ours = kept.is_empty() || is_ours(kept);
                *foreign += u64::from(!ours);
                ours.then(|| ObjectChange::Without { key: key.clone(), text: kept.to_owned() })
            }
        };
        Some(Listed { namespace: text("namespace"), name: text("name")?, uid, version, change: change? })
    }

    /// Objects of which the last look has shown that what they have is somebody else's.
    pub(super) fn foreign(&self) -> u64 {
        match self {
            Self::Stored { .. } => 0,
            Self::Forgotten { foreign, .. } => *foreign,
        }
    }

    /// A write left an object as it was.
    pub(super) fn was_so(&mut self, listed: &Listed) {
        if let Self::Stored { touched, .. } = self {
            touched.insert(seen_as(&listed.uid, &listed.version));
        }
    }
}

/// An object that is to be written.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    uid: String,
    /// Its resourceVersion.
    pub(super) version: String,
    pub(super) change: ObjectChange,
}

/// What becomes of an object.
#[derive(Clone, Debug)]
pub(super) enum ObjectChange {
    /// Nothing: it is only to be stored anew.
    AsItIs,
    /// It loses an annotation, if that still says what it said.
    Without { key: String, text: String },
}

impl ObjectChange {
    /// The patch that makes it so.
    ///
    /// As it is: an empty merge patch. The API server takes the object from etcd, so that nobody's write is
    /// overwritten, finds that what it would store differs from what is stored where that is of another version, and
    /// writes it (`apiserver/pkg/storage/etcd3/store.go`, `GuaranteedUpdate`; Kubernetes' own conversion tests do so).
    /// Where it is of the storage version already, nothing is written at all.
    pub(super) fn patch(&self) -> (PatchForm, Value) {
        match self {
            Self::AsItIs => (PatchForm::Merge, json!({})),
            Self::Without { key, text } => {
                let place = format!("/metadata/annotations/{}", pointer_token(key));
                let patch =
                    [json!({"op": "test", "path": place, "value": text}), json!({"op": "remove", "path": place})];
                (PatchForm::Json, Value::Array(patch.to_vec()))
            }
        }
    }

    /// Why an object that was answered is not what it should be.
    pub(super) fn is_undone_in(&self, answer: &Value) -> Option<&'static str> {
        match self {
            Self::Without { key, .. } if annotation(answer, key).is_some() => Some(PUT_BACK),
            _ => None,
        }
    }

    /// Whether somebody else has changed what the patch relies on, as the object is now.
    pub(super) fn is_overtaken_in(&self, now: &Value) -> bool {
        match self {
            Self::AsItIs => false,
            Self::Without { key, text } => annotation(now, key) != Some(text),
        }
    }
}

fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

fn seen_as(uid: &str, version: &str) -> String {
    format!("{uid} {version}")
}

/// `/mutate` does, for whoever could not see what an annotation holds.
const PUT_BACK: &str =
    "an admission webhook puts it back: take /mutate away first, as pointsman disarm --admission does";
