//! If a client changes labels or annotations of one of two objects while the other one is deleted, the remaining object
//! gets the change.

use pointsman_rollout::{ObjectCall, ObjectWrite, RolloutPhase};
use serde_json::{Value, json};

use super::fake_namespace::taken;
use super::returns::turns;
use super::trials::{Ordeal, drives, fixture, said};

/// A client sets or removes a label.
fn labels(fixture: &mut Ordeal, plural: &str, name: &str, value: Option<&str>) {
    let now = fixture.fake_namespace.now;
    fixture.fake_namespace.change(plural, "h-0", |one| {
        let metadata = &mut one["metadata"];
        match value {
            Some(value) => {
                metadata["labels"][name] = json!(value);
                taken(metadata, ("labels", name), ("somebody", now));
            }
            None => metadata["labels"].as_object_mut().into_iter().for_each(|all| drop(all.remove(name))),
        }
        if metadata["labels"].as_object().is_some_and(serde_json::Map::is_empty) {
            metadata["labels"] = Value::Null;
        }
    });
}

fn notes(fixture: &mut Ordeal, plural: &str, name: &str, value: &str) {
    fixture.fake_namespace.change(plural, "h-0", |one| one["metadata"]["annotations"][name] = json!(value));
}

fn label(fixture: &Ordeal, plural: &str, name: &str) -> Value {
    fixture
        .fake_namespace
        .get(plural, "h-0")
        .map_or_else(|| panic!("{}", said(fixture)), |one| one["metadata"]["labels"][name].clone())
}

/// An oldapp with two labels.
fn labelled() -> Ordeal {
    let mut fixture = fixture(1);
    labels(&mut fixture, "oldapps", "team", Some("blue"));
    labels(&mut fixture, "oldapps", "old", Some("yes"));
    fixture
}

fn goes(fixture: &mut Ordeal) {
    drives(fixture, 300, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(fixture));
}

/// Undoes the rollout after its end. Calls `act` after the oldapp is recreated and before the newapp is deleted.
fn is_undo(fixture: &mut Ordeal, act: impl Fn(&mut Ordeal)) {
    let mut was = false;
    turns(fixture, "Undo", 400, |fixture, asked: &ObjectWrite| {
        if asked.plural == "services" && !was {
            was = true;
            act(fixture);
        }
    });
    assert!(was);
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(fixture));
}

#[test]
fn target_edit_survives_undo() {
    let mut fixture = labelled();
    goes(&mut fixture);
    labels(&mut fixture, "newapps", "before", Some("it was there"));
    is_undo(&mut fixture, |fixture| {
        labels(fixture, "newapps", "team", Some("red"));
        labels(fixture, "newapps", "new", Some("yes"));
        labels(fixture, "newapps", "old", None);
        notes(fixture, "newapps", "example.com/note~1", "a/b");
        notes(fixture, "newapps", "kubectl.kubernetes.io/last-applied-configuration", "{}");
        notes(fixture, "newapps", "pointsman.dev/other", "ours");
    });
    let metadata = fixture.fake_namespace.get("oldapps", "h-0").unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "red", "new": "yes", "before": "it was there"}));
    assert_eq!(metadata["annotations"], json!({"example.com/note~1": "a/b"}));
}

#[test]
fn source_edit_reaches_finished_target() {
    let (mut fixture, mut was) = (labelled(), false);
    drives(&mut fixture, 300, |fixture, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            labels(fixture, "oldapps", "team", Some("red"));
            labels(fixture, "oldapps", "new", Some("yes"));
            labels(fixture, "oldapps", "old", None);
            notes(fixture, "oldapps", "example.com/note", "a");
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    let metadata = fixture.fake_namespace.get("newapps", "h-0").unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "red", "new": "yes"}));
    assert_eq!(metadata["annotations"]["example.com/note"], "a");
}

/// The source of the newapp was read before the edit.
#[test]
fn source_edit_reaches_new_target() {
    let (mut fixture, mut was) = (labelled(), false);
    drives(&mut fixture, 300, |fixture, asked| {
        if asked.plural == "newapps" && matches!(asked.call, ObjectCall::Create(_)) {
            was = true;
            labels(fixture, "oldapps", "team", Some("red"));
            labels(fixture, "oldapps", "new", Some("yes"));
            labels(fixture, "oldapps", "old", None);
            notes(fixture, "oldapps", "example.com/note", "a");
        }
    });
    assert!(was);
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    let metadata = fixture.fake_namespace.get("newapps", "h-0").unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "red", "new": "yes"}));
    assert_eq!(metadata["annotations"]["example.com/note"], "a");
}

