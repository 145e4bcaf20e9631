//! What is waited for before a wave, and after it.

use pointsman_core::roll::{
    Direction, FleetObject, FleetRoll, Moment, RollAnswers, RollFacts, RollPhase, RollPlan, RollStatus, WantedObjects,
    WaveSide, asks_for_crd, plan, rfc3339, roll_questions, told_gates,
};
use serde_json::{Value, json};

use crate::kinds::roll_of;
use crate::patches::{NOW, boat};
use crate::starts::{APPS, PATCHES, app, checked, patch};

const KEY: &str = "example.com/controller-version";

/// A canary that is through, and another object that is to go.
fn fleet(roll: &FleetRoll, canary: &str) -> Vec<FleetObject> {
    let canary = boat(json!({"name": "a", "uid": "u-a", "labels": {KEY: canary, "roll": "canary"}}));
    let other = boat(json!({"name": "b", "uid": "u-b", "labels": {KEY: roll.from().unwrap()}}));
    [canary, other].iter().map(|object| FleetObject::of(object, roll).unwrap()).collect()
}

fn two_waves(canary: &Value, rest: &Value) -> Value {
    let mut waves = json!([{"name": "canary", "select": {"labels": "roll=canary"}}, {"name": "rest"}]);
    waves[0].as_object_mut().unwrap().extend(canary.as_object().unwrap().clone());
    waves[1].as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    waves
}

/// Of boats, from 2.16.0 to 2.17.0.
fn waits(canary: &Value, rest: &Value) -> FleetRoll {
    roll_of(&json!({"from": "2.16.0", "waves": two_waves(canary, rest)}))
}

fn planned(roll: &FleetRoll, status: &RollStatus, seconds: u64) -> RollPlan {
    let facts = RollFacts { consistent: true, ..RollFacts::default() };
    plan(roll, status, &fleet(roll, roll.to()), facts, Moment { wall: NOW.wall + seconds, ..NOW })
}

/// Which objects are under way, in which phase, why, and what is said.
fn said(plan: &RollPlan) -> (Vec<&str>, RollPhase, Option<&str>, &str) {
    let RollStatus { reserved, phase, reason, message, .. } = &plan.status;
    (reserved.iter().map(|one| one.object.as_str()).collect(), *phase, reason.as_deref(), message)
}

#[test]
fn nothing_of_a_wave_begins_before_somebody_approves() {
    let roll = waits(&json!({"before": "approval"}), &json!({"before": ["approval"]}));
    let first = planned(&roll, &RollStatus::default(), 0);
    let message = "canary 1/1, before it: waiting for approval";
    assert_eq!(said(&first), (vec![], RollPhase::Waiting, Some("Approval"), message));
    assert!(first.status.before && first.status.waits_for_approval());
    let mut status = first.status;
    // What is approved is one wave, on one side of it.
    assert_eq!(status.approve(&roll, "canary", None), Ok(WaveSide::Before));
    let second = planned(&roll, &status, 10);
    let message = "rest 0/1, before it: waiting for approval";
    assert_eq!(said(&second), (vec![], RollPhase::Waiting, Some("Approval"), message));
    assert_eq!(planned(&roll, &second.status, 20).writes, [], "it is said once");
    status = second.status;
    status.approve(&roll, "rest", Some(WaveSide::Before)).unwrap();
    let third = planned(&roll, &status, 30);
    assert_eq!(said(&third), (vec!["n/b"], RollPhase::Rolling, None, "rest 0/1, 1 under way"));
    assert!(!third.status.before);
}

/// Whoever edits the Roll meanwhile changes what is to come, and not what was.
#[test]
fn a_wave_that_has_begun_waits_for_nothing_before_it() {
    let begun = planned(&waits(&json!({}), &json!({})), &RollStatus::default(), 0).status;
    assert_eq!(begun.reserved.len(), 1);
    let edited = waits(&json!({}), &json!({"before": "approval"}));
    assert_eq!(said(&planned(&edited, &begun, 1)).1, RollPhase::Rolling);
    let waiting = planned(&edited, &RollStatus::default(), 0).status;
    assert!(waiting.before);
    let eased = planned(&waits(&json!({}), &json!({})), &waiting, 1);
    assert_eq!(said(&eased).0, ["n/b"], "what is asked for no more is not waited for");
}

