//! Gates before and after a wave.

use pointsman_rollout::{
    ClockReading, Direction, FleetObject, LookupResults, LookupTarget, PlanInput, Rollout, RolloutPhase, RolloutPlan,
    RolloutStatus, WaveSide, gate_descriptions, needs_crd, plan, rfc3339, rollout_lookups,
};
use serde_json::{Value, json};

use crate::kinds::rollout_of;
use crate::patches::{NOW, database};
use crate::starts::{APPS, PATCHES, app, checked, patch};

const KEY: &str = "example.com/controller-version";

/// A finished canary, and another pending object.
fn fleet(rollout: &Rollout, canary: &str) -> Vec<FleetObject> {
    let canary = database(json!({"name": "a", "uid": "u-a", "labels": {KEY: canary, "rollout": "canary"}}));
    let other = database(json!({"name": "b", "uid": "u-b", "labels": {KEY: rollout.from().unwrap()}}));
    [canary, other].iter().map(|object| FleetObject::of(object, rollout).unwrap()).collect()
}

fn two_waves(canary: &Value, rest: &Value) -> Value {
    let mut waves = json!([{"name": "canary", "selector": {"labels": "rollout=canary"}}, {"name": "rest"}]);
    waves[0].as_object_mut().unwrap().extend(canary.as_object().unwrap().clone());
    waves[1].as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    waves
}

/// A rollout of databases from 2.16.0 to 2.17.0.
fn waits(canary: &Value, rest: &Value) -> Rollout {
    rollout_of(&json!({"from": "2.16.0", "waves": two_waves(canary, rest)}))
}

fn planned(rollout: &Rollout, status: &RolloutStatus, seconds: u64) -> RolloutPlan {
    let facts = PlanInput { consistent: true, ..PlanInput::default() };
    plan(rollout, status, &fleet(rollout, rollout.to()), facts, ClockReading { wall: NOW.wall + seconds, ..NOW })
}

/// Returns the in-flight objects, the phase, the reason and the message.
fn said(plan: &RolloutPlan) -> (Vec<&str>, RolloutPhase, Option<&str>, &str) {
    let RolloutStatus { in_flight, phase, reason, message, .. } = &plan.status;
    (in_flight.iter().map(|one| one.object.as_str()).collect(), *phase, reason.as_deref(), message)
}

#[test]
fn wave_waits_for_approval() {
    let rollout = waits(&json!({"before": "approval"}), &json!({"before": ["approval"]}));
    let first = planned(&rollout, &RolloutStatus::default(), 0);
    let message = "canary 1/1, before it: waiting for approval";
    assert_eq!(said(&first), (vec![], RolloutPhase::Waiting, Some("Approval"), message));
    assert!(first.status.before && first.status.waits_for_approval());
    let mut status = first.status;
    // An approval covers one wave, on one side.
    assert_eq!(status.approve(&rollout, "canary", None), Ok(WaveSide::Before));
    let second = planned(&rollout, &status, 10);
    let message = "rest 0/1, before it: waiting for approval";
    assert_eq!(said(&second), (vec![], RolloutPhase::Waiting, Some("Approval"), message));
    assert_eq!(planned(&rollout, &second.status, 20).writes, [], "it is said once");
    status = second.status;
    status.approve(&rollout, "rest", Some(WaveSide::Before)).unwrap();
    let third = planned(&rollout, &status, 30);
    assert_eq!(said(&third), (vec!["n/b"], RolloutPhase::Rolling, None, "rest 0/1, 1 in flight"));
    assert!(!third.status.before);
}

/// An edit of the StagedRollout during the rollout affects only later waves.
#[test]
fn started_wave_skips_its_gate() {
    let begun = planned(&waits(&json!({}), &json!({})), &RolloutStatus::default(), 0).status;
    assert_eq!(begun.in_flight.len(), 1);
    let edited = waits(&json!({}), &json!({"before": "approval"}));
    assert_eq!(said(&planned(&edited, &begun, 1)).1, RolloutPhase::Rolling);
    let waiting = planned(&edited, &RolloutStatus::default(), 0).status;
    assert!(waiting.before);
    let eased = planned(&waits(&json!({}), &json!({})), &waiting, 1);
    assert_eq!(said(&eased).0, ["n/b"], "a removed check blocks nothing");
}

