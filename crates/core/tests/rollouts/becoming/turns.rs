//! Somebody says something else between any two writes of a way: that the rollout is to pause, to stop, to turn; or
//! says its workflow in other words, or kills whoever runs it.

use pointsman_core::rollout::{Direction, ObjectWrite, RolloutPhase};
use serde_json::{Value, json};

use super::drover::Drover;
use super::errands::write_as_asked;
use super::laws::told;
use super::returns::ended;
use super::settlers::{HOUSE, REWORDED};
use super::trials::{Ordeal, county, deletes, drives_all, said};
use super::village::{No, name};

/// Where a rollout goes, and from where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Forth,
    /// From the middle: once its house is there.
    Back,
    BackAfterTheEnd,
}

const WAYS: [Way; 3] = [Way::Forth, Way::Back, Way::BackAfterTheEnd];

impl Way {
    /// It takes more writes than that: from the middle on it is half the way.
    fn writes(self) -> usize {
        if self == Self::Back { 10 } else { 15 }
    }
}

/// A hut at the beginning of a way.
fn begins(way: Way) -> Ordeal {
    let mut county = if way == Way::BackAfterTheEnd { ended(1) } else { county(1) };
    county.set("waves", json!([{"name": "all", "maxInFlight": 1}]));
    county.set("timeout", json!("10m"));
    match way {
        Way::Forth => {}
        Way::Back => {
            drives_until(&mut county, |county| !county.village.names("houses").is_empty());
            county.set("direction", json!("Undo"));
        }
        Way::BackAfterTheEnd => county.set("direction", json!("Undo")),
    }
    county
}

fn drives_until(county: &mut Ordeal, holds: impl Fn(&Ordeal) -> bool) {
    for _ in 0..600 {
        if holds(county) {
            return;
        }
        drives_all(county, 1, |_, _| {});
    }
    panic!("{}", said(county));
}

/// Whether it has gone where it was to go.
fn is_through(county: &Ordeal, way: Way) -> bool {
    let status = county.status();
    let (phase, direction) = if way == Way::Forth {
        (RolloutPhase::Complete, Direction::Forward)
    } else {
        (RolloutPhase::Aborted, Direction::Undo)
    };
    (status.phase, status.direction) == (phase, direction)
}

/// Each hut is what it was, or all of it is a house.
#[track_caller]
fn is_one_or_the_other(county: &Ordeal, before: &[[Value; 3]], what: &str) {
    for (at, before) in before.iter().enumerate() {
        let (hut, house) = (county.village.get("huts", &name(at)), county.village.get("houses", &name(at)));
        match (hut, house) {
            (Some(_), None) => assert_eq!(&told(&county.village, &name(at)), before, "{what}: {}", said(county)),
            (None, Some(house)) => assert_eq!(house["status"]["state"], "stable", "{what}"),
            (hut, house) => panic!("{what}: {hut:?} {house:?} {}", said(county)),
        }
    }
    let saved = county.village.names("controllerrevisions");
    assert_eq!(saved, Vec::<String>::new(), "{what}: {}", said(county));
}

/// It ends where it was to go, with nothing in between.
#[track_caller]
fn comes_through(county: &mut Ordeal, way: Way, before: &[[Value; 3]], what: &str) {
    drives_until(county, |county| is_through(county, way));
    is_one_or_the_other(county, before, what);
    // What has gone just as the rollout turned is no exception.
    let left = county.village.names(if way == Way::Forth { "huts" } else { "houses" });
    assert_eq!(left, Vec::<String>::new(), "{what}: {}", said(county));
}

fn at_home(huts: usize) -> Vec<[Value; 3]> {
    let county = county(huts);
    (0..huts).map(|at| told(&county.village, &name(at))).collect()
}

/// Somebody does something at each write of each way, or at every so many, in a county of its own each time.
fn at_each_write(every: usize, act: impl Fn(&mut Ordeal), then: impl Fn(Ordeal, Way, &str)) {
    for way in WAYS {
        let mut last = 0;
        let step = if crate::number("POINTSMAN_ROLLOUTS", 0) >= THOROUGH { 1 } else { every };
        for at in (way as usize..).step_by(step) {
            let (mut county, mut writes) = (begins(way), 0);
            for _ in 0..400 {
                drives_all(&mut county, 1, |county, _| {
                    if writes == at {
                        act(county);
                    }
                    writes += 1;
                });
                if writes > at || is_through(&county, way) {
                    break;
                }
            }
            if writes <= at {
                last = at;
                break;
            }
            then(county, way, &format!("{way:?} at write {at}"));
        }
        assert!(last > way.writes(), "{way:?}: {last} writes");
    }
}

