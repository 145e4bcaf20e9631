//! The summary of a rollout: phase, reason, message and counts.

use super::fleet_view::{FleetView, state};
use super::object_state::ObjectState;
use crate::observe::conditions::REQUESTED;
use crate::observe::fleet_object::FleetObject;
use crate::observe::status::{API_ERROR, BlockedObject, ROLLED_BACK, RolloutPhase, RolloutStatus, WaveCounts};
use crate::spec::rollout::{Direction, Rollout};

/// Blocking conditions outside the status.
#[derive(Default)]
pub(crate) struct Blockers {
    /// Blocks every write.
    pub(crate) trouble: Option<String>,
    /// Blocks every move; other writes continue.
    pub(crate) closed_gate: Option<String>,
    /// The pending gate of a complete or unstarted wave.
    pub(crate) waits: Option<PendingGate>,
    /// The refused write of the first blocked in-flight object.
    pub(crate) refused: Option<String>,
}

/// A pending gate between waves.
#[derive(Clone, Debug)]
pub(crate) struct PendingGate {
    /// Reason, as one word, if any.
    pub(crate) reason: Option<&'static str>,
    /// Message.
    pub(crate) what: String,
}

/// The status with counts and message.
pub(crate) fn described(view: &FleetView<'_, '_>, in_the_way: &Blockers, pending_state: Option<&str>) -> RolloutStatus {
    let (at, waves) = (view.wave_at(), view.waves());
    let status = RolloutStatus { counts: view.counts(), blocked: view.blocked(), ..view.status.clone() };
    if status.started.is_none() {
        return RolloutStatus { waves, ..status };
    }
    let (phase, reason, message) = match over(view, &status) {
        Some(message) => (status.phase, status.reason.clone(), message),
        None => words(view.rollout, &status, waves.get(at), in_the_way),
    };
    let status = RolloutStatus { phase, reason, message, waves, ..status };
    RolloutStatus { state: state(view.rollout, &status, at, pending_state), ..status }
}

/// The message of a finished rollout.
fn over(view: &FleetView<'_, '_>, status: &RolloutStatus) -> Option<String> {
    let at = format!("{} at {}", counted(status.counts.updated), view.rollout.to);
    match (status.phase, status.reason.as_deref()) {
        (RolloutPhase::Complete, _) => Some(at),
        (RolloutPhase::Failed, _) => {
            let failed = status.counts.failed;
            Some(format!("{at}; reverted because of a failure: {failed}{}", lost_annotations(status)))
        }
        (RolloutPhase::Aborted, Some(ROLLED_BACK)) => {
            let stay = match status.counts.updated {
                new if view.rollout.has_workflows() && new > 0 => Some(format!("a step of {}", counted(new))),
                _ => status.completed_run_waves.first().map(|wave| format!("the run of wave {wave}")),
            };
            let result = match stay {
                Some(stay) => format!("undone as far as possible: {stay} cannot be undone"),
                None => taken_back(view),
            };
            Some(result + &lost_annotations(status) + &lost(status) + &of_another(view))
        }
        (RolloutPhase::Aborted, _) => Some(format!("stopped: {at}, {}", stopped(view))),
        _ => None,
    }
}

/// Result of an undo, for objects with the rollout annotation. The rollout keeps labels that another client set.
fn taken_back(view: &FleetView<'_, '_>) -> String {
    let is_another = |(object, object_state): &(&FleetObject, &ObjectState)| {
        let was = object.annotation_of(view.rollout).map(|mark| mark.was.as_deref());
        matches!(object_state, ObjectState::Held(_)) && was.is_some_and(|was| was != object.version())
    };
    let set: Vec<String> = view.all().filter(is_another).map(|(object, _)| object.title()).collect();
    if set.is_empty() {
        return "every object with a rollout annotation has its earlier version".to_owned();
    }
    format!(
        "every object with a rollout annotation has its earlier version, except {}, which another client has \
             since moved: {}. pointsman rollout objects lists the versions",
        counted(set.len()),
        some(&set)
    )
}

/// Objects at the new version that another rollout moved, or a deleted one of the same name. Their annotations do not
/// concern this rollout.
fn of_another(view: &FleetView<'_, '_>) -> String {
    let is_its = |object: &&FleetObject| object.object_progress.is_none() && object.is_moved_by_another(view.rollout);
    let all: Vec<String> = view.fleet.iter().filter(is_its).map(FleetObject::title).collect();
    if all.is_empty() {
        return String::new();
    }
    let (to, names) = (&view.rollout.to, some(&all));
    format!(
        "; left at {to}, because the annotations name another or a deleted StagedRollout: {names}. To move these \
             objects, create a StagedRollout from {to}"
    )
}

