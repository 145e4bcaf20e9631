//! An object in a wave of its workflow: the next step, and the single write that applies or reverts the step and
//! records it.

use super::writes::patch::ObjectPatch;
use crate::definition::workflows::{ObjectAction, StepDirection, StepPlace, WorkflowAct, WorkflowJob, WorkflowStep};
use crate::lookup::request::ResolvedLocation;
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::{ClockReading, rfc3339};
use crate::observe::observed_field::{FieldPatch, ObservedField};
use crate::observe::progress::{ObjectProgress, WaveProgress};
use crate::observe::rollout_annotation::{ANNOTATION, RecreatedFrom, RolloutAnnotation, SharedMetadata, short_hash};
use crate::observe::status::{InFlightObject, ObservedJob};
use crate::spec::rollout::Rollout;
use pointsman_core::apimachinery::excerpt;
use pointsman_core::definition::Path;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How completely an applied step has run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Completion {
    Whole,
    /// Unknown: counted as applied so that a rollback reverts the step.
    Unknown,
    /// Applied before a Job ran: a rollback has no effect to revert.
    ByHand,
}

/// An object in a wave of its workflow.
#[derive(Clone, Copy)]
pub(crate) struct StepContext<'a> {
    pub(crate) rollout: &'a Rollout,
    pub(crate) object: &'a FleetObject,
    pub(crate) object_progress: &'a ObjectProgress,
    pub(crate) wave_progress: &'a WaveProgress,
}

/// A Job whose state determines the next step.
pub(crate) struct WantedJob<'a> {
    /// `namespace/name`.
    pub(crate) title: String,
    pub(crate) job: &'a WorkflowJob,
    pub(crate) step: usize,
    pub(crate) name: String,
    /// True if the Job was observed before.
    pub(crate) is_known: bool,
}

impl<'a> StepContext<'a> {
    /// Context of an in-flight object.
    pub(crate) fn of(rollout: &'a Rollout, object: &'a FleetObject, in_flight_object: &InFlightObject) -> Option<Self> {
        let object_progress: &ObjectProgress = object.object_progress.as_deref()?;
        let wave = rollout.waves.iter().position(|wave| wave.name == in_flight_object.wave)?;
        Some(Self { rollout, object, object_progress, wave_progress: object_progress.under_way(wave)? })
    }

