//! What a Roll says of objects that fail.

use pointsman_core::roll::{FleetObject, FleetRoll, Moment, RollFacts, RollPhase, RollStatus, plan};
use serde_json::{Value, json};

use crate::boat::{ANNOTATION, Boat};
use crate::kinds::roll_of;
use crate::patches::NOW;
use crate::world::{LABEL, NEW, OLD};

fn roll(direction: &str) -> FleetRoll {
    roll_of(&json!({"waves": [{"name": "all"}], "direction": direction, "timeout": "10m"}))
}

/// One at this version, which has the mark of the roll where it was something before.
fn boat(label: Option<&str>, was: Option<&Value>) -> Boat {
    let mut metadata = json!({"namespace": "n", "name": "b", "uid": "u", "labels": {"a": "b"}});
    if let Some(label) = label {
        metadata["labels"][LABEL] = json!(label);
    }
    if let Some(was) = was {
        let mark = json!({"roll": "roll-1", "was": was, "to": NEW, "at": "2026-11-18T11:06:40Z"});
        metadata["annotations"] = json!({ANNOTATION: mark.to_string()});
    }
    Boat::new(metadata)
}

fn planned(direction: &str, status: &RollStatus, there: &Boat, after: u64) -> RollStatus {
    let roll = roll(direction);
    let fleet = [FleetObject::of(&there.value(), &roll).unwrap()];
    let now = Moment { wall: NOW.wall + after, ..NOW };
    plan(&roll, status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, now).status
}

/// Of an object that does not get healthy where it goes, it is said where that is.
#[test]
fn what_fails_is_said_to_be_on_its_own_way() {
    for (was, there, back) in [
        (json!(OLD), boat(Some(OLD), None), format!("label {LABEL} back to {OLD}: not healthy within 10m: ")),
        (Value::Null, boat(None, None), format!("label {LABEL} taken off again: not healthy within 10m: ")),
    ] {
        let reserved = planned("Forward", &RollStatus::default(), &boat(was.as_str(), None), 0);
        let moved = boat(Some(NEW), Some(&was));
        let forward = planned("Forward", &reserved, &moved, 601);
        let said = format!("label {LABEL} to {NEW}: not healthy within 10m: ");
        assert!(forward.failures[0].message.starts_with(&said), "{:?}", forward.failures);
        let turned = planned("Back", &reserved, &moved, 1);
        assert!(turned.reserved[0].back, "{:?}", turned.reserved);
        let failed = planned("Back", &turned, &there, 700);
        assert_eq!(failed.phase, RollPhase::Paused);
        assert!(failed.failures[0].message.starts_with(&back), "{:?}", failed.failures);
        assert!(failed.message.starts_with(&format!("n/b: {back}")), "{}", failed.message);
    }
}