/// From so many histories on, each write has its turn.
const THOROUGH: u64 = 10_000;

#[test]
fn pause_only_delays() {
    let before = at_home(1);
    at_each_write(
        3,
        |county| county.set("paused", json!(true)),
        |mut county, way, what| {
            (0..200).for_each(|_| drives_all(&mut county, 1, |_, _| {}));
            assert_eq!(county.status().in_flight.len(), 0, "{what}: what has begun ends: {}", said(&county));
            is_one_or_the_other(&county, &before, what);
            county.set("paused", json!(false));
            comes_through(&mut county, way, &before, what);
        },
    );
}

#[test]
fn abort_leaves_no_half_step() {
    let before = at_home(1);
    at_each_write(
        3,
        |county| county.set("direction", json!("Abort")),
        |mut county, _, what| {
            drives_until(&mut county, |county| county.status().is_over());
            is_one_or_the_other(&county, &before, what);
            county.set("direction", json!("Undo"));
            comes_through(&mut county, Way::Back, &before, what);
            assert_eq!(county.village.names("houses"), Vec::<String>::new(), "{what}: {}", said(&county));
        },
    );
}

#[test]
fn undo_and_redo_complete() {
    let before = at_home(1);
    at_each_write(
        1,
        |county| {
            let is_back = county.rollout["spec"]["direction"] == "Undo";
            county.set("direction", json!(if is_back { "Forward" } else { "Undo" }));
        },
        |mut county, way, what| {
            let other = if way == Way::Forth { Way::Back } else { Way::Forth };
            comes_through(&mut county, other, &before, what);
            county.set("direction", json!(if way == Way::Forth { "Forward" } else { "Undo" }));
            comes_through(&mut county, way, &before, what);
        },
    );
}

#[test]
fn edited_workflow_pauses_until_reverted() {
    let before = at_home(1);
    at_each_write(
        3,
        |county| county.kind = &REWORDED,
        |mut county, way, what| {
            (0..20).for_each(|_| drives_all(&mut county, 1, |_, _| {}));
            assert_eq!(county.status().phase, RolloutPhase::Paused, "{what}: {}", said(&county));
            let was = county.village.things.clone();
            let huts = |things: &std::collections::BTreeMap<(String, String), Value>| {
                let ours = things.iter().filter(|((plural, _), _)| ["huts", "houses"].contains(&plural.as_str()));
                ours.map(|(key, one)| (key.clone(), one["spec"].clone())).collect::<Vec<_>>()
            };
            (0..20).for_each(|_| drives_all(&mut county, 1, |_, _| {}));
            assert_eq!(huts(&county.village.things), huts(&was), "{what}: nothing goes on");
            county.kind = &HOUSE;
            county.resume();
            comes_through(&mut county, way, &before, what);
        },
    );
}

#[test]
fn another_runner_finishes_the_work() {
    let before = at_home(1);
    at_each_write(
        3,
        |county| county.drover = Drover::started(county.village.now),
        |mut county, way, what| {
            comes_through(&mut county, way, &before, what);
        },
    );
}

/// The first write of a sort, which comes late: whoever has asked for it was frozen in the call, somebody else has
/// taken over, and the rollout goes another way.
fn cut_off(county: &mut Ordeal, turn: &str, is_it: impl Fn(&Ordeal, &ObjectWrite) -> bool) -> ObjectWrite {
    let mut late = None;
    for _ in 0..400 {
        drives_all(county, 1, |county, asked| {
            let Some(asked) = asked.filter(|asked| late.is_none() && is_it(county, asked)) else { return };
            late = Some(asked.clone());
            county.is_late = true;
            county.drover = Drover::started(county.village.now);
            county.set("direction", json!(turn));
        });
        if let Some(late) = late.take() {
            return late;
        }
    }
    panic!("{}", said(county));
}

fn makes(write: &ObjectWrite, plural: &str) -> bool {
    write.plural == plural && write.call.makes()
}

/// Nothing is asked for meanwhile.
#[track_caller]
fn waits(county: &mut Ordeal, seconds: usize, what: &str) {
    (0..seconds).for_each(|_| drives_all(county, 1, |_, asked| assert!(asked.is_none(), "{what}: {asked:?}")));
    assert!(!county.status().is_over(), "{what}: {}", said(county));
}

