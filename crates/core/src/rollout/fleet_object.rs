//! An object of a fleet: what a rollout looks at, and nothing else.

use std::collections::BTreeMap;

use serde_json::Value;

use super::annotation_content::AnnotationContent;
use super::lookup_results::LookupResults;
use super::field_managers::{FieldManagers, ManagerRecord};
use super::fleet_rollout::Rollout;
use super::hold_annotations::HoldAnnotations;
use super::progress::{WaveProgress, ObjectProgress};
use super::managed_fields::{git_manager, label_owner, wrote_since};
use super::rollout_annotation::{ANNOTATION, RolloutAnnotation};
use super::moment::wall;
use crate::definition::admission::{PartVersions, whole_parts};
use crate::definition::{HoldMark, LET_GO, Path, RELEASED};

/// An object as a rollout sees it: some hundred bytes of what the API server answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FleetObject {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    /// The value of the version label.
    pub(super) version: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) has_annotations: bool,
    /// What stands where rollouts note what they have done.
    pub(super) noted: AnnotationContent,
    /// Where it stands among those that were told to go next; behind all of them where it was not.
    pub(super) turn: usize,
    /// Where it stands in the order that the StagedRollout asks for, before namespace and name.
    pub(super) rank: usize,
    /// The wave that selects it.
    pub(super) wave: usize,
    pub(super) is_going: bool,
    /// Since when, and what it waits for.
    pub(super) going: Option<Box<Deletion>>,
    /// A GitOps tool that writes it, and would make it again.
    pub(super) git: Option<String>,
    /// Whoever would set the label again.
    pub(super) owner: Option<String>,
    /// What does not hold of its health, in words.
    pub(super) unhealthy: Option<String>,
    /// Its field managers, where a write of one of them is waited for after a move.
    pub(super) managers: Option<FieldManagers>,
    /// The field manager of its old controller, and when it last wrote, if that was after the move.
    pub(super) contested: Option<(String, u64)>,
    /// An annotation turns the upgrade path off for it.
    pub(super) opts_out: bool,
    /// How far it is on its workflows; nothing where its version label is what is changed.
    pub(super) legs: Option<Box<ObjectProgress>>,
    /// What it is there for, where the definition says where that is read.
    pub(super) role: Option<String>,
    /// What runs of each of its parts, where its version label does not say all of it, as far as it says so itself; as
    /// [`Rollout::parts`] has them.
    runs: Vec<PartVersions>,
    /// It is there no more, and can be made anew: the uid of what it has become.
    pub(super) former: Option<String>,
    /// What stands on it of holds, if anything does.
    pub(super) held: Option<Box<HoldAnnotations>>,
    pub(super) belongs: Membership,
}

/// By what an object belongs to a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Membership {
    /// The rollout selects it, or has moved it.
    Chosen,
    /// The rollout holds it, and is not about it any more.
    Held,
    /// The rollout has it under way, and is not about it any more.
    UnderWay,
}

/// An object that is being deleted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Deletion {
    /// Since when, in seconds since 1970.
    pub(super) since: u64,
    /// What whoever acts on its deletion has left on it.
    pub(super) finalizers: Vec<String>,
}

impl Deletion {
    fn of(metadata: &Value) -> Option<Self> {
        let since = wall(metadata.get("deletionTimestamp")?.as_str().unwrap_or_default()).unwrap_or_default();
        let finalizers = metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten();
        Some(Self { since, finalizers: finalizers.filter_map(Value::as_str).map(str::to_owned).collect() })
    }
}

impl FleetObject {
    /// Looks at an object, in a version that [`Rollout::read_in`] names. Nothing where the rollout is not about
    /// it.
    #[must_use]
    pub fn of(object: &Value, rollout: &Rollout) -> Option<Self> {
        Self::seen(object, rollout, false)
    }

