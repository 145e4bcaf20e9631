//! What somebody else has written where rolls note what they have done.

use pointsman_core::roll::{
    FleetObject, FleetRoll, Moment, RollFacts, RollPhase, RollPlan, RollStatus, RollWrite, Standing, forecast, plan,
    rfc3339,
};
use serde_json::{Value, json};

use crate::boat::{ANNOTATION, Boat};
use crate::kinds::roll_of;
use crate::patches::NOW;
use crate::script::TEXTS;
use crate::world::{LABEL, NEW, OLD};

fn roll(members: &Value) -> FleetRoll {
    let mut all = json!({"from": OLD, "waves": [{"name": "all", "atOnce": 1}]});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    roll_of(&all)
}

fn boat(label: &str, text: &str) -> Boat {
    Boat::new(json!({
        "namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: label}, "annotations": {ANNOTATION: text},
    }))
}

/// One of several.
fn named(at: usize, label: &str, text: &str) -> Boat {
    let (name, uid) = (format!("b-{at}"), format!("u-{at}"));
    Boat::new(json!({
        "namespace": "n", "name": name, "uid": uid, "labels": {LABEL: label}, "annotations": {ANNOTATION: text},
    }))
}

fn planned(roll: &FleetRoll, status: &RollStatus, boat: &Boat) -> RollPlan {
    let fleet = [FleetObject::of(&boat.value(), roll).unwrap()];
    plan(roll, status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, NOW)
}

fn moves(plan: &RollPlan, boat: &Boat) -> Option<Boat> {
    let patches: Vec<&Value> = plan
        .writes
        .iter()
        .filter_map(|write| match write {
            RollWrite::Move(one) => Some(&one.patch),
            _ => None,
        })
        .collect();
    let patch = *patches.first()?;
    Some(boat.patched(patch, NOW.wall, true).unwrap_or_else(|| panic!("{patch} does not land on {}", boat.value())))
}

/// Where a write is planned it lands; where none is, it is said why, and what to do.
#[test]
fn a_text_that_no_roll_has_written_is_not_written_over_and_is_told() {
    let roll = roll(&json!({}));
    let (mut landed, mut refused) = (Vec::new(), Vec::new());
    for text in TEXTS {
        let boat = boat(OLD, text);
        let plan = planned(&roll, &RollStatus::default(), &boat);
        match (&plan.standings[0], moves(&plan, &boat)) {
            (Standing::Reserved, Some(there)) => {
                assert_eq!(there.label(), Some(NEW), "{text}");
                assert!(there.is_marked(), "{text}: {}", there.value());
                landed.push(text);
            }
            (Standing::Refused(why), None) => {
                let does = "kubectl annotate --field-manager=pointsman-roll --namespace=n boats.example.com b \
                            pointsman.dev/roll-";
                assert!(
                    why.contains(&format!("annotation pointsman.dev/roll is {text:?}")) && why.ends_with(does),
                    "{why}"
                );
                assert_eq!((plan.status.phase, plan.status.counts.refused), (RollPhase::Waiting, 1), "{text}");
                assert!(plan.status.message.contains(why), "{text}: {}", plan.status.message);
                refused.push(text);
            }
            // The mark of this roll, on what is at the old version.
            (Standing::Held(why), None) => assert!(why.contains("turned the label back") && boat.is_marked(), "{why}"),
            (standing, moved) => panic!("{text}: {standing:?} {:?}", moved.map(|boat| boat.value())),
        }
    }
    let is_another = |text: &&&str| text.contains("roll-0") || text.contains("9.9.9") || text.is_empty();
    assert_eq!(landed, TEXTS.iter().filter(is_another).copied().collect::<Vec<_>>(), "marks of others, and nothing");
    assert_eq!((landed.len(), refused.len()), (3, 8));
}

#[test]
fn a_large_text_is_told_by_its_beginning() {
    let (roll, text) = (roll(&json!({})), "x".repeat(100_000));
    let plan = planned(&roll, &RollStatus::default(), &boat(OLD, &text));
    let why = plan.standings[0].why();
    assert!(why.contains(&text[..300]) && why.len() < 1_000 && why.contains('…'), "{} {why}", why.len());
}

