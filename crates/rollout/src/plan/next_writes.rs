//! The next writes of a rollout.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::decide::decide;
use super::object_move::{Moves, moves, note_records, tries};
use super::object_steps::refusal_writes;
use super::planner::Planner;
use super::workflow_plan::{gap_writes, note_tried, refused_on_the_way, runs, step_writes};
use crate::evaluate::message::described;
use crate::evaluate::object_state::ObjectState;
use crate::evaluate::running_range::{RunningRange, running_range};
use crate::observe::facts::{PlanInput, RunnerCache};
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::ClockReading;
use crate::observe::status::{InFlightObject, RolloutStatus};
use crate::spec::rollout::Rollout;
use crate::spec::version_range::VersionRange;
use crate::steps::converted_source::{converted_sources, note_left, returned};
use crate::steps::rollout_write::RolloutWrite;

/// The next writes, and the state of the fleet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RolloutPlan {
    /// In this order. Writes that close a gap ([`crate::ObjectWrite::closes_gap`]) are first and independent. If
    /// another write fails, the rest must not be written: moved objects must be listed as in flight.
    pub writes: Vec<RolloutWrite>,
    /// The status, written or not.
    pub status: RolloutStatus,
    /// The state of each object, in fleet order.
    pub object_states: Vec<ObjectState>,
    /// Input for the next plan of this run.
    pub runner_cache: RunnerCache,
    /// True if the next plan needs a consistent list of the whole fleet.
    pub wants_list: bool,
    /// True if a move only waits for time to pass: its controller wrote the object in this second.
    pub defers: bool,
}

impl RolloutPlan {
    /// Objects with decisions that no patch precondition protects, by uid: objects that are released, change direction,
    /// fail or take a step. Unless the fleet was just listed, the runner must read them again before it writes, and
    /// plan again if one changed. `before` is the status of the plan's input. A label move is excluded: the
    /// preconditions of its patch cover its input.
    #[must_use]
    pub fn judged<'a>(&'a self, rollout: &Rollout, before: &'a RolloutStatus) -> BTreeSet<&'a str> {
        let after = &self.status;
        let known = |uid: &str, at: &str| before.failures.iter().any(|known| known.uid == uid && known.at == at);
        let failed = after.failures.iter().filter(|failure| !known(&failure.uid, &failure.at));
        let continues =
            |one: &InFlightObject| after.in_flight.iter().any(|next| next.uid == one.uid && next.back == one.back);
        let released = before.in_flight.iter().filter(|one| !continues(one));
        let steps = self.writes.iter().filter_map(|write| match write {
            RolloutWrite::Job(one) => Some(one.uid.as_str()),
            // Independent of all lookups.
            RolloutWrite::Object(one) if one.closes_gap() => None,
            RolloutWrite::Object(one) => Some(one.uid.as_str()),
            RolloutWrite::Move(one) => rollout.has_workflows().then_some(one.uid.as_str()),
            RolloutWrite::Status(_) | RolloutWrite::Try(_) | RolloutWrite::Hold(_) => None,
        });
        let failed = failed.map(|failure| failure.uid.as_str());
        failed.chain(released.map(|one| one.uid.as_str())).chain(steps).collect()
    }
}

/// Computes the next writes. Depends only on its arguments: equal arguments give equal plans.
#[must_use]
pub fn plan(
    rollout: &Rollout,
    status: &RolloutStatus,
    fleet: &[FleetObject],
    facts: PlanInput,
    now: ClockReading,
) -> RolloutPlan {
    let (seen, before) = (fleet.len(), returned(rollout, status, fleet));
    let more: Vec<FleetObject> =
        runs(rollout, status).into_iter().chain(converted_sources(rollout, status, fleet, &facts.answers)).collect();
    let with_more: Cow<'_, [FleetObject]> =
        if more.is_empty() { Cow::Borrowed(fleet) } else { Cow::Owned(fleet.iter().cloned().chain(more).collect()) };
    let mut planner = Planner::new(rollout, before.clone().into_owned(), &with_more, facts, now);
    decide(&mut planner);
    note_left(&mut planner.status, &before);
    planner.in_the_way.refused = refused_on_the_way(&planner);
    let mut object_states = planner.object_states();
    let Moves { writes: moves, records, defers } = moves(&planner);
    note_records(&mut planner, records);
    let view = planner.view(&object_states);
    let (steps, tries) = (step_writes(&planner), tries(&planner, &view));
    let gaps = gap_writes(&planner);
    let quiet = planner.is_inactive || planner.facts.trouble.is_some();
    let holds = if quiet { Vec::new() } else { planner.holds.clone() };
    let next = if planner.is_inactive {
        status.clone()
    } else {
        let RunningRange { whole, parts } = running_range(&view, status, &planner.facts);
        let described_status = described(&view, &planner.in_the_way, planner.pending_state.as_deref());
        let (lowest, highest) = whole.map(|VersionRange { lowest, highest }| (lowest, highest)).unzip();
        let mut next = RolloutStatus { lowest, highest, parts, ..described_status };
        next.observe(rollout.generation, now);
        next
    };
    let refusals = refusal_writes(&mut planner);
    note_tried(&mut planner);
    object_states.truncate(seen);
    let reserved = (next != *status).then(|| RolloutWrite::Status(Box::new(next.clone())));
    let moves = moves
        .into_iter()
        .map(RolloutWrite::Move)
        .chain(steps)
        .chain(refusals)
        .chain(tries.into_iter().map(RolloutWrite::Try));
    let holds = holds.into_iter().map(RolloutWrite::Hold);
    let writes = gaps.into_iter().chain(reserved).chain(moves).chain(holds).collect();
    let (runner_cache, wants_list) = (planner.facts.runner_cache, planner.wants_list);
    RolloutPlan { writes, status: next, object_states, runner_cache, wants_list, defers }
}
