//! An object of a fleet, reduced to the inspected members.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field_managers::{FieldManagers, ManagerRecord, git_manager, label_owner, wrote_since};
use super::moment::wall;
use super::progress::{ObjectProgress, WaveProgress};
use super::rollout_annotation::{ANNOTATION, AnnotationContent, HoldAnnotations, RolloutAnnotation};
use crate::lookup::results::LookupResults;
use crate::spec::rollout::Rollout;
use pointsman_core::definition::admission::{PartVersions, whole_parts};
use pointsman_core::definition::{HoldMark, Path, RELEASE_REQUEST, RELEASED};

/// An object in a rollout: some hundred bytes of the API server's response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FleetObject {
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The value of the version label.
    pub(crate) version: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) has_annotations: bool,
    /// The content of the rollout annotation.
    pub(crate) annotation_content: AnnotationContent,
    /// Its index among prioritized objects; greater than all of them otherwise.
    pub(crate) turn: usize,
    /// Its rank in the order of the StagedRollout, which precedes namespace and name.
    pub(crate) rank: usize,
    /// The wave that selects it.
    pub(crate) wave: usize,
    pub(crate) is_terminating: bool,
    /// Deletion time and finalizers.
    pub(crate) deletion: Option<Box<Deletion>>,
    /// A GitOps tool that manages the object, and would create it again.
    pub(crate) git: Option<String>,
    /// The owner of the label that would set it again.
    pub(crate) owner: Option<String>,
    /// The failing health condition, as a message.
    pub(crate) unhealthy: Option<String>,
    /// Its field managers, if a write of one is awaited after a move.
    pub(crate) managers: Option<FieldManagers>,
    /// The field manager of the old controller, and the time of its last write, if after the move.
    pub(crate) contested: Option<(String, u64)>,
    /// True if an annotation disables the upgrade path for it.
    pub(crate) opts_out: bool,
    /// Its workflow progress; `None` if only the version label changes.
    pub(crate) object_progress: Option<Box<ObjectProgress>>,
    /// Its role, if the definition has a source for roles.
    pub(crate) role: Option<String>,
    /// The running versions in its own fields, part by part, in the order of [`Rollout::parts`]. Empty if the version
    /// label is the source.
    runs: Vec<PartVersions>,
    /// For a deleted object that can be recreated: the uid of its replacement.
    pub(crate) replacement_uid: Option<String>,
    /// Hold annotations, if any.
    pub(crate) held: Option<Box<HoldAnnotations>>,
    pub(crate) belongs: Membership,
}

/// The relation of an object to a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Membership {
    /// Selected or moved by the rollout.
    Chosen,
    /// Held by the rollout, and no longer selected.
    Held,
    /// In flight in the rollout, and no longer selected.
    UnderWay,
}

/// A terminating object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Deletion {
    /// Deletion time in seconds since 1970.
    pub(crate) since: u64,
    /// Its finalizers.
    pub(crate) finalizers: Vec<String>,
}

impl Deletion {
    fn of(metadata: &Value) -> Option<Self> {
        let since = wall(metadata.get("deletionTimestamp")?.as_str().unwrap_or_default()).unwrap_or_default();
        let finalizers = metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten();
        Some(Self { since, finalizers: finalizers.filter_map(Value::as_str).map(str::to_owned).collect() })
    }
}

impl FleetObject {
    /// Parses an object, in a version from [`Rollout::read_in`]. `None` if the rollout does not concern it.
    #[must_use]
    pub fn of(object: &Value, rollout: &Rollout) -> Option<Self> {
        Self::seen(object, rollout, false)
    }

    /// Parses an in-flight object: a reverted one lacks the annotation, and the selector may have changed, but its
    /// health is awaited regardless.
    #[must_use]
    pub fn of_under_way(object: &Value, rollout: &Rollout) -> Option<Self> {
        Self::seen(object, rollout, true)
    }

