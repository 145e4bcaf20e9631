//! Text of other clients in the rollout annotation.

use pointsman_rollout::{
    ClockReading, FleetObject, ObjectState, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite,
    forecast, plan, rfc3339,
};
use serde_json::{Value, json};

use crate::database::{ANNOTATION, Database};
use crate::kinds::rollout_of;
use crate::patches::NOW;
use crate::script::TEXTS;
use crate::world::{LABEL, NEW, OLD};

fn rollout(members: &Value) -> Rollout {
    let mut all = json!({"from": OLD, "waves": [{"name": "all", "maxInFlight": 1}]});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    rollout_of(&all)
}

fn database(label: &str, text: &str) -> Database {
    Database::new(json!({
        "namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: label}, "annotations": {ANNOTATION: text},
    }))
}

/// A database with this number, label and annotation text.
fn named(at: usize, label: &str, text: &str) -> Database {
    let (name, uid) = (format!("b-{at}"), format!("u-{at}"));
    Database::new(json!({
        "namespace": "n", "name": name, "uid": uid, "labels": {LABEL: label}, "annotations": {ANNOTATION: text},
    }))
}

fn planned(rollout: &Rollout, status: &RolloutStatus, database: &Database) -> RolloutPlan {
    let fleet = [FleetObject::of(&database.value(), rollout).unwrap()];
    plan(rollout, status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, NOW)
}

fn moves(plan: &RolloutPlan, database: &Database) -> Option<Database> {
    let patches: Vec<&Value> = plan
        .writes
        .iter()
        .filter_map(|write| match write {
            RolloutWrite::Move(one) => Some(&one.patch),
            _ => None,
        })
        .collect();
    let patch = *patches.first()?;
    Some(
        database
            .patched(patch, NOW.wall, true)
            .unwrap_or_else(|| panic!("{patch} does not land on {}", database.value())),
    )
}

/// Each planned write succeeds; if no write is planned, the state contains the reason and a hint.
#[test]
fn foreign_annotation_is_kept() {
    let rollout = rollout(&json!({}));
    let (mut landed, mut refused) = (Vec::new(), Vec::new());
    for text in TEXTS {
        let database = database(OLD, text);
        let plan = planned(&rollout, &RolloutStatus::default(), &database);
        match (&plan.object_states[0], moves(&plan, &database)) {
            (ObjectState::Reserved, Some(there)) => {
                assert_eq!(there.label(), Some(NEW), "{text}");
                assert!(there.is_marked(), "{text}: {}", there.value());
                landed.push(text);
            }
            (ObjectState::Refused(why), None) => {
                let does = "kubectl annotate --field-manager=pointsman-rollout --namespace=n databases.example.com b \
                            pointsman.dev/rollout-";
                assert!(
                    why.contains(&format!("annotation pointsman.dev/rollout is {text:?}")) && why.ends_with(does),
                    "{why}"
                );
                assert_eq!((plan.status.phase, plan.status.counts.refused), (RolloutPhase::Waiting, 1), "{text}");
                assert!(plan.status.message.contains(why), "{text}: {}", plan.status.message);
                refused.push(text);
            }
            // An annotation of this rollout on an object at the old version.
            (ObjectState::Held(why), None) => {
                assert!(why.contains("a client that reverted the label") && database.is_marked(), "{why}")
            }
            (object_state, moved) => panic!("{text}: {object_state:?} {:?}", moved.map(|database| database.value())),
        }
    }
    let is_another = |text: &&&str| text.contains("rollout-0") || text.contains("9.9.9") || text.is_empty();
    assert_eq!(landed, TEXTS.iter().filter(is_another).copied().collect::<Vec<_>>(), "marks of others, and nothing");
    assert_eq!((landed.len(), refused.len()), (3, 8));
}

#[test]
fn long_annotation_is_truncated() {
    let (rollout, text) = (rollout(&json!({})), "x".repeat(100_000));
    let plan = planned(&rollout, &RolloutStatus::default(), &database(OLD, &text));
    let why = plan.object_states[0].why();
    assert!(why.contains(&text[..300]) && why.len() < 1_000 && why.contains('…'), "{} {why}", why.len());
}

