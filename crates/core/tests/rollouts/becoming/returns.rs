//! Objects that have become others, and a rollout that goes back after its end.

use pointsman_core::rollout::{Direction, ObjectCall, ObjectWrite, RolloutPhase, told_steps};
use serde_json::{Value, json};

use super::settlers::FOR_GOOD;
use super::trials::{Ordeal, county, deletes, drives, said};

/// So many huts, which have become houses.
pub(super) fn ended(huts: usize) -> Ordeal {
    let mut county = county(huts);
    drives(&mut county, 300, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    county
}

/// Turns the rollout, and runs it until it is over, or paused, or so many seconds have passed.
pub(super) fn turns(
    county: &mut Ordeal,
    direction: &str,
    seconds: u64,
    mut before: impl FnMut(&mut Ordeal, &ObjectWrite),
) {
    county.set("direction", json!(direction));
    let wanted = if direction == "Undo" { Direction::Undo } else { Direction::Forward };
    let until = county.village.now + seconds;
    while county.village.now < until {
        let left = until - county.village.now;
        drives(county, left, &mut before);
        let status = county.status();
        if (status.is_over() && status.direction == wanted) || status.phase == RolloutPhase::Paused {
            break;
        }
    }
}

pub(super) fn spec(county: &Ordeal, plural: &str) -> Value {
    county.village.get(plural, "h-0").map_or(Value::Null, |one| one["spec"].clone())
}

fn selector(county: &Ordeal) -> Value {
    spec(county, "deployments")["selector"]["matchLabels"].clone()
}

#[test]
fn deleted_source_is_recreated() {
    let mut county = ended(2);
    let before = county.status();
    assert_eq!((before.counts.updated, before.converted_counts.get("all")), (2, Some(&2)));
    let mut made = 0;
    turns(&mut county, "Undo", 400, |_, asked| {
        made += usize::from(asked.plural == "huts" && matches!(asked.call, ObjectCall::Create(_)));
    });
    let status = county.status();
    assert_eq!((status.phase, made), (RolloutPhase::Aborted, 2), "{}", said(&county));
    assert!(
        said(&county).contains("every object with the mark of its move is what it was before"),
        "{}",
        said(&county)
    );
    assert_eq!((status.counts.updated, status.counts.pending, status.converted_counts.get("all")), (0, 2, Some(&0)));
    assert_eq!(spec(&county, "huts"), json!({"roof": "straw"}));
    assert_eq!(county.village.names("houses"), Vec::<String>::new());
    assert_eq!(county.village.names("controllerrevisions"), Vec::<String>::new(), "nothing that was saved is left");
    assert_eq!(selector(&county), json!({"hut": "h-0"}));
    turns(&mut county, "Forward", 400, |_, _| {});
    let status = county.status();
    assert_eq!(
        (status.phase, status.converted_counts.get("all")),
        (RolloutPhase::Complete, Some(&2)),
        "{}",
        said(&county)
    );
    assert_eq!((status.counts.updated, county.village.names("huts")), (2, Vec::<String>::new()));
    assert_eq!(selector(&county), json!({"house": "h-0"}));
}

#[test]
fn later_edits_survive_recreation() {
    let mut county = ended(1);
    county.village.change("houses", "h-0", |house| house["spec"]["roof"] = json!("tiles"));
    county.village.change("deployments", "h-0", |one| one["spec"]["replicas"] = json!(2));
    turns(&mut county, "Undo", 400, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
    assert_eq!(spec(&county, "huts"), json!({"roof": "tiles"}));
}

#[test]
fn edited_deployment_is_saved_again() {
    let mut county = ended(1);
    let mut was = false;
    turns(&mut county, "Undo", 400, |county, asked| {
        if deletes(asked, "deployments") && !was {
            was = true;
            county.village.change("deployments", "h-0", |one| one["metadata"]["labels"]["team"] = json!("blue"));
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
    assert!(was);
    let labels = &county.village.get("deployments", "h-0").unwrap()["metadata"]["labels"];
    assert_eq!(*labels, json!({"hut": "h-0", "team": "blue"}));
}

#[test]
fn gitops_managed_source_is_not_recreated() {
    let mut county = ended(1);
    let fields = json!([{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {}}]);
    county.village.change("houses", "h-0", |house| house["metadata"]["managedFields"] = fields);
    let before = county.village.things.clone();
    turns(&mut county, "Undo", 60, |_, asked| panic!("{}", asked.told()));
    let why =
        "Waiting going back, 0 to go, 1 object cannot be moved: n/h-0: argocd-controller sets its houses.example.com";
    assert!(said(&county).contains(why), "{}", said(&county));
    assert_eq!(county.village.things, before, "nothing of it changes");
    county.set("takeOver", json!(true));
    turns(&mut county, "Undo", 400, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
}

/// By now it may own what nobody has handed over to it.
#[test]
fn target_with_dependents_stays() {
    let mut county = ended(1);
    let house = county.village.get("houses", "h-0").unwrap()["metadata"]["uid"].clone();
    let owners = json!([{"kind": "House", "name": "h-0", "uid": house}]);
    county.village.create("configmaps", json!({"metadata": {"name": "notes", "ownerReferences": owners}})).unwrap();
    turns(&mut county, "Undo", 60, |_, asked| assert!(!deletes(asked, "houses"), "something belongs to it"));
    let status = county.status();
    assert_eq!(status.in_flight.len(), 1, "{}", said(&county));
    turns(&mut county, "Undo", 200, |_, _| {});
    let why = "configmaps notes still belongs to houses.example.com n/h-0 by an owner reference";
    assert!(said(&county).contains(why), "{}", said(&county));
    county.village.things.remove(&("configmaps".to_owned(), "notes".to_owned()));
    county.resume();
    turns(&mut county, "Undo", 400, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
}

/// The object was made of what the other one said then.
#[test]
fn edited_target_stays() {
    let mut county = ended(1);
    turns(&mut county, "Undo", 200, |county, asked| {
        assert!(!deletes(asked, "houses"), "what somebody has changed is lost");
        if asked.plural == "deployments" {
            county.village.change("houses", "h-0", |house| {
                house["spec"]["roof"] = json!("tiles");
                house["metadata"]["generation"] = json!(2);
            });
        }
    });
    let why = "houses.example.com n/h-0 was changed after the object was made anew of it";
    assert!(said(&county).contains(why), "{}", said(&county));
    county.village.change("huts", "h-0", |hut| hut["spec"]["roof"] = json!("tiles"));
    county.village.change("houses", "h-0", |house| {
        house["metadata"]["annotations"]["pointsman.dev/returned-generation"] = json!("2");
    });
    county.resume();
    turns(&mut county, "Undo", 400, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
    assert_eq!(spec(&county, "huts"), json!({"roof": "tiles"}));
}

#[test]
fn reused_name_is_left_alone() {
    let mut county = ended(1);
    let other = json!({
        "apiVersion": "was.example.com/v1", "kind": "Hut", "metadata": {"name": "h-0", "namespace": "n"},
        "spec": {"roof": "mine"}, "status": {"state": "stable"},
    });
    county.village.create("huts", other).unwrap();
    turns(&mut county, "Undo", 100, |_, asked| panic!("{}", asked.told()));
    let why = "taken back as far as it goes: a step of 1 object cannot be undone";
    assert!(said(&county).contains(why), "{}", said(&county));
    assert_eq!(spec(&county, "huts")["roof"], "mine");
}

#[test]
fn unreadable_targets_block_completion() {
    let mut county = ended(1);
    county.blind = true;
    turns(&mut county, "Undo", 60, |_, asked| panic!("{}", asked.told()));
    assert_eq!(county.status().phase, RolloutPhase::Waiting, "{}", said(&county));
    assert!(said(&county).contains("houses.example.com cannot be listed"), "{}", said(&county));
    county.blind = false;
    turns(&mut county, "Undo", 400, |_, _| {});
    assert_eq!(county.status().converted_counts.get("all"), Some(&0), "{}", said(&county));
}

/// Where nobody says what its Deployment was, an object that is gone stays what it has become.
#[test]
fn irreversible_workflow_stays_finished() {
    let mut county = county(1);
    county.kind = &FOR_GOOD;
    drives(&mut county, 300, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    let house = county.village.get("houses", "h-0").unwrap().clone();
    assert_eq!(house["metadata"]["annotations"]["pointsman.dev/created-by"], Value::Null);
    turns(&mut county, "Undo", 100, |_, asked| panic!("{}", asked.told()));
    assert!(said(&county).contains("taken back as far as it goes"), "{}", said(&county));
}

#[test]
fn plan_marks_deletions_as_reversible() {
    let county = county(1);
    let told = |kind| {
        let rollout = pointsman_core::rollout::answered_rollout(&county.rollout, kind).unwrap();
        told_steps(&rollout).pop().unwrap().does
    };
    assert!(told(county.kind).ends_with("; going back makes it anew of what it has become"), "{}", told(county.kind));
    assert_eq!(told(&FOR_GOOD), "deletes the object, and nothing with it");
}
