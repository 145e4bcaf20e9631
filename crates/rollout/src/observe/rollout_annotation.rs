//! Annotations on objects: of the rollout, written with the move, and of holds.

use super::field_managers::ManagerRecord;
use super::moment;
use super::moment::{ClockReading, rfc3339};
use super::observed_field::KeptField;
use crate::spec::kinds::SourceAndTargetKind;
use crate::spec::rollout::Rollout;
use pointsman_core::apimachinery::excerpt;
pub(crate) use pointsman_core::definition::MOVED as ANNOTATION;
use pointsman_core::definition::{HELD, HoldMark, ROLLOUT_MANAGER, WANTED, read_note};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

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

/// The content.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum AnnotationContent {
    #[default]
    Nothing,
    /// An empty text, which can be overwritten.
    Empty,
    /// From any rollout, with its text.
    Mark(Box<(RolloutAnnotation, String)>),
    /// Text of another client, abridged since it may be large.
    Foreign(String),
}

impl AnnotationContent {
    pub(crate) fn read(text: Option<&str>) -> Self {
        match text {
            None => Self::Nothing,
            Some("") => Self::Empty,
            Some(text) => match RolloutAnnotation::read(text) {
                Some(mark) => Self::Mark(Box::new((mark, text.to_owned()))),
                None => Self::Foreign(excerpt(text)),
            },
        }
    }

    /// The annotation of any rollout.
    pub(crate) fn mark(&self) -> Option<&RolloutAnnotation> {
        match self {
            Self::Mark(mark) => Some(&mark.0),
            Self::Nothing | Self::Empty | Self::Foreign(_) => None,
        }
    }

    /// The precondition of a write. Foreign text gives none, so such a write never applies.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing | Self::Foreign(_) => None,
            Self::Empty => Some(""),
            Self::Mark(mark) => Some(&mark.1),
        }
    }

    /// The reason why a rollout cannot write the annotation, with the remedy; `None` if it can.
    pub(crate) fn refuses(&self, rollout: &Rollout, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Foreign(text) = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is {text:?}, which is not written by a rollout, so rollouts leave the \
                 annotation unchanged. To remove the annotation: {}",
            takes_off(rollout, namespace, name)
        ))
    }

    /// The message about an emptied annotation, with the remedy; `None` otherwise.
    pub(crate) fn is_emptied(&self, rollout: &Rollout, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Empty = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is \"\" and may have been the rollout annotation, which an undo needs. \
                 Undo the object by hand if necessary, then: {}",
            takes_off(rollout, namespace, name)
        ))
    }
}

/// The command that removes the annotation.
fn takes_off(rollout: &Rollout, namespace: Option<&str>, name: &str) -> String {
    let place = namespace.map(|namespace| format!(" --namespace={namespace}")).unwrap_or_default();
    let resource = rollout.resource();
    format!("kubectl annotate --field-manager={ROLLOUT_MANAGER}{place} {resource} {name} {ANNOTATION}-")
}

/// Labels and annotations shared by an object and its source: a hash of each value, by place and name.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct SharedMetadata(BTreeMap<String, String>);

impl SharedMetadata {
    /// The shared labels and annotations of one object.
    pub(crate) fn of(object: &Value, pair: &SourceAndTargetKind) -> Self {
        let all = PLACES.iter().flat_map(|place| {
            let members = members(object, place).into_iter().flatten();
            let members = members.filter(|(name, _)| pair.shares(name));
            members.filter_map(|(name, value)| Some((key(place, name), hash(value.as_str()?))))
        });
        Self(all.collect())
    }

    /// As annotation value.
    pub(crate) fn to_annotation(&self) -> Option<Value> {
        serde_json::to_string(self).ok().map(Value::String)
    }

    /// True if a label or annotation had this value, or was absent, at conversion.
    pub(crate) fn is(&self, (place, name): (&str, &str), value: Option<&str>) -> bool {
        self.0.get(&key(place, name)).map(String::as_str) == value.map(hash).as_deref()
    }
}

/// Labels or annotations of an object.
pub(crate) fn members<'v>(object: &'v Value, place: &str) -> Option<&'v Map<String, Value>> {
    object.get("metadata")?.get(place)?.as_object()
}

/// The key of a label or annotation.
fn key(place: &str, name: &str) -> String {
    format!("{place}/{name}")
}

fn hash(value: &str) -> String {
    short_hash(value, DIGITS)
}

/// The shared parts of the metadata.
pub(crate) const PLACES: [&str; 2] = ["labels", "annotations"];

/// Bytes of a hash: enough to avoid collisions among the values of one label.
const DIGITS: usize = 4;

/// The first `bytes` bytes of SHA-256, as lower-case hexadecimal digits.
pub(crate) fn short_hash(text: &str, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

/// The hold annotations of an object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct HoldAnnotations {
    /// The hold annotation, and its content if valid.
    pub(crate) mark: Option<(String, Option<HoldMark>)>,
    /// The version label that another client requested during the hold.
    pub(crate) wanted: Option<String>,
}

impl HoldAnnotations {
    /// Reads them from the annotations of an object.
    pub(crate) fn of<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Option<Box<Self>> {
        let mark = annotation(HELD).map(|text| (text.to_owned(), HoldMark::read(text)));
        let wanted = annotation(WANTED).map(str::to_owned);
        (mark.is_some() || wanted.is_some()).then(|| Box::new(Self { mark, wanted }))
    }

    /// The hold: its text, and the rollout that holds.
    pub(crate) fn hold(&self) -> Option<(&str, &HoldMark)> {
        let (text, mark) = self.mark.as_ref()?;
        Some((text.as_str(), mark.as_ref()?))
    }

    /// A hold of this rollout, as read. Names are unique, so a hold under this name belongs to a deleted rollout, and
    /// this one releases it.
    pub(crate) fn hold_of(&self, rollout: &Rollout) -> Option<&str> {
        let (text, mark) = self.hold()?;
        (mark.rollout == rollout.uid || mark.name == rollout.name).then_some(text)
    }
}