#[test]
fn an_approval_counts_once() {
    let both = json!({"before": "approval", "after": ["approval"]});
    let rollout = waits(&both, &json!({}));
    let mut status = planned(&rollout, &RolloutStatus::default(), 0).status;
    let which = status.approve(&rollout, "canary", None).unwrap_err();
    assert!(which.contains("for an approval before and after: use --before or --after"), "{which}");
    status.approve(&rollout, "canary", Some(WaveSide::Before)).unwrap();
    status.approve(&rollout, "canary", Some(WaveSide::Before)).unwrap();
    let behind = planned(&rollout, &status, 1);
    assert_eq!(said(&behind).3, "canary 1/1, waiting for approval", "the next wave has no approval");
    // After a change of direction, the gate needs a new approval.
    let mut status = behind.status;
    status.approve(&rollout, "canary", Some(WaveSide::After)).unwrap();
    let back = rollout_of(&json!({"from": "2.16.0", "waves": two_waves(&both, &json!({})), "direction": "Undo"}));
    let gone = planned(&back, &status, 2).status;
    assert_eq!((gone.approved.len(), gone.approved_before.len(), gone.before), (0, 0, false), "{gone:?}");
    let again = planned(&rollout, &RolloutStatus { phase: RolloutPhase::Rolling, ..gone }, 3);
    assert_eq!(said(&again).3, "canary 1/1, before it: waiting for approval");
}

#[test]
fn useless_approval_is_reported() {
    let rollout = waits(&json!({"after": "approval"}), &json!({"before": "approval"}));
    let mut begun = planned(&rollout, &RolloutStatus::default(), 0).status;
    let told = |status: &RolloutStatus, wave: &str, side| status.clone().approve(&rollout, wave, side).unwrap_err();
    let known = "known: after canary, before rest";
    assert_eq!(told(&begun, "first", None), format!("no wave \"first\" of r waits for an approval; {known}"));
    let before = Some(WaveSide::Before);
    assert_eq!(told(&begun, "canary", before), format!("r waits for no approval before \"canary\"; {known}"));
    let over = RolloutStatus { phase: RolloutPhase::Complete, ..begun.clone() };
    assert_eq!(told(&over, "canary", None), "r is Complete: no approval is pending");
    let back = RolloutStatus { direction: Direction::Undo, ..begun.clone() };
    assert_eq!(told(&back, "canary", None), "r has direction Undo, which waits for no approval");
    let plain = waits(&json!({}), &json!({}));
    assert_eq!(begun.approve(&plain, "rest", None).unwrap_err(), "no wave of r waits for an approval");
}

/// After a wave, time counts from the wave's last object; before a wave, from the end of the previous gates.
#[test]
fn wait_starts_after_previous_wave() {
    let rollout = waits(&json!({"after": ["approval", {"wait": "30s"}]}), &json!({"before": {"wait": "20s"}}));
    let told: Vec<String> = gate_descriptions(&rollout).iter().map(|gate| gate.words()).collect();
    assert_eq!(told, ["after canary: 30s go by, an approval", "before rest: 20s go by"]);
    let mut status = planned(&rollout, &RolloutStatus::default(), 0).status;
    let until = |seconds| rfc3339(NOW.wall + seconds);
    assert_eq!(status.message, format!("canary 1/1, soaking until {}; waiting for approval", until(30)));
    status.approve(&rollout, "canary", None).unwrap();
    let soaks = planned(&rollout, &status, 29);
    assert_eq!(said(&soaks).2, Some("Wait"));
    let over = planned(&rollout, &soaks.status, 40);
    let message = format!("rest 0/1, before it: soaking until {}", until(60));
    assert_eq!(said(&over), (vec![], RolloutPhase::Waiting, Some("Wait"), message.as_str()));
    assert_eq!(said(&planned(&rollout, &over.status, 59)).0, [""; 0]);
    assert_eq!(said(&planned(&rollout, &over.status, 60)).0, ["n/b"]);
    // A clock that was ahead delays the rollout no longer than the StagedRollout states.
    let back = planned(&rollout, &over.status, 10);
    assert_eq!(back.status.message, format!("rest 0/1, before it: soaking until {}", until(30)));
    let waits = |seconds| said(&planned(&rollout, &back.status, seconds)).0.is_empty();
    assert!(waits(29) && !waits(30));
}