/// What was asked for to be deleted is deleted only after the turn, or is not.
#[test]
fn late_delete_after_undo_is_harmless() {
    let before = at_home(1);
    for (way, plural) in [(Way::Forth, "huts"), (Way::Back, "houses"), (Way::BackAfterTheEnd, "houses")] {
        let mut county = begins(way);
        let (other, turn) = if way == Way::Forth { (Way::Back, "Undo") } else { (Way::Forth, "Forward") };
        let late = cut_off(&mut county, turn, |_, asked| deletes(asked, plural));
        comes_through(&mut county, other, &before, &format!("{way:?}"));
        let there = county.village.things.clone();
        let landed = write_as_asked(&mut county, &late);
        assert!(matches!(landed, Err(No::Stale)), "{way:?}: {landed:?}");
        assert_eq!(county.village.things, there, "{way:?}");
    }
}

/// Whenever it comes that was asked for, the rollout is not over yet, and takes it as its own.
#[test]
fn late_create_makes_no_duplicate() {
    let before = at_home(1);
    let turns = [
        (Way::Forth, "houses", "Undo"),
        (Way::Forth, "houses", "Abort"),
        (Way::BackAfterTheEnd, "huts", "Forward"),
        (Way::BackAfterTheEnd, "huts", "Abort"),
    ];
    for (way, plural, turn) in turns {
        // It counts from the turn, and not from when the object was taken.
        for (refused, after) in [(0, 0), (0, 20), (0, 59), (100, 59)] {
            let (mut county, what) = (begins(way), format!("{way:?}, {turn}, {refused} s and {after} s"));
            county.refuses = refused > 0;
            (0..refused).for_each(|_| drives_all(&mut county, 1, |_, _| {}));
            county.refuses = false;
            let late = cut_off(&mut county, turn, |_, asked| makes(asked, plural));
            waits(&mut county, after, &what);
            write_as_asked(&mut county, &late).unwrap();
            match turn {
                "Abort" => drives_until(&mut county, |county| county.status().is_over()),
                "Undo" => comes_through(&mut county, Way::Back, &before, &what),
                _ => comes_through(&mut county, Way::Forth, &before, &what),
            }
            is_one_or_the_other(&county, &before, &what);
        }
    }
}

/// Nothing comes: the rollout ends all the same, once that is sure.
#[test]
fn lost_create_waits_one_timeout() {
    let before = at_home(1);
    let mut county = begins(Way::Forth);
    cut_off(&mut county, "Undo", |_, asked| makes(asked, "houses"));
    let began = county.village.now;
    waits(&mut county, 10, "back");
    assert!(said(&county).contains("may have been asked for: that is sure at"), "{}", said(&county));
    comes_through(&mut county, Way::Back, &before, "back");
    assert!((65..300).contains(&(county.village.now - began)), "{}", county.village.now);
}

/// Somebody is killed right after it has made the old one anew, and the rollout goes forward again: the new one still
/// says that it was made of the one before.
#[test]
fn unrecorded_recreation_moves_forward() {
    let before = at_home(1);
    let mut county = begins(Way::BackAfterTheEnd);
    // The write behind it.
    cut_off(&mut county, "Forward", |county, _| !county.village.names("huts").is_empty());
    comes_through(&mut county, Way::Forth, &before, "forward");
}

#[test]
fn object_round_trips_three_times() {
    let before = at_home(2);
    let mut county = ended(2);
    for time in 0..3 {
        county.set("direction", json!("Undo"));
        comes_through(&mut county, Way::Back, &before, "back");
        assert_eq!(county.village.names("houses"), Vec::<String>::new(), "{time}");
        county.set("direction", json!("Forward"));
        comes_through(&mut county, Way::Forth, &before, "there");
        assert_eq!(county.village.names("huts"), Vec::<String>::new(), "{time}");
    }
}

/// The Deployment that was put back has its ReplicaSet for a moment only when it goes once more.
#[test]
fn slow_garbage_collector_keeps_pods() {
    let mut county = begins(Way::Back);
    county.village.lags = true;
    drives_until(&mut county, |county| is_through(county, Way::Back));
    county.set("direction", json!("Forward"));
    drives_until(&mut county, |county| is_through(county, Way::Forth));
    county.set("direction", json!("Undo"));
    drives_until(&mut county, |county| is_through(county, Way::Back));
}