    /// The same of one that the rollout has under way: what has gone back says nothing of the rollout any more, and the
    /// rollout may be about other objects by now, but whether it is healthy is waited for all the same.
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
        let noted = AnnotationContent::read(annotation(ANNOTATION));
        let own = noted.mark().filter(|mark| rollout.has_left(mark));
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
        let of_path = |path: &crate::definition::admission::UpgradePath| {
            opts_out(&path.opt_out) || opts_out(&path.downgrade_opt_out)
        };
        let waves = rollout.waves_of(namespace.as_deref(), &labels, own);
        let legs = rollout.has_workflows().then(|| Box::new(ObjectProgress::of(object, rollout, &waves, own)));
        let has_legs = legs.is_some();
        let was = own.and_then(|mark| mark.was.as_deref());
        let contested = was.and_then(|was| {
            let manager = rollout.old_manager(was)?;
            Some((manager.to_owned(), wrote_since(object, manager, &rollout.label, UNDER_WAY)?))
        });
        let name = text("name")?;
        let title = title(namespace.as_deref(), &name);
        Some(Self {
            turn: rollout.prioritized.iter().position(|told| *told == title).unwrap_or(usize::MAX),
            name,
            uid: text("uid")?,
            version: labels.get(&rollout.label).cloned(),
            has_annotations: annotations.is_some(),
            legs,
            role: rollout.role.as_ref().and_then(|role| role.read(object)),
            runs: rollout.running(object),
            rank: rollout.order.as_ref().map_or(0, |(field, values)| rank(object, field, values)),
            wave: waves.first().copied().unwrap_or_else(|| rollout.waves.len().saturating_sub(1)),
            is_going: metadata.get("deletionTimestamp").is_some(),
            going: Deletion::of(metadata).map(Box::new),
            git: git_manager(object).map(str::to_owned).filter(|_| rollout.pair.is_some()),
            owner: label_owner(object, &rollout.label),
            unhealthy: rollout.health.unmet(object),
            managers: if has_legs { None } else { managers_of(object, rollout) },
            contested: contested.filter(|_| !has_legs),
            opts_out: rollout.path.as_ref().is_some_and(of_path),
            former: None,
            held,
            belongs,
            noted,
            namespace,
            labels,
        })
    }

    /// One that is there no more: `target` is the metadata of what it has become, which says what the uid of the object
    /// was, and what the rollout that has made it has to know. Nothing where that was another rollout.
    pub(super) fn former(target: &Value, rollout: &Rollout, (uid, text): (&str, &str)) -> Option<Self> {
        let mark = RolloutAnnotation::read(text).filter(|mark| rollout.has_left(mark))?;
        let metadata = target.get("metadata")?;
        let member = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let (labels, namespace) = (texts(metadata.get("labels")), member("namespace"));
        if mark.place != Some(title(namespace.as_deref(), &member("name")?)) {
            return None;
        }
        let waves = rollout.waves_of(namespace.as_deref(), &labels, Some(&mark));
        let legs = ObjectProgress::of_former(rollout, &waves, &mark)?;
        Some(Self {
            namespace,
            version: labels.get(&rollout.label).cloned(),
            labels,
            has_annotations: true,
            noted: AnnotationContent::Mark(Box::new((mark, text.to_owned()))),
            is_going: metadata.get("deletionTimestamp").is_some(),
            git: git_manager(target).map(str::to_owned),
            former: Some(member("uid")?),
            ..Self::apart(member("name")?, uid.to_owned(), waves.first().copied()?, legs)
        })
    }

    /// What a wave runs, as if it were an object.
    pub(super) fn of_run(name: &str, wave: usize, legs: ObjectProgress) -> Self {
        Self::apart(format!("wave {name}"), format!("{OF_WAVE}{name}"), wave, legs)
    }

    /// One that is not in the cluster: nothing is wrong with it, and nobody sets it.
    fn apart(name: String, uid: String, wave: usize, legs: ObjectProgress) -> Self {
        Self {
            namespace: None,
            name,
            uid,
            version: None,
            labels: BTreeMap::new(),
            has_annotations: false,
            noted: AnnotationContent::Nothing,
            turn: 0,
            rank: 0,
            wave,
            is_going: false,
            going: None,
            git: None,
            owner: None,
            unhealthy: None,
            managers: None,
            contested: None,
            opts_out: false,
            legs: Some(Box::new(legs)),
            role: None,
            runs: Vec::new(),
            former: None,
            held: None,
            belongs: Membership::Chosen,
        }
    }

    /// Whether the rollout is not about it any more, and only has it under way.
    #[must_use]
    pub fn is_only_under_way(&self) -> bool {
        self.belongs == Membership::UnderWay
    }

    /// Whether it stands for what a wave runs.
    pub(super) fn is_run(&self) -> bool {
        self.legs.as_ref().is_some_and(|legs| legs.is_run)
    }

    /// The leg of its workflows that comes next, on the way forward or back.
    pub(super) fn leg(&self, back: bool) -> Option<&WaveProgress> {
        let legs = self.legs.as_ref()?;
        if back { legs.back() } else { legs.forward() }
    }

    /// The wave that it goes with, on the way forward or back.
    pub(super) fn wave(&self, back: bool) -> usize {
        let Some(legs) = &self.legs else { return self.wave };
        let held = legs.held().map(|(leg, _)| leg).filter(|_| !back);
        held.or_else(|| self.leg(back)).or_else(|| legs.last()).map_or(self.wave, |leg| leg.wave)
    }

    /// `namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        title(self.namespace(), &self.name)
    }

    /// Whether another rollout is about it as well.
    #[must_use]
    pub fn is_chosen_by(&self, rollout: &Rollout) -> bool {
        rollout.chosen.holds(self.namespace(), &self.labels)
    }

    /// Of this object, and of none that is made again under its name.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Its namespace, where it has one.
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

    /// What it is there for, where that is known.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// What runs of each of its parts, by what it says itself and by what others say.
    pub(super) fn runs(&self, rollout: &Rollout, answers: &LookupResults) -> Vec<PartVersions> {
        whole_parts(&rollout.observe, &self.runs, &|source| answers.versions_of(source, (self.namespace(), &self.name)))
    }

    /// Another rollout that has held it, or moved it, since this one began: that one is under way over it as well,
    /// whatever was so when this one began.
    pub(super) fn taken_by(&self, rollout: &Rollout, began: &str) -> Option<String> {
        let is_since = |at: &str| wall(at).zip(wall(began)).is_some_and(|(at, began)| at > began);
        let hold = self.held.as_ref().filter(|held| held.hold_of(rollout).is_none()).and_then(|held| held.hold());
        if let Some((_, hold)) = hold.filter(|(_, hold)| is_since(&hold.at)) {
            return Some(format!("rollout {}, which holds it since {}", hold.name, hold.at));
        }
        let mark = self.noted.mark().filter(|mark| mark.rollout != rollout.uid && is_since(&mark.at))?;
        Some(format!("another rollout, of uid {}, which has moved it to {} at {}", mark.rollout, mark.to, mark.at))
    }

    /// What does not hold of its health, in words.
    #[must_use]
    pub fn unhealthy(&self) -> Option<&str> {
        self.unhealthy.as_deref()
    }

    /// What a rollout has left on it, if it was this one.
    pub(super) fn mark_of(&self, rollout: &Rollout) -> Option<&RolloutAnnotation> {
        self.noted.mark().filter(|mark| rollout.has_left(mark))
    }

    /// Whether it is at the new version by another rollout, or by one of the same name that was deleted, as its mark
    /// says.
    pub(super) fn is_moved_by_another(&self, rollout: &Rollout) -> bool {
        self.is_at(&rollout.to)
            && self.noted.mark().is_some_and(|mark| mark.rollout != rollout.uid && mark.to == rollout.to)
    }

    /// Why nothing can be noted on it, and what makes room for that; nothing where it can.
    pub(super) fn has_no_room(&self, rollout: &Rollout) -> Option<String> {
        self.noted.refuses(rollout, self.namespace(), &self.name)
    }

    /// Why nobody knows any more whether a rollout has moved it, where a text stands in the place of its mark.
    pub(super) fn has_lost_mark(&self, rollout: &Rollout) -> Option<String> {
        self.has_no_room(rollout).or_else(|| self.noted.is_emptied(rollout, self.namespace(), &self.name))
    }

    /// What stands where a hold does.
    pub(super) fn held_text(&self) -> Option<&str> {
        self.held.as_ref()?.mark.as_ref().map(|(text, _)| text.as_str())
    }

    /// The hold on it, as it was read, and by which rollout it is.
    pub(super) fn hold(&self) -> Option<(&str, &HoldMark)> {
        self.held.as_ref()?.hold()
    }

    /// The hold of a rollout on it, as it was read.
    pub(super) fn hold_of(&self, rollout: &Rollout) -> Option<&str> {
        self.held.as_ref()?.hold_of(rollout)
    }

    /// The version label that somebody has asked for while it was held.
    pub(super) fn wanted(&self) -> Option<&str> {
        self.held.as_ref()?.wanted.as_deref()
    }

    /// Whether somebody has let it go, who knew that it was held.
    pub(super) fn is_let_go(&self) -> bool {
        self.held_text() == Some(LET_GO)
    }

    /// Whether a rollout has held it, and has let it go.
    pub(super) fn is_released_by(&self, rollout: &Rollout) -> bool {
        let by = self.held_text().and_then(|text| text.strip_prefix(RELEASED));
        by.is_some_and(|uid| uid.trim_start() == rollout.uid)
    }

    /// The entries of a field manager now, where it has `managedFields`.
    pub(super) fn record_of(&self, manager: Option<&str>) -> Option<ManagerRecord> {
        Some(self.managers.as_ref()?.record(manager?))
    }

    /// Operations of a JSON Patch that fail unless the entries of a field manager are still these.
    pub(super) fn preconditions_of(&self, manager: Option<&str>) -> Vec<Value> {
        self.managers.as_ref().zip(manager).map(|(all, manager)| all.preconditions(manager)).unwrap_or_default()
    }

    /// Whether it is at the version that the rollout leads to.
    pub(super) fn is_at(&self, version: &str) -> bool {
        self.version.as_deref() == Some(version)
    }

    /// What objects of a wave are sorted by on their way forward.
    pub(super) fn place_forward(&self) -> (usize, (usize, &Option<String>, &str)) {
        (self.turn, self.place())
    }

    /// What objects of a wave are sorted by where nobody was told to go next.
    pub(super) fn place(&self) -> (usize, &Option<String>, &str) {
        (self.rank, &self.namespace, &self.name)
    }
}

/// The field managers of an object, where the StagedRollout waits for a write of one of them.
fn managers_of(object: &Value, rollout: &Rollout) -> Option<FieldManagers> {
    rollout.health.seen.as_ref()?;
    FieldManagers::of(object, &rollout.label, |manager| rollout.waits_for_manager(manager))
}

fn title(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Seconds that the old controller may take to end what it had begun when the label changed: one look at an object.
const UNDER_WAY: u64 = 10;

/// What the uid of what a wave runs begins with, as no other uid does. See [`super::InFlightObject`].
pub const OF_WAVE: &str = "wave:";

/// Where a value stands among those that were named. Others come behind all of them.
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
