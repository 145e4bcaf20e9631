//! Replaced objects, and a rollout that is undone after its end.

use pointsman_rollout::{Direction, ObjectCall, ObjectWrite, RolloutPhase, step_descriptions};
use serde_json::{Value, json};

use super::scenario::FOR_GOOD;
use super::trials::{Ordeal, deletes, drives, fixture, said};

/// Oldapps that were replaced by newapps.
pub(super) fn ended(oldapps: usize) -> Ordeal {
    let mut fixture = fixture(oldapps);
    drives(&mut fixture, 300, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    fixture
}

/// Changes the direction and runs until the rollout is over or paused, or until these seconds have passed.
pub(super) fn turns(
    fixture: &mut Ordeal,
    direction: &str,
    seconds: u64,
    mut before: impl FnMut(&mut Ordeal, &ObjectWrite),
) {
    fixture.set("direction", json!(direction));
    let wanted = if direction == "Undo" { Direction::Undo } else { Direction::Forward };
    let until = fixture.fake_namespace.now + seconds;
    while fixture.fake_namespace.now < until {
        let left = until - fixture.fake_namespace.now;
        drives(fixture, left, &mut before);
        let status = fixture.status();
        if (status.is_over() && status.direction == wanted) || status.phase == RolloutPhase::Paused {
            break;
        }
    }
}

pub(super) fn spec(fixture: &Ordeal, plural: &str) -> Value {
    fixture.fake_namespace.get(plural, "h-0").map_or(Value::Null, |one| one["spec"].clone())
}

fn selector(fixture: &Ordeal) -> Value {
    spec(fixture, "deployments")["selector"]["matchLabels"].clone()
}

#[test]
fn deleted_source_is_recreated() {
    let mut fixture = ended(2);
    let before = fixture.status();
    assert_eq!((before.counts.updated, before.converted_counts.get("all")), (2, Some(&2)));
    let mut made = 0;
    turns(&mut fixture, "Undo", 400, |_, asked| {
        made += usize::from(asked.plural == "oldapps" && matches!(asked.call, ObjectCall::Create(_)));
    });
    let status = fixture.status();
    assert_eq!((status.phase, made), (RolloutPhase::Aborted, 2), "{}", said(&fixture));
    assert!(
        said(&fixture).contains("every object with a rollout annotation has its earlier version"),
        "{}",
        said(&fixture)
    );
    assert_eq!((status.counts.updated, status.counts.pending, status.converted_counts.get("all")), (0, 2, Some(&0)));
    assert_eq!(spec(&fixture, "oldapps"), json!({"roof": "straw"}));
    assert_eq!(fixture.fake_namespace.names("newapps"), Vec::<String>::new());
    assert_eq!(
        fixture.fake_namespace.names("controllerrevisions"),
        Vec::<String>::new(),
        "nothing that was saved is left"
    );
    assert_eq!(selector(&fixture), json!({"oldapp": "h-0"}));
    turns(&mut fixture, "Forward", 400, |_, _| {});
    let status = fixture.status();
    assert_eq!(
        (status.phase, status.converted_counts.get("all")),
        (RolloutPhase::Complete, Some(&2)),
        "{}",
        said(&fixture)
    );
    assert_eq!((status.counts.updated, fixture.fake_namespace.names("oldapps")), (2, Vec::<String>::new()));
    assert_eq!(selector(&fixture), json!({"newapp": "h-0"}));
}

#[test]
fn later_edits_survive_recreation() {
    let mut fixture = ended(1);
    fixture.fake_namespace.change("newapps", "h-0", |newapp| newapp["spec"]["roof"] = json!("tiles"));
    fixture.fake_namespace.change("deployments", "h-0", |one| one["spec"]["replicas"] = json!(2));
    turns(&mut fixture, "Undo", 400, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
    assert_eq!(spec(&fixture, "oldapps"), json!({"roof": "tiles"}));
}

#[test]
fn edited_deployment_is_saved_again() {
    let mut fixture = ended(1);
    let mut was = false;
    turns(&mut fixture, "Undo", 400, |fixture, asked| {
        if deletes(asked, "deployments") && !was {
            was = true;
            fixture
                .fake_namespace
                .change("deployments", "h-0", |one| one["metadata"]["labels"]["team"] = json!("blue"));
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
    assert!(was);
    let labels = &fixture.fake_namespace.get("deployments", "h-0").unwrap()["metadata"]["labels"];
    assert_eq!(*labels, json!({"oldapp": "h-0", "team": "blue"}));
}

#[test]
fn gitops_managed_source_is_not_recreated() {
    let mut fixture = ended(1);
    let fields = json!([{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {}}]);
    fixture.fake_namespace.change("newapps", "h-0", |newapp| newapp["metadata"]["managedFields"] = fields);
    let before = fixture.fake_namespace.things.clone();
    turns(&mut fixture, "Undo", 60, |_, asked| panic!("{}", asked.message()));
    let why =
        "Waiting undoing, 0 left, 1 object cannot be moved: n/h-0: argocd-controller applies its newapps.example.com";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
    assert_eq!(fixture.fake_namespace.things, before, "nothing of it changes");
    fixture.set("takeOver", json!(true));
    turns(&mut fixture, "Undo", 400, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
}

/// The newapp may now own dependents that the rollout did not transfer.
#[test]
fn target_with_dependents_stays() {
    let mut fixture = ended(1);
    let newapp = fixture.fake_namespace.get("newapps", "h-0").unwrap()["metadata"]["uid"].clone();
    let owners = json!([{"kind": "NewApp", "name": "h-0", "uid": newapp}]);
    fixture
        .fake_namespace
        .create("configmaps", json!({"metadata": {"name": "notes", "ownerReferences": owners}}))
        .unwrap();
    turns(&mut fixture, "Undo", 60, |_, asked| assert!(!deletes(asked, "newapps"), "something belongs to it"));
    let status = fixture.status();
    assert_eq!(status.in_flight.len(), 1, "{}", said(&fixture));
    turns(&mut fixture, "Undo", 200, |_, _| {});
    let why = "configmaps notes still belongs to newapps.example.com n/h-0 by an owner reference";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
    fixture.fake_namespace.things.remove(&("configmaps".to_owned(), "notes".to_owned()));
    fixture.resume();
    turns(&mut fixture, "Undo", 400, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
}

/// The newapp was created from the oldapp's earlier content.
#[test]
fn edited_target_stays() {
    let mut fixture = ended(1);
    turns(&mut fixture, "Undo", 200, |fixture, asked| {
        assert!(!deletes(asked, "newapps"), "changes of a client would be lost");
        if asked.plural == "deployments" {
            fixture.fake_namespace.change("newapps", "h-0", |newapp| {
                newapp["spec"]["roof"] = json!("tiles");
                newapp["metadata"]["generation"] = json!(2);
            });
        }
    });
    let why = "newapps.example.com n/h-0 was changed after the object was recreated";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
    fixture.fake_namespace.change("oldapps", "h-0", |oldapp| oldapp["spec"]["roof"] = json!("tiles"));
    fixture.fake_namespace.change("newapps", "h-0", |newapp| {
        newapp["metadata"]["annotations"]["pointsman.dev/returned-generation"] = json!("2");
    });
    fixture.resume();
    turns(&mut fixture, "Undo", 400, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
    assert_eq!(spec(&fixture, "oldapps"), json!({"roof": "tiles"}));
}

#[test]
fn reused_name_is_left_alone() {
    let mut fixture = ended(1);
    let other = json!({
        "apiVersion": "was.example.com/v1", "kind": "OldApp", "metadata": {"name": "h-0", "namespace": "n"},
        "spec": {"roof": "mine"}, "status": {"state": "stable"},
    });
    fixture.fake_namespace.create("oldapps", other).unwrap();
    turns(&mut fixture, "Undo", 100, |_, asked| panic!("{}", asked.message()));
    let why = "undone as far as possible: a step of 1 object cannot be undone";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
    assert_eq!(spec(&fixture, "oldapps")["roof"], "mine");
}

#[test]
fn unreadable_targets_block_completion() {
    let mut fixture = ended(1);
    fixture.blind = true;
    turns(&mut fixture, "Undo", 60, |_, asked| panic!("{}", asked.message()));
    assert_eq!(fixture.status().phase, RolloutPhase::Waiting, "{}", said(&fixture));
    assert!(said(&fixture).contains("newapps.example.com cannot be listed"), "{}", said(&fixture));
    fixture.blind = false;
    turns(&mut fixture, "Undo", 400, |_, _| {});
    assert_eq!(fixture.status().converted_counts.get("all"), Some(&0), "{}", said(&fixture));
}

/// If the workflow does not record the old Deployment, a deleted object stays replaced.
#[test]
fn irreversible_workflow_stays_finished() {
    let mut fixture = fixture(1);
    fixture.kind = &FOR_GOOD;
    drives(&mut fixture, 300, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    let newapp = fixture.fake_namespace.get("newapps", "h-0").unwrap().clone();
    assert_eq!(newapp["metadata"]["annotations"]["pointsman.dev/created-by"], Value::Null);
    turns(&mut fixture, "Undo", 100, |_, asked| panic!("{}", asked.message()));
    assert!(said(&fixture).contains("undone as far as possible"), "{}", said(&fixture));
}

#[test]
fn plan_marks_deletions_as_reversible() {
    let fixture = fixture(1);
    let told = |kind| {
        let rollout = pointsman_rollout::answered_rollout(&fixture.rollout, kind).unwrap();
        step_descriptions(&rollout).pop().unwrap().does
    };
    assert!(
        told(fixture.kind).ends_with("; an undo recreates the object from its replacement"),
        "{}",
        told(fixture.kind)
    );
    assert_eq!(told(&FOR_GOOD), "deletes the object without its dependents");
}
