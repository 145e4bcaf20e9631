//! When it takes a list of the whole fleet to go on, or another look at an object.

use pointsman_core::roll::{
    Direction, FleetObject, FleetRoll, Moment, RollFacts, RollPhase, RollPlan, RollStatus, RollWrite, answered_roll,
    plan, rfc3339,
};
use serde_json::json;

use crate::kinds::{define, roll_of};
use crate::patches::{NOW, boat};

fn planned(roll: &FleetRoll, status: &RollStatus, consistent: bool, seconds: u64) -> RollPlan {
    let there = boat(json!({"labels": {"example.com/controller-version": "2.17.0", "roll": "canary"}}));
    let fleet = [FleetObject::of(&there, roll).unwrap()];
    let now = Moment { wall: NOW.wall + seconds, ..NOW };
    plan(roll, status, &fleet, RollFacts { consistent, ..RollFacts::default() }, now)
}

/// A cache may not know yet of an object that is to be moved.
#[test]
fn a_roll_is_complete_by_a_consistent_list_alone() {
    let roll = roll_of(&json!({"waves": [{"name": "all"}]}));
    let decided = |consistent| {
        let plan = planned(&roll, &RollStatus::default(), consistent, 0);
        (plan.status.is_over(), plan.wants_list)
    };
    assert_eq!(decided(false), (false, true));
    assert_eq!(decided(true), (true, false));
}

/// A list is wanted where a wave may be through, and where its wait is over, and not in between.
#[test]
fn a_wave_that_waits_wants_no_list() {
    for wait in [json!({"then": "approval"}), json!({"soak": "30s"})] {
        let mut canary = json!({"name": "canary", "select": {"labels": "roll=canary"}});
        canary.as_object_mut().unwrap().extend(wait.as_object().unwrap().clone());
        let roll = roll_of(&json!({"waves": [canary, {"name": "rest"}]}));
        let through = planned(&roll, &RollStatus::default(), false, 0);
        assert!(through.wants_list, "{wait}");
        let mut status = planned(&roll, &through.status, true, 0).status;
        assert_eq!(status.phase, RollPhase::Waiting, "{wait}");
        for seconds in [1, 29] {
            let waits = planned(&roll, &status, false, seconds);
            assert_eq!((waits.wants_list, waits.writes.as_slice()), (false, [].as_slice()), "{wait}");
        }
        let _ = status.approve(&roll, "canary", None);
        let over = planned(&roll, &status, false, 31);
        assert!(over.wants_list && !over.status.is_over(), "{wait}");
        assert_eq!(planned(&roll, &over.status, true, 31).status.phase, RollPhase::Complete, "{wait}");
    }
}

fn under_way(uids: &[&str]) -> RollStatus {
    let since = rfc3339(NOW.wall);
    let reserved: Vec<_> = uids.iter().map(|uid| json!({"object": "n/b", "uid": uid, "since": since})).collect();
    RollStatus::of(&json!({"status": {"phase": "Rolling", "started": since, "reserved": reserved}}))
}

/// Nobody else lists the fleet: an object that is deleted while it is under way would keep its place for ever.
#[test]
fn an_object_that_is_gone_is_let_go_by_a_consistent_list_alone() {
    let roll = roll_of(&json!({"waves": [{"name": "all"}]}));
    let status = under_way(&["gone"]);
    let watched = planned(&roll, &status, false, 1);
    assert!(watched.wants_list && watched.status.reserved == status.reserved);
    let listed = planned(&roll, &status, true, 1);
    assert!(!listed.wants_list && listed.status.reserved.is_empty());
}

