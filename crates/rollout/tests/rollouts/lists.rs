//! When a rollout needs a consistent list of the fleet, or a fresh read of an object, to continue.

use pointsman_rollout::{
    ClockReading, Direction, FleetObject, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite,
    answered_rollout, plan, rfc3339,
};
use serde_json::json;

use crate::kinds::{define, rollout_of};
use crate::patches::{NOW, database};

fn planned(rollout: &Rollout, status: &RolloutStatus, consistent: bool, seconds: u64) -> RolloutPlan {
    let there = database(json!({"labels": {"example.com/controller-version": "2.17.0", "rollout": "canary"}}));
    let fleet = [FleetObject::of(&there, rollout).unwrap()];
    let now = ClockReading { wall: NOW.wall + seconds, ..NOW };
    plan(rollout, status, &fleet, PlanInput { consistent, ..PlanInput::default() }, now)
}

/// A cache may miss a pending object.
#[test]
fn completion_needs_consistent_list() {
    let rollout = rollout_of(&json!({"waves": [{"name": "all"}]}));
    let decided = |consistent| {
        let plan = planned(&rollout, &RolloutStatus::default(), consistent, 0);
        (plan.status.is_over(), plan.wants_list)
    };
    assert_eq!(decided(false), (false, true));
    assert_eq!(decided(true), (true, false));
}

/// The runner needs a list when a wave may be finished and when its wait ends, but not in between.
#[test]
fn waiting_wave_needs_no_list() {
    for wait in [json!({"after": "approval"}), json!({"soak": "30s"})] {
        let mut canary = json!({"name": "canary", "selector": {"labels": "rollout=canary"}});
        canary.as_object_mut().unwrap().extend(wait.as_object().unwrap().clone());
        let rollout = rollout_of(&json!({"waves": [canary, {"name": "rest"}]}));
        let through = planned(&rollout, &RolloutStatus::default(), false, 0);
        assert!(through.wants_list, "{wait}");
        let mut status = planned(&rollout, &through.status, true, 0).status;
        assert_eq!(status.phase, RolloutPhase::Waiting, "{wait}");
        for seconds in [1, 29] {
            let waits = planned(&rollout, &status, false, seconds);
            assert_eq!((waits.wants_list, waits.writes.as_slice()), (false, [].as_slice()), "{wait}");
        }
        let _ = status.approve(&rollout, "canary", None);
        let over = planned(&rollout, &status, false, 31);
        assert!(over.wants_list && !over.status.is_over(), "{wait}");
        assert_eq!(planned(&rollout, &over.status, true, 31).status.phase, RolloutPhase::Complete, "{wait}");
    }
}

fn under_way(uids: &[&str]) -> RolloutStatus {
    let since = rfc3339(NOW.wall);
    let reserved: Vec<_> = uids.iter().map(|uid| json!({"object": "n/b", "uid": uid, "since": since})).collect();
    RolloutStatus::of(&json!({"status": {"phase": "Rolling", "started": since, "inFlight": reserved}}))
}

/// Only the runner lists the fleet: a deleted in-flight object would otherwise keep its slot forever.
#[test]
fn missing_object_needs_consistent_list() {
    let rollout = rollout_of(&json!({"waves": [{"name": "all"}]}));
    let status = under_way(&["gone"]);
    let watched = planned(&rollout, &status, false, 1);
    assert!(watched.wants_list && watched.status.in_flight == status.in_flight);
    let listed = planned(&rollout, &status, true, 1);
    assert!(!listed.wants_list && listed.status.in_flight.is_empty());
}

/// According to a delayed list, the object may be free again and may have moved.
#[test]
fn lost_object_needs_consistent_list() {
    let rollout = rollout_of(&json!({"from": "2.16.0", "waves": [{"name": "all"}]}));
    let taken = [
        json!({"labels": {"example.com/controller-version": "2.16.0"}, "annotations": {"pointsman.dev/rollout": "mine"}}),
        json!({"labels": {"example.com/controller-version": "2.15.0"}}),
    ];
    for mut metadata in taken {
        metadata["uid"] = json!("taken");
        let fleet = [FleetObject::of(&database(metadata), &rollout).unwrap()];
        let decided = |consistent| {
            plan(&rollout, &under_way(&["taken"]), &fleet, PlanInput { consistent, ..PlanInput::default() }, NOW)
        };
        let watched = decided(false);
        assert_eq!((watched.status.in_flight.len(), watched.wants_list), (1, true));
        assert!(!watched.writes.iter().any(|write| matches!(write, RolloutWrite::Move(_))), "{:?}", watched.writes);
        assert_eq!(decided(true).status.in_flight, []);
    }
}