    /// The steps of the workflow.
    pub(crate) fn steps(self) -> &'a [WorkflowStep] {
        let workflow = self.rollout.waves.get(self.wave_progress.wave).and_then(|wave| wave.workflow.as_ref());
        workflow.map_or(&[], |workflow| workflow.steps.as_slice())
    }

    /// The name of a step.
    pub(crate) fn step_name(self, step: usize) -> &'a str {
        self.steps().get(step).map_or("", |step| step.name.as_str())
    }

    /// Actions on other objects in the current step and in an adjacent step that may be partially applied: the next
    /// step in a rollback, otherwise the last one. Each with its index.
    pub(crate) fn object_actions(self, back: bool) -> impl Iterator<Item = (usize, &'a ObjectAction)> {
        let done = self.wave_progress.done;
        let last = done.checked_sub(1);
        let places = if back { [Some(done), last] } else { [last, Some(done)] };
        places.into_iter().flatten().filter_map(move |at| {
            let act = &self.steps().get(at)?.object_step()?.act;
            // A deletion of other objects has no revert.
            let is_at_hand = if back { at < done } else { at == done };
            // The replacement must record that it was created from this object.
            let is_again = back && matches!(act, ObjectAction::DeleteSource) && self.is_again();
            (is_at_hand || is_again || (act.is_undone_by_writes() && !self.was_by_hand(at))).then_some((at, act))
        })
    }

    /// True if the current step creates the replacement of the object.
    pub(crate) fn may_be_made(self) -> bool {
        let step = self.steps().get(self.wave_progress.done).and_then(WorkflowStep::object_step);
        step.is_some_and(|step| matches!(step.act, ObjectAction::Convert))
    }

    /// The Job that applies the current step.
    pub(crate) fn job_ahead(self, in_flight_object: &InFlightObject) -> Option<ObservedJob> {
        let (step, it) = (self.wave_progress.done, self.steps().get(self.wave_progress.done)?);
        let WorkflowAct::Job { job, .. } = &it.act else { return None };
        let name =
            format!("{}/{}", job.namespace(), job_name(self.rollout, in_flight_object, &it.name, StepDirection::Done));
        Some(ObservedJob { name, step, back: false, lost: false })
    }

    /// True if the object was recreated from its replacement.
    pub(crate) fn is_again(self) -> bool {
        self.object.annotation_of(self.rollout).is_some_and(|mark| mark.again.is_some())
    }

    /// Annotation of the replacement, from which the object can be recreated: its content once the object is deleted.
    /// `None` if the workflow cannot be reverted.
    pub(crate) fn made_by(self) -> Option<String> {
        let workflow =
            self.rollout.waves.get(self.wave_progress.wave)?.workflow.as_ref().filter(|workflow| workflow.returns())?;
        let new = || {
            RolloutAnnotation::new(
                (&self.rollout.uid, &self.rollout.to),
                None,
                ClockReading { wall: 0, steady: Duration::ZERO },
            )
        };
        let mut mark = self.object.annotation_of(self.rollout).cloned().unwrap_or_else(new);
        mark.step.insert(self.wave().to_owned(), workflow.steps.len());
        mark.unknown_waves.retain(|wave| wave != self.wave());
        mark.open.retain(|wave| wave != self.wave());
        mark.again = None;
        mark.place = Some(self.object.title());
        serde_json::to_string(&mark).ok()
    }

    /// Annotation of the recreated object: its last step is reverted.
    pub(crate) fn recreated_annotation(
        self,
        target: &str,
        generation: Option<i64>,
        shared: SharedMetadata,
    ) -> Option<RolloutAnnotation> {
        let mut mark = self.object.annotation_of(self.rollout)?.clone();
        mark.step.insert(self.wave().to_owned(), self.wave_progress.done.saturating_sub(1));
        let (of, target) = (self.object.uid.clone(), target.to_owned());
        mark.again = Some(RecreatedFrom { of, target, generation, shared: Some(shared) });
        mark.place = None;
        Some(mark)
    }

    /// Fields written by steps, with the written values.
    pub(crate) fn left(self) -> Vec<(Path, Option<Value>)> {
        let fields = (0..self.wave_progress.done).flat_map(|step| self.fields(step));
        fields.map(|(field, value)| (field.clone(), value.as_ref().map(|value| self.filled(value)))).collect()
    }

    /// True if no status reply is needed, or the last step waits for it. A storage migration needs none: the object
    /// reads the same however it is stored.
    pub(crate) fn is_answered(self) -> bool {
        self.rollout.stores.is_some()
            || self.steps().last().is_some_and(|step| matches!(step.act, WorkflowAct::Wait { .. }))
    }

    /// The observed Job of the current step, in either direction.
    pub(crate) fn seen_job(self, in_flight_object: &InFlightObject) -> Option<&ObservedJob> {
        in_flight_object.job.as_ref().filter(|job| self.is_at(in_flight_object, job))
    }

    /// True if a Job belongs to the current step.
    pub(crate) fn is_at(self, in_flight_object: &InFlightObject, job: &ObservedJob) -> bool {
        job.step + usize::from(job.back) == self.wave_progress.done && !self.forgot_waves(in_flight_object)
    }

    /// True if the object lost the record of earlier waves after it was put in flight, before a step of this wave: its
    /// progress is unknown.
    fn forgot_waves(self, in_flight_object: &InFlightObject) -> bool {
        in_flight_object.marked && !self.object_progress.is_run && self.object.annotation_of(self.rollout).is_none()
    }

    /// True if a Job step counted as applied without a Job: the step has no effect to revert.
    pub(crate) fn was_by_hand(self, step: usize) -> bool {
        self.object.annotation_of(self.rollout).is_some_and(|mark| mark.kept.contains_key(&self.place(step)))
    }

    /// An observed Job that is missing from the object's annotation.
    pub(crate) fn lost_job(self, in_flight_object: &InFlightObject) -> Option<&ObservedJob> {
        in_flight_object.tried.as_ref().filter(|job| job.lost)
    }

    /// True if a Job of the current step was observed, in this attempt or the previous one.
    pub(crate) fn was_tried(self, in_flight_object: &InFlightObject, step: usize) -> bool {
        [&in_flight_object.job, &in_flight_object.tried].into_iter().flatten().any(|job| job.step == step)
    }

    /// True if the object has begun this wave.
    pub(crate) fn has_begun(self, in_flight_object: &InFlightObject) -> bool {
        let done = if in_flight_object.back {
            self.wave_progress.done < self.wave_progress.steps || self.wave_progress.half
        } else {
            self.wave_progress.done > 0
        };
        done || self.wave_progress.open
            || self.seen_job(in_flight_object).is_some()
            || self.half_tried(in_flight_object).is_some()
    }

    /// The Job of an earlier attempt at the next step, if no newer Job was observed: its effects are unknown.
    pub(crate) fn half_tried(self, in_flight_object: &InFlightObject) -> Option<&ObservedJob> {
        let is_next = |job: &&ObservedJob| !in_flight_object.back && !job.back && job.step == self.wave_progress.done;
        in_flight_object.tried.as_ref().filter(is_next).filter(|_| self.seen_job(in_flight_object).is_none())
    }

    /// The next step, and its index.
    pub(crate) fn next_step(self, in_flight_object: &InFlightObject) -> Option<(usize, &'a WorkflowStep)> {
        let at = match in_flight_object.back {
            true if self.wave_progress.done > self.wave_progress.floor => self.wave_progress.done.checked_sub(1)?,
            true => return None,
            false => self.wave_progress.done,
        };
        Some((at, self.steps().get(at)?))
    }

    /// The Job of the next step.
    pub(crate) fn wanted_job(self, in_flight_object: &InFlightObject) -> Option<WantedJob<'a>> {
        let (step, it) = self.next_step(in_flight_object)?;
        let WorkflowAct::Job { job, undo } = &it.act else { return None };
        let (job, way) =
            if in_flight_object.back { (undo.as_ref()?, StepDirection::Undone) } else { (job, StepDirection::Done) };
        if in_flight_object.back && self.was_by_hand(step) {
            return None;
        }
        let name = job_name(self.rollout, in_flight_object, &it.name, way);
        let known = self.seen_job(in_flight_object).filter(|seen| seen.back == in_flight_object.back);
        let title = known.map_or_else(|| format!("{}/{name}", job.namespace()), |seen| seen.name.clone());
        Some(WantedJob { title, job, step, name, is_known: known.is_some() })
    }

    /// True if the current step can be reverted and has effects to revert.
    pub(crate) fn can_revert(self, in_flight_object: &InFlightObject) -> bool {
        let is_begun = self.wave_progress.open || self.seen_job(in_flight_object).is_some();
        let is_held = |(_, step): (usize, &WorkflowStep)| step.irreversible.is_some() && is_begun;
        let floor = self.wave_progress.floor;
        !self.next_step(in_flight_object).is_some_and(is_held) && (self.wave_progress.done > floor || floor == 0)
    }

    /// Text that names the next step.
    pub(crate) fn step_label(self, in_flight_object: &InFlightObject) -> String {
        self.at_hand(in_flight_object).map_or_else(
            || "the end".to_owned(),
            |(step, way)| match way {
                StepDirection::Done => format!("step {}", step.name),
                StepDirection::Undone => format!("undoing step {}", step.name),
            },
        )
    }

    /// The current step and its direction, taken from the observed Job, which may be older than a change of direction.
    pub(crate) fn at_hand(self, in_flight_object: &InFlightObject) -> Option<(&'a WorkflowStep, StepDirection)> {
        let way = |back| if back { StepDirection::Undone } else { StepDirection::Done };
        match self.seen_job(in_flight_object) {
            Some(seen) => Some((self.steps().get(seen.step)?, way(seen.back))),
            None => self.next_step(in_flight_object).map(|(_, step)| (step, way(in_flight_object.back))),
        }
    }

    /// The patch that applies the next step, including its fields.
    pub(crate) fn forward(self, now: ClockReading, half: Completion) -> ObjectPatch {
        let (mut patch, mut mark) = (self.patch(), self.mark(now));
        let (step, place) = (self.wave_progress.done, self.place(self.wave_progress.done));
        for (field, value) in self.fields(step) {
            let Some(seen) = self.object_progress.fields.get(field) else { continue };
            let value = value.as_ref().map(|value| self.filled(value));
            patch.write(field, seen, value.as_ref());
            mark.kept.entry(place.clone()).or_default().insert(field.to_string(), seen.kept());
        }
        if half == Completion::ByHand {
            mark.kept.entry(place).or_default();
        }
        mark.step.insert(self.wave().to_owned(), step + 1);
        mark.open.retain(|wave| wave != self.wave());
        mark.unknown_waves.extend((half == Completion::Unknown).then(|| self.wave().to_owned()));
        self.written(patch, Some(mark))
    }

    /// True if the next step writes fields of the object.
    pub(crate) fn writes_next(&self) -> bool {
        !self.fields(self.wave_progress.done).is_empty()
    }

    /// The patch that reverts the last applied step and restores the previous field values.
    pub(crate) fn back(self, now: ClockReading) -> ObjectPatch {
        let mut patch = FieldPatch::new(&self.object.uid);
        let mut mark = self.mark(now);
        let step = self.wave_progress.done.saturating_sub(1);
        let kept = mark.kept.remove(&self.place(step)).unwrap_or_default();
        for (field, value) in self.fields(step).iter().rev() {
            let (Some(seen), Some(kept)) = (self.object_progress.fields.get(field), kept.get(&field.to_string()))
            else {
                continue;
            };
            let left = value.as_ref().map(|value| self.filled(value));
            patch.put_back(field, seen, left.as_ref(), kept);
        }
        self.stepped(patch, mark, step)
    }

    /// Message about a field that a step of the wave wrote and another client has changed.
    pub(crate) fn changed(self) -> Option<String> {
        let is_changed = |field: &Path, left: Option<&Value>| {
            self.object_progress
                .fields
                .get(field)
                .is_some_and(|seen| !seen.is(left))
                .then(|| changed_message(field, left))
        };
        self.last_left().iter().find_map(|(field, left)| is_changed(field, left.as_ref()))
    }

    /// Fields that steps of the wave wrote, with the last written values.
    fn last_left(self) -> BTreeMap<&'a Path, Option<Value>> {
        let mut left: BTreeMap<&Path, Option<Value>> = BTreeMap::new();
        for (field, value) in (0..self.wave_progress.done).flat_map(|step| self.fields(step)) {
            left.retain(|known, _| known.common(field) < known.len().min(field.len()));
            left.insert(field, value.as_ref().map(|value| self.filled(value)));
        }
        left
    }

    /// A patch for the next step. For an irreversible step, the patch has preconditions: fields still hold the values
    /// of earlier steps.
    fn patch(self) -> FieldPatch {
        let mut patch = FieldPatch::new(&self.object.uid);
        if self.steps().get(self.wave_progress.done).is_some_and(|step| step.irreversible.is_some()) {
            let left = self.last_left().into_keys();
            left.filter_map(|field| Some((field, self.object_progress.fields.get(field)?)))
                .for_each(|(field, seen)| patch.expects(field, seen));
        }
        patch
    }

    /// Message about a field of the last step that holds neither the written value nor the previous one.
    pub(crate) fn not_left(self) -> Option<String> {
        let step = self.wave_progress.done.checked_sub(1)?;
        let kept = self.object.annotation_of(self.rollout)?.kept.get(&self.place(step))?;
        self.fields(step).iter().find_map(|(field, value)| {
            let (seen, kept) = (self.object_progress.fields.get(field)?, kept.get(&field.to_string())?);
            let left = value.as_ref().map(|value| self.filled(value));
            (!seen.is(left.as_ref()) && !seen.is_again(kept)).then(|| changed_message(field, left.as_ref()))
        })
    }

    /// The patch that repeats the last step, which is applied partially at most. A rollback before that reverts the
    /// step first.
    pub(crate) fn again(self, now: ClockReading) -> ObjectPatch {
        let (patch, mut mark) = (FieldPatch::new(&self.object.uid), self.mark(now));
        mark.open.retain(|wave| wave != self.wave());
        mark.open.push(self.wave().to_owned());
        self.stepped(patch, mark, self.wave_progress.done.saturating_sub(1))
    }

    /// The patch that begins an irreversible next step: later rollbacks stop at this step.
    pub(crate) fn begins(self, now: ClockReading) -> ObjectPatch {
        let mut mark = self.mark(now);
        mark.open.push(self.wave().to_owned());
        self.written(self.patch(), Some(mark))
    }

    /// The patch that resets progress to `done` steps. The removed steps were waits.
    pub(crate) fn waits_again(self, now: ClockReading, done: usize) -> ObjectPatch {
        let mut mark = self.mark(now);
        (done..self.wave_progress.done).for_each(|step| drop(mark.kept.remove(&self.place(step))));
        self.stepped(FieldPatch::new(&self.object.uid), mark, done)
    }

    /// The patch that records the number of applied steps, none of them partial.
    fn stepped(self, patch: FieldPatch, mut mark: RolloutAnnotation, step: usize) -> ObjectPatch {
        mark.unknown_waves.retain(|wave| wave != self.wave());
        match step {
            0 => drop(mark.step.remove(self.wave())),
            step => drop(mark.step.insert(self.wave().to_owned(), step)),
        }
        let is_home = mark.step.is_empty() && mark.open.is_empty();
        self.written(patch, (!is_home).then_some(mark))
    }

    /// The patch that writes the rollout annotation, or removes the annotation if the object is in its original state.
    fn written(self, mut patch: FieldPatch, mark: Option<RolloutAnnotation>) -> ObjectPatch {
        let text = |mark: &RolloutAnnotation| json!(serde_json::to_string(mark).unwrap_or_default());
        let place = Path::default().join("metadata").join("annotations").join(ANNOTATION);
        let there = if self.object.has_annotations { 2 } else { 1 };
        let before = self.object.annotation_content.text().map(|text| json!(text));
        let seen = ObservedField::plain(before.clone(), if before.is_some() { 3 } else { there });
        patch.write(&place, &seen, mark.as_ref().map(text).as_ref());
        let FleetObject { namespace, name, uid, .. } = self.object;
        ObjectPatch { namespace: namespace.clone(), name: name.clone(), uid: uid.clone(), patch: patch.into_patch() }
    }

    /// The annotation of this rollout, with the current time.
    fn mark(self, now: ClockReading) -> RolloutAnnotation {
        match self.object.annotation_of(self.rollout) {
            Some(mark) => RolloutAnnotation { at: rfc3339(now.wall), ..mark.clone() },
            None => RolloutAnnotation::new((&self.rollout.uid, &self.rollout.to), None, now),
        }
    }

    /// The name of the wave.
    pub(crate) fn wave(&self) -> &str {
        self.rollout.waves.get(self.wave_progress.wave).map_or("", |wave| wave.name.as_str())
    }

    pub(crate) fn place(self, step: usize) -> String {
        format!("{}/{step}", self.wave())
    }

    /// The fields that a step writes.
    fn fields(self, step: usize) -> &'a [(Path, Option<Value>)] {
        let workflow = self.rollout.waves.get(self.wave_progress.wave).and_then(|wave| wave.workflow.as_ref());
        match workflow.and_then(|workflow| workflow.steps.get(step)).map(|step| &step.act) {
            Some(WorkflowAct::Set(fields)) => fields,
            _ => &[],
        }
    }

    /// Expands `{name}` and other placeholders in a text.
    pub(crate) fn filled_text(self, text: &str) -> String {
        let names = [
            ("{name}", self.object.name.as_str()),
            ("{namespace}", self.object.namespace.as_deref().unwrap_or_default()),
        ];
        names.iter().fold(self.rollout.filled(text), |text, (name, value)| text.replace(name, value))
    }

    /// The location of a step's objects, resolved for this object.
    pub(crate) fn place_of(self, place: &StepPlace) -> ResolvedLocation {
        ResolvedLocation::of(place, &|text| self.filled_text(text))
    }

    /// Expands `{name}` and other placeholders in every text of a value.
    pub(crate) fn filled(self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.filled_text(text)),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect())
            }
            other => other.clone(),
        }
    }
}

/// The message about a field that changed after a step wrote it.
fn changed_message(field: &Path, left: Option<&Value>) -> String {
    let left = left.map_or_else(|| "nothing".to_owned(), |left| excerpt(&left.to_string()));
    format!("{field} was changed by another client since the rollout set it to {left}")
}

/// The Job name of a step: deterministic, and different for each attempt.
pub(crate) fn job_name(rollout: &Rollout, in_flight_object: &InFlightObject, step: &str, way: StepDirection) -> String {
    let way = if way == StepDirection::Done { "done" } else { "undone" };
    let attempt = in_flight_object.attempt.to_string();
    let parts = [&rollout.uid, &in_flight_object.uid, &in_flight_object.wave, step, way, &attempt];
    let text: String = parts.iter().map(|part| format!("{part}\0")).collect();
    format!("pointsman-{}", short_hash(&text, DIGITS))
}

/// Bytes of the hash in a name: longer than hashes of Kubernetes, and far below the 63 characters of a label.
const DIGITS: usize = 10;
