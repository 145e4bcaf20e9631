//! Between any two writes, an operator pauses, aborts, or turns the rollout, rewords its workflow, or kills the runner.

use pointsman_rollout::{Direction, ObjectWrite, RolloutPhase};
use serde_json::{Value, json};

use super::fake_namespace::{No, name};
use super::fake_runner::FakeRunner;
use super::laws::told;
use super::object_calls::write_as_asked;
use super::returns::ended;
use super::scenario::{HOUSE, REWORDED};
use super::trials::{Ordeal, deletes, drives_all, fixture, said};

/// Direction and starting point of a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Forth,
    /// From the middle: after its newapp is created.
    Back,
    BackAfterTheEnd,
}

const WAYS: [Way; 3] = [Way::Forth, Way::Back, Way::BackAfterTheEnd];

impl Way {
    /// A lower bound of the number of writes; from the middle about half as many.
    fn writes(self) -> usize {
        if self == Self::Back { 10 } else { 15 }
    }
}

/// An oldapp at the start of a direction.
fn begins(way: Way) -> Ordeal {
    let mut fixture = if way == Way::BackAfterTheEnd { ended(1) } else { fixture(1) };
    fixture.set("waves", json!([{"name": "all", "maxInFlight": 1}]));
    fixture.set("timeout", json!("10m"));
    match way {
        Way::Forth => {}
        Way::Back => {
            drives_until(&mut fixture, |fixture| !fixture.fake_namespace.names("newapps").is_empty());
            fixture.set("direction", json!("Undo"));
        }
        Way::BackAfterTheEnd => fixture.set("direction", json!("Undo")),
    }
    fixture
}

fn drives_until(fixture: &mut Ordeal, holds: impl Fn(&Ordeal) -> bool) {
    for _ in 0..600 {
        if holds(fixture) {
            return;
        }
        drives_all(fixture, 1, |_, _| {});
    }
    panic!("{}", said(fixture));
}

/// True if the rollout has reached its target.
fn is_through(fixture: &Ordeal, way: Way) -> bool {
    let status = fixture.status();
    let (phase, direction) = if way == Way::Forth {
        (RolloutPhase::Complete, Direction::Forward)
    } else {
        (RolloutPhase::Aborted, Direction::Undo)
    };
    (status.phase, status.direction) == (phase, direction)
}

/// Each oldapp is unchanged, or completely replaced by a newapp.
#[track_caller]
fn is_one_or_the_other(fixture: &Ordeal, before: &[[Value; 3]], what: &str) {
    for (at, before) in before.iter().enumerate() {
        let (oldapp, newapp) =
            (fixture.fake_namespace.get("oldapps", &name(at)), fixture.fake_namespace.get("newapps", &name(at)));
        match (oldapp, newapp) {
            (Some(_), None) => {
                assert_eq!(&told(&fixture.fake_namespace, &name(at)), before, "{what}: {}", said(fixture))
            }
            (None, Some(newapp)) => assert_eq!(newapp["status"]["state"], "stable", "{what}"),
            (oldapp, newapp) => panic!("{what}: {oldapp:?} {newapp:?} {}", said(fixture)),
        }
    }
    let saved = fixture.fake_namespace.names("controllerrevisions");
    assert_eq!(saved, Vec::<String>::new(), "{what}: {}", said(fixture));
}

/// The rollout ends at its target, with no state in between.
#[track_caller]
fn comes_through(fixture: &mut Ordeal, way: Way, before: &[[Value; 3]], what: &str) {
    drives_until(fixture, |fixture| is_through(fixture, way));
    is_one_or_the_other(fixture, before, what);
    // Objects deleted exactly at the change of direction are no exception.
    let left = fixture.fake_namespace.names(if way == Way::Forth { "oldapps" } else { "newapps" });
    assert_eq!(left, Vec::<String>::new(), "{what}: {}", said(fixture));
}

fn at_home(oldapps: usize) -> Vec<[Value; 3]> {
    let fixture = fixture(oldapps);
    (0..oldapps).map(|at| told(&fixture.fake_namespace, &name(at))).collect()
}

/// Calls `act` at each write of each direction, or at every `every`th write, each time in a new fixture.
fn at_each_write(every: usize, act: impl Fn(&mut Ordeal), then: impl Fn(Ordeal, Way, &str)) {
    for way in WAYS {
        let mut last = 0;
        let step = if crate::number("POINTSMAN_ROLLOUTS", 0) >= THOROUGH { 1 } else { every };
        for at in (way as usize..).step_by(step) {
            let (mut fixture, mut writes) = (begins(way), 0);
            for _ in 0..400 {
                drives_all(&mut fixture, 1, |fixture, _| {
                    if writes == at {
                        act(fixture);
                    }
                    writes += 1;
                });
                if writes > at || is_through(&fixture, way) {
                    break;
                }
            }
            if writes <= at {
                last = at;
                break;
            }
            then(fixture, way, &format!("{way:?} at write {at}"));
        }
        assert!(last > way.writes(), "{way:?}: {last} writes");
    }
}