/// The rollout may hold an object that the cache does not list yet.
#[test]
fn abort_needs_consistent_list() {
    for holds in [true, false] {
        let rollout = rollout_of(&json!({"hold": holds, "direction": "Abort", "waves": [{"name": "all"}]}));
        let status = RolloutStatus { direction: Direction::Abort, ..under_way(&[]) };
        let decided = |consistent| {
            let plan = planned(&rollout, &status, consistent, 0);
            (plan.status.is_over(), plan.wants_list)
        };
        assert_eq!((decided(false), decided(true)), ((false, true), (true, false)), "{holds}");
    }
}

/// Values that a write tests need no read beforehand.
#[test]
fn unguarded_write_rereads_first() {
    let metadata = |uid: &str, version: &str| {
        let labels = json!({"example.com/controller-version": version});
        json!({"name": uid, "uid": uid, "labels": labels, "managedFields": [
            {"manager": "pointsman-rollout", "operation": "Update", "time": rfc3339(NOW.wall - 200)},
            {"manager": "databaser", "operation": "Update", "time": rfc3339(NOW.wall - 100)},
        ]})
    };
    let rollout =
        rollout_of(&json!({"from": "2.16.0", "waves": [{"name": "all", "maxInFlight": 3}], "timeout": "30s"}));
    let mut ill = database(metadata("ill", "2.17.0"));
    ill["status"] = json!({});
    let all = [database(metadata("healthy", "2.17.0")), ill, database(metadata("old", "2.16.0"))];
    let fleet: Vec<FleetObject> = all.iter().map(|one| FleetObject::of(one, &rollout).unwrap()).collect();
    let judged = |seconds| {
        let (status, facts) = (under_way(&["healthy", "ill"]), PlanInput::default());
        let plan = plan(&rollout, &status, &fleet, facts, ClockReading { wall: NOW.wall + seconds, ..NOW });
        let moves = plan.writes.iter().filter(|write| matches!(write, RolloutWrite::Move(_))).count();
        let judged: Vec<String> = plan.judged(&rollout, &status).into_iter().map(str::to_owned).collect();
        (moves, judged)
    };
    assert_eq!(judged(1), (1, vec!["healthy".to_owned()]), "one is let go, one waits, one moves");
    assert_eq!(judged(40), (0, vec!["healthy".to_owned(), "ill".to_owned()]), "one fails");
    let workflows = "workflows: {calm: [{set: {fields: {'metadata.labels[\"calm\"]': x}}}]}\n";
    let kind = define(&format!("health: {{all: [{{condition: Ready}}]}}\n{workflows}")).unwrap();
    let spec = json!({"kind": "database", "workflow": "calm", "to": "2.17.0", "waves": [{"name": "all"}]});
    let document = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "rollout-1"}, "spec": spec,
    });
    let rollout = answered_rollout(&document, &kind).unwrap();
    let fleet = [FleetObject::of(&all[2], &rollout).unwrap()];
    let plan = plan(&rollout, &under_way(&[]), &fleet, PlanInput::default(), NOW);
    assert_eq!(plan.judged(&rollout, &under_way(&[])).into_iter().collect::<Vec<_>>(), ["old"], "{:?}", plan.writes);
}

/// A delayed list shows the state before a rollback that already succeeded.
#[test]
fn changed_record_rereads_first() {
    let rollout = rollout_of(&json!({
        "from": "2.16.0", "direction": "Undo", "waves": [{"name": "all"}], "timeout": "5m",
    }));
    let entry = |manager: &str, seconds: u64| json!({"manager": manager, "operation": "Update", "time": rfc3339(NOW.wall - seconds)});
    let mark = json!({"rollout": "rollout-1", "was": "2.16.0", "to": "2.17.0", "at": rfc3339(NOW.wall - 200)});
    let there = database(json!({
        "labels": {"example.com/controller-version": "2.17.0"}, "annotations": {"pointsman.dev/rollout": mark.to_string()},
        "managedFields": [entry("pointsman-rollout", 200), entry("oarsman", 100)],
    }));
    let fleet = [FleetObject::of(&there, &rollout).unwrap()];
    let since = rfc3339(NOW.wall - 10);
    for (seconds, is_read) in [(100, false), (50, true)] {
        let record = json!({"manager": "oarsman", "entries": [format!("Update {}", rfc3339(NOW.wall - seconds))]});
        let status = RolloutStatus::of(&json!({"status": {
            "phase": "Rolling", "started": since, "direction": "Undo",
            "inFlight": [{"object": "n/b", "uid": "u", "since": since, "back": true, "writes": record}],
        }}));
        let plan = plan(&rollout, &status, &fleet, PlanInput::default(), NOW);
        assert!(plan.writes.iter().any(|write| matches!(write, RolloutWrite::Move(_))), "{:?}", plan.status);
        assert_eq!(plan.judged(&rollout, &status).contains("u"), is_read, "{seconds}: {:?}", plan.status.in_flight);
    }
}
