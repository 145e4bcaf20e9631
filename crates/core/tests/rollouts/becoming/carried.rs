//! What somebody changes of the labels and annotations of one of two objects, one of which goes: the other one has it.

use pointsman_core::rollout::{ObjectCall, ObjectWrite, RolloutPhase};
use serde_json::{Value, json};

use super::returns::turns;
use super::trials::{Ordeal, county, drives, said};
use super::village::taken;

/// Somebody sets a label, or takes it off.
fn labels(county: &mut Ordeal, plural: &str, name: &str, value: Option<&str>) {
    let now = county.village.now;
    county.village.change(plural, "h-0", |one| {
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

fn notes(county: &mut Ordeal, plural: &str, name: &str, value: &str) {
    county.village.change(plural, "h-0", |one| one["metadata"]["annotations"][name] = json!(value));
}

fn label(county: &Ordeal, plural: &str, name: &str) -> Value {
    county
        .village
        .get(plural, "h-0")
        .map_or_else(|| panic!("{}", said(county)), |one| one["metadata"]["labels"][name].clone())
}

/// A hut with two labels.
fn labelled() -> Ordeal {
    let mut county = county(1);
    labels(&mut county, "huts", "team", Some("blue"));
    labels(&mut county, "huts", "old", Some("yes"));
    county
}

fn goes(county: &mut Ordeal) {
    drives(county, 300, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(county));
}

/// Has it go back after the end. Somebody does something once the hut is there again, and before the house goes.
fn goes_back(county: &mut Ordeal, act: impl Fn(&mut Ordeal)) {
    let mut was = false;
    turns(county, "Undo", 400, |county, asked: &ObjectWrite| {
        if asked.plural == "services" && !was {
            was = true;
            act(county);
        }
    });
    assert!(was);
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(county));
}

#[test]
fn target_edit_survives_undo() {
    let mut county = labelled();
    goes(&mut county);
    labels(&mut county, "houses", "before", Some("it was there"));
    goes_back(&mut county, |county| {
        labels(county, "houses", "team", Some("red"));
        labels(county, "houses", "new", Some("yes"));
        labels(county, "houses", "old", None);
        notes(county, "houses", "example.com/note~1", "a/b");
        notes(county, "houses", "kubectl.kubernetes.io/last-applied-configuration", "{}");
        notes(county, "houses", "pointsman.dev/other", "ours");
    });
    let metadata = county.village.get("huts", "h-0").unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "red", "new": "yes", "before": "it was there"}));
    assert_eq!(metadata["annotations"], json!({"example.com/note~1": "a/b"}));
}

#[test]
fn source_edit_reaches_finished_target() {
    let (mut county, mut was) = (labelled(), false);
    drives(&mut county, 300, |county, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            labels(county, "huts", "team", Some("red"));
            labels(county, "huts", "new", Some("yes"));
            labels(county, "huts", "old", None);
            notes(county, "huts", "example.com/note", "a");
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    let metadata = county.village.get("houses", "h-0").unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "red", "new": "yes"}));
    assert_eq!(metadata["annotations"]["example.com/note"], "a");
}

/// What the house is made of was looked at before.
#[test]
fn source_edit_reaches_new_target() {
    let (mut county, mut was) = (labelled(), false);
    drives(&mut county, 300, |county, asked| {
        if asked.plural == "houses" && matches!(asked.call, ObjectCall::Create(_)) {
            was = true;
            labels(county, "huts", "team", Some("red"));
            labels(county, "huts", "new", Some("yes"));
            labels(county, "huts", "old", None);
            notes(county, "huts", "example.com/note", "a");
        }
    });
    assert!(was);
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    let metadata = county.village.get("houses", "h-0").unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"], json!({"team": "red", "new": "yes"}));
    assert_eq!(metadata["annotations"]["example.com/note"], "a");
}

#[test]
fn late_target_edit_reaches_source() {
    let (mut county, mut was) = (labelled(), false);
    drives(&mut county, 300, |county, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            labels(county, "houses", "team", Some("red"));
            labels(county, "huts", "old", None);
            county.set("direction", json!("Undo"));
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
    assert_eq!((label(&county, "huts", "team"), label(&county, "huts", "old")), (json!("red"), Value::Null));
}

#[test]
fn later_of_two_edits_wins() {
    for (first, second) in [("houses", "huts"), ("huts", "houses")] {
        let mut county = labelled();
        goes(&mut county);
        goes_back(&mut county, |county| {
            labels(county, first, "team", Some(first));
            county.village.now += 1;
            labels(county, second, "team", Some(second));
        });
        assert_eq!(label(&county, "huts", "team"), second);
    }
}

/// Nobody knows any more what both had: what only the house has comes along, and nothing of the hut is written over.
#[test]
fn unknown_ownership_overwrites_nothing() {
    let (mut county, mut was) = (labelled(), false);
    drives(&mut county, 300, |county, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            county.village.change("houses", "h-0", |house| {
                house["metadata"]["annotations"].as_object_mut().unwrap().remove("pointsman.dev/copied-metadata");
            });
            labels(county, "houses", "team", Some("red"));
            labels(county, "houses", "new", Some("yes"));
            labels(county, "houses", "old", None);
            county.set("direction", json!("Undo"));
        }
    });
    let hut = county.village.get("huts", "h-0").unwrap();
    assert_eq!(hut["metadata"]["labels"], json!({"team": "blue", "new": "yes", "old": "yes"}));
}

/// Whether a label of a house is changed by a write.
fn carries(asked: &ObjectWrite) -> bool {
    let ObjectCall::Patch(patch) = &asked.call else { return false };
    asked.plural == "houses" && patch.to_string().contains("/metadata/labels/team")
}

/// What is carried is nobody's change of the one that stays, however late it gets there.
#[test]
fn edit_during_copy_is_copied() {
    for last in [Some("green"), None] {
        let (mut county, mut was, mut times) = (labelled(), false, 0);
        drives(&mut county, 300, |county, asked| {
            if asked.plural == "replicasets" && !was {
                was = true;
                labels(county, "huts", "team", Some("red"));
                labels(county, "huts", "new", Some("yes"));
            }
            if carries(asked) {
                times += 1;
                if times == 1 {
                    labels(county, "huts", "team", last);
                    labels(county, "huts", "new", None);
                    county.village.now += 5;
                }
            }
        });
        assert_eq!((county.status().phase, times), (RolloutPhase::Complete, 2), "{}", said(&county));
        let house = &county.village.get("houses", "h-0").unwrap()["metadata"]["labels"];
        assert_eq!(*house, last.map_or_else(|| json!({"old": "yes"}), |last| json!({"old": "yes", "team": last})));
    }
}

/// Where nothing was changed, nothing is written.
#[test]
fn unedited_objects_copy_nothing() {
    let mut county = labelled();
    let is_carried = |asked: &ObjectWrite| match &asked.call {
        ObjectCall::Patch(patch) => patch.to_string().contains("/metadata/labels"),
        _ => false,
    };
    drives(&mut county, 300, |_, asked| assert!(!is_carried(asked), "{asked:?}"));
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    turns(&mut county, "Undo", 400, |_, asked| assert!(!is_carried(asked), "{asked:?}"));
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
}
