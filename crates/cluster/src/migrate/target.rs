//! The target of a run: the objects to write, and their changes.

use std::collections::HashSet;

use serde_json::Value;

use super::mark::Mark;
use crate::crd_state::CrdState;
use crate::ownership::{entry_versions, is_managed, last_applied_version, owner_versions};

/// The desired state of all objects.
pub(crate) enum MigrationTarget<'a> {
    /// Stored in the storage version.
    Stored {
        /// The resourceVersion since which all clients write that version, if known.
        mark: Option<Mark>,
        /// Objects whose write was a no-op, so already in the storage version, by uid and resourceVersion: about 100
        /// bytes each.
        touched: HashSet<String>,
    },
    /// Without references to a version.
    Forgotten {
        /// The version.
        version: String,
        /// The kept annotation of that version.
        key: String,
        /// True for a kept annotation of pointsman.
        is_ours: &'a dyn Fn(&str) -> bool,
        /// Objects with a foreign annotation of that name.
        foreign: u64,
    },
    /// With all field ownership recorded in the storage version.
    Owned,
    /// Without owner references to the kind in another version than the storage version.
    Referred,
}

impl<'a> MigrationTarget<'a> {
    /// All objects in the storage version.
    pub(super) fn stored(mark: Option<Mark>) -> Self {
        Self::Stored { mark, touched: HashSet::new() }
    }

    /// No object with this kept annotation of this version.
    pub(super) fn forgotten(version: &str, key: String, is_ours: &'a dyn Fn(&str) -> bool) -> Self {
        Self::Forgotten { version: version.to_owned(), key, is_ours, foreign: 0 }
    }

    /// Starts a pass.
    pub(super) fn begin(&mut self) {
        if let Self::Forgotten { foreign, .. } = self {
            *foreign = 0;
        }
    }

    /// An object of a page with its change; `None` if it is in the desired state.
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
                // An emptied annotation is removed too.
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

    /// Objects with a foreign annotation, by the last pass.
    pub(super) fn foreign(&self) -> u64 {
        match self {
            Self::Stored { .. } | Self::Owned | Self::Referred => 0,
            Self::Forgotten { foreign, .. } => *foreign,
        }
    }

    /// Records a no-op write.
    pub(super) fn was_so(&mut self, listed: &Listed) {
        if let Self::Stored { touched, .. } = self {
            touched.insert(seen_as(&listed.uid, &listed.version));
        }
    }
}

/// An object to write.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    /// Its resourceVersion.
    pub(super) version: String,
    pub(super) change: ObjectChange,
}

/// The change of an object.
#[derive(Clone, Debug)]
pub(super) enum ObjectChange {
    /// None: only stores the object again.
    AsItIs {
        /// True if field managers own fields.
        is_managed: bool,
    },
    /// Translates references to other versions to the storage version.
    Translated {
        /// An annotation to remove if unchanged.
        kept: Option<(String, String)>,
        /// True if the whole object must be read.
        needs_object: bool,
    },
}

impl ObjectChange {
    /// The reason why a written object differs from the desired state.
    pub(super) fn is_undone_in(&self, answer: &Value) -> Option<&'static str> {
        match self {
            Self::Translated { kept: Some((key, _)), .. } if annotation(answer, key).is_some() => Some(PUT_BACK),
            _ => None,
        }
    }

    /// True if another client has invalidated the patch's preconditions.
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

/// `/mutate` restores an annotation for clients that cannot see its content.
const PUT_BACK: &str =
    "an admission webhook restores the annotation: first remove /mutate with pointsman disable --admission";