#[test]
fn an_approval_counts_once() {
    let both = json!({"before": "approval", "then": ["approval"]});
    let roll = waits(&both, &json!({}));
    let mut status = planned(&roll, &RollStatus::default(), 0).status;
    let which = status.approve(&roll, "canary", None).unwrap_err();
    assert!(which.contains("for an approval before it and for one after it: say which"), "{which}");
    status.approve(&roll, "canary", Some(WaveSide::Before)).unwrap();
    status.approve(&roll, "canary", Some(WaveSide::Before)).unwrap();
    let behind = planned(&roll, &status, 1);
    assert_eq!(said(&behind).3, "canary 1/1, waiting for approval", "nobody has approved what comes behind it");
    // Who goes another way and comes again is asked again.
    let mut status = behind.status;
    status.approve(&roll, "canary", Some(WaveSide::Then)).unwrap();
    let back = roll_of(&json!({"from": "2.16.0", "waves": two_waves(&both, &json!({})), "direction": "Back"}));
    let gone = planned(&back, &status, 2).status;
    assert_eq!((gone.approved.len(), gone.approved_before.len(), gone.before), (0, 0, false), "{gone:?}");
    let again = planned(&roll, &RollStatus { phase: RollPhase::Rolling, ..gone }, 3);
    assert_eq!(said(&again).3, "canary 1/1, before it: waiting for approval");
}

#[test]
fn whoever_approves_what_nobody_waits_for_is_told() {
    let roll = waits(&json!({"then": "approval"}), &json!({"before": "approval"}));
    let mut begun = planned(&roll, &RollStatus::default(), 0).status;
    let told = |status: &RollStatus, wave: &str, side| status.clone().approve(&roll, wave, side).unwrap_err();
    let known = "known: after canary, before rest";
    assert_eq!(told(&begun, "first", None), format!("no wave \"first\" of r asks for an approval; {known}"));
    let before = Some(WaveSide::Before);
    assert_eq!(told(&begun, "canary", before), format!("r asks for no approval before \"canary\"; {known}"));
    let over = RollStatus { phase: RollPhase::Complete, ..begun.clone() };
    assert_eq!(told(&over, "canary", None), "r is Complete: nothing waits for an approval");
    let back = RollStatus { direction: Direction::Back, ..begun.clone() };
    assert_eq!(told(&back, "canary", None), "r goes Back: that waits for no approval");
    let plain = waits(&json!({}), &json!({}));
    assert_eq!(begun.approve(&plain, "rest", None).unwrap_err(), "no wave of r asks for an approval");
}

/// Behind a wave time is counted from its last object, before one from when all of that was over.
#[test]
fn time_before_a_wave_begins_when_the_one_before_is_over() {
    let roll = waits(&json!({"then": ["approval", {"wait": "30s"}]}), &json!({"before": {"wait": "20s"}}));
    let told: Vec<String> = told_gates(&roll).iter().map(|gate| gate.words()).collect();
    assert_eq!(told, ["after canary: 30s go by, somebody approves", "before rest: 20s go by"]);
    let mut status = planned(&roll, &RollStatus::default(), 0).status;
    let until = |seconds| rfc3339(NOW.wall + seconds);
    assert_eq!(status.message, format!("canary 1/1, soaking until {}; waiting for approval", until(30)));
    status.approve(&roll, "canary", None).unwrap();
    let soaks = planned(&roll, &status, 29);
    assert_eq!(said(&soaks).2, Some("Wait"));
    let over = planned(&roll, &soaks.status, 40);
    let message = format!("rest 0/1, before it: soaking until {}", until(60));
    assert_eq!(said(&over), (vec![], RollPhase::Waiting, Some("Wait"), message.as_str()));
    assert_eq!(said(&planned(&roll, &over.status, 59)).0, [""; 0]);
    assert_eq!(said(&planned(&roll, &over.status, 60)).0, ["n/b"]);
    // A clock that was ahead holds up nobody longer than the Roll says.
    let back = planned(&roll, &over.status, 10);
    assert_eq!(back.status.message, format!("rest 0/1, before it: soaking until {}", until(30)));
    let waits = |seconds| said(&planned(&roll, &back.status, seconds)).0.is_empty();
    assert!(waits(29) && !waits(30));
}

