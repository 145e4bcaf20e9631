//! What a roll says of itself: a phase, a reason, a sentence, and counts.

use super::fleet_object::FleetObject;
use super::fleet_roll::{Direction, FleetRoll};
use super::fleet_view::FleetView;
use super::object_state::Standing;
use super::states::state;
use super::status::{RollPhase, RollStatus, TAKEN_BACK, TROUBLE, Unmoved, WaveCounts};

/// What is in the way, beside what the status says.
#[derive(Default)]
pub(super) struct InTheWay {
    /// Of every write.
    pub(super) trouble: Option<String>,
    /// Of every move, though others may write.
    pub(super) shut: Option<String>,
    /// What a wave waits for that is through, or has not begun.
    pub(super) waits: Option<WaitsFor>,
    /// Of the first object that is under way and does not get on, since somebody says no.
    pub(super) refused: Option<String>,
}

/// What is waited for between waves.
#[derive(Clone, Debug)]
pub(super) struct WaitsFor {
    /// In a word, where there is one.
    pub(super) reason: Option<&'static str>,
    /// In words.
    pub(super) what: String,
}

/// The status with its counts, and in words.
pub(super) fn described(view: &FleetView<'_, '_>, in_the_way: &InTheWay, told: Option<&str>) -> RollStatus {
    let (at, waves) = (view.wave_at(), view.waves());
    let status = RollStatus { counts: view.counts(), unmoved: view.unmoved(), ..view.status.clone() };
    if status.started.is_none() {
        return RollStatus { waves, ..status };
    }
    let (phase, reason, message) = match over(view, &status) {
        Some(message) => (status.phase, status.reason.clone(), message),
        None => words(view.roll, &status, waves.get(at), in_the_way),
    };
    let status = RollStatus { phase, reason, message, waves, ..status };
    RollStatus { state: state(view.roll, &status, at, told), ..status }
}

/// Of one that is over.
fn over(view: &FleetView<'_, '_>, status: &RollStatus) -> Option<String> {
    let at = format!("{} at {}", counted(status.counts.new), view.roll.to);
    match (status.phase, status.reason.as_deref()) {
        (RollPhase::Complete, _) => Some(at),
        (RollPhase::Failed, _) => {
            let failed = status.counts.failed;
            Some(format!("{at}; taken back because they failed: {failed}{}", marks_lost(status)))
        }
        (RollPhase::Aborted, Some(TAKEN_BACK)) => {
            let stay = match status.counts.new {
                new if view.roll.has_journeys() && new > 0 => Some(format!("a step of {}", counted(new))),
                _ => status.ran.first().map(|wave| format!("what wave {wave} has run")),
            };
            let told = match stay {
                Some(stay) => format!("taken back as far as it goes: {stay} cannot be undone"),
                None => taken_back(view),
            };
            Some(told + &marks_lost(status) + &lost(status) + &of_another(view))
        }
        (RollPhase::Aborted, _) => Some(format!("stopped: {at}, {}", stopped(view))),
        _ => None,
    }
}

/// What is so of objects with a mark once all is taken back. Where somebody else has set the label, the roll leaves it.
fn taken_back(view: &FleetView<'_, '_>) -> String {
    let is_another = |(object, standing): &(&FleetObject, &Standing)| {
        let was = object.mark_of(view.roll).map(|mark| mark.was.as_deref());
        matches!(standing, Standing::Held(_)) && was.is_some_and(|was| was != object.version())
    };
    let set: Vec<String> = view.all().filter(is_another).map(|(object, _)| object.title()).collect();
    if set.is_empty() {
        return "every object with the mark of its move is what it was before".to_owned();
    }
    format!(
        "every object with the mark of its move is what it was before, but for {}, which somebody else has set to another \
         version since: {}. pointsman roll objects says to which",
        counted(set.len()),
        some(&set)
    )
}

/// Objects at the new version that another roll has moved there, or one of this name that was deleted: their marks say
/// nothing to this one.
fn of_another(view: &FleetView<'_, '_>) -> String {
    let is_its = |object: &&FleetObject| object.legs.is_none() && object.is_moved_by_another(view.roll);
    let all: Vec<String> = view.fleet.iter().filter(is_its).map(FleetObject::title).collect();
    if all.is_empty() {
        return String::new();
    }
    let (to, names) = (&view.roll.to, some(&all));
    format!(
        "; left at {to}, where another Roll, or one that was deleted, has moved them by their marks: {names}. A Roll from \
         {to} moves them"
    )
}