#[test]
fn longest_wait_is_honoured() {
    let rollout = waits(&json!({"soak": "5000000000000h"}), &json!({}));
    let status = planned(&rollout, &RolloutStatus::default(), 0).status;
    assert!(status.message.starts_with("canary 1/1, soaking until "), "{}", status.message);
}

/// Uses a start check on the state of apps.
fn checking(canary: &Value, rest: &Value) -> Rollout {
    let kind = checked(&format!("{{start: [crd, {APPS}]}}"), "").unwrap();
    let mut members = json!({"from": "1.16.4", "to": "1.17.1"});
    members["waves"] = two_waves(canary, rest);
    crate::starts::rollout_of(&kind, &members)
}

/// Answers the lookups of this status: apps are ready or not.
fn with_apps(rollout: &Rollout, status: &RolloutStatus, ready: &str) -> RolloutPlan {
    let mut answers = LookupResults::default();
    rollout_lookups(rollout, status).iter().for_each(|lookup| answers.saw(lookup, &[app("a", ready)]));
    if needs_crd(rollout, status) {
        answers.crd_lacks(Ok(Vec::new()));
    }
    let facts = PlanInput { consistent: true, answers, ..PlanInput::default() };
    plan(rollout, status, &fleet(rollout, rollout.to()), facts, NOW)
}

#[test]
fn start_checks_repeat_between_waves() {
    for (canary, rest, place) in [
        (json!({}), json!({"before": "checks"}), "rest 0/1, before it: "),
        (json!({"after": "checks"}), json!({}), "canary 1/1, "),
    ] {
        let rollout = checking(&canary, &rest);
        let first = with_apps(&rollout, &RolloutStatus::default(), "True");
        // Results from the start do not count.
        let message = format!("{place}the start checks run again");
        assert_eq!(said(&first), (vec![], RolloutPhase::Waiting, Some("Checks"), message.as_str()));
        assert!(!rollout_lookups(&rollout, &first.status).is_empty() && needs_crd(&rollout, &first.status));
        let shut = with_apps(&rollout, &first.status, "False");
        let why = "apps: helmreleases.helm.toolkit.fluxcd.io flux/a: condition Ready is False, and must be True";
        assert_eq!(said(&shut), (vec![], RolloutPhase::Waiting, Some("Checks"), format!("{place}{why}").as_str()));
        let open = with_apps(&rollout, &shut.status, "True");
        assert_eq!(said(&open).0, ["n/b"]);
        assert!(rollout_lookups(&rollout, &open.status).is_empty(), "a wave that has begun asks no more");
        // An undo needs no checks.
        let turned = RolloutStatus { undo_all: true, ..shut.status.clone() };
        assert!(rollout_lookups(&rollout, &turned).is_empty());
    }
}

