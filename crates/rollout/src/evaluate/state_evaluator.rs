//! The state of an object in a rollout, derived from observation.

use std::collections::BTreeMap;
use std::time::Duration;

use super::object_state::{ObjectState, shown};
use super::step_evaluator::StepEvaluator;
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::{Deletion, FleetObject, Membership};
use crate::observe::moment::{ClockReading, rfc3339, wall};
use crate::observe::progress::ObjectProgress;
use crate::observe::status::{
    ANNOTATION_REMOVED, HELD, InFlightObject, JOB_FAILED, MANUAL_ACTION_REQUIRED, RolloutFailure, RolloutStatus,
    TIMED_OUT,
};
use crate::spec::rollout::Rollout;
use crate::steps::context::StepContext;
use crate::steps::objects::observed_object::held_by_finalizers;
use crate::steps::outcome::{PreflightFailure, StepChange, StepWrite};
use crate::steps::preflight::refused_ahead;
use crate::steps::waits::initial_wait;

/// Input for the state of all objects of a fleet.
#[derive(Clone, Copy)]
pub(crate) struct StateEvaluator<'a> {
    pub(crate) rollout: &'a Rollout,
    pub(crate) status: &'a RolloutStatus,
    pub(crate) facts: &'a PlanInput,
    /// For each source version, the refused upgrade to the new one, or `None` if allowed.
    pub(crate) refused_upgrades: &'a BTreeMap<&'a str, Option<String>>,
    pub(crate) now: ClockReading,
    /// True during an undo.
    pub(crate) back: bool,
}

