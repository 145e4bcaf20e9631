//! The controllers that a rollout needs are running, and only one of them acts on an object.

use std::time::Duration;

use pointsman_rollout::{
    ClockReading, FleetObject, ObjectState, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite,
    RunnerCache, plan,
};
use serde_json::{Value, json};

use crate::database::apply;
use crate::kinds::{define, rollout_of};
use crate::patches::{NOW, database};

const KEY: &str = "example.com/controller-version";

fn rollout(direction: &str) -> Rollout {
    rollout_of(&json!({"from": "2.16.0", "waves": [{"name": "all"}], "direction": direction}))
}

/// A database that was moved at 10:00:00, followed by these writes (field manager, second).
fn moved(writes: &[(&str, u64)]) -> Value {
    let entry = |manager: &str, second: u64| {
        let time = format!("2026-11-18T10:00:{second:02}Z");
        json!({"manager": manager, "operation": "Update", "time": time})
    };
    let entries: Vec<Value> =
        [("pointsman-rollout", 0)].iter().chain(writes).map(|(who, at)| entry(who, *at)).collect();
    let mark =
        json!({"rollout": "rollout-1", "was": "2.16.0", "to": "2.17.0", "at": "2026-11-18T10:00:00Z"}).to_string();
    database(json!({
        "labels": {KEY: "2.17.0"}, "annotations": {"pointsman.dev/rollout": mark}, "managedFields": entries,
    }))
}

fn planned(rollout: &Rollout, status: &RolloutStatus, object: &Value, shut: Option<&str>, second: u64) -> RolloutPlan {
    let fleet = [FleetObject::of(object, rollout).unwrap()];
    // 2026-11-18T10:00:00Z.
    let now = ClockReading { wall: 1_794_996_000 + second, steady: Duration::from_secs(second) };
    let facts = PlanInput {
        consistent: true,
        closed_gate: shut.map(str::to_owned),
        runner_cache: RunnerCache::default(),
        ..PlanInput::default()
    };
    plan(rollout, status, &fleet, facts, now)
}

fn with_reserved(mut status: RolloutStatus) -> RolloutStatus {
    let at = "2026-11-18T10:00:00Z";
    let reserved = json!([{"object": "n/b", "uid": "u", "since": at}]);
    let document = json!({"status": {"phase": "Rolling", "started": at, "inFlight": reserved}});
    status = RolloutStatus { resumed: status.resumed, ..RolloutStatus::of(&document) };
    status
}

#[test]
fn missing_controller_blocks_moves() {
    let old = database(json!({"labels": {KEY: "2.16.0"}}));
    let rollout = rollout("Forward");
    let plan = planned(&rollout, &RolloutStatus::default(), &old, Some("controller 2.17.0 does not run"), 10);
    assert!(
        plan.status.in_flight.is_empty() && plan.writes.iter().all(|write| matches!(write, RolloutWrite::Status(_)))
    );
    assert_eq!(
        (plan.status.phase, plan.status.reason.as_deref()),
        (RolloutPhase::Waiting, Some("PreconditionsNotMet"))
    );
    assert_eq!(plan.status.message, "all 0/1, controller 2.17.0 does not run");
    // The controller runs again.
    let plan = planned(&rollout, &plan.status, &old, None, 11);
    assert_eq!(plan.status.in_flight.len(), 1);
}

/// The old controller may have written the healthy state.
#[test]
fn missing_controller_blocks_release() {
    let there = moved(&[("databaser", 5)]);
    let rollout = rollout("Forward");
    let status = with_reserved(RolloutStatus::default());
    let plan = planned(&rollout, &status, &there, Some("controller 2.17.0 does not run"), 10);
    assert_eq!(plan.object_states, [ObjectState::Moving("controller 2.17.0 does not run".to_owned())]);
    assert_eq!(plan.status.in_flight.len(), 1);
    // The controller is missing for too long.
    let plan = planned(&rollout, &status, &there, Some("controller 2.17.0 does not run"), 3_600);
    assert_eq!((plan.status.phase, plan.status.reason.as_deref()), (RolloutPhase::Paused, Some("TimedOut")));
    assert!(planned(&rollout, &status, &there, None, 10).status.in_flight.is_empty());
}