/// Objects that an aborted rollout has not moved, and objects left partially applied.
fn stopped(view: &FleetView<'_, '_>) -> String {
    let is_left = |object: &FleetObject| {
        object.object_progress.as_ref().is_some_and(|object_progress| object_progress.is_half_way())
            || object.lost_annotation(view.rollout).is_some()
            || view.status.lost().any(|lost| lost.uid == object.uid)
    };
    let is_before = |(object, object_state): &(&FleetObject, &ObjectState)| match object_state {
        ObjectState::Old => !is_left(object) && !object.is_run(),
        // Reverted, or never moved.
        ObjectState::Failed(_) | ObjectState::Waiting(_) | ObjectState::Refused(_) => {
            !is_left(object) && object.object_progress.as_ref().is_some_and(|object_progress| object_progress.is_home())
        }
        _ => false,
    };
    let before = format!("and {} at their earlier version", view.all().filter(is_before).count());
    let left: Vec<String> = view.fleet.iter().filter(|object| is_left(object)).map(FleetObject::title).collect();
    if left.is_empty() {
        return before;
    }
    format!("{before}; changed in part and not undone: {}", some(&left))
}

/// Objects with Job effects that are not reverted.
fn lost_annotations(status: &RolloutStatus) -> String {
    let Some(first) = status.lost().next() else { return String::new() };
    let names: Vec<String> = status.lost().map(|lost| lost.object.clone()).collect();
    format!("; left unchanged: {}. {}: {}", some(&names), first.object, first.message)
}

/// Objects left unchanged because their move state is unknown.
fn lost(status: &RolloutStatus) -> String {
    if !status.leaves_objects() {
        return String::new();
    }
    let is_lost = |unmoved: &&BlockedObject| unmoved.state != "Held";
    let names: Vec<String> = status.blocked.iter().filter(is_lost).map(|unmoved| unmoved.object.clone()).collect();
    let Some(first) = status.blocked.iter().find(is_lost) else { return String::new() };
    let (of, what) = (counted(status.counts.refused), format!("{}: {}", first.object, first.message));
    if status.counts.refused == 1 {
        return format!("; cannot tell whether {of} was moved, so the object is left unchanged: {what}");
    }
    let names = some(&names);
    format!("; cannot tell whether {of} were moved, so these objects are left unchanged: {names}. {what}")
}

fn words(
    rollout: &Rollout,
    status: &RolloutStatus,
    wave: Option<&WaveCounts>,
    in_the_way: &Blockers,
) -> (RolloutPhase, Option<String>, String) {
    if let Some(halt) = &status.halted {
        return (RolloutPhase::Paused, Some(halt.reason.clone()), halt.message.clone());
    }
    if rollout.paused {
        return (
            RolloutPhase::Paused,
            Some(REQUESTED.to_owned()),
            "paused by spec.paused: run pointsman rollout resume".to_owned(),
        );
    }
    if let Some(trouble) = &in_the_way.trouble {
        return (RolloutPhase::Waiting, Some(API_ERROR.to_owned()), trouble.clone());
    }
    let place = match (status.direction, wave) {
        (Direction::Forward, Some(wave)) => format!("{} {}/{}", wave.name, wave.done, wave.total),
        (Direction::Undo, _) => format!("undoing, {} left", status.counts.updated),
        _ => "stopping".to_owned(),
    };
    if let Some(closed_gate) = &in_the_way.closed_gate {
        return (RolloutPhase::Waiting, Some("PreconditionsNotMet".to_owned()), format!("{place}, {closed_gate}"));
    }
    if let Some(waits) = &in_the_way.waits {
        let reason = waits.reason.map(str::to_owned);
        return (RolloutPhase::Waiting, reason, format!("{place}, {}", waits.what));
    }
    match status.blocked.iter().find(|unmoved| unmoved.state != "Held") {
        Some(first) if status.in_flight.is_empty() => {
            let refused = counted(status.counts.refused);
            let message = format!("{place}, {refused} cannot be moved: {}: {}", first.object, first.message);
            (RolloutPhase::Waiting, Some("Refused".to_owned()), message)
        }
        _ => {
            let refused = in_the_way.refused.as_ref().map(|refused| format!("; {refused}")).unwrap_or_default();
            (RolloutPhase::Rolling, None, format!("{place}, {} in flight{refused}", status.in_flight.len()))
        }
    }
}

/// The first names, and the number of the rest.
pub(crate) fn some(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn counted(objects: usize) -> String {
    if objects == 1 { "1 object".to_owned() } else { format!("{objects} objects") }
}

/// Number of names in a message.
const SHOWN: usize = 5;
