//! What is decided, in its order.

use super::advancing::{advance, go_back, stop};
use super::failing::{look_for_unhealthy, note_failures, note_turned_back, note_two_controllers};
use super::fleet_roll::Direction;
use super::planner::Planner;
use super::releasing::{release, remember};
use super::status::RollPhase;
use super::telling::some;
use super::turning::{turn, turns};

/// Everything but words and counts.
pub(super) fn decide(planner: &mut Planner<'_>) {
    if !begins(planner) {
        return;
    }
    if turns(planner) && !planner.facts.consistent {
        // What a cache does not know yet would be taken for what was never moved.
        planner.ask_for_list();
        return;
    }
    turn(planner);
    if planner.status.is_over() {
        planner.rests = true;
        return;
    }
    remember(planner);
    release(planner);
    note_turned_back(planner);
    note_two_controllers(planner);
    note_failures(planner);
    if turns(planner) && !planner.facts.consistent {
        planner.ask_for_list();
        return;
    }
    turn(planner);
    look_for_unhealthy(planner);
    if planner.is_stopped() {
        return;
    }
    match planner.status.direction {
        Direction::Forward => advance(planner),
        Direction::Back => go_back(planner),
        Direction::Stop => stop(planner),
    }
}

/// Whether the roll has begun, or does now.
fn begins(planner: &mut Planner<'_>) -> bool {
    if planner.status.started.is_some() {
        return true;
    }
    let refused = planner.roll.way_back().err().or_else(|| overlap(planner)).or_else(|| unfrozen(planner));
    let (phase, message) = match (refused, planner.roll.run, planner.roll.direction) {
        (Some(why), _, _) => (RollPhase::Refused, why),
        (None, _, Direction::Stop | Direction::Back) => (RollPhase::Aborted, "nothing was moved".to_owned()),
        (None, false, _) => (RollPhase::Pending, "planned only: it begins with run: true".to_owned()),
        (None, true, Direction::Forward) => {
            planner.status.started = Some(planner.now());
            planner.status.phase = RollPhase::Rolling;
            return true;
        }
    };
    (planner.status.phase, planner.status.message, planner.status.reason) = (phase, message, None);
    false
}

/// Another roll that is under way over the same objects.
fn overlap(planner: &Planner<'_>) -> Option<String> {
    let (name, objects) = planner.facts.others.first()?;
    Some(format!("roll {name} is under way over {} of the same objects: {}", objects.len(), some(objects)))
}

/// What is to be frozen has to be so before the first object moves.
fn unfrozen(planner: &Planner<'_>) -> Option<String> {
    let (why, name) = (planner.facts.unfrozen.as_ref()?, planner.roll.name());
    Some(format!("what it freezes would not be frozen: {why}: pointsman roll policies {name} | kubectl apply -f -"))
}
