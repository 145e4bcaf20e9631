//! What a rollout leaves on an object, in the same write that moves it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::field_managers::ManagerRecord;
use super::moment::{self, ClockReading, rfc3339};
use super::observed_field::KeptField;
use super::shared_metadata::SharedMetadata;
pub(crate) use crate::definition::MOVED as ANNOTATION;
use crate::definition::read_note;

/// By which rollout an object was moved, when, and what it was before.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct RolloutAnnotation {
    /// The uid of the StagedRollout.
    pub(super) rollout: String,
    /// The value of the version label before; none where there was no label.
    pub(super) was: Option<String>,
    pub(super) to: String,
    /// By the clock of whoever moved it.
    pub(super) at: String,
    /// How many steps of its workflow are done, by the wave whose workflow it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) step: BTreeMap<String, usize>,
    /// Waves whose last step counts as done only so that it can be undone: nobody knows how far it came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "unknownWaves")]
    pub(super) unknown_waves: Vec<String>,
    /// Waves whose next step was begun and does not count: nobody knows how far it came, and it is done anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) open: Vec<String>,
    /// What fields were before a step wrote them, by wave and step, and by field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) kept: BTreeMap<String, BTreeMap<String, KeptField>>,
    /// Of an object that was made anew of what it had become: whose place it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<RecreatedFrom>,
    /// On what an object has become: `namespace/name` of both. A copy of that by another name was made of nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<String>,
    /// The entries of the field manager that has to write after the move, as they were at it. Nothing where none has
    /// to, and in marks of programs that compared times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) writes: Option<ManagerRecord>,
}

/// Whose place an object has that was made anew of what it had become.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct RecreatedFrom {
    /// The uid that the object had before.
    pub(super) of: String,
    /// The uid of what it had become.
    pub(super) target: String,
    /// `metadata.generation` that this had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<i64>,
    /// Labels and annotations that both had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shared: Option<SharedMetadata>,
}

impl RolloutAnnotation {
    /// Of an object that is moved now, and has done no step yet: by the StagedRollout of this uid, to this version.
    pub(super) fn new((rollout, to): (&str, &str), was: Option<String>, now: ClockReading) -> Self {
        Self {
            rollout: rollout.to_owned(),
            was,
            to: to.to_owned(),
            at: rfc3339(now.wall),
            step: BTreeMap::new(),
            unknown_waves: Vec::new(),
            open: Vec::new(),
            kept: BTreeMap::new(),
            again: None,
            place: None,
            writes: None,
        }
    }

    /// Reads the annotation. Anything else is somebody's own text.
    pub(super) fn read(text: &str) -> Option<Self> {
        read_note(text)
    }

    /// When it was moved, in seconds since 1970.
    pub(super) fn moved(&self) -> Option<u64> {
        moment::wall(&self.at)
    }
}

/// What is wrong with an object that lacks an annotation of ours which it was written with.
pub(super) fn keeps_not(name: &str) -> String {
    format!(
        "does not keep the annotation {name}: a mutating webhook or policy takes it off; have it leave the annotations of \
         pointsman.dev alone"
    )
}