    fn seen(object: &Value, rollout: &Rollout, is_under_way: bool) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let labels = texts(metadata.get("labels"));
        let annotations = metadata.get("annotations").and_then(Value::as_object);
        let annotation = |name: &str| annotations.and_then(|all| all.get(name)).and_then(Value::as_str);
        let annotation_content = AnnotationContent::read(annotation(ANNOTATION));
        let own = annotation_content.mark().filter(|mark| mark.is_of(rollout));
        let namespace = text("namespace");
        let held = HoldAnnotations::of(annotation);
        let is_chosen = own.is_some() || rollout.chosen.holds(namespace.as_deref(), &labels);
        let is_held = || held.as_ref().is_some_and(|held| held.hold_of(rollout).is_some()) && !rollout.has_workflows();
        let belongs = match is_under_way {
            _ if is_chosen => Membership::Chosen,
            _ if is_held() => Membership::Held,
            true => Membership::UnderWay,
            false => return None,
        };
        let opts_out =
            |name: &Option<String>| name.as_deref().and_then(annotation).is_some_and(|value| value != "false");
        let of_path = |path: &pointsman_core::definition::admission::UpgradePath| {
            opts_out(&path.opt_out) || opts_out(&path.downgrade_opt_out)
        };
        let waves = rollout.waves_of(namespace.as_deref(), &labels, |wave| own.is_some_and(|own| own.has_begun(wave)));
        let progress = || Box::new(ObjectProgress::of(object, rollout, &waves, own));
        let object_progress = rollout.has_workflows().then(progress);
        let has_workflow = object_progress.is_some();
        let was = own.and_then(|mark| mark.was.as_deref());
        let contested = was.and_then(|was| {
            let manager = rollout.old_manager(was)?;
            Some((manager.to_owned(), wrote_since(object, manager, &rollout.label, UNDER_WAY)?))
        });
        let name = text("name")?;
        let title = title(namespace.as_deref(), &name);
        Some(Self {
            turn: rollout.prioritized.iter().position(|next| *next == title).unwrap_or(usize::MAX),
            name,
            uid: text("uid")?,
            version: labels.get(&rollout.label).cloned(),
            has_annotations: annotations.is_some(),
            object_progress,
            role: rollout.role.as_ref().and_then(|role| role.read(object)),
            runs: rollout.running(object),
            rank: rollout.order.as_ref().map_or(0, |(field, values)| rank(object, field, values)),
            wave: waves.first().copied().unwrap_or_else(|| rollout.waves.len().saturating_sub(1)),
            is_terminating: metadata.get("deletionTimestamp").is_some(),
            deletion: Deletion::of(metadata).map(Box::new),
            git: git_manager(object).map(str::to_owned).filter(|_| rollout.pair.is_some()),
            owner: label_owner(object, &rollout.label),
            unhealthy: rollout.health.unmet(object),
            managers: if has_workflow { None } else { managers_of(object, rollout) },
            contested: contested.filter(|_| !has_workflow),
            opts_out: rollout.path.as_ref().is_some_and(of_path),
            replacement_uid: None,
            held,
            belongs,
            annotation_content,
            namespace,
            labels,
        })
    }

    /// A deleted source object. `target` is the metadata of its replacement, which contains the source's uid and
    /// rollout annotation. `None` if another rollout created it.
    pub(crate) fn converted_source(target: &Value, rollout: &Rollout, (uid, text): (&str, &str)) -> Option<Self> {
        let mark = RolloutAnnotation::read(text).filter(|mark| mark.is_of(rollout))?;
        let metadata = target.get("metadata")?;
        let member = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let (labels, namespace) = (texts(metadata.get("labels")), member("namespace"));
        if mark.place != Some(title(namespace.as_deref(), &member("name")?)) {
            return None;
        }
        let waves = rollout.waves_of(namespace.as_deref(), &labels, |wave| mark.has_begun(wave));
        let object_progress = ObjectProgress::of_former(rollout, &waves, &mark)?;
        Some(Self {
            namespace,
            version: labels.get(&rollout.label).cloned(),
            labels,
            has_annotations: true,
            annotation_content: AnnotationContent::Mark(Box::new((mark, text.to_owned()))),
            is_terminating: metadata.get("deletionTimestamp").is_some(),
            git: git_manager(target).map(str::to_owned),
            replacement_uid: Some(member("uid")?),
            ..Self::apart(member("name")?, uid.to_owned(), waves.first().copied()?, object_progress)
        })
    }

    /// A wave run, as an object.
    pub(crate) fn of_run(name: &str, wave: usize, object_progress: ObjectProgress) -> Self {
        Self::apart(format!("wave {name}"), format!("{OF_WAVE}{name}"), wave, object_progress)
    }

    /// A placeholder outside of the cluster: healthy, and without owner.
    fn apart(name: String, uid: String, wave: usize, object_progress: ObjectProgress) -> Self {
        Self {
            namespace: None,
            name,
            uid,
            version: None,
            labels: BTreeMap::new(),
            has_annotations: false,
            annotation_content: AnnotationContent::Nothing,
            turn: 0,
            rank: 0,
            wave,
            is_terminating: false,
            deletion: None,
            git: None,
            owner: None,
            unhealthy: None,
            managers: None,
            contested: None,
            opts_out: false,
            object_progress: Some(Box::new(object_progress)),
            role: None,
            runs: Vec::new(),
            replacement_uid: None,
            held: None,
            belongs: Membership::Chosen,
        }
    }

    /// True if the object is only in flight in the rollout, and no longer selected.
    #[must_use]
    pub fn is_only_under_way(&self) -> bool {
        self.belongs == Membership::UnderWay
    }

    /// True for a placeholder of a wave run.
    pub(crate) fn is_run(&self) -> bool {
        self.object_progress.as_ref().is_some_and(|object_progress| object_progress.is_run)
    }

    /// The next wave entry in a direction.
    pub(crate) fn wave_progress(&self, back: bool) -> Option<&WaveProgress> {
        let object_progress = self.object_progress.as_ref()?;
        if back { object_progress.back() } else { object_progress.forward() }
    }

    /// Its wave in a direction.
    pub(crate) fn wave(&self, back: bool) -> usize {
        let Some(object_progress) = &self.object_progress else { return self.wave };
        let held = object_progress.held().map(|(wave_progress, _)| wave_progress).filter(|_| !back);
        held.or_else(|| self.wave_progress(back))
            .or_else(|| object_progress.last())
            .map_or(self.wave, |wave_progress| wave_progress.wave)
    }

    /// `namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        title(self.namespace(), &self.name)
    }

    /// True if another rollout selects it too.
    #[must_use]
    pub fn is_chosen_by(&self, rollout: &Rollout) -> bool {
        rollout.chosen.holds(self.namespace(), &self.labels)
    }

    /// Unique to this object, unlike its name.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Its namespace, if namespaced.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of the version label.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Its role, if known.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// The running versions of each part, from its own fields and from other objects.
    pub(crate) fn runs(&self, rollout: &Rollout, answers: &LookupResults) -> Vec<PartVersions> {
        whole_parts(&rollout.observe, &self.runs, &|source| answers.versions_of(source, (self.namespace(), &self.name)))
    }

    /// Another rollout that held or moved it since this one began, and is therefore active.
    pub(crate) fn taken_by(&self, rollout: &Rollout, began: &str) -> Option<String> {
        let is_since = |at: &str| wall(at).zip(wall(began)).is_some_and(|(at, began)| at > began);
        let hold = self.held.as_ref().filter(|held| held.hold_of(rollout).is_none()).and_then(|held| held.hold());
        if let Some((_, hold)) = hold.filter(|(_, hold)| is_since(&hold.at)) {
            return Some(format!("rollout {}, which holds the object since {}", hold.name, hold.at));
        }
        let mark = self.annotation_content.mark().filter(|mark| mark.rollout != rollout.uid && is_since(&mark.at))?;
        Some(format!(
            "another rollout, of uid {}, which has moved the object to {} at {}",
            mark.rollout, mark.to, mark.at
        ))
    }

    /// The failing health condition, as a message.
    #[must_use]
    pub fn unhealthy(&self) -> Option<&str> {
        self.unhealthy.as_deref()
    }

    /// The annotation of this rollout.
    pub(crate) fn annotation_of(&self, rollout: &Rollout) -> Option<&RolloutAnnotation> {
        self.annotation_content.mark().filter(|mark| mark.is_of(rollout))
    }

    /// True if its annotation records a move to the new version by another rollout, or by a deleted one of the same
    /// name.
    pub(crate) fn is_moved_by_another(&self, rollout: &Rollout) -> bool {
        self.is_at(&rollout.to)
            && self.annotation_content.mark().is_some_and(|mark| mark.rollout != rollout.uid && mark.to == rollout.to)
    }

    /// The reason why the annotation cannot be written, with the remedy; `None` if it can.
    pub(crate) fn has_no_room(&self, rollout: &Rollout) -> Option<String> {
        self.annotation_content.refuses(rollout, self.namespace(), &self.name)
    }

    /// The reason why its move state is unknown: other text in the place of the annotation.
    pub(crate) fn lost_annotation(&self, rollout: &Rollout) -> Option<String> {
        self.has_no_room(rollout).or_else(|| self.annotation_content.is_emptied(rollout, self.namespace(), &self.name))
    }

    /// The text of the hold annotation.
    pub(crate) fn held_text(&self) -> Option<&str> {
        self.held.as_ref()?.mark.as_ref().map(|(text, _)| text.as_str())
    }

    /// The hold: its text, and the rollout that holds.
    pub(crate) fn hold(&self) -> Option<(&str, &HoldMark)> {
        self.held.as_ref()?.hold()
    }

    /// The text of this rollout's hold.
    pub(crate) fn hold_of(&self, rollout: &Rollout) -> Option<&str> {
        self.held.as_ref()?.hold_of(rollout)
    }

    /// The version label that another client requested during the hold.
    pub(crate) fn wanted(&self) -> Option<&str> {
        self.held.as_ref()?.wanted.as_deref()
    }

    /// True if another client released it explicitly.
    pub(crate) fn is_released(&self) -> bool {
        self.held_text() == Some(RELEASE_REQUEST)
    }

    /// True if this rollout held and released it.
    pub(crate) fn is_released_by(&self, rollout: &Rollout) -> bool {
        let by = self.held_text().and_then(|text| text.strip_prefix(RELEASED));
        by.is_some_and(|uid| uid.trim_start() == rollout.uid)
    }

    /// The current entries of a field manager, if `managedFields` exists.
    pub(crate) fn record_of(&self, manager: Option<&str>) -> Option<ManagerRecord> {
        Some(self.managers.as_ref()?.record(manager?))
    }

    /// Operations of a JSON Patch that fail unless the entries of a field manager are unchanged.
    pub(crate) fn preconditions_of(&self, manager: Option<&str>) -> Vec<Value> {
        self.managers.as_ref().zip(manager).map(|(all, manager)| all.preconditions(manager)).unwrap_or_default()
    }

    /// True if it has this version.
    pub(crate) fn is_at(&self, version: &str) -> bool {
        self.version.as_deref() == Some(version)
    }

    /// The sort key within a wave in forward direction.
    pub(crate) fn place_forward(&self) -> (usize, (usize, &Option<String>, &str)) {
        (self.turn, self.place())
    }

    /// The sort key within a wave without priorities.
    pub(crate) fn place(&self) -> (usize, &Option<String>, &str) {
        (self.rank, &self.namespace, &self.name)
    }
}

/// The field managers of an object, if the StagedRollout waits for their writes.
fn managers_of(object: &Value, rollout: &Rollout) -> Option<FieldManagers> {
    rollout.health.seen.as_ref()?;
    FieldManagers::of(object, &rollout.label, |manager| rollout.waits_for_manager(manager))
}

fn title(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Seconds for the old controller to finish a reconcile that was active when the label changed.
const UNDER_WAY: u64 = 10;

/// Uid prefix of wave runs; other uids never have it. See [`crate::InFlightObject`].
pub const OF_WAVE: &str = "wave:";

/// The index of a value in the list; the length of the list if missing.
fn rank(object: &Value, field: &Path, values: &[String]) -> usize {
    let value = field.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
    let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let at = text.and_then(|text| values.iter().position(|value| *value == text));
    at.unwrap_or(values.len())
}

fn texts(members: Option<&Value>) -> BTreeMap<String, String> {
    let members = members.and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