#[test]
fn the_longest_time_there_is_is_waited_for() {
    let roll = waits(&json!({"soak": "5000000000000h"}), &json!({}));
    let status = planned(&roll, &RollStatus::default(), 0).status;
    assert!(status.message.starts_with("canary 1/1, soaking until "), "{}", status.message);
}

/// With a check of the beginning that is about apps, which are so.
fn checking(canary: &Value, rest: &Value) -> FleetRoll {
    let kind = checked(&format!("{{start: [crd, {APPS}]}}"), "").unwrap();
    let mut members = json!({"from": "1.16.4", "to": "1.17.1"});
    members["waves"] = two_waves(canary, rest);
    crate::starts::roll_of(&kind, &members)
}

/// What is asked by this status is answered: apps are ready or not.
fn with_apps(roll: &FleetRoll, status: &RollStatus, ready: &str) -> RollPlan {
    let mut answers = RollAnswers::default();
    roll_questions(roll, status).iter().for_each(|question| answers.saw(question, &[app("a", ready)]));
    if asks_for_crd(roll, status) {
        answers.crd_lacks(Ok(Vec::new()));
    }
    let facts = RollFacts { consistent: true, answers, ..RollFacts::default() };
    plan(roll, status, &fleet(roll, roll.to()), facts, NOW)
}

#[test]
fn checks_of_the_beginning_are_asked_again_between_waves() {
    for (canary, rest, place) in [
        (json!({}), json!({"before": "checks"}), "rest 0/1, before it: "),
        (json!({"then": "checks"}), json!({}), "canary 1/1, "),
    ] {
        let roll = checking(&canary, &rest);
        let first = with_apps(&roll, &RollStatus::default(), "True");
        // What was seen at the beginning does not count.
        let message = format!("{place}its start checks are looked at again");
        assert_eq!(said(&first), (vec![], RollPhase::Waiting, Some("Checks"), message.as_str()));
        assert!(!roll_questions(&roll, &first.status).is_empty() && asks_for_crd(&roll, &first.status));
        let shut = with_apps(&roll, &first.status, "False");
        let why = "apps: helmreleases.helm.toolkit.fluxcd.io flux/a: condition Ready is False, and must be True";
        assert_eq!(said(&shut), (vec![], RollPhase::Waiting, Some("Checks"), format!("{place}{why}").as_str()));
        let open = with_apps(&roll, &shut.status, "True");
        assert_eq!(said(&open).0, ["n/b"]);
        assert!(roll_questions(&roll, &open.status).is_empty(), "a wave that has begun asks no more");
        // Whoever goes back asks nothing.
        let turned = RollStatus { back_all: true, ..shut.status.clone() };
        assert!(roll_questions(&roll, &turned).is_empty());
    }
}