/// By what is told late it may be free again by now, and have moved.
#[test]
fn what_somebody_took_from_the_roll_is_let_go_by_a_consistent_list_alone() {
    let roll = roll_of(&json!({"from": "2.16.0", "waves": [{"name": "all"}]}));
    let taken = [
        json!({"labels": {"example.com/controller-version": "2.16.0"}, "annotations": {"pointsman.dev/roll": "mine"}}),
        json!({"labels": {"example.com/controller-version": "2.15.0"}}),
    ];
    for mut metadata in taken {
        metadata["uid"] = json!("taken");
        let fleet = [FleetObject::of(&boat(metadata), &roll).unwrap()];
        let decided = |consistent| {
            plan(&roll, &under_way(&["taken"]), &fleet, RollFacts { consistent, ..RollFacts::default() }, NOW)
        };
        let watched = decided(false);
        assert_eq!((watched.status.reserved.len(), watched.wants_list), (1, true));
        assert!(!watched.writes.iter().any(|write| matches!(write, RollWrite::Move(_))), "{:?}", watched.writes);
        assert_eq!(decided(true).status.reserved, []);
    }
}

/// It may have held what is not heard of yet.
#[test]
fn a_roll_that_stops_ends_by_a_consistent_list_alone() {
    for holds in [true, false] {
        let roll = roll_of(&json!({"hold": holds, "direction": "Stop", "waves": [{"name": "all"}]}));
        let status = RollStatus { direction: Direction::Stop, ..under_way(&[]) };
        let decided = |consistent| {
            let plan = planned(&roll, &status, consistent, 0);
            (plan.status.is_over(), plan.wants_list)
        };
        assert_eq!((decided(false), decided(true)), ((false, true), (true, false)), "{holds}");
    }
}

/// What a write tests is not read before it.
#[test]
fn what_no_write_tests_is_read_again_before_it_is_decided() {
    let metadata = |uid: &str, version: &str| {
        let labels = json!({"example.com/controller-version": version});
        json!({"name": uid, "uid": uid, "labels": labels, "managedFields": [
            {"manager": "pointsman-roll", "operation": "Update", "time": rfc3339(NOW.wall - 200)},
            {"manager": "boatman", "operation": "Update", "time": rfc3339(NOW.wall - 100)},
        ]})
    };
    let roll = roll_of(&json!({"from": "2.16.0", "waves": [{"name": "all", "atOnce": 3}], "timeout": "30s"}));
    let mut ill = boat(metadata("ill", "2.17.0"));
    ill["status"] = json!({});
    let all = [boat(metadata("healthy", "2.17.0")), ill, boat(metadata("old", "2.16.0"))];
    let fleet: Vec<FleetObject> = all.iter().map(|one| FleetObject::of(one, &roll).unwrap()).collect();
    let judged = |seconds| {
        let (status, facts) = (under_way(&["healthy", "ill"]), RollFacts::default());
        let plan = plan(&roll, &status, &fleet, facts, Moment { wall: NOW.wall + seconds, ..NOW });
        let moves = plan.writes.iter().filter(|write| matches!(write, RollWrite::Move(_))).count();
        let judged: Vec<String> = plan.judged(&roll, &status).into_iter().map(str::to_owned).collect();
        (moves, judged)
    };
    assert_eq!(judged(1), (1, vec!["healthy".to_owned()]), "one is let go, one waits, one moves");
    assert_eq!(judged(40), (0, vec!["healthy".to_owned(), "ill".to_owned()]), "one fails");
    let journeys = "journeys: {calm: [{set: {fields: {'metadata.labels[\"calm\"]': x}}}]}\n";
    let kind = define(&format!("healthy: {{all: [{{condition: Ready}}]}}\n{journeys}")).unwrap();
    let spec = json!({"kind": "boat", "journey": "calm", "to": "2.17.0", "waves": [{"name": "all"}]});
    let document = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "Roll", "metadata": {"name": "r", "uid": "roll-1"}, "spec": spec,
    });
    let roll = answered_roll(&document, &kind).unwrap();
    let fleet = [FleetObject::of(&all[2], &roll).unwrap()];
    let plan = plan(&roll, &under_way(&[]), &fleet, RollFacts::default(), NOW);
    assert_eq!(plan.judged(&roll, &under_way(&[])).into_iter().collect::<Vec<_>>(), ["old"], "{:?}", plan.writes);
}
