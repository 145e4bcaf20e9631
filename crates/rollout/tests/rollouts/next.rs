//! Prioritized objects.

use pointsman_rollout::{
    FleetObject, PlanInput, PriorityDecision, Rollout, RolloutStatus, decide_priority, forecast, plan,
};
use serde_json::{Value, json};

use crate::kinds::rollout_of;
use crate::patches::{NOW, database};

const KEY: &str = "example.com/controller-version";

fn named(name: &str, version: &str, rollout: &str) -> Value {
    database(json!({"name": name, "uid": format!("u-{name}"), "labels": {KEY: version, "rollout": rollout}}))
}

fn rollout(next: &[&str]) -> Rollout {
    let canary =
        json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1, "after": "approval"});
    rollout_of(
        &json!({"from": "2.16.0", "waves": [canary, {"name": "rest", "maxInFlight": 1}], "prioritizedObjects": next}),
    )
}

/// Two canaries and four other objects; one is finished, one is at another version.
fn fleet(rollout: &Rollout) -> Vec<FleetObject> {
    let objects = [
        named("a", "2.16.0", "canary"),
        named("b", "2.16.0", "canary"),
        named("c", "2.16.0", "rest"),
        named("d", "2.16.0", "rest"),
        named("e", "2.17.0", "rest"),
        named("f", "2.15.0", "rest"),
    ];
    objects.iter().map(|object| FleetObject::of(object, rollout).unwrap()).collect()
}

fn told(rollout: &Rollout, status: &RolloutStatus, title: &str) -> Result<PriorityDecision, String> {
    let fleet = fleet(rollout);
    let facts = PlanInput { consistent: true, ..PlanInput::default() };
    decide_priority(rollout, status, &forecast(rollout, status, &fleet, facts, NOW), title)
}

fn reserved(rollout: &Rollout) -> RolloutStatus {
    let facts = PlanInput { consistent: true, ..PlanInput::default() };
    plan(rollout, &RolloutStatus::default(), &fleet(rollout), facts, NOW).status
}

#[test]
fn prioritized_object_moves_first() {
    let first =
        |next: &[&str]| reserved(&rollout(next)).in_flight.iter().map(|one| one.object.clone()).collect::<Vec<_>>();
    assert_eq!(first(&[]), ["n/a"]);
    assert_eq!(first(&["n/b"]), ["n/b"], "and one at a time, as before");
    // Priority does not bypass the gate of a wave.
    assert_eq!(first(&["n/d"]), ["n/a"]);
    assert_eq!(first(&["n/d", "n/b", "n/nobody"]), ["n/b"]);
    let order = |next: &[&str]| {
        let rollout = rollout(next);
        let fleet = fleet(&rollout);
        let all = forecast(&rollout, &RolloutStatus::default(), &fleet, PlanInput::default(), NOW);
        all.iter().map(|one| one.object.name().to_owned()).collect::<String>()
    };
    assert_eq!((order(&[]), order(&["n/d", "n/b"])), ("abcdef".to_owned(), "badcef".to_owned()));
}

#[test]
fn prioritizing_reports_the_move() {
    let fresh = RolloutStatus::default();
    let goes = |next: &[&str], status: &RolloutStatus, title: &str| match told(&rollout(next), status, title).unwrap() {
        PriorityDecision::Prioritized { next, when } => (next.join(" "), when),
        other => panic!("{other:?}"),
    };
    let said = |when: &str| when.to_owned();
    assert_eq!(
        goes(&[], &fresh, "n/b"),
        (said("n/b"), said("n/b moves next in wave canary; the rollout has not started"))
    );
    let begun = reserved(&rollout(&[]));
    assert_eq!(goes(&[], &begun, "n/b"), (said("n/b"), said("n/b moves next in wave canary")));
    let (_, when) = goes(&[], &begun, "n/d");
    assert_eq!(when, "n/d moves next in wave rest; that wave follows canary: canary 0/2, 1 in flight");
    // Repeating the request changes nothing, and finished or deleted objects are dropped from the list.
    assert_eq!(goes(&["n/d"], &begun, "n/d").0, "n/d");
    assert_eq!(goes(&["n/e", "n/nobody", "n/d"], &begun, "n/c").0, "n/d n/c");
    assert!(
        goes(&["n/d"], &begun, "n/c").1.contains("in wave rest, after an object with an earlier priority; that wave")
    );
}

#[test]
fn unmovable_object_is_not_prioritized() {
    let begun = reserved(&rollout(&[]));
    let needless = |title: &str| match told(&rollout(&[]), &begun, title).unwrap() {
        PriorityDecision::Needless(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(needless("n/a"), "n/a is in flight already");
    assert_eq!(needless("n/e"), "n/e is at 2.17.0 already");
    let refused = |status: &RolloutStatus, title: &str| told(&rollout(&[]), status, title).unwrap_err();
    assert_eq!(refused(&begun, "n/f"), "n/f is not pending in rollout r: its state is Outside");
    assert!(
        refused(&begun, "b")
            .starts_with("rollout r has no object b: list its objects with pointsman rollout objects r")
    );
    let over = RolloutStatus::of(&json!({"status": {"phase": "Complete", "started": "2026-11-18T10:00:00Z"}}));
    assert_eq!(refused(&over, "n/b"), "rollout r is Complete: no more objects move");
    let back = rollout_of(&json!({"waves": [{"name": "all"}], "direction": "Undo"}));
    assert!(told(&back, &begun, "n/b").unwrap_err().starts_with("rollout r does not move objects forward"));
    let many: Vec<String> = (0..64).map(|at| format!("n/x{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(told(&rollout(&many), &begun, "n/b").is_ok(), "deleted objects do not count");
}
