//! The annotation of a rollout on an object, written with the move.

use std::collections::BTreeMap;

use crate::spec::rollout::Rollout;
use serde::{Deserialize, Serialize};

use super::field_managers::ManagerRecord;
use super::moment::{self, ClockReading, rfc3339};
use super::observed_field::KeptField;
use super::shared_metadata::SharedMetadata;
pub(crate) use pointsman_core::definition::MOVED as ANNOTATION;
use pointsman_core::definition::read_note;

/// The rollout that moved an object, the time, and the earlier state.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct RolloutAnnotation {
    /// The uid of the StagedRollout.
    pub(crate) rollout: String,
    /// The earlier version label; `None` without label.
    pub(crate) was: Option<String>,
    pub(crate) to: String,
    /// Time on the clock of the runner.
    pub(crate) at: String,
    /// The number of applied workflow steps, by wave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) step: BTreeMap<String, usize>,
    /// Waves whose last step counts only so that a rollback reverts it: its effect is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "unknownWaves")]
    pub(crate) unknown_waves: Vec<String>,
    /// Waves whose next step has begun without counting: its effect is unknown, and it is repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) open: Vec<String>,
    /// Field values before a step wrote them, by wave and step, and by field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) kept: BTreeMap<String, BTreeMap<String, KeptField>>,
    /// The origin of an object that was recreated from its replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) again: Option<RecreatedFrom>,
    /// On a replacement: `namespace/name` of source and replacement. A copy under another name is not a replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// Entries of the field manager that must write after the move, as of the move. `None` if no manager must, and in
    /// annotations of versions that compared times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) writes: Option<ManagerRecord>,
}

/// The origin of a recreated object.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct RecreatedFrom {
    /// The earlier uid of the object.
    pub(crate) of: String,
    /// The uid of its replacement.
    pub(crate) target: String,
    /// `metadata.generation` of the replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
    /// Labels and annotations shared by both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shared: Option<SharedMetadata>,
}

impl RolloutAnnotation {
    /// For an object that moves now without applied steps: uid of the StagedRollout, and target version.
    pub(crate) fn new((rollout, to): (&str, &str), was: Option<String>, now: ClockReading) -> Self {
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

    /// Parses the annotation. Other content belongs to other clients.
    pub(crate) fn read(text: &str) -> Option<Self> {
        read_note(text)
    }

    /// True if the annotation is from this rollout. Another target version excludes it.
    pub(crate) fn is_of(&self, rollout: &Rollout) -> bool {
        self.rollout == rollout.uid && self.to == rollout.to
    }

    /// True if the object has begun this wave.
    pub(crate) fn has_begun(&self, wave: &str) -> bool {
        self.step.contains_key(wave)
    }

    /// The time of the move, in seconds since 1970.
    pub(crate) fn moved(&self) -> Option<u64> {
        moment::wall(&self.at)
    }
}

/// The message about an object that is stored without a written pointsman annotation.
pub(crate) fn keeps_not(name: &str) -> String {
    format!(
        "does not keep the annotation {name}: a mutating webhook or policy removes the annotation; exclude \
             annotations of pointsman.dev from this webhook"
    )
}