/// What nobody could read is not open.
#[test]
fn checks_that_nobody_can_read_are_waited_for() {
    let roll = checking(&json!({}), &json!({"before": "checks"}));
    let waits = with_apps(&roll, &RollStatus::default(), "True").status;
    let mut answers = RollAnswers::default();
    let questions = roll_questions(&roll, &waits);
    questions.iter().for_each(|question| answers.cannot_read(question, "forbidden".to_owned()));
    answers.crd_lacks(Err("forbidden".to_owned()));
    let facts = RollFacts { consistent: true, answers, ..RollFacts::default() };
    let unread = plan(&roll, &waits, &fleet(&roll, "1.17.1"), facts, NOW);
    assert_eq!(said(&unread).0, [""; 0]);
    for part in ["crd: the CRD boats.example.com cannot be read", "apps: helmreleases", "forbidden"] {
        assert!(unread.status.message.contains(part), "{}", unread.status.message);
    }
    let unasked = plan(&roll, &waits, &fleet(&roll, "1.17.1"), RollFacts::default(), NOW);
    assert!(unasked.status.message.contains("nobody has looked at"), "{}", unasked.status.message);
}

/// What is looked at right before a wave begins is as of when it begins.
#[test]
fn checks_before_a_wave_are_asked_when_it_can_begin() {
    let roll = checking(&json!({}), &json!({"before": "checks"}));
    let waits = with_apps(&roll, &RollStatus::default(), "True").status;
    let mut answers = RollAnswers::default();
    roll_questions(&roll, &waits).iter().for_each(|question| answers.saw(question, &[app("a", "True")]));
    answers.crd_lacks(Ok(Vec::new()));
    let trouble = Some("a webhook does not answer".to_owned());
    let facts = RollFacts { consistent: true, answers, trouble, ..RollFacts::default() };
    let held_up = plan(&roll, &waits, &fleet(&roll, "1.17.1"), facts, NOW);
    assert!(held_up.status.before, "{:?}", held_up.status);
    assert_eq!(held_up.status.reason.as_deref(), Some("Trouble"));
}

/// Nothing comes behind the last wave; but the roll is not over before.
#[test]
fn a_roll_is_complete_once_its_last_checks_hold() {
    let roll = checking(&json!({}), &json!({"then": "checks"}));
    let done = |status: &RollStatus, ready| {
        let mut answers = RollAnswers::default();
        roll_questions(&roll, status).iter().for_each(|question| answers.saw(question, &[app("a", ready)]));
        answers.crd_lacks(Ok(Vec::new()));
        let other = boat(json!({"name": "b", "uid": "u-b", "labels": {KEY: "1.17.1"}}));
        let facts = RollFacts { consistent: true, answers, ..RollFacts::default() };
        plan(&roll, status, &[FleetObject::of(&other, &roll).unwrap()], facts, NOW).status
    };
    let first = done(&RollStatus::default(), "True");
    let shut = done(&first, "False");
    assert_eq!((shut.phase, shut.reason.as_deref()), (RollPhase::Waiting, Some("Checks")), "{}", shut.message);
    assert_eq!(done(&shut, "True").phase, RollPhase::Complete);
}

/// That is what became of it on the way.
#[test]
fn what_had_to_be_available_may_be_applied_by_then() {
    let kind = checked("{start: [needs]}", PATCHES).unwrap();
    let waves = two_waves(&json!({}), &json!({"before": "checks"}));
    let roll = crate::starts::roll_of(&kind, &json!({"waves": waves}));
    let planned = |status: &RollStatus, later: &str| {
        let mut answers = RollAnswers::default();
        for question in roll_questions(&roll, status) {
            let WantedObjects::Named(name) = &question.wanted else { panic!("{question:?}") };
            let state = if name == "p-kube-patch.2" { later } else { "Applied" };
            answers.saw(&question, &patch(state).unwrap());
        }
        let facts = RollFacts { consistent: true, answers, ..RollFacts::default() };
        plan(&roll, status, &fleet(&roll, "1.17.1"), facts, NOW).status
    };
    assert_eq!(planned(&RollStatus::default(), "Applied").phase, RollPhase::Refused, "not before it begins");
    let waits = planned(&RollStatus::default(), "Available");
    assert_eq!(planned(&waits, "Removed").reason.as_deref(), Some("Checks"));
    assert_eq!(planned(&waits, "Applied").reserved.len(), 1);
    assert_eq!(planned(&waits, "Available").reserved.len(), 1);
}