/// What comes to stand there between the reservation and the move leaves its place to others; behind the move nobody
/// waits for it, and on the way back it is said that nobody knows.
#[test]
fn a_text_that_comes_meanwhile_keeps_no_place_and_is_told_on_the_way_back() {
    let forward = roll(&json!({}));
    let before = Boat::new(json!({"namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: OLD}}));
    let status = planned(&forward, &RollStatus::default(), &before).status;
    assert_eq!(status.reserved.len(), 1);
    let plan = planned(&forward, &status, &boat(OLD, "mine"));
    assert_eq!((plan.status.reserved.len(), moves(&plan, &before).is_none()), (0, true), "{:?}", plan.status);
    assert!(matches!(plan.standings[0], Standing::Refused(_)), "{:?}", plan.standings);
    // It was moved before that, and is not healthy yet.
    let plan = planned(&forward, &status, &boat(NEW, "mine"));
    assert_eq!((plan.status.reserved.len(), plan.status.counts.moving), (1, 1), "{:?}", plan.status);
    let back = roll(&json!({"direction": "Back"}));
    let mut status = plan.status;
    for _ in 0..3 {
        let mut there = boat(NEW, "mine");
        there.labelled(NEW, "kubectl-label", "Update", NOW.wall - 60);
        there.looked_at("boatman", true, NOW.wall - 30);
        let plan = planned(&back, &status, &there);
        assert_eq!(moves(&plan, &there).map(|boat| boat.value()), None);
        status = plan.status;
    }
    assert_eq!((status.phase, status.counts.refused), (RollPhase::Aborted, 1), "{status:?}");
    assert!(status.message.contains("no roll writes over it"), "{}", status.message);
    let fleet = [FleetObject::of(&boat(NEW, "mine").value(), &back).unwrap()];
    let told = forecast(&back, &status, &fleet, RollFacts::default(), NOW);
    assert!(told[0].standing.why().contains("no roll writes over it"), "{:?}", told[0].standing);
}

/// What was moved and has no mark any more is left where it is: that is no end at which nobody has to look.
#[test]
fn what_was_moved_and_lost_its_mark_is_told_where_the_roll_was_taken_back() {
    let mark = json!({"roll": "roll-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let ends = |texts: &[&str]| {
        let there: Vec<Boat> = texts.iter().enumerate().map(|(at, text)| named(at, NEW, text)).collect();
        let end = |roll: &FleetRoll, mut status: RollStatus| {
            for _ in 0..3 {
                let fleet: Vec<FleetObject> =
                    there.iter().map(|boat| FleetObject::of(&boat.value(), roll).unwrap()).collect();
                status =
                    plan(roll, &status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, NOW).status;
            }
            status
        };
        let complete = end(&roll(&json!({"unhealthyMax": 5})), RollStatus::default());
        assert_eq!(complete.phase, RollPhase::Complete, "{texts:?}: {}", complete.message);
        end(&roll(&json!({"direction": "Back"})), complete)
    };
    for (text, what) in
        [("", "annotation pointsman.dev/roll is \"\""), ("mine", "annotation pointsman.dev/roll is \"mine\"")]
    {
        let status = ends(&[text]);
        assert_eq!((status.phase, status.reason.as_deref()), (RollPhase::Aborted, Some("TakenBack")), "{text:?}");
        assert_eq!((status.counts.refused, status.counts.new), (1, 0), "{text:?}");
        let said = "every object with the mark of its move is what it was before; cannot tell whether 1 object was \
                    moved, so it is left unchanged: n/b-0: ";
        assert!(status.message.starts_with(said) && status.message.contains(what), "{text:?}: {}", status.message);
        assert!(status.leaves_objects(), "{text:?}");
        let does =
            "kubectl annotate --field-manager=pointsman-roll --namespace=n boats.example.com b-0 pointsman.dev/roll-";
        assert!(status.message.ends_with(does), "{text:?}: {}", status.message);
    }
    let two = ends(&["", "mine"]);
    assert!(
        two.message
            .contains("; cannot tell whether 2 objects were moved, so they are left unchanged: n/b-0, n/b-1. n/b-0: "),
        "{}",
        two.message
    );
    // The marks of other rolls are theirs.
    let other = mark.replace("roll-1", "roll-0");
    let status = ends(&[&other]);
    assert!(!status.leaves_objects(), "{}", status.message);
    let told = "every object with the mark of its move is what it was before; left at 2.17.0, where another Roll, or one \
                that was deleted, has moved them by their marks: n/b-0. A Roll from 2.17.0 moves them";
    assert_eq!(status.message, told);
    // Whoever has set another version since is told of.
    let by_hand = |version: &str| {
        let there = named(0, version, &mark);
        let fleet = [FleetObject::of(&there.value(), &roll(&json!({"direction": "Back"}))).unwrap()];
        let mut status = RollStatus { started: Some(rfc3339(NOW.wall - 60)), ..RollStatus::default() };
        for _ in 0..3 {
            let facts = RollFacts { consistent: true, ..RollFacts::default() };
            status = plan(&roll(&json!({"direction": "Back"})), &status, &fleet, facts, NOW).status;
        }
        (status.phase, status.message)
    };
    let told = "every object with the mark of its move is what it was before";
    assert_eq!(by_hand(OLD), (RollPhase::Aborted, told.to_owned()));
    let more = ", but for 1 object, which somebody else has set to another version since: n/b-0. pointsman roll objects says \
                to which";
    assert_eq!(by_hand("3.0.0"), (RollPhase::Aborted, format!("{told}{more}")));
}

/// What has gone back says nothing of the roll any more. It is waited for all the same, whatever the roll is about by
/// then, and no other one begins beside it.
#[test]
fn what_goes_back_is_waited_for_whatever_the_roll_selects_by_then() {
    let members = json!({"select": {"labels": "frozen notin (true)"}, "direction": "Back", "unhealthyMax": 0});
    let back = roll(&members);
    let mark = json!({"roll": "roll-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let frozen = |at: usize, version: &str, mark: &str| {
        let mut object = named(at, version, mark).value();
        object["metadata"]["labels"]["frozen"] = "true".into();
        if mark.is_empty() {
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        object
    };
    let there = [frozen(0, NEW, &mark), frozen(1, NEW, &mark)];
    let facts = || RollFacts { consistent: true, ..RollFacts::default() };
    let fleet: Vec<FleetObject> = there.iter().map(|object| FleetObject::of(object, &back).unwrap()).collect();
    let status = RollStatus { started: Some(rfc3339(NOW.wall - 60)), ..RollStatus::default() };
    let status = plan(&back, &status, &fleet, facts(), NOW).status;
    let goes: Vec<String> = status.under_way_back().into_iter().collect();
    assert_eq!((goes.len(), status.counts.new), (1, 1), "{status:?}");
    let went = usize::from(goes[0] == fleet[1].uid());

    let landed = frozen(went, OLD, "");
    assert!(FleetObject::of(&landed, &back).is_none(), "nothing of it says that it was ever moved");
    let mut fleet = fleet;
    fleet[went] = FleetObject::of_under_way(&landed, &back).unwrap();
    let after = plan(&back, &status, &fleet, facts(), NOW);
    assert_eq!((after.status.under_way_back(), after.status.counts.new), (status.under_way_back(), 1), "{after:?}");
    assert!(matches!(after.standings[went], Standing::Moving(_) | Standing::Settling), "{:?}", after.standings);
    // Nobody else moves it: it is not of the roll, wherever that goes.
    for direction in ["Back", "Forward"] {
        let roll = roll(&json!({"select": {"labels": "frozen notin (true)"}, "direction": direction}));
        let alone = [fleet[went].clone()];
        let status = RollStatus { started: Some(rfc3339(NOW.wall - 60)), ..RollStatus::default() };
        let plan = plan(&roll, &status, &alone, facts(), NOW);
        assert_eq!((&plan.standings[..], plan.status.reserved.len()), (&[Standing::Outside][..], 0), "{direction}");
    }
}

/// Once somebody has mended what was left, the same roll is run again: it takes back what has its mark, and ends with
/// nothing left.
#[test]
fn what_was_left_is_looked_for_again_once_somebody_has_mended_it() {
    let (complete, back) = (roll(&json!({})), roll(&json!({"direction": "Back"})));
    let pass = |roll: &FleetRoll, status: &RollStatus, boat: &Boat| {
        let fleet = [FleetObject::of(&boat.value(), roll).unwrap()];
        plan(roll, status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, NOW)
    };
    let mut status = RollStatus::default();
    for _ in 0..3 {
        status = pass(&complete, &status, &boat(NEW, "mine")).status;
    }
    for _ in 0..3 {
        status = pass(&back, &status, &boat(NEW, "mine")).status;
    }
    assert!(status.leaves_objects(), "{}", status.message);
    let again = pass(&back, &status, &boat(NEW, "mine")).status;
    assert_eq!(again, status, "it says the same as long as it is so");

    let plain = Boat::new(json!({"namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: OLD}}));
    let ended = pass(&back, &status, &plain).status;
    assert_eq!((ended.phase, ended.leaves_objects()), (RollPhase::Aborted, false));
    assert_eq!(ended.message, "every object with the mark of its move is what it was before");

    let mark = json!({"roll": "roll-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let goes = pass(&back, &status, &boat(NEW, &mark)).status;
    assert_eq!((goes.phase, goes.reserved.len()), (RollPhase::Rolling, 1), "{}", goes.message);
    assert!(goes.reserved[0].back);
    assert_eq!((goes.history, ended.history), (status.history.clone(), status.history), "it has ended once");
}

/// While the fleet goes back, what nobody knows to be moved may be why: it does not keep the others from going.
#[test]
fn what_lost_its_mark_and_is_not_healthy_keeps_nobody_from_going_back() {
    let back = roll(&json!({"direction": "Back", "unhealthyMax": 0}));
    let mark = json!({"roll": "roll-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let status =
        RollStatus { started: Some(rfc3339(NOW.wall - 60)), phase: RollPhase::Rolling, ..RollStatus::default() };
    let there = [named(0, NEW, ""), named(1, NEW, "mine"), named(2, NEW, &mark)];
    let fleet: Vec<FleetObject> = there.iter().map(|boat| FleetObject::of(&boat.value(), &back).unwrap()).collect();
    let status = plan(&back, &status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, NOW).status;
    assert_eq!((status.reserved.len(), status.counts.refused), (1, 2), "{}", status.message);
}

/// Somebody else may change what a mark says, and a clock may be wrong.
#[test]
fn a_mark_of_a_time_that_is_yet_to_come_holds_up_nobody() {
    let roll = roll(&json!({"timeout": "10m"}));
    let status = planned(&roll, &RollStatus::default(), &boat(OLD, "")).status;
    for (at, late) in [("2999-01-01T00:00:00Z", 601), ("9999-12-31T23:59:60Z", 601), (&*rfc3339(NOW.wall + 300), 901)] {
        let mark = json!({"roll": "roll-1", "was": OLD, "to": NEW, "at": at});
        let there = boat(NEW, &mark.to_string());
        let after = |seconds: u64| {
            let fleet = [FleetObject::of(&there.value(), &roll).unwrap()];
            let now = Moment { wall: NOW.wall + seconds, ..NOW };
            plan(&roll, &status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, now)
        };
        assert!(matches!(after(late - 2).standings[0], Standing::Moving(_)), "{at}");
        let Standing::Failed(why) = &after(late).standings[0] else { panic!("{at}: {:?}", after(late).standings) };
        assert!(why.starts_with("not healthy within 10m: "), "{why}");
    }
}