#[test]
fn late_target_edit_reaches_source() {
    let (mut fixture, mut was) = (labelled(), false);
    drives(&mut fixture, 300, |fixture, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            labels(fixture, "newapps", "team", Some("red"));
            labels(fixture, "oldapps", "old", None);
            fixture.set("direction", json!("Undo"));
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
    assert_eq!((label(&fixture, "oldapps", "team"), label(&fixture, "oldapps", "old")), (json!("red"), Value::Null));
}

#[test]
fn later_of_two_edits_wins() {
    for (first, second) in [("newapps", "oldapps"), ("oldapps", "newapps")] {
        let mut fixture = labelled();
        goes(&mut fixture);
        is_undo(&mut fixture, |fixture| {
            labels(fixture, first, "team", Some(first));
            fixture.fake_namespace.now += 1;
            labels(fixture, second, "team", Some(second));
        });
        assert_eq!(label(&fixture, "oldapps", "team"), second);
    }
}

/// Without a record of the shared values, the rollout copies values that only the newapp has, and overwrites nothing on
/// the oldapp.
#[test]
fn unknown_ownership_overwrites_nothing() {
    let (mut fixture, mut was) = (labelled(), false);
    drives(&mut fixture, 300, |fixture, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            fixture.fake_namespace.change("newapps", "h-0", |newapp| {
                newapp["metadata"]["annotations"].as_object_mut().unwrap().remove("pointsman.dev/copied-metadata");
            });
            labels(fixture, "newapps", "team", Some("red"));
            labels(fixture, "newapps", "new", Some("yes"));
            labels(fixture, "newapps", "old", None);
            fixture.set("direction", json!("Undo"));
        }
    });
    let oldapp = fixture.fake_namespace.get("oldapps", "h-0").unwrap();
    assert_eq!(oldapp["metadata"]["labels"], json!({"team": "blue", "new": "yes", "old": "yes"}));
}

/// True if a write changes a label of a newapp.
fn carries(asked: &ObjectWrite) -> bool {
    let ObjectCall::Patch(patch) = &asked.call else { return false };
    asked.plural == "newapps" && patch.to_string().contains("/metadata/labels/team")
}

/// A late copied value does not count as another client's change of the remaining object.
#[test]
fn edit_during_copy_is_copied() {
    for last in [Some("green"), None] {
        let (mut fixture, mut was, mut times) = (labelled(), false, 0);
        drives(&mut fixture, 300, |fixture, asked| {
            if asked.plural == "replicasets" && !was {
                was = true;
                labels(fixture, "oldapps", "team", Some("red"));
                labels(fixture, "oldapps", "new", Some("yes"));
            }
            if carries(asked) {
                times += 1;
                if times == 1 {
                    labels(fixture, "oldapps", "team", last);
                    labels(fixture, "oldapps", "new", None);
                    fixture.fake_namespace.now += 5;
                }
            }
        });
        assert_eq!((fixture.status().phase, times), (RolloutPhase::Complete, 2), "{}", said(&fixture));
        let newapp = &fixture.fake_namespace.get("newapps", "h-0").unwrap()["metadata"]["labels"];
        assert_eq!(*newapp, last.map_or_else(|| json!({"old": "yes"}), |last| json!({"old": "yes", "team": last})));
    }
}

/// Without changes, the rollout writes nothing.
#[test]
fn unedited_objects_copy_nothing() {
    let mut fixture = labelled();
    let is_carried = |asked: &ObjectWrite| match &asked.call {
        ObjectCall::Patch(patch) => patch.to_string().contains("/metadata/labels"),
        _ => false,
    };
    drives(&mut fixture, 300, |_, asked| assert!(!is_carried(asked), "{asked:?}"));
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    turns(&mut fixture, "Undo", 400, |_, asked| assert!(!is_carried(asked), "{asked:?}"));
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
}
