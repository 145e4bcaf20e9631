//! Interference of other clients with objects that are undone after the end of their rollout.

use pointsman_rollout::{ObjectCall, RolloutPhase};
use serde_json::{Value, json};

use super::returns::{ended, spec, turns};
use super::trials::{Ordeal, deletes, drives, drives_all, fixture, said};

/// True if the old operator acts on the oldapp and the new one on the newapp.
fn both_act(fixture: &Ordeal) -> bool {
    let is_newapp = fixture.fake_namespace.get("newapps", "h-0").is_some();
    is_newapp && fixture.fake_namespace.get("oldapps", "h-0").is_some_and(|oldapp| oldapp["spec"]["move"] != true)
}

fn takes_off(fixture: &mut Ordeal, annotation: &str) {
    fixture.fake_namespace.change("newapps", "h-0", |newapp| {
        newapp["metadata"]["annotations"].as_object_mut().unwrap().remove(annotation);
    });
}

/// Checks which object is in flight and why it waits.
#[track_caller]
fn waits_for(fixture: &Ordeal, why: &str) {
    assert!(!both_act(fixture), "{}", said(fixture));
    assert!(said(fixture).contains(why), "{}", said(fixture));
}

#[test]
fn unattributed_target_blocks_recreation() {
    for plural in ["oldapps", "services", "deployments", "newapps"] {
        let (mut fixture, mut was) = (ended(1), false);
        turns(&mut fixture, "Undo", 300, |fixture, asked| {
            assert!(!both_act(fixture), "{plural}: {}", said(fixture));
            let is_late = plural != "newapps" || deletes(asked, "newapps");
            if asked.plural == plural && is_late && !was {
                was = true;
                takes_off(fixture, "pointsman.dev/created-from");
            }
        });
        assert!(was, "{plural}");
        if fixture.fake_namespace.get("newapps", "h-0").is_some() {
            waits_for(&fixture, "was not created from this object according to its annotations");
        }
    }
}

