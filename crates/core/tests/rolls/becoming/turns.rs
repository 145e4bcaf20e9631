//! One object goes there and back, several times.

use pointsman_core::roll::{Direction, RollPhase};
use serde_json::{Value, json};

use super::laws::told;
use super::returns::ended;
use super::trials::{Ordeal, county, drives_all, said};
use super::village::name;

/// Where a roll goes, and from where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    Forth,
    /// From the middle: once its house is there.
    Back,
}

/// A hut at the beginning of a way.
fn begins(way: Way) -> Ordeal {
    let mut county = county(1);
    county.set("waves", json!([{"name": "all", "atOnce": 1}]));
    county.set("timeout", json!("10m"));
    match way {
        Way::Forth => {}
        Way::Back => {
            drives_until(&mut county, |county| !county.village.names("houses").is_empty());
            county.set("direction", json!("Back"));
        }
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
        (RollPhase::Complete, Direction::Forward)
    } else {
        (RollPhase::Aborted, Direction::Back)
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

fn at_home(huts: usize) -> Vec<[Value; 3]> {
    let county = county(huts);
    (0..huts).map(|at| told(&county.village, &name(at))).collect()
}

#[test]
fn one_object_goes_there_and_back_three_times() {
    let before = at_home(2);
    let mut county = ended(2);
    for time in 0..3 {
        county.set("direction", json!("Back"));
        drives_until(&mut county, |county| is_through(county, Way::Back));
        is_one_or_the_other(&county, &before, "back");
        assert_eq!(county.village.names("houses"), Vec::<String>::new(), "{time}");
        county.set("direction", json!("Forward"));
        drives_until(&mut county, |county| is_through(county, Way::Forth));
        is_one_or_the_other(&county, &before, "there");
        assert_eq!(county.village.names("huts"), Vec::<String>::new(), "{time}");
    }
}

/// The Deployment that was put back has its ReplicaSet for a moment only when it goes once more.
#[test]
fn pods_stay_though_the_garbage_collector_hears_late_whose_they_are() {
    let mut county = begins(Way::Back);
    county.village.lags = true;
    drives_until(&mut county, |county| is_through(county, Way::Back));
    county.set("direction", json!("Forward"));
    drives_until(&mut county, |county| is_through(county, Way::Forth));
    county.set("direction", json!("Back"));
    drives_until(&mut county, |county| is_through(county, Way::Back));
}
