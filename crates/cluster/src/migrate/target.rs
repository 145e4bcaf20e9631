//! What a run is to come to: which objects it writes, and what of them.

use std::collections::HashSet;

use serde_json::Value;

use super::mark::Mark;
use crate::crd_state::CrdState;
use crate::ownership::{entry_versions, is_managed, last_applied_version, owner_versions};

/// What all objects are to be in the end.
pub(crate) enum MigrationTarget<'a> {
    /// In the storage version.
    Stored {
        /// Since when everybody has written that version, where it is known.
        mark: Option<Mark>,
        /// Objects that a write left as they were, since they were stored in the right version already, by uid and
        /// resourceVersion: about 100 bytes each.
        touched: HashSet<String>,
    },
    /// Without anything that names one version.
    Forgotten {
        /// The version.
        version: String,
        /// The annotation that keeps what only that version could say.
        key: String,
        /// Whether a text is what we keep.
        is_ours: &'a dyn Fn(&str) -> bool,
        /// Objects with an annotation of that name that is somebody else's.
        foreign: u64,
    },
    /// With all that field managers own written down in the storage version.
    Owned,
    /// Without an owner reference to the kind at another version than the one that is stored.
    Referred,
}

impl<'a> MigrationTarget<'a> {
    /// Everything in the storage version.
    pub(super) fn stored(mark: Option<Mark>) -> Self {
        Self::Stored { mark, touched: HashSet::new() }
    }

    /// Nothing kept for this version, under this annotation.
    pub(super) fn forgotten(version: &str, key: String, is_ours: &'a dyn Fn(&str) -> bool) -> Self {
        Self::Forgotten { version: version.to_owned(), key, is_ours, foreign: 0 }
    }

    /// Everything is looked at, from the first object on.
    pub(super) fn begin(&mut self) {
        if let Self::Forgotten { foreign, .. } = self {
            *foreign = 0;
        }
    }

    /// An object of a page, and how it is to be written; nothing where it is known to be as it should.
    pub(super) fn listed(&mut self, item: &Value, crd: &CrdState) -> Option<Listed> {
        let (group, kind, storage) = (crd.group(), crd.kind(), crd.storage());
        let text = |name: &str| item.get("metadata")?.get(name)?.as_str().map(str::to_owned);
        let (uid, version) = (text("uid").unwrap_or_default(), text("resourceVersion").unwrap_or_default());
        let is_elsewhere = entry_versions(item, group).iter().any(|entry| *entry != storage);
        let change = match self {
            Self::Stored { mark, touched } => {
                let covered = mark.as_ref().is_some_and(|mark| mark.covers(&version));
                let is_due = !covered && !touched.contains(&seen_as(&uid, &version));
                is_due.then(|| ObjectChange::AsItIs { is_managed: is_managed(item) })
            }
            Self::Forgotten { version, key, is_ours, foreign } => {
                let kept = annotation(item, key);
                // Somebody has emptied it, to be rid of what it held.
                let ours = kept.filter(|kept| kept.is_empty() || is_ours(kept));
                *foreign += u64::from(kept.is_some() && ours.is_none());
                let is_owned = owner_versions(item, group, kind).contains(&version.as_str());
                let is_applied = last_applied_version(item, group).as_ref() == Some(version);
                let is_named = is_owned || is_applied || entry_versions(item, group).contains(&version.as_str());
                (ours.is_some() || is_named).then(|| ObjectChange::Translated {
                    kept: ours.map(|text| (key.clone(), text.to_owned())),
                    needs_object: is_owned || is_applied || is_elsewhere,
                })
            }
            Self::Referred => {
                let refers_elsewhere = owner_versions(item, group, kind).iter().any(|version| *version != storage);
                refers_elsewhere.then_some(ObjectChange::Translated { kept: None, needs_object: true })
            }
            Self::Owned => is_elsewhere.then_some(ObjectChange::Translated { kept: None, needs_object: true }),
        };
        Some(Listed { namespace: text("namespace"), name: text("name")?, uid, version, change: change? })
    }

    /// Objects of which the last look has shown that what they have is somebody else's.
    pub(super) fn foreign(&self) -> u64 {
        match self {
            Self::Stored { .. } | Self::Owned | Self::Referred => 0,
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
    pub(super) uid: String,
    /// Its resourceVersion.
    pub(super) version: String,
    pub(super) change: ObjectChange,
}

/// What becomes of an object.
#[derive(Clone, Debug)]
pub(super) enum ObjectChange {
    /// Nothing: it is only to be stored anew.
    AsItIs {
        /// Whether field managers own fields of it.
        is_managed: bool,
    },
    /// What names another version is translated to the storage version.
    Translated {
        /// An annotation that goes, if that still says what it said.
        kept: Option<(String, String)>,
        /// Whether the whole object has to be read for it.
        needs_object: bool,
    },
}

impl ObjectChange {
    /// Why an object that was answered is not what it should be.
    pub(super) fn is_undone_in(&self, answer: &Value) -> Option<&'static str> {
        match self {
            Self::Translated { kept: Some((key, _)), .. } if annotation(answer, key).is_some() => Some(PUT_BACK),
            _ => None,
        }
    }

    /// Whether somebody else has changed what the patch relies on, as the object is now.
    pub(super) fn is_overtaken_in(&self, now: &Value) -> bool {
        match self {
            Self::Translated { kept: Some((key, text)), .. } => annotation(now, key) != Some(text),
            _ => false,
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
    "an admission webhook puts it back: take /mutate away first, as pointsman disable --admission does";
