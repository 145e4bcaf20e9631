//! Objects that are told to go next.

use pointsman_core::roll::{FleetObject, FleetRoll, NextMove, RollFacts, RollStatus, forecast, next_move, plan};
use serde_json::{Value, json};

use crate::kinds::roll_of;
use crate::patches::{NOW, boat};

const KEY: &str = "example.com/controller-version";

fn named(name: &str, version: &str, roll: &str) -> Value {
    boat(json!({"name": name, "uid": format!("u-{name}"), "labels": {KEY: version, "roll": roll}}))
}

fn roll(next: &[&str]) -> FleetRoll {
    let canary = json!({"name": "canary", "select": {"labels": "roll=canary"}, "atOnce": 1, "then": "approval"});
    roll_of(&json!({"from": "2.16.0", "waves": [canary, {"name": "rest", "atOnce": 1}], "next": next}))
}

/// Two canaries and four others, one of them through and one elsewhere.
fn fleet(roll: &FleetRoll) -> Vec<FleetObject> {
    let objects = [
        named("a", "2.16.0", "canary"),
        named("b", "2.16.0", "canary"),
        named("c", "2.16.0", "rest"),
        named("d", "2.16.0", "rest"),
        named("e", "2.17.0", "rest"),
        named("f", "2.15.0", "rest"),
    ];
    objects.iter().map(|object| FleetObject::of(object, roll).unwrap()).collect()
}

fn told(roll: &FleetRoll, status: &RollStatus, title: &str) -> Result<NextMove, String> {
    let fleet = fleet(roll);
    let facts = RollFacts { consistent: true, ..RollFacts::default() };
    next_move(roll, status, &forecast(roll, status, &fleet, facts, NOW), title)
}

fn reserved(roll: &FleetRoll) -> RollStatus {
    let facts = RollFacts { consistent: true, ..RollFacts::default() };
    plan(roll, &RollStatus::default(), &fleet(roll), facts, NOW).status
}

#[test]
fn who_is_told_to_go_goes_before_the_others_of_its_wave_alone() {
    let first = |next: &[&str]| reserved(&roll(next)).reserved.iter().map(|one| one.object.clone()).collect::<Vec<_>>();
    assert_eq!(first(&[]), ["n/a"]);
    assert_eq!(first(&["n/b"]), ["n/b"], "and one at a time, as before");
    // What a wave waits for is not gone round.
    assert_eq!(first(&["n/d"]), ["n/a"]);
    assert_eq!(first(&["n/d", "n/b", "n/nobody"]), ["n/b"]);
    let order = |next: &[&str]| {
        let roll = roll(next);
        let fleet = fleet(&roll);
        let all = forecast(&roll, &RollStatus::default(), &fleet, RollFacts::default(), NOW);
        all.iter().map(|one| one.object.name().to_owned()).collect::<String>()
    };
    assert_eq!((order(&[]), order(&["n/d", "n/b"])), ("abcdef".to_owned(), "badcef".to_owned()));
}

#[test]
fn whoever_tells_an_object_to_go_hears_when_it_goes() {
    let fresh = RollStatus::default();
    let goes = |next: &[&str], status: &RollStatus, title: &str| match told(&roll(next), status, title).unwrap() {
        NextMove::Told { next, when } => (next.join(" "), when),
        other => panic!("{other:?}"),
    };
    let said = |when: &str| when.to_owned();
    assert_eq!(goes(&[], &fresh, "n/b"), (said("n/b"), said("n/b goes next in wave canary; the roll has not begun")));
    let begun = reserved(&roll(&[]));
    assert_eq!(goes(&[], &begun, "n/b"), (said("n/b"), said("n/b goes next in wave canary")));
    let (_, when) = goes(&[], &begun, "n/d");
    assert_eq!(when, "n/d goes next in wave rest; that wave comes after canary: canary 0/2, 1 under way");
    // Once more it is the same, and those that are through or gone are no longer told.
    assert_eq!(goes(&["n/d"], &begun, "n/d").0, "n/d");
    assert_eq!(goes(&["n/e", "n/nobody", "n/d"], &begun, "n/c").0, "n/d n/c");
    assert!(goes(&["n/d"], &begun, "n/c").1.contains("in wave rest, behind one that was told so before; that wave"));
}

#[test]
fn who_will_not_go_is_not_told() {
    let begun = reserved(&roll(&[]));
    let needless = |title: &str| match told(&roll(&[]), &begun, title).unwrap() {
        NextMove::Needless(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(needless("n/a"), "n/a is under way already");
    assert_eq!(needless("n/e"), "n/e is at 2.17.0 already");
    let refused = |status: &RollStatus, title: &str| told(&roll(&[]), status, title).unwrap_err();
    assert_eq!(refused(&begun, "n/f"), "n/f does not go with roll r: it is Outside");
    assert!(refused(&begun, "b").starts_with("roll r is about no object b: pointsman roll objects r lists"));
    let over = RollStatus::of(&json!({"status": {"phase": "Complete", "started": "2026-11-18T10:00:00Z"}}));
    assert_eq!(refused(&over, "n/b"), "roll r is Complete: nothing more is moved");
    let back = roll_of(&json!({"waves": [{"name": "all"}], "direction": "Back"}));
    assert!(told(&back, &begun, "n/b").unwrap_err().starts_with("roll r does not go forward"));
    let many: Vec<String> = (0..64).map(|at| format!("n/x{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(told(&roll(&many), &begun, "n/b").is_ok(), "those that are gone do not count");
}