/// A foreign text between reservation and move frees the slot. After the move the rollout does not wait for the object,
/// and an undo reports its state as unknown.
#[test]
fn late_foreign_annotation_frees_slot() {
    let forward = rollout(&json!({}));
    let before = Database::new(json!({"namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: OLD}}));
    let status = planned(&forward, &RolloutStatus::default(), &before).status;
    assert_eq!(status.in_flight.len(), 1);
    let plan = planned(&forward, &status, &database(OLD, "mine"));
    assert_eq!((plan.status.in_flight.len(), moves(&plan, &before).is_none()), (0, true), "{:?}", plan.status);
    assert!(matches!(plan.object_states[0], ObjectState::Refused(_)), "{:?}", plan.object_states);
    // The object was moved earlier and is not healthy yet.
    let plan = planned(&forward, &status, &database(NEW, "mine"));
    assert_eq!((plan.status.in_flight.len(), plan.status.counts.in_flight), (1, 1), "{:?}", plan.status);
    let back = rollout(&json!({"direction": "Undo"}));
    let mut status = plan.status;
    for _ in 0..3 {
        let mut there = database(NEW, "mine");
        there.labelled(NEW, "kubectl-label", "Update", NOW.wall - 60);
        there.looked_at("databaser", true, NOW.wall - 30);
        let plan = planned(&back, &status, &there);
        assert_eq!(moves(&plan, &there).map(|database| database.value()), None);
        status = plan.status;
    }
    assert_eq!((status.phase, status.counts.refused), (RolloutPhase::Aborted, 1), "{status:?}");
    assert!(status.message.contains("rollouts leave the annotation unchanged"), "{}", status.message);
    let fleet = [FleetObject::of(&database(NEW, "mine").value(), &back).unwrap()];
    let told = forecast(&back, &status, &fleet, PlanInput::default(), NOW);
    assert!(
        told[0].object_state.why().contains("rollouts leave the annotation unchanged"),
        "{:?}",
        told[0].object_state
    );
}

/// A moved object without its annotation stays unchanged, and the end reports it for an operator.
#[test]
fn unmarked_objects_are_reported() {
    let mark = json!({"rollout": "rollout-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let ends = |texts: &[&str]| {
        let there: Vec<Database> = texts.iter().enumerate().map(|(at, text)| named(at, NEW, text)).collect();
        let end = |rollout: &Rollout, mut status: RolloutStatus| {
            for _ in 0..3 {
                let fleet: Vec<FleetObject> =
                    there.iter().map(|database| FleetObject::of(&database.value(), rollout).unwrap()).collect();
                status =
                    plan(rollout, &status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, NOW).status;
            }
            status
        };
        let complete = end(&rollout(&json!({"maxUnhealthy": 5})), RolloutStatus::default());
        assert_eq!(complete.phase, RolloutPhase::Complete, "{texts:?}: {}", complete.message);
        end(&rollout(&json!({"direction": "Undo"})), complete)
    };
    for (text, what) in
        [("", "annotation pointsman.dev/rollout is \"\""), ("mine", "annotation pointsman.dev/rollout is \"mine\"")]
    {
        let status = ends(&[text]);
        assert_eq!((status.phase, status.reason.as_deref()), (RolloutPhase::Aborted, Some("RolledBack")), "{text:?}");
        assert_eq!((status.counts.refused, status.counts.updated), (1, 0), "{text:?}");
        let said = "every object with a rollout annotation has its earlier version; cannot tell whether 1 object was moved, so the object is left unchanged: n/b-0: ";
        assert!(status.message.starts_with(said) && status.message.contains(what), "{text:?}: {}", status.message);
        assert!(status.leaves_objects(), "{text:?}");
        let does = "kubectl annotate --field-manager=pointsman-rollout --namespace=n databases.example.com b-0 pointsman.dev/rollout-";
        assert!(status.message.ends_with(does), "{text:?}: {}", status.message);
    }
    let two = ends(&["", "mine"]);
    assert!(
        two.message.contains(
            "; cannot tell whether 2 objects were moved, so these objects are left unchanged: n/b-0, n/b-1. n/b-0: "
        ),
        "{}",
        two.message
    );
    // Annotations of other rollouts are left to those rollouts.
    let other = mark.replace("rollout-1", "rollout-0");
    let status = ends(&[&other]);
    assert!(!status.leaves_objects(), "{}", status.message);
    let told = "every object with a rollout annotation has its earlier version; left at 2.17.0, because the annotations name another or a deleted StagedRollout: n/b-0. To move these objects, create a StagedRollout from 2.17.0";
    assert_eq!(status.message, told);
    // Objects that another client has set to another version since are reported.
    let by_hand = |version: &str| {
        let there = named(0, version, &mark);
        let fleet = [FleetObject::of(&there.value(), &rollout(&json!({"direction": "Undo"}))).unwrap()];
        let mut status = RolloutStatus { started: Some(rfc3339(NOW.wall - 60)), ..RolloutStatus::default() };
        for _ in 0..3 {
            let facts = PlanInput { consistent: true, ..PlanInput::default() };
            status = plan(&rollout(&json!({"direction": "Undo"})), &status, &fleet, facts, NOW).status;
        }
        (status.phase, status.message)
    };
    let told = "every object with a rollout annotation has its earlier version";
    assert_eq!(by_hand(OLD), (RolloutPhase::Aborted, told.to_owned()));
    let more =
        ", except 1 object, which another client has since moved: n/b-0. pointsman rollout objects lists the versions";
    assert_eq!(by_hand("3.0.0"), (RolloutPhase::Aborted, format!("{told}{more}")));
}

/// A reverted object carries no rollout annotation any more. The rollout still waits for it, regardless of its
/// selector, and starts no other object meanwhile.
#[test]
fn undo_waits_for_deselected_objects() {
    let members = json!({"selector": {"labels": "frozen notin (true)"}, "direction": "Undo", "maxUnhealthy": 0});
    let back = rollout(&members);
    let mark = json!({"rollout": "rollout-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let frozen = |at: usize, version: &str, mark: &str| {
        let mut object = named(at, version, mark).value();
        object["metadata"]["labels"]["frozen"] = "true".into();
        if mark.is_empty() {
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        object
    };
    let there = [frozen(0, NEW, &mark), frozen(1, NEW, &mark)];
    let facts = || PlanInput { consistent: true, ..PlanInput::default() };
    let fleet: Vec<FleetObject> = there.iter().map(|object| FleetObject::of(object, &back).unwrap()).collect();
    let status = RolloutStatus { started: Some(rfc3339(NOW.wall - 60)), ..RolloutStatus::default() };
    let status = plan(&back, &status, &fleet, facts(), NOW).status;
    let goes: Vec<String> = status.under_way_back().into_iter().collect();
    assert_eq!((goes.len(), status.counts.updated), (1, 1), "{status:?}");
    let went = usize::from(goes[0] == fleet[1].uid());

    let landed = frozen(went, OLD, "");
    assert!(FleetObject::of(&landed, &back).is_none(), "nothing of it says that it was ever moved");
    let mut fleet = fleet;
    fleet[went] = FleetObject::of_under_way(&landed, &back).unwrap();
    let after = plan(&back, &status, &fleet, facts(), NOW);
    assert_eq!((after.status.under_way_back(), after.status.counts.updated), (status.under_way_back(), 1), "{after:?}");
    assert!(
        matches!(after.object_states[went], ObjectState::Moving(_) | ObjectState::Settling),
        "{:?}",
        after.object_states
    );
    // A rollout that does not have the object in flight treats it as outside, in every direction.
    for direction in ["Undo", "Forward"] {
        let rollout = rollout(&json!({"selector": {"labels": "frozen notin (true)"}, "direction": direction}));
        let alone = [fleet[went].clone()];
        let status = RolloutStatus { started: Some(rfc3339(NOW.wall - 60)), ..RolloutStatus::default() };
        let plan = plan(&rollout, &status, &alone, facts(), NOW);
        assert_eq!(
            (&plan.object_states[..], plan.status.in_flight.len()),
            (&[ObjectState::Outside][..], 0),
            "{direction}"
        );
    }
}

/// After an operator has repaired the rest, the same rollout runs again: it reverts objects with its annotation and
/// ends completely.
#[test]
fn blocked_object_is_retried() {
    let (complete, back) = (rollout(&json!({})), rollout(&json!({"direction": "Undo"})));
    let pass = |rollout: &Rollout, status: &RolloutStatus, database: &Database| {
        let fleet = [FleetObject::of(&database.value(), rollout).unwrap()];
        plan(rollout, status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, NOW)
    };
    let mut status = RolloutStatus::default();
    for _ in 0..3 {
        status = pass(&complete, &status, &database(NEW, "mine")).status;
    }
    for _ in 0..3 {
        status = pass(&back, &status, &database(NEW, "mine")).status;
    }
    assert!(status.leaves_objects(), "{}", status.message);
    let again = pass(&back, &status, &database(NEW, "mine")).status;
    assert_eq!(again, status, "it says the same as long as it is so");

    let plain = Database::new(json!({"namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: OLD}}));
    let ended = pass(&back, &status, &plain).status;
    assert_eq!((ended.phase, ended.leaves_objects()), (RolloutPhase::Aborted, false));
    assert_eq!(ended.message, "every object with a rollout annotation has its earlier version");

    let mark = json!({"rollout": "rollout-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let goes = pass(&back, &status, &database(NEW, &mark)).status;
    assert_eq!((goes.phase, goes.in_flight.len()), (RolloutPhase::Rolling, 1), "{}", goes.message);
    assert!(goes.in_flight[0].back);
    assert_eq!((goes.history, ended.history), (status.history.clone(), status.history), "it has ended once");
}

/// During an undo, an object in an unknown state may be the cause of the problem: it does not block the others.
#[test]
fn unmarked_object_blocks_no_undo() {
    let back = rollout(&json!({"direction": "Undo", "maxUnhealthy": 0}));
    let mark = json!({"rollout": "rollout-1", "was": OLD, "to": NEW, "at": "2026-11-18T11:06:40Z"}).to_string();
    let status = RolloutStatus {
        started: Some(rfc3339(NOW.wall - 60)),
        phase: RolloutPhase::Rolling,
        ..RolloutStatus::default()
    };
    let there = [named(0, NEW, ""), named(1, NEW, "mine"), named(2, NEW, &mark)];
    let fleet: Vec<FleetObject> =
        there.iter().map(|database| FleetObject::of(&database.value(), &back).unwrap()).collect();
    let status = plan(&back, &status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, NOW).status;
    assert_eq!((status.in_flight.len(), status.counts.refused), (1, 2), "{}", status.message);
}

/// Another client may edit the annotation, and a clock may be wrong.
#[test]
fn future_mark_delays_nothing() {
    let rollout = rollout(&json!({"timeout": "10m"}));
    let status = planned(&rollout, &RolloutStatus::default(), &database(OLD, "")).status;
    for (at, late) in [("2999-01-01T00:00:00Z", 601), ("9999-12-31T23:59:60Z", 601), (&*rfc3339(NOW.wall + 300), 901)] {
        let mark = json!({"rollout": "rollout-1", "was": OLD, "to": NEW, "at": at});
        let there = database(NEW, &mark.to_string());
        let after = |seconds: u64| {
            let fleet = [FleetObject::of(&there.value(), &rollout).unwrap()];
            let now = ClockReading { wall: NOW.wall + seconds, ..NOW };
            plan(&rollout, &status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, now)
        };
        assert!(matches!(after(late - 2).object_states[0], ObjectState::Moving(_)), "{at}");
        let ObjectState::Failed(why) = &after(late).object_states[0] else {
            panic!("{at}: {:?}", after(late).object_states)
        };
        assert!(why.starts_with("not healthy within 10m: "), "{why}");
    }
}