/// What a roll that was stopped has not moved, and what it has left half-way.
fn stopped(view: &FleetView<'_, '_>) -> String {
    let is_left = |object: &FleetObject| {
        object.legs.as_ref().is_some_and(|legs| legs.is_half_way())
            || object.has_lost_mark(view.roll).is_some()
            || view.status.lost().any(|lost| lost.uid == object.uid)
    };
    let is_before = |(object, standing): &(&FleetObject, &Standing)| match standing {
        Standing::Old => !is_left(object) && !object.is_run(),
        // It was taken back, or never moved.
        Standing::Failed(_) | Standing::Waiting(_) | Standing::Refused(_) => {
            !is_left(object) && object.legs.as_ref().is_some_and(|legs| legs.is_home())
        }
        _ => false,
    };
    let before = format!("and {} at what they were before", view.all().filter(is_before).count());
    let left: Vec<String> = view.fleet.iter().filter(|object| is_left(object)).map(FleetObject::title).collect();
    if left.is_empty() {
        return before;
    }
    format!("{before}; left where they are, and not taken back: {}", some(&left))
}

/// Objects of which Jobs have done something that is not taken back.
fn marks_lost(status: &RollStatus) -> String {
    let Some(first) = status.lost().next() else { return String::new() };
    let names: Vec<String> = status.lost().map(|lost| lost.object.clone()).collect();
    format!("; left where they are: {}. {}: {}", some(&names), first.object, first.message)
}

/// Objects that are left as they are, since nobody knows any more whether they were moved.
fn lost(status: &RollStatus) -> String {
    if !status.leaves_objects() {
        return String::new();
    }
    let is_lost = |unmoved: &&Unmoved| unmoved.state != "Held";
    let names: Vec<String> = status.unmoved.iter().filter(is_lost).map(|unmoved| unmoved.object.clone()).collect();
    let Some(first) = status.unmoved.iter().find(is_lost) else { return String::new() };
    let (of, what) = (counted(status.counts.refused), format!("{}: {}", first.object, first.message));
    if status.counts.refused == 1 {
        return format!("; cannot tell whether {of} was moved, so it is left unchanged: {what}");
    }
    let names = some(&names);
    format!("; cannot tell whether {of} were moved, so they are left unchanged: {names}. {what}")
}

fn words(
    roll: &FleetRoll,
    status: &RollStatus,
    wave: Option<&WaveCounts>,
    in_the_way: &InTheWay,
) -> (RollPhase, Option<String>, String) {
    if let Some(halt) = &status.halted {
        return (RollPhase::Paused, Some(halt.reason.clone()), halt.message.clone());
    }
    if roll.paused {
        return (RollPhase::Paused, Some("Asked".to_owned()), "somebody paused it: spec.paused".to_owned());
    }
    if let Some(trouble) = &in_the_way.trouble {
        return (RollPhase::Waiting, Some(TROUBLE.to_owned()), trouble.clone());
    }
    let place = match (status.direction, wave) {
        (Direction::Forward, Some(wave)) => format!("{} {}/{}", wave.name, wave.done, wave.total),
        (Direction::Back, _) => format!("going back, {} to go", status.counts.new),
        _ => "stopping".to_owned(),
    };
    if let Some(shut) = &in_the_way.shut {
        return (RollPhase::Waiting, Some("Shut".to_owned()), format!("{place}, {shut}"));
    }
    if let Some(waits) = &in_the_way.waits {
        let reason = waits.reason.map(str::to_owned);
        return (RollPhase::Waiting, reason, format!("{place}, {}", waits.what));
    }
    match status.unmoved.iter().find(|unmoved| unmoved.state != "Held") {
        Some(first) if status.reserved.is_empty() => {
            let refused = counted(status.counts.refused);
            let message = format!("{place}, {refused} cannot be moved: {}: {}", first.object, first.message);
            (RollPhase::Waiting, Some("Refused".to_owned()), message)
        }
        _ => {
            let refused = in_the_way.refused.as_ref().map(|refused| format!("; {refused}")).unwrap_or_default();
            (RollPhase::Rolling, None, format!("{place}, {} under way{refused}", status.reserved.len()))
        }
    }
}

/// Some names, and how many more there are.
pub(super) fn some(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn counted(objects: usize) -> String {
    if objects == 1 { "1 object".to_owned() } else { format!("{objects} objects") }
}

/// Names in a message.
const SHOWN: usize = 5;