#[test]
fn restored_backup_stays_switched_off() {
    let (mut fixture, mut backup) = (fixture(1), Value::Null);
    drives(&mut fixture, 300, |fixture, asked| {
        if deletes(asked, "oldapps") {
            backup = fixture.fake_namespace.get("oldapps", "h-0").unwrap().clone();
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    fixture.fake_namespace.create("oldapps", backup).unwrap();
    turns(&mut fixture, "Undo", 300, |fixture, _| assert!(!both_act(fixture), "{}", said(fixture)));
    assert!(!both_act(&fixture), "{}", said(&fixture));
}

/// Backups from each write before the replacement: every backup after the first write is switched off, no earlier one.
#[test]
fn older_backup_stays_switched_off() {
    let (mut first, mut backups) = (fixture(1), Vec::new());
    drives_all(&mut first, 300, |fixture, _| {
        let oldapp = fixture
            .fake_namespace
            .get("oldapps", "h-0")
            .filter(|_| fixture.fake_namespace.get("newapps", "h-0").is_none());
        backups.extend(oldapp.filter(|oldapp| oldapp["spec"]["move"] == true).cloned());
    });
    assert_eq!(first.status().phase, RolloutPhase::Complete, "{}", said(&first));
    assert!(backups.len() > 1, "{backups:#?}");
    let said_of = [
        (false, "was created from an earlier object of this name"),
        (true, "exists, but its annotations name no source object"),
    ];
    for (backup, (is_taken_off, why)) in backups.iter().flat_map(|backup| said_of.map(|said| (backup, said))) {
        let mut fixture = ended(1);
        fixture.fake_namespace.create("oldapps", backup.clone()).unwrap();
        if is_taken_off {
            takes_off(&mut fixture, "pointsman.dev/created-from");
        }
        turns(&mut fixture, "Undo", 300, |fixture, _| assert!(!both_act(fixture), "{backup:#}: {}", said(fixture)));
        waits_for(&fixture, why);
        // The rollout continues when one of the two objects is removed.
        fixture.fake_namespace.things.remove(&("newapps".to_owned(), "h-0".to_owned()));
        fixture.resume();
        turns(&mut fixture, "Undo", 300, |_, _| {});
        assert_ne!(spec(&fixture, "oldapps")["move"], true, "{}", said(&fixture));
    }
}

#[test]
fn copied_target_is_no_target() {
    let mut fixture = ended(1);
    let mut copy = fixture.fake_namespace.get("newapps", "h-0").unwrap().clone();
    copy["metadata"]["name"] = json!("g-9");
    fixture.fake_namespace.create("newapps", copy).unwrap();
    turns(&mut fixture, "Undo", 400, |_, asked| {
        assert_ne!((&asked.plural[..], &asked.name[..]), ("oldapps", "g-9"), "it was never a oldapp");
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
    let left = ["oldapps", "newapps"].map(|plural| fixture.fake_namespace.names(plural));
    assert_eq!(left, [vec!["h-0".to_owned()], vec!["g-9".to_owned()]]);
}

/// The newapp records the oldapp's content at its creation.
#[test]
fn edit_without_record_is_noticed() {
    let mut fixture = ended(1);
    turns(&mut fixture, "Undo", 300, |fixture, asked| {
        if asked.plural == "services" {
            takes_off(fixture, "pointsman.dev/returned-generation");
            fixture.fake_namespace.change("newapps", "h-0", |newapp| {
                newapp["metadata"]["generation"] = json!(7);
                newapp["spec"]["roof"] = json!("tiles");
            });
        }
    });
    assert_eq!(spec(&fixture, "newapps")["roof"], "tiles");
    waits_for(&fixture, "was changed after the object was recreated");
}

#[test]
fn new_obstacle_stops_the_delete() {
    let scaler = json!({
        "metadata": {"name": "grows", "namespace": "n"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "h-0"}},
    });
    let mut fixture = ended(1);
    turns(&mut fixture, "Undo", 300, |fixture, asked| {
        if asked.plural == "controllerrevisions" && matches!(asked.call, ObjectCall::Create(_)) {
            fixture.fake_namespace.create("horizontalpodautoscalers", scaler.clone()).unwrap();
        }
        assert!(!deletes(asked, "deployments"), "something stands against it");
    });
    assert!(said(&fixture).contains("horizontalpodautoscalers"), "{}", said(&fixture));
}

/// Both objects exist then, and only the new operator acts.
#[test]
fn obstacle_stops_the_revert_early() {
    let scaler = json!({
        "metadata": {"name": "grows", "namespace": "n"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "h-0"}},
    });
    for comes in ["", "services"] {
        let mut fixture = ended(1);
        if comes.is_empty() {
            fixture.fake_namespace.create("horizontalpodautoscalers", scaler.clone()).unwrap();
        }
        turns(&mut fixture, "Undo", 300, |fixture, asked| {
            let is_given_back = ["services", "deployments"].contains(&&asked.plural[..]) && comes.is_empty();
            assert!(!is_given_back && !deletes(asked, "newapps"), "{asked:?}");
            if asked.plural == comes {
                fixture.fake_namespace.create("horizontalpodautoscalers", scaler.clone()).unwrap();
            }
        });
        waits_for(&fixture, "horizontalpodautoscalers");
        fixture.fake_namespace.things.remove(&("horizontalpodautoscalers".to_owned(), "grows".to_owned()));
        fixture.resume();
        turns(&mut fixture, "Undo", 300, |fixture, _| assert!(!both_act(fixture), "{}", said(fixture)));
        assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
        assert_eq!(
            (fixture.fake_namespace.names("oldapps").len(), fixture.fake_namespace.names("newapps").len()),
            (1, 0)
        );
    }
}

/// The undo drops the deleted object and recreates it a moment later.
#[test]
fn deleted_recreation_is_recreated() {
    let (mut fixture, mut times) = (ended(2), 0);
    turns(&mut fixture, "Undo", 400, |fixture, asked| {
        if asked.plural == "newapps" && matches!(asked.call, ObjectCall::Patch(_)) && times < 2 {
            times += 1;
            fixture.fake_namespace.things.remove(&("oldapps".to_owned(), asked.name.clone()));
        }
    });
    assert_eq!(fixture.status().converted_counts.get("all"), Some(&0), "{}", said(&fixture));
    assert_eq!(fixture.fake_namespace.names("oldapps").len(), 2);
}
