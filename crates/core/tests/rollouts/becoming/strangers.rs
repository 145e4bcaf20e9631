//! What others do to objects that go back after the end of their rollout.

use pointsman_core::rollout::{ObjectCall, RolloutPhase};
use serde_json::{Value, json};

use super::returns::{ended, spec, turns};
use super::trials::{Ordeal, county, deletes, drives, drives_all, said};

/// The old operator acts on the hut, and the new one on the house.
fn both_act(county: &Ordeal) -> bool {
    let is_house = county.village.get("houses", "h-0").is_some();
    is_house && county.village.get("huts", "h-0").is_some_and(|hut| hut["spec"]["move"] != true)
}

fn takes_off(county: &mut Ordeal, annotation: &str) {
    county.village.change("houses", "h-0", |house| {
        house["metadata"]["annotations"].as_object_mut().unwrap().remove(annotation);
    });
}

/// What is under way, and why it does not go on.
#[track_caller]
fn waits_for(county: &Ordeal, why: &str) {
    assert!(!both_act(county), "{}", said(county));
    assert!(said(county).contains(why), "{}", said(county));
}

#[test]
fn unattributed_target_blocks_recreation() {
    for plural in ["huts", "services", "deployments", "houses"] {
        let (mut county, mut was) = (ended(1), false);
        turns(&mut county, "Undo", 300, |county, asked| {
            assert!(!both_act(county), "{plural}: {}", said(county));
            let is_late = plural != "houses" || deletes(asked, "houses");
            if asked.plural == plural && is_late && !was {
                was = true;
                takes_off(county, "pointsman.dev/created-from");
            }
        });
        assert!(was, "{plural}");
        if county.village.get("houses", "h-0").is_some() {
            waits_for(&county, "does not say that it was made of this object");
        }
    }
}

#[test]
fn restored_backup_stays_switched_off() {
    let (mut county, mut backup) = (county(1), Value::Null);
    drives(&mut county, 300, |county, asked| {
        if deletes(asked, "huts") {
            backup = county.village.get("huts", "h-0").unwrap().clone();
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    county.village.create("huts", backup).unwrap();
    turns(&mut county, "Undo", 300, |county, _| assert!(!both_act(county), "{}", said(county)));
    assert!(!both_act(&county), "{}", said(&county));
}

/// As it was at each write before it was made into another one; from the first on it says so, and not before.
#[test]
fn older_backup_stays_switched_off() {
    let (mut first, mut backups) = (county(1), Vec::new());
    drives_all(&mut first, 300, |county, _| {
        let hut = county.village.get("huts", "h-0").filter(|_| county.village.get("houses", "h-0").is_none());
        backups.extend(hut.filter(|hut| hut["spec"]["move"] == true).cloned());
    });
    assert_eq!(first.status().phase, RolloutPhase::Complete, "{}", said(&first));
    assert!(backups.len() > 1, "{backups:#?}");
    let said_of = [(false, "was made of an earlier object of this name"), (true, "does not say of which object")];
    for (backup, (is_taken_off, why)) in backups.iter().flat_map(|backup| said_of.map(|said| (backup, said))) {
        let mut county = ended(1);
        county.village.create("huts", backup.clone()).unwrap();
        if is_taken_off {
            takes_off(&mut county, "pointsman.dev/created-from");
        }
        turns(&mut county, "Undo", 300, |county, _| assert!(!both_act(county), "{backup:#}: {}", said(county)));
        waits_for(&county, why);
        // Once one of them is out of the way, it goes on.
        county.village.things.remove(&("houses".to_owned(), "h-0".to_owned()));
        county.resume();
        turns(&mut county, "Undo", 300, |_, _| {});
        assert_ne!(spec(&county, "huts")["move"], true, "{}", said(&county));
    }
}

#[test]
fn copied_target_is_no_target() {
    let mut county = ended(1);
    let mut copy = county.village.get("houses", "h-0").unwrap().clone();
    copy["metadata"]["name"] = json!("g-9");
    county.village.create("houses", copy).unwrap();
    turns(&mut county, "Undo", 400, |_, asked| {
        assert_ne!((&asked.plural[..], &asked.name[..]), ("huts", "g-9"), "it was never a hut");
    });
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
    let left = ["huts", "houses"].map(|plural| county.village.names(plural));
    assert_eq!(left, [vec!["h-0".to_owned()], vec!["g-9".to_owned()]]);
}

/// The object itself knows what the other one was when it was made of it.
#[test]
fn edit_without_record_is_noticed() {
    let mut county = ended(1);
    turns(&mut county, "Undo", 300, |county, asked| {
        if asked.plural == "services" {
            takes_off(county, "pointsman.dev/returned-generation");
            county.village.change("houses", "h-0", |house| {
                house["metadata"]["generation"] = json!(7);
                house["spec"]["roof"] = json!("tiles");
            });
        }
    });
    assert_eq!(spec(&county, "houses")["roof"], "tiles");
    waits_for(&county, "was changed after the object was made anew of it");
}

#[test]
fn new_obstacle_stops_the_delete() {
    let scaler = json!({
        "metadata": {"name": "grows", "namespace": "n"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "h-0"}},
    });
    let mut county = ended(1);
    turns(&mut county, "Undo", 300, |county, asked| {
        if asked.plural == "controllerrevisions" && matches!(asked.call, ObjectCall::Create(_)) {
            county.village.create("horizontalpodautoscalers", scaler.clone()).unwrap();
        }
        assert!(!deletes(asked, "deployments"), "something stands against it");
    });
    assert!(said(&county).contains("horizontalpodautoscalers"), "{}", said(&county));
}

/// Both are there then, and the new operator alone acts.
#[test]
fn obstacle_stops_the_revert_early() {
    let scaler = json!({
        "metadata": {"name": "grows", "namespace": "n"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "h-0"}},
    });
    for comes in ["", "services"] {
        let mut county = ended(1);
        if comes.is_empty() {
            county.village.create("horizontalpodautoscalers", scaler.clone()).unwrap();
        }
        turns(&mut county, "Undo", 300, |county, asked| {
            let is_given_back = ["services", "deployments"].contains(&&asked.plural[..]) && comes.is_empty();
            assert!(!is_given_back && !deletes(asked, "houses"), "{asked:?}");
            if asked.plural == comes {
                county.village.create("horizontalpodautoscalers", scaler.clone()).unwrap();
            }
        });
        waits_for(&county, "horizontalpodautoscalers");
        county.village.things.remove(&("horizontalpodautoscalers".to_owned(), "grows".to_owned()));
        county.resume();
        turns(&mut county, "Undo", 300, |county, _| assert!(!both_act(county), "{}", said(county)));
        assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
        assert_eq!((county.village.names("huts").len(), county.village.names("houses").len()), (1, 0));
    }
}

/// It is let go, and is one that can be made anew a moment later.
#[test]
fn deleted_recreation_is_recreated() {
    let (mut county, mut times) = (ended(2), 0);
    turns(&mut county, "Undo", 400, |county, asked| {
        if asked.plural == "houses" && matches!(asked.call, ObjectCall::Patch(_)) && times < 2 {
            times += 1;
            county.village.things.remove(&("huts".to_owned(), asked.name.clone()));
        }
    });
    assert_eq!(county.status().converted_counts.get("all"), Some(&0), "{}", said(&county));
    assert_eq!(county.village.names("huts").len(), 2);
}