/// Number of histories from which on every write is tested.
const THOROUGH: u64 = 10_000;

#[test]
fn pause_only_delays() {
    let before = at_home(1);
    at_each_write(
        3,
        |fixture| fixture.set("paused", json!(true)),
        |mut fixture, way, what| {
            (0..200).for_each(|_| drives_all(&mut fixture, 1, |_, _| {}));
            assert_eq!(fixture.status().in_flight.len(), 0, "{what}: what has begun ends: {}", said(&fixture));
            is_one_or_the_other(&fixture, &before, what);
            fixture.set("paused", json!(false));
            comes_through(&mut fixture, way, &before, what);
        },
    );
}

#[test]
fn abort_leaves_no_half_step() {
    let before = at_home(1);
    at_each_write(
        3,
        |fixture| fixture.set("direction", json!("Abort")),
        |mut fixture, _, what| {
            drives_until(&mut fixture, |fixture| fixture.status().is_over());
            is_one_or_the_other(&fixture, &before, what);
            fixture.set("direction", json!("Undo"));
            comes_through(&mut fixture, Way::Back, &before, what);
            assert_eq!(fixture.fake_namespace.names("newapps"), Vec::<String>::new(), "{what}: {}", said(&fixture));
        },
    );
}

#[test]
fn undo_and_redo_complete() {
    let before = at_home(1);
    at_each_write(
        1,
        |fixture| {
            let is_back = fixture.rollout["spec"]["direction"] == "Undo";
            fixture.set("direction", json!(if is_back { "Forward" } else { "Undo" }));
        },
        |mut fixture, way, what| {
            let other = if way == Way::Forth { Way::Back } else { Way::Forth };
            comes_through(&mut fixture, other, &before, what);
            fixture.set("direction", json!(if way == Way::Forth { "Forward" } else { "Undo" }));
            comes_through(&mut fixture, way, &before, what);
        },
    );
}

#[test]
fn edited_workflow_pauses_until_reverted() {
    let before = at_home(1);
    at_each_write(
        3,
        |fixture| fixture.kind = &REWORDED,
        |mut fixture, way, what| {
            (0..20).for_each(|_| drives_all(&mut fixture, 1, |_, _| {}));
            assert_eq!(fixture.status().phase, RolloutPhase::Paused, "{what}: {}", said(&fixture));
            let was = fixture.fake_namespace.things.clone();
            let oldapps = |things: &std::collections::BTreeMap<(String, String), Value>| {
                let ours = things.iter().filter(|((plural, _), _)| ["oldapps", "newapps"].contains(&plural.as_str()));
                ours.map(|(key, one)| (key.clone(), one["spec"].clone())).collect::<Vec<_>>()
            };
            (0..20).for_each(|_| drives_all(&mut fixture, 1, |_, _| {}));
            assert_eq!(oldapps(&fixture.fake_namespace.things), oldapps(&was), "{what}: nothing goes on");
            fixture.kind = &HOUSE;
            fixture.resume();
            comes_through(&mut fixture, way, &before, what);
        },
    );
}

#[test]
fn another_runner_finishes_the_work() {
    let before = at_home(1);
    at_each_write(
        3,
        |fixture| fixture.fake_runner = FakeRunner::started(fixture.fake_namespace.now),
        |mut fixture, way, what| {
            comes_through(&mut fixture, way, &before, what);
        },
    );
}

/// Returns the first write that `is_it` accepts, as a late write: its runner froze during the call, another runner took
/// over, and the rollout changes direction.
fn cut_off(fixture: &mut Ordeal, turn: &str, is_it: impl Fn(&Ordeal, &ObjectWrite) -> bool) -> ObjectWrite {
    let mut late = None;
    for _ in 0..400 {
        drives_all(fixture, 1, |fixture, asked| {
            let Some(asked) = asked.filter(|asked| late.is_none() && is_it(fixture, asked)) else { return };
            late = Some(asked.clone());
            fixture.is_late = true;
            fixture.fake_runner = FakeRunner::started(fixture.fake_namespace.now);
            fixture.set("direction", json!(turn));
        });
        if let Some(late) = late.take() {
            return late;
        }
    }
    panic!("{}", said(fixture));
}

fn makes(write: &ObjectWrite, plural: &str) -> bool {
    write.plural == plural && write.call.makes()
}

/// The runner requests nothing in the meantime.
#[track_caller]
fn waits(fixture: &mut Ordeal, seconds: usize, what: &str) {
    (0..seconds).for_each(|_| drives_all(fixture, 1, |_, asked| assert!(asked.is_none(), "{what}: {asked:?}")));
    assert!(!fixture.status().is_over(), "{what}: {}", said(fixture));
}