impl<'a> StateEvaluator<'a> {
    /// The evaluation of workflow steps.
    pub(crate) fn steps(&self) -> StepEvaluator<'a> {
        let Self { rollout, status, facts, now, back, .. } = *self;
        StepEvaluator { rollout, status, facts, now, back }
    }

    /// The state of each object, in fleet order.
    pub(crate) fn object_states(&self, fleet: &[FleetObject]) -> Vec<ObjectState> {
        let reserved = self.status.in_flight_objects();
        fleet.iter().map(|object| self.object_state(object, reserved.get(object.uid()).copied())).collect()
    }

    /// The state of an object, with its in-flight entry if any.
    pub(crate) fn object_state(&self, object: &FleetObject, in_flight_object: Option<&InFlightObject>) -> ObjectState {
        if object.is_terminating {
            return in_flight_object
                .map_or(ObjectState::Deleted, |in_flight_object| self.terminating_state(object, in_flight_object));
        }
        let is_of_it = match object.belongs {
            Membership::Chosen => true,
            Membership::Held => false,
            Membership::UnderWay => in_flight_object.is_some(),
        };
        if !is_of_it {
            return ObjectState::Outside;
        }
        if let Some(why) = self.contested(object) {
            return ObjectState::Failed(why);
        }
        if let Some(object_progress) = &object.object_progress {
            let context = in_flight_object.and_then(|one| Some((StepContext::of(self.rollout, object, one)?, one)));
            return match context {
                Some((context, in_flight_object)) => self.on_the_way(context, in_flight_object),
                None => self.at_rest(object, object_progress),
            };
        }
        if let Some(in_flight_object) = in_flight_object
            && !self.was_reset(object, in_flight_object)
        {
            return self.under_way(object, in_flight_object);
        }
        let marked = object.annotation_of(self.rollout);
        if object.is_at(&self.rollout.to) {
            let to_revert = self.back && marked.is_some();
            let answer = to_revert.then(|| self.answered(object)).flatten();
            // Unknown whether the rollout moved the object.
            let lost = self.back.then(|| object.lost_annotation(self.rollout)).flatten().map(ObjectState::Refused);
            return answer.or(lost).unwrap_or(ObjectState::New);
        }
        if marked.is_some() {
            // The annotation exists, and the label contradicts.
            return ObjectState::Held(
                object.owner.clone().unwrap_or_else(|| "a client that reverted the label".to_owned()),
            );
        }
        self.of_old(object)
    }

    /// The state of an object that is not at the new version and was never moved.
    fn of_old(&self, object: &FleetObject) -> ObjectState {
        if self.rollout.from.is_some() && object.version != self.rollout.from {
            return ObjectState::Outside;
        }
        if let Some(failure) = self.status.failure(&object.uid) {
            return ObjectState::Failed(failure.message.clone());
        }
        if self.back {
            return ObjectState::Old;
        }
        // Another client that requests the new version of a held object causes no conflict.
        let is_requested = object.hold().is_some() && object.wanted() == Some(&self.rollout.to);
        let is_in_the_way = !self.rollout.take_over && !is_requested;
        if let Some(owner) = object.owner.as_ref().filter(|_| is_in_the_way) {
            return ObjectState::Held(owner.clone());
        }
        if let Some(object_state) = self.steps().in_the_way(object) {
            return object_state;
        }
        let hop = object.version.as_deref().filter(|_| !object.opts_out);
        if let Some(why) = hop.and_then(|version| self.refused_upgrades.get(version)?.as_ref()) {
            return ObjectState::Refused(why.clone());
        }
        self.answered(object).unwrap_or(ObjectState::Old)
    }

    pub(crate) fn answered(&self, object: &FleetObject) -> Option<ObjectState> {
        let answer = self.facts.runner_cache.answer(&object.uid)?;
        let why = answer.message.clone();
        Some(if answer.passes { ObjectState::Waiting(why) } else { ObjectState::Refused(why) })
    }

    /// True if another client has reset the move of an in-flight object.
    pub(crate) fn was_reset(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        object.object_progress.is_none()
            && !in_flight_object.back
            && object.annotation_of(self.rollout).is_some()
            && !object.is_at(&self.rollout.to)
    }

    /// True if, before its move, another client set an object to a version outside of the rollout.
    fn was_taken_elsewhere(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        let is_of_it = self.rollout.from.is_none() || object.version == self.rollout.from;
        object.object_progress.is_none() && !in_flight_object.back && !is_of_it && !object.is_at(&self.rollout.to)
    }

    /// True if another client or rollout took the object before its move.
    pub(crate) fn was_taken(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        self.was_taken_elsewhere(object, in_flight_object) || self.was_taken_meanwhile(object, in_flight_object)
    }

    /// True if a rollback has no move to revert: the rollout holds the object, and no annotation records a move,
    /// whichever client set its label.
    pub(crate) fn was_never_moved(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        let is_held = object.hold_of(self.rollout).is_some();
        object.object_progress.is_none()
            && in_flight_object.back
            && is_held
            && object.annotation_of(self.rollout).is_none()
    }

    /// True if the obstacle appeared before the move.
    fn was_taken_meanwhile(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        let is_moved = object.is_at(&self.rollout.to);
        object.object_progress.is_none()
            && !in_flight_object.back
            && !is_moved
            && self.steps().in_the_way(object).is_some()
    }

    /// True if the move of an in-flight object is observed.
    pub(crate) fn is_move_observed(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        if let Some(context) = StepContext::of(self.rollout, object, in_flight_object) {
            return self.steps().has_arrived(context, in_flight_object);
        }
        let is_moved = object.is_at(&self.rollout.to);
        // An object held by the rollout is not moved yet, with any label.
        let is_held = object.hold_of(self.rollout).is_some();
        if in_flight_object.back {
            !(is_held || is_moved && object.annotation_of(self.rollout).is_some())
        } else {
            is_moved
        }
    }

    /// The state of an in-flight object.
    pub(crate) fn under_way(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> ObjectState {
        if !self.is_move_observed(object, in_flight_object) {
            return match self.status.failure(&object.uid) {
                Some(failure) => ObjectState::Failed(failure.message.clone()),
                None => ObjectState::Reserved,
            };
        }
        let moved = self.moved(object).or_else(|| wall(&in_flight_object.since));
        self.after_landing(object, in_flight_object, moved.unwrap_or(self.now.wall).max(self.status.resumed_at()))
    }

    /// The time of the move in the annotation. A time beyond the timeout from now is invalid; then the start of the
    /// in-flight entry counts.
    fn moved(&self, object: &FleetObject) -> Option<u64> {
        let latest = self.now.wall.saturating_add(self.rollout.timeout.as_secs());
        object.annotation_of(self.rollout)?.moved().filter(|moved| *moved <= latest)
    }

    /// The state of an object after its last write at `since`: it must be healthy for long enough.
    pub(crate) fn after_landing(
        &self,
        object: &FleetObject,
        in_flight_object: &InFlightObject,
        since: u64,
    ) -> ObjectState {
        let Some(gate) = self.closed_gate(object, in_flight_object) else {
            let healthy = self.facts.runner_cache.healthy.get(&object.uid);
            let lasted = healthy.map_or(Duration::ZERO, |since| self.now.steady.saturating_sub(*since));
            if lasted < self.settle(object, in_flight_object) {
                return ObjectState::Settling;
            }
            let is_new =
                if object.object_progress.is_some() { !in_flight_object.back } else { object.is_at(&self.rollout.to) };
            return if is_new { ObjectState::New } else { ObjectState::Old };
        };
        let lasted = self.now.wall.saturating_sub(since);
        if lasted > self.rollout.timeout.as_secs() {
            return ObjectState::Failed(format!("not healthy within {}: {gate}", shown(self.rollout.timeout)));
        }
        ObjectState::Moving(gate)
    }

    /// The required time of health. If no status reply to the last step is awaited, earlier health may still be
    /// reported.
    fn settle(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> Duration {
        let settle = self.rollout.health.settle;
        let Some(context) = StepContext::of(self.rollout, object, in_flight_object) else { return settle };
        if context.is_answered() && !in_flight_object.back { settle } else { settle.max(UNANSWERED) }
    }

    /// The message about an old controller that wrote the object after the move and after the last resume.
    pub(crate) fn contested(&self, object: &FleetObject) -> Option<String> {
        if self.back || !object.is_at(&self.rollout.to) {
            return None;
        }
        let (manager, at) = object.contested.as_ref().filter(|(_, at)| *at > self.status.resumed_at())?;
        Some(format!(
            "two controllers: {manager} wrote to the object at {}, after its move to {}",
            rfc3339(*at),
            self.rollout.to
        ))
    }

    /// The failing condition of a moved object. Health from before the move does not count.
    pub(crate) fn closed_gate(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> Option<String> {
        if let Some(closed_gate) = &self.facts.closed_gate {
            return Some(closed_gate.clone());
        }
        match self.awaited_manager(object, in_flight_object) {
            Some(manager) => Some(format!("{manager} has not written to the object since the move")),
            None => object.unhealthy.clone(),
        }
    }

    /// The field manager whose write after the move is missing. Compares with a record if the recorded write also set
    /// the label, otherwise compares times.
    fn awaited_manager(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> Option<&str> {
        let manager = self.manager_ahead(object, in_flight_object)?;
        let Some(managers) = &object.managers else { return Some(manager) };
        let mark = object.annotation_of(self.rollout);
        let record = match in_flight_object.back {
            true => in_flight_object.writes.as_ref().filter(|_| mark.is_none()),
            false => mark.and_then(|mark| mark.writes.as_ref()).filter(|_| managers.is_label_of_rollout()),
        };
        let has_written = match record.filter(|record| record.is_of(manager)) {
            Some(record) => managers.has_written_since(record),
            None => managers.wrote_after_label(manager),
        };
        (!has_written).then_some(manager)
    }

    /// The field manager of the object's target version, if a write is awaited. An object set to another version by
    /// another client belongs to the controller of that version.
    pub(crate) fn manager_ahead(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> Option<&str> {
        if object.object_progress.is_some() {
            return None;
        }
        let mark = object.annotation_of(self.rollout).filter(|_| object.is_at(&self.rollout.to));
        let home = || mark.map_or(object.version.as_deref(), |mark| mark.was.as_deref());
        self.rollout.seen_manager(if in_flight_object.back { home() } else { Some(&self.rollout.to) })
    }
}

/// Time during which reported health may predate the last step.
const UNANSWERED: Duration = Duration::from_secs(60);

/// Objects on workflows.
impl StateEvaluator<'_> {
    /// The state of an object on a workflow that is not in flight.
    pub(crate) fn at_rest(&self, object: &FleetObject, object_progress: &ObjectProgress) -> ObjectState {
        // An object with restored annotation continues.
        let continues =
            |known: &RolloutFailure| known.reason == ANNOTATION_REMOVED && object.annotation_of(self.rollout).is_some();
        if let Some(failure) = self.status.failure(&object.uid).filter(|known| !continues(known)) {
            return ObjectState::Failed(failure.message.clone());
        }
        if let Some(why) = self.made_again(object) {
            return ObjectState::Refused(why);
        }
        if self.back {
            return match (object_progress.back(), object_progress.has_begun()) {
                (Some(_), _) => self.answered_step(object).unwrap_or(ObjectState::New),
                (None, true) => ObjectState::New,
                // An operator has checked its current state.
                (None, false) if self.status.is_left(&object.uid) => ObjectState::Old,
                (None, false) => object.lost_annotation(self.rollout).map_or(ObjectState::Old, ObjectState::Refused),
            };
        }
        if let Some(why) = object_progress.refused.as_ref().filter(|_| !object_progress.has_begun()) {
            return ObjectState::Refused(why.clone());
        }
        if let Some(object_state) =
            self.ahead(object, object_progress).or_else(|| self.leading(object, object_progress))
        {
            return object_state;
        }
        match object_progress.forward() {
            Some(_) => {
                let in_the_way = || self.steps().in_the_way(object);
                self.held(object_progress)
                    .or_else(in_the_way)
                    .or_else(|| self.answered_step(object))
                    .unwrap_or(ObjectState::Old)
            }
            None if object_progress.has_begun() => ObjectState::New,
            None => ObjectState::Outside,
        }
    }

    /// The manager that would create the replacement again after its deletion.
    fn made_again(&self, object: &FleetObject) -> Option<String> {
        let manager = object.git.as_ref().filter(|_| object.replacement_uid.is_some() && !self.rollout.take_over)?;
        let target = &self.rollout.pair.as_ref()?.target.resource;
        Some(format!(
            "{manager} applies its {target}, and would recreate the object after the deletion: remove the \
                 object from Git, and keep it in the cluster; if Git does not apply the object any more, set \
                 takeOver: true in the StagedRollout"
        ))
    }

    /// The preflight result, if preflight lookups cover every object.
    fn ahead(&self, object: &FleetObject, object_progress: &ObjectProgress) -> Option<ObjectState> {
        if !self.facts.ahead || object_progress.has_begun() {
            return None;
        }
        let context =
            StepContext { rollout: self.rollout, object, object_progress, wave_progress: object_progress.forward()? };
        Some(match refused_ahead(context, &self.facts.answers, &[])? {
            PreflightFailure::Refused(why) => ObjectState::Refused(why),
            PreflightFailure::Waits(why) => ObjectState::Waiting(why),
        })
    }

    /// The condition for which it waits at the start of its workflow: it has not begun, and uses no budget.
    fn leading(&self, object: &FleetObject, object_progress: &ObjectProgress) -> Option<ObjectState> {
        // Later waves have no lookups.
        let wave_progress = object_progress
            .forward()
            .filter(|wave_progress| self.facts.ahead || wave_progress.wave <= self.status.wave_of(self.rollout))?;
        let context = StepContext { rollout: self.rollout, object, object_progress, wave_progress };
        initial_wait(context, &self.facts.answers).map(ObjectState::Waiting)
    }

    /// The earlier workflow that must be applied first.
    fn held(&self, object_progress: &ObjectProgress) -> Option<ObjectState> {
        let (wave_progress, why) = object_progress.held()?;
        let wave = self.rollout.waves.get(wave_progress.wave).map_or("", |wave| wave.name.as_str());
        let why = format!("must first take part in wave {wave}, whose workflow skips the object for now: {why}");
        Some(ObjectState::Waiting(why))
    }

    /// A refusal that is not due for a retry.
    fn answered_step(&self, object: &FleetObject) -> Option<ObjectState> {
        if self.facts.runner_cache.is_due(&object.uid, self.now) {
            return None;
        }
        self.answered(object)
    }

    /// The failure of an object in flight on its workflow: reason and message.
    pub(crate) fn failed(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
    ) -> Option<(&'static str, String)> {
        if context.object.is_terminating {
            let late = self.overdue_deletion(context.object, in_flight_object);
            return late.map(|why| (TIMED_OUT, why));
        }
        let late = || match self.on_the_way(context, in_flight_object) {
            ObjectState::Failed(why) if self.is_move_observed(context.object, in_flight_object) => {
                Some((TIMED_OUT, why))
            }
            _ => None,
        };
        self.trouble(context, in_flight_object).or_else(late)
    }

    /// The timeout of the current step.
    fn timeout(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> Duration {
        let own = context.at_hand(in_flight_object).and_then(|(step, way)| step.timeout(way));
        own.unwrap_or(self.rollout.timeout)
    }

    /// The state of an object in flight on its workflow.
    pub(crate) fn on_the_way(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> ObjectState {
        let object = context.object;
        if let Some((_, why)) = self.trouble(context, in_flight_object) {
            return ObjectState::Failed(why);
        }
        if self.steps().has_arrived(context, in_flight_object) {
            if !context.object_progress.is_run {
                return self.after_landing(object, in_flight_object, self.since(object, in_flight_object));
            }
            return if in_flight_object.back { ObjectState::Old } else { ObjectState::New };
        }
        match self.status.failure(&object.uid).filter(|_| in_flight_object.back) {
            Some(failure) => ObjectState::Failed(failure.message.clone()),
            None if self.steps().has_begun(context, in_flight_object) => {
                ObjectState::Moving(self.waits(context, in_flight_object))
            }
            None => ObjectState::Reserved,
        }
    }

    /// The problem of an in-flight object: reason and message.
    pub(crate) fn trouble(
        &self,
        context: StepContext<'_>,
        in_flight_object: &InFlightObject,
    ) -> Option<(&'static str, String)> {
        let place = context.step_label(in_flight_object);
        let runner_cache = &self.facts.runner_cache;
        let timeout = self.timeout(context, in_flight_object);
        let not_done = |why: &str| format!("{place}: not done within {}: {why}", shown(timeout));
        let (why, reason) = match self.steps().stepping(context, in_flight_object) {
            StepChange::Fails(why) => return Some((JOB_FAILED, format!("{place}: {why}"))),
            StepChange::Held(why) => return Some((HELD, format!("{place}: {why}"))),
            StepChange::Stuck(why) => return Some((MANUAL_ACTION_REQUIRED, format!("{place}: {why}"))),
            StepChange::Landed | StepChange::Away(_) => return None,
            StepChange::Waits { why, spent } => (why, if spent { JOB_FAILED } else { TIMED_OUT }),
            StepChange::Next(write) => match runner_cache.answer(&context.object.uid) {
                Some(answer) => (answer.message.clone(), TIMED_OUT),
                None => {
                    let step = self.step_tried(context, in_flight_object);
                    let since = runner_cache.trying_since(&context.object.uid, &step)?;
                    let is_late = self.now.steady.saturating_sub(since) > timeout;
                    let failure = runner_cache.failure(&context.object.uid);
                    let why = || failure.map_or_else(|| never_lands(&write), str::to_owned);
                    return is_late.then(|| (TIMED_OUT, not_done(&why())));
                }
            },
        };
        let is_begun = self.steps().has_begun(context, in_flight_object) || in_flight_object.back;
        let since = self.since(context.object, in_flight_object);
        let lasted = Duration::from_secs(self.now.wall.saturating_sub(since));
        let is_refused = !is_begun && runner_cache.answer(&context.object.uid).is_some();
        (lasted > timeout && !is_refused).then(|| (reason, not_done(&why)))
    }

    /// The key of a write attempt: changes when the object advances, changes direction, or the rollout is resumed.
    pub(crate) fn step_tried(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> String {
        let (place, resumed) = (context.place(context.wave_progress.done), self.status.resumed_at());
        format!("{place} {} {resumed}", in_flight_object.back)
    }

    /// The start time of the current step.
    pub(crate) fn since(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> u64 {
        let marked = self.moved(object);
        let reserved = wall(&in_flight_object.since).or(marked).unwrap_or(self.now.wall);
        marked.unwrap_or(reserved).max(reserved).max(self.status.resumed_at())
    }

    /// The message about an object on a step.
    pub(crate) fn waits(&self, context: StepContext<'_>, in_flight_object: &InFlightObject) -> String {
        let place = context.step_label(in_flight_object);
        let refused = self.facts.runner_cache.answer(&context.object.uid).map(|answer| answer.message.clone());
        match (self.steps().stepping(context, in_flight_object), refused) {
            (
                StepChange::Waits { why, .. }
                | StepChange::Away(why)
                | StepChange::Fails(why)
                | StepChange::Held(why)
                | StepChange::Stuck(why),
                _,
            ) => format!("{place}: {why}"),
            (StepChange::Next(_), Some(refused)) => format!("{place}: {refused}"),
            (StepChange::Next(_) | StepChange::Landed, _) => place,
        }
    }
}

/// Objects deleted by another client while in flight, and kept by a finalizer: they remain written, and use the budget
/// until they are deleted.
impl StateEvaluator<'_> {
    /// The state of a terminating in-flight object. Without writes, or once complete, it counts as deleted.
    pub(crate) fn terminating_state(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> ObjectState {
        // A converted object is deleted by its last step, which reports about it.
        if self.rollout.pair.is_some() || !self.was_written(object, in_flight_object) {
            return ObjectState::Deleted;
        }
        let object_state = match StepContext::of(self.rollout, object, in_flight_object) {
            Some(context) if self.steps().has_arrived(context, in_flight_object) => {
                self.on_the_way(context, in_flight_object)
            }
            None if object.object_progress.is_none() => self.under_way(object, in_flight_object),
            _ => ObjectState::Reserved,
        };
        match object_state {
            ObjectState::New | ObjectState::Old => ObjectState::Deleted,
            ObjectState::Settling => ObjectState::Settling,
            _ => match self.overdue_deletion(object, in_flight_object) {
                Some(why) => ObjectState::Failed(why),
                None => ObjectState::Moving(format!("is terminating: {}", held_by(object))),
            },
        }
    }

    /// True if a terminating object was changed, or may be, by the rollout.
    fn was_written(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> bool {
        if object.object_progress.is_some() {
            let context = StepContext::of(self.rollout, object, in_flight_object);
            return context
                .is_some_and(|context| in_flight_object.back || self.steps().has_begun(context, in_flight_object));
        }
        let is_undo = in_flight_object.back && !self.was_never_moved(object, in_flight_object);
        is_undo || self.is_move_observed(object, in_flight_object)
    }

    /// The failure of an object that is terminating for too long.
    fn overdue_deletion(&self, object: &FleetObject, in_flight_object: &InFlightObject) -> Option<String> {
        let since = object.deletion.as_ref()?.since.max(wall(&in_flight_object.since).unwrap_or_default());
        let context = StepContext::of(self.rollout, object, in_flight_object);
        let timeout = context.map_or(self.rollout.timeout, |context| self.timeout(context, in_flight_object));
        let lasted = Duration::from_secs(self.now.wall.saturating_sub(since.max(self.status.resumed_at())));
        let late = || format!("is still terminating after {}: {}", shown(timeout), held_by(object));
        (lasted > timeout).then(late)
    }
}

/// The finalizers of a terminating object.
fn held_by(object: &FleetObject) -> String {
    match object.deletion.as_deref() {
        Some(Deletion { finalizers, .. }) if !finalizers.is_empty() => held_by_finalizers(&finalizers.join(", ")),
        _ => "the reason is unknown".to_owned(),
    }
}

/// The message about a write that conflicts continuously.
fn never_lands(write: &StepWrite) -> String {
    let what = match write {
        StepWrite::Object(one) => one.title(),
        _ => "it".to_owned(),
    };
    format!("another client writes {what} continuously: stop that client, then resume the rollout")
}