/// The object failed because the new controller is not running, so the object must return to the old controller.
#[test]
fn failed_objects_leave_dead_controller() {
    let waves = json!([{"name": "all"}]);
    let rollout = rollout_of(&json!({"from": "2.16.0", "waves": waves, "onFailure": "Undo", "timeout": "60s"}));
    let (there, status) = (moved(&[]), with_reserved(RolloutStatus::default()));
    let failed = planned(&rollout, &status, &there, Some("controller 2.17.0 does not run"), 120);
    assert!(failed.status.in_flight[0].back, "{:?}", failed.status);
    let writes = &failed.writes;
    assert!(writes.iter().any(|write| matches!(write, RolloutWrite::Move(_))), "{writes:?}");
}

#[test]
fn undo_needs_no_new_controller() {
    let status = RolloutStatus::default();
    let leases = |direction| {
        let rollout = rollout(direction);
        status
            .leases(&rollout)
            .into_iter()
            .map(|(_, namespace, name)| format!("{namespace}/{name}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(leases("Forward"), ["harbour/database-2-16-0", "harbour/database-2-17-0"]);
    assert_eq!(leases("Undo"), ["harbour/database-2-16-0"]);
    assert_eq!(leases("Abort"), ["harbour/database-2-17-0"]);
    let all = RolloutStatus { undo_all: true, ..status.clone() };
    assert_eq!(all.leases(&rollout("Forward")).len(), 1);
    let adopts = rollout_of(&json!({"waves": [{"name": "all"}]}));
    assert_eq!(status.leases(&adopts).len(), 1, "an object of any version has no previous controller");
}

#[test]
fn late_old_write_pauses_rollout() {
    let rollout = rollout("Forward");
    for status in [RolloutStatus::default(), with_reserved(RolloutStatus::default())] {
        let stopped = |writes: &[(&str, u64)], status: &RolloutStatus, second| {
            let plan = planned(&rollout, status, &moved(writes), None, second);
            (plan.status.phase == RolloutPhase::Paused, plan.status)
        };
        // A write that the old controller began before the move may arrive a moment later.
        for writes in
            [&[("databaser", 9)][..], &[("oarsman", 10), ("databaser", 11)], &[("somebody", 19), ("databaser", 19)]]
        {
            assert!(!stopped(writes, &status, 20).0, "{writes:?}");
        }
        let (is_stopped, stopped_status) = stopped(&[("databaser", 9), ("oarsman", 11)], &status, 20);
        assert!(is_stopped, "{stopped_status:?}");
        assert_eq!(stopped_status.reason.as_deref(), Some("TwoControllers"));
        assert_eq!(
            stopped_status.message,
            "n/b: two controllers: oarsman wrote to the object at 2026-11-18T10:00:11Z, after its move to 2.17.0"
        );
        let failure = stopped_status.failures.first().unwrap();
        assert_eq!((failure.reason.as_str(), failure.object.as_str()), ("TwoControllers", "n/b"));
        // After a resume, earlier writes are ignored and later writes count.
        let mut resumed = stopped_status;
        resumed.resume(ClockReading { wall: 1_794_996_022, ..NOW });
        assert!(!stopped(&[("databaser", 9), ("oarsman", 11)], &resumed, 23).0);
        assert!(stopped(&[("databaser", 9), ("oarsman", 30)], &resumed, 31).0);
    }
}

/// Another client reset the label and set it again. In between, the old controller owned the object.
#[test]
fn write_before_foreign_move_is_ignored() {
    for (second, is_paused) in [(11, false), (22, false), (23, true)] {
        let mut object = moved(&[("oarsman", second)]);
        object["metadata"]["managedFields"].as_array_mut().unwrap().push(labelled("kubectl-label", 12));
        let plan = planned(&rollout("Forward"), &RolloutStatus::default(), &object, None, 30);
        assert_eq!(plan.status.phase == RolloutPhase::Paused, is_paused, "{second}: {}", plan.status.message);
    }
}

#[test]
fn undone_object_needs_old_write() {
    let plan =
        planned(&rollout("Undo"), &with_reserved(RolloutStatus::default()), &moved(&[("oarsman", 18)]), None, 20);
    assert_eq!(plan.status.phase, RolloutPhase::Rolling, "{}", plan.status.message);
}

#[test]
fn unsupported_controller_name_is_refused() {
    for (admission, said) in [
        ("lease: {namespace: Harbour, name: \"b-{version}\"}", "\"Harbour\" is no name of a namespace"),
        ("lease: {namespace: harbour, name: database}", "must contain {version} once"),
        ("lease: {namespace: harbour, name: \"Database-{version}\"}", "\"Database-1-2-3\" is no name of a Lease"),
        (
            "lease: {namespace: h, name: \"b-{version}\"}, managers: {2.1.0: a, 2-1-0: b}",
            "2-1-0 and 2.1.0 are different versions, and both would hold b-2-1-0",
        ),
        ("managers: {\"2/1\": a}", "managers: \"2/1\" can be no value of the version label"),
        ("managers: {2.1.0: \"\"}", "managers: 2.1.0: the name is empty"),
        ("managers: {2.1.0: pointsman-rollout}", "managers: 2.1.0: pointsman-rollout writes the move itself"),
        (
            "paths: {databases: {versions: [{version: 2.1.0}]}}, versionPath: databases, managers: {2.1.0: a, 2.1.1: b}",
            "managers: the path \"databases\" has no version \"2.1.1\"",
        ),
    ] {
        let bad = define(&format!("admission: {{{admission}}}\n")).map(|_| ()).expect_err(admission).to_string();
        assert!(bad.contains(said), "{admission}: {bad}");
    }
    let kind = define("admission: {lease: {namespace: h, name: \"b-v{version}\"}}\n").unwrap();
    assert_eq!(kind.controller_lease("2.16.1"), Some(("h".to_owned(), "b-v2-16-1".to_owned())));
}

/// A `managedFields` entry for an update of the status.
fn wrote(manager: &str, second: u64) -> Value {
    let time = format!("2026-11-18T10:00:{second:02}Z");
    json!({"manager": manager, "operation": "Update", "subresource": "status", "time": time})
}

/// An entry for an update of the version label.
fn labelled(manager: &str, second: u64) -> Value {
    let mut entry = wrote(manager, second);
    entry["fieldsV1"] = json!({"f:metadata": {"f:labels": {format!("f:{KEY}"): {}}}});
    entry
}

/// Applies the patch of a plan. Returns the status of the plan and the moved object.
fn lands(plan: &RolloutPlan, object: &Value, second: u64) -> (RolloutStatus, Value) {
    let patch = plan.writes.iter().find_map(|write| match write {
        RolloutWrite::Move(one) => Some(&one.patch),
        _ => None,
    });
    let mut next = object.clone();
    patch.unwrap().as_array().unwrap().iter().for_each(|one| apply(&mut next, one).unwrap());
    let entries = next["metadata"]["managedFields"].as_array_mut().unwrap();
    entries.retain(|entry| entry["manager"] != "pointsman-rollout");
    entries.push(labelled("pointsman-rollout", second));
    (plan.status.clone(), next)
}

fn answered(object: &Value, manager: &str, second: u64) -> Value {
    let mut next = object.clone();
    let entries = next["metadata"]["managedFields"].as_array_mut().unwrap();
    entries.retain(|entry| entry["manager"] != manager);
    entries.push(wrote(manager, second));
    next
}

fn waits_for(plan: &RolloutPlan) -> Option<&str> {
    let ObjectState::Moving(why) = &plan.object_states[0] else { return None };
    Some(why.as_str())
}

/// On undo the old controller answers, because the old controller owns the object by then.
#[test]
fn each_way_waits_for_its_manager() {
    let seen = database(json!({"labels": {KEY: "2.16.0"}, "managedFields": [wrote("oarsman", 1)]}));
    let forward = rollout("Forward");
    let plan = planned(&forward, &RolloutStatus::default(), &seen, None, 10);
    let (status, there) = lands(&plan, &seen, 10);
    let waits = planned(&forward, &status, &answered(&there, "somebody", 10), None, 10);
    assert_eq!(waits_for(&waits), Some("databaser has not written to the object since the move"));
    let there = answered(&there, "databaser", 10);
    let through = planned(&forward, &status, &there, None, 10);
    assert_eq!((waits_for(&through), through.status.in_flight.len()), (None, 0));

    let back = rollout("Undo");
    let plan = planned(&back, &through.status, &there, None, 20);
    let (status, home) = lands(&plan, &there, 20);
    let waits = planned(&back, &status, &answered(&home, "databaser", 20), None, 20);
    assert_eq!(waits_for(&waits), Some("oarsman has not written to the object since the move"));
    let home = planned(&back, &status, &answered(&home, "oarsman", 20), None, 20);
    assert_eq!((waits_for(&home), home.status.in_flight.len()), (None, 0));
}

#[test]
fn move_waits_for_next_second() {
    let seen = database(json!({"labels": {KEY: "2.16.0"}, "managedFields": [wrote("databaser", 10)]}));
    let rollout = rollout("Forward");
    let moves = |plan: &RolloutPlan| plan.writes.iter().any(|write| matches!(write, RolloutWrite::Move(_)));
    let plan = planned(&rollout, &RolloutStatus::default(), &seen, None, 10);
    assert!(plan.defers && !moves(&plan));
    for (second, is_moved) in [(11, false), (12, true)] {
        assert_eq!(moves(&planned(&rollout, &plan.status, &seen, None, second)), is_moved, "{second}");
    }
    // The runner does not wait for a controller that writes continuously.
    let busy = database(json!({"labels": {KEY: "2.16.0"}, "managedFields": [wrote("databaser", 13)]}));
    assert!(moves(&planned(&rollout, &plan.status, &busy, None, 13)));
}

#[test]
fn write_before_the_move_fails_it() {
    let with = |entries: &[Value]| database(json!({"labels": {KEY: "2.16.0"}, "managedFields": entries}));
    let (databaser, noise) = (wrote("databaser", 1), wrote("noise", 2));
    let rollout = rollout("Forward");
    let seen = with(&[databaser.clone(), noise.clone()]);
    let plan = planned(&rollout, &RolloutStatus::default(), &seen, None, 10);
    let patch = plan.writes.iter().find_map(|write| match write {
        RolloutWrite::Move(one) => Some(one.patch.clone()),
        _ => None,
    });
    let patch = patch.unwrap();
    let lands = |object: &Value| {
        let mut next = object.clone();
        let is_applied = patch.as_array().unwrap().iter().all(|one| apply(&mut next, one).is_some());
        is_applied.then_some(next)
    };
    assert_eq!(lands(&seen).unwrap()["metadata"]["managedFields"], seen["metadata"]["managedFields"]);
    assert!(lands(&with(&[databaser.clone(), wrote("noise", 9)])).is_some(), "other controllers do not block");
    let mut main = databaser.clone();
    main.as_object_mut().unwrap().remove("subresource");
    for entries in [
        vec![wrote("databaser", 9), noise.clone()],
        vec![databaser, noise.clone(), wrote("databaser", 9)],
        vec![main, noise.clone()],
        vec![noise],
    ] {
        assert_eq!(lands(&with(&entries)), None, "{entries:?}");
    }
}

/// An annotation of an older program that compared times: a later second counts, the same second is ignored.
#[test]
fn mark_without_record_compares_times() {
    let rollout = rollout("Forward");
    for (second, is_waited_for) in [(0, true), (1, false)] {
        let plan =
            planned(&rollout, &with_reserved(RolloutStatus::default()), &moved(&[("databaser", second)]), None, 5);
        assert_eq!(waits_for(&plan).is_some(), is_waited_for, "{second}");
    }
}