/// An unreadable check keeps the gate closed.
#[test]
fn unreadable_checks_are_retried() {
    let rollout = checking(&json!({}), &json!({"before": "checks"}));
    let waits = with_apps(&rollout, &RolloutStatus::default(), "True").status;
    let mut answers = LookupResults::default();
    let lookups = rollout_lookups(&rollout, &waits);
    lookups.iter().for_each(|lookup| answers.cannot_read(lookup, "forbidden".to_owned()));
    answers.crd_lacks(Err("forbidden".to_owned()));
    let facts = PlanInput { consistent: true, answers, ..PlanInput::default() };
    let unread = plan(&rollout, &waits, &fleet(&rollout, "1.17.1"), facts, NOW);
    assert_eq!(said(&unread).0, [""; 0]);
    for part in ["crd: the CRD databases.example.com cannot be read", "apps: helmreleases", "forbidden"] {
        assert!(unread.status.message.contains(part), "{}", unread.status.message);
    }
    let unasked = plan(&rollout, &waits, &fleet(&rollout, "1.17.1"), PlanInput::default(), NOW);
    assert!(unasked.status.message.contains("was not read yet"), "{}", unasked.status.message);
}

/// Checks directly before a wave run when the wave starts.
#[test]
fn wave_checks_run_when_due() {
    let rollout = checking(&json!({}), &json!({"before": "checks"}));
    let waits = with_apps(&rollout, &RolloutStatus::default(), "True").status;
    let mut answers = LookupResults::default();
    rollout_lookups(&rollout, &waits).iter().for_each(|lookup| answers.saw(lookup, &[app("a", "True")]));
    answers.crd_lacks(Ok(Vec::new()));
    let trouble = Some("a webhook does not answer".to_owned());
    let facts = PlanInput { consistent: true, answers, trouble, ..PlanInput::default() };
    let held_up = plan(&rollout, &waits, &fleet(&rollout, "1.17.1"), facts, NOW);
    assert!(held_up.status.before, "{:?}", held_up.status);
    assert_eq!(held_up.status.reason.as_deref(), Some("APIError"));
}

/// No wave follows the last one, but the rollout stays open until the checks pass.
#[test]
fn completion_waits_for_final_checks() {
    let rollout = checking(&json!({}), &json!({"after": "checks"}));
    let done = |status: &RolloutStatus, ready| {
        let mut answers = LookupResults::default();
        rollout_lookups(&rollout, status).iter().for_each(|lookup| answers.saw(lookup, &[app("a", ready)]));
        answers.crd_lacks(Ok(Vec::new()));
        let other = database(json!({"name": "b", "uid": "u-b", "labels": {KEY: "1.17.1"}}));
        let facts = PlanInput { consistent: true, answers, ..PlanInput::default() };
        plan(&rollout, status, &[FleetObject::of(&other, &rollout).unwrap()], facts, NOW).status
    };
    let first = done(&RolloutStatus::default(), "True");
    let shut = done(&first, "False");
    assert_eq!((shut.phase, shut.reason.as_deref()), (RolloutPhase::Waiting, Some("Checks")), "{}", shut.message);
    assert_eq!(done(&shut, "True").phase, RolloutPhase::Complete);
}

/// The requirement was met during the rollout.
#[test]
fn requirement_may_be_met_later() {
    let kind = checked("{start: [needs]}", PATCHES).unwrap();
    let waves = two_waves(&json!({}), &json!({"before": "checks"}));
    let rollout = crate::starts::rollout_of(&kind, &json!({"waves": waves}));
    let planned = |status: &RolloutStatus, later: &str| {
        let mut answers = LookupResults::default();
        for lookup in rollout_lookups(&rollout, status) {
            let LookupTarget::Named(name) = &lookup.wanted else { panic!("{lookup:?}") };
            let state = if name == "p-kube-patch.2" { later } else { "Applied" };
            answers.saw(&lookup, &patch(state).unwrap());
        }
        let facts = PlanInput { consistent: true, answers, ..PlanInput::default() };
        plan(&rollout, status, &fleet(&rollout, "1.17.1"), facts, NOW).status
    };
    assert_eq!(planned(&RolloutStatus::default(), "Applied").phase, RolloutPhase::Refused, "not before it begins");
    let waits = planned(&RolloutStatus::default(), "Available");
    assert_eq!(planned(&waits, "Removed").reason.as_deref(), Some("Checks"));
    assert_eq!(planned(&waits, "Applied").in_flight.len(), 1);
    assert_eq!(planned(&waits, "Available").in_flight.len(), 1);
}