/// A late deletion arrives only after the change of direction, and is rejected as stale.
#[test]
fn late_delete_after_undo_is_harmless() {
    let before = at_home(1);
    for (way, plural) in [(Way::Forth, "oldapps"), (Way::Back, "newapps"), (Way::BackAfterTheEnd, "newapps")] {
        let mut fixture = begins(way);
        let (other, turn) = if way == Way::Forth { (Way::Back, "Undo") } else { (Way::Forth, "Forward") };
        let late = cut_off(&mut fixture, turn, |_, asked| deletes(asked, plural));
        comes_through(&mut fixture, other, &before, &format!("{way:?}"));
        let there = fixture.fake_namespace.things.clone();
        let landed = write_as_asked(&mut fixture, &late);
        assert!(matches!(landed, Err(No::Stale)), "{way:?}: {landed:?}");
        assert_eq!(fixture.fake_namespace.things, there, "{way:?}");
    }
}

/// Whenever the requested create arrives, the rollout is still open and adopts the object.
#[test]
fn late_create_makes_no_duplicate() {
    let before = at_home(1);
    let turns = [
        (Way::Forth, "newapps", "Undo"),
        (Way::Forth, "newapps", "Abort"),
        (Way::BackAfterTheEnd, "oldapps", "Forward"),
        (Way::BackAfterTheEnd, "oldapps", "Abort"),
    ];
    for (way, plural, turn) in turns {
        // The time counts from the change of direction, not from the time the object was selected.
        for (refused, after) in [(0, 0), (0, 20), (0, 59), (100, 59)] {
            let (mut fixture, what) = (begins(way), format!("{way:?}, {turn}, {refused} s and {after} s"));
            fixture.refuses = refused > 0;
            (0..refused).for_each(|_| drives_all(&mut fixture, 1, |_, _| {}));
            fixture.refuses = false;
            let late = cut_off(&mut fixture, turn, |_, asked| makes(asked, plural));
            waits(&mut fixture, after, &what);
            write_as_asked(&mut fixture, &late).unwrap();
            match turn {
                "Abort" => drives_until(&mut fixture, |fixture| fixture.status().is_over()),
                "Undo" => comes_through(&mut fixture, Way::Back, &before, &what),
                _ => comes_through(&mut fixture, Way::Forth, &before, &what),
            }
            is_one_or_the_other(&fixture, &before, &what);
        }
    }
}

/// The create never arrives: the rollout ends as soon as this is certain.
#[test]
fn lost_create_waits_one_timeout() {
    let before = at_home(1);
    let mut fixture = begins(Way::Forth);
    cut_off(&mut fixture, "Undo", |_, asked| makes(asked, "newapps"));
    let began = fixture.fake_namespace.now;
    waits(&mut fixture, 10, "back");
    assert!(
        said(&fixture).contains("an earlier request may still create the object: waiting until"),
        "{}",
        said(&fixture)
    );
    comes_through(&mut fixture, Way::Back, &before, "back");
    assert!((65..300).contains(&(fixture.fake_namespace.now - began)), "{}", fixture.fake_namespace.now);
}

/// The runner is killed directly after recreating the old object, and the rollout moves forward again. The new object's
/// annotation still names the previous old object.
#[test]
fn unrecorded_recreation_moves_forward() {
    let before = at_home(1);
    let mut fixture = begins(Way::BackAfterTheEnd);
    // The next write.
    cut_off(&mut fixture, "Forward", |fixture, _| !fixture.fake_namespace.names("oldapps").is_empty());
    comes_through(&mut fixture, Way::Forth, &before, "forward");
}

#[test]
fn object_round_trips_three_times() {
    let before = at_home(2);
    let mut fixture = ended(2);
    for time in 0..3 {
        fixture.set("direction", json!("Undo"));
        comes_through(&mut fixture, Way::Back, &before, "back");
        assert_eq!(fixture.fake_namespace.names("newapps"), Vec::<String>::new(), "{time}");
        fixture.set("direction", json!("Forward"));
        comes_through(&mut fixture, Way::Forth, &before, "there");
        assert_eq!(fixture.fake_namespace.names("oldapps"), Vec::<String>::new(), "{time}");
    }
}

/// The restored Deployment owns its ReplicaSet only briefly before the Deployment is deleted again.
#[test]
fn slow_garbage_collector_keeps_pods() {
    let mut fixture = begins(Way::Back);
    fixture.fake_namespace.lags = true;
    drives_until(&mut fixture, |fixture| is_through(fixture, Way::Back));
    fixture.set("direction", json!("Forward"));
    drives_until(&mut fixture, |fixture| is_through(fixture, Way::Forth));
    fixture.set("direction", json!("Undo"));
    drives_until(&mut fixture, |fixture| is_through(fixture, Way::Back));
}
