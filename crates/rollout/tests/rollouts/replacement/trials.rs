//! Single obstacles for an object that is being replaced.

use std::ops::{Deref, DerefMut};

use pointsman_rollout::{ObjectCall, ObjectWrite, RolloutPhase};
use serde_json::{Value, json};

use super::fake_namespace::{FakeNamespace, No, PODS, name};
use super::fake_runner::{FakeRunner, Fixture, RunnerCall};
use super::laws::operator;
use super::object_calls::{makes_no_way, must_not_go, write};
use super::scenario::{HOUSE, Scenario};

/// A fixture with one obstacle.
pub(super) struct Ordeal {
    pub(super) fixture: Fixture,
    /// The only runner of the rollout.
    pub(super) fake_runner: FakeRunner,
    oldapps: usize,
    /// No Pods become ready.
    is_stuck: bool,
    /// The runner continues while the rollout is paused.
    goes_on: bool,
    /// The next write is sent but delayed.
    pub(super) is_late: bool,
    /// Another client repeatedly makes these the owners of a Service.
    rival: Option<Value>,
}

impl Deref for Ordeal {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl DerefMut for Ordeal {
    fn deref_mut(&mut self) -> &mut Fixture {
        &mut self.fixture
    }
}

/// Creates this many oldapps, which may all be in flight at once.
pub(super) fn fixture(oldapps: usize) -> Ordeal {
    let plot = Scenario {
        oldapps,
        max_in_flight: oldapps,
        accepted: true,
        on_failure: "Pause",
        runners: 1,
        script: Vec::new(),
    };
    let fixture = Fixture::new(FakeNamespace::settled(oldapps), &HOUSE, plot.rollout());
    Ordeal {
        fake_runner: FakeRunner::started(fixture.fake_namespace.now),
        fixture,
        oldapps,
        is_stuck: false,
        goes_on: false,
        is_late: false,
        rival: None,
    }
}

/// Runs until the rollout is over or paused, or until these seconds have passed. Calls `before` before each write to
/// another object.
pub(super) fn drives(fixture: &mut Ordeal, seconds: u64, mut before: impl FnMut(&mut Ordeal, &ObjectWrite)) {
    drives_all(fixture, seconds, |fixture, write| {
        if let Some(asked) = write {
            before(fixture, asked);
        }
    });
}

/// Same as [`drives`], but also calls `at` after each write to a selected object.
pub(super) fn drives_all(fixture: &mut Ordeal, seconds: u64, mut at: impl FnMut(&mut Ordeal, Option<&ObjectWrite>)) {
    for _ in 0..seconds {
        for _ in 0..4 {
            let asked = match fixture.fake_runner.step(0, &mut fixture.fixture) {
                RunnerCall::Writes(asked) => asked,
                RunnerCall::Marked(_) => {
                    at(fixture, None);
                    continue;
                }
                _ => continue,
            };
            at(fixture, Some(&asked));
            if std::mem::take(&mut fixture.is_late) {
                continue;
            }
            assert_eq!(makes_no_way(fixture, &asked).map_or_else(|| must_not_go(fixture, &asked), |_| None), None);
            match write(fixture, &asked) {
                Ok(()) => fixture.fake_runner.answered(&asked.uid),
                Err(No::Refused) => fixture.fake_runner.refused(&asked.uid, &fixture.fixture),
                Err(No::NotYet) => fixture.fake_runner.not_yet(&asked.uid, &fixture.fixture),
                Err(No::Stale) => {}
            }
            if let Some(owners) = fixture.rival.clone() {
                fixture.fake_namespace.change("services", "h-0", |one| one["metadata"]["ownerReferences"] = owners);
            }
        }
        passes(fixture);
        let status = fixture.status();
        if status.is_over() || (status.phase == RolloutPhase::Paused && !fixture.goes_on) {
            return;
        }
    }
}

/// Runs all other components for one second.
pub(super) fn passes(fixture: &mut Ordeal) {
    fixture.fake_namespace.controllers();
    if !fixture.is_stuck {
        for set in fixture.fake_namespace.names("replicasets") {
            fixture.fake_namespace.ready(&set);
        }
    }
    operator(&mut fixture.fake_namespace);
    fixture.fake_namespace.now += 1;
    (0..fixture.oldapps).for_each(|at| assert!(fixture.fake_namespace.serving(&name(at)) >= PODS, "{}", name(at)));
}

pub(super) fn deletes(write: &ObjectWrite, plural: &str) -> bool {
    write.plural == plural && matches!(write.call, ObjectCall::Delete { .. })
}

pub(super) fn deployment(fixture: &Ordeal) -> &Value {
    fixture.fake_namespace.get("deployments", &name(0)).unwrap_or(&Value::Null)
}

/// The message about a skipped object, or about the whole rollout.
pub(super) fn said(fixture: &Ordeal) -> String {
    let status = fixture.status();
    let unmoved: Vec<String> = status.blocked.iter().map(|one| format!("{}: {}", one.state, one.message)).collect();
    format!("{:?} {} {}", status.phase, status.message, unmoved.join("; "))
}

#[track_caller]
fn is_refused(fixture: &mut Ordeal, why: &str) {
    (0..3).for_each(|_| passes(fixture));
    let before = fixture.fake_namespace.things.clone();
    drives(fixture, 40, |_, asked| panic!("{}", asked.message()));
    assert!(said(fixture).contains(why), "{}", said(fixture));
    assert_eq!(fixture.fake_namespace.things, before, "nothing of it changes");
}

#[test]
fn refused_replacement_deletes_nothing() {
    let mut fixture = fixture(1);
    drives(&mut fixture, 60, |fixture, asked| fixture.refuses |= deletes(asked, "deployments"));
    assert_eq!(deployment(&fixture)["spec"]["selector"]["matchLabels"]["oldapp"], "h-0", "it is there");
    assert!(said(&fixture).contains("all 0/1, 1 in flight; n/h-0: step deployment: no"), "{}", said(&fixture));
    drives(&mut fixture, 60, |_, _| {});
    assert!(said(&fixture).contains("step deployment: not done within 90s: no"), "{}", said(&fixture));
    assert_eq!(deployment(&fixture)["metadata"]["deletionTimestamp"], Value::Null);
    fixture.refuses = false;
    fixture.resume();
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

/// An undo deletes the new object only if the old object can be recreated.
#[test]
fn refused_revert_deletes_nothing() {
    let mut fixture = fixture(1);
    drives(&mut fixture, 200, |fixture, asked| {
        if asked.plural == "newapps" && fixture.rollout["spec"]["direction"].is_null() {
            fixture.set("direction", json!("Undo"));
        }
        fixture.refuses |= deletes(asked, "deployments") && !fixture.rollout["spec"]["direction"].is_null();
    });
    assert_eq!(deployment(&fixture)["spec"]["selector"]["matchLabels"]["newapp"], "h-0", "{}", said(&fixture));
    fixture.refuses = false;
    fixture.resume();
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Aborted, "{}", said(&fixture));
    assert_eq!(deployment(&fixture)["spec"]["selector"]["matchLabels"]["oldapp"], "h-0");
}

/// A client deletes one of the two objects just before the other is deleted: neither would remain.
fn razed(plural: &str, other: &str, turns: bool) -> Ordeal {
    meddled(plural, turns, |fixture| {
        fixture.fake_namespace.change(other, "h-0", |one| one["metadata"]["deletionTimestamp"] = json!("now"));
        fixture.fake_namespace.controllers();
    })
}

/// Calls `happens` just before one of the two objects is deleted.
fn meddled(plural: &str, turns: bool, mut happens: impl FnMut(&mut Ordeal)) -> Ordeal {
    let mut fixture = fixture(1);
    let mut was = false;
    drives(&mut fixture, 200, |fixture, asked| {
        if turns && asked.plural == "newapps" && matches!(asked.call, ObjectCall::Create(_)) {
            fixture.set("direction", json!("Undo"));
        }
        if !was && deletes(asked, plural) {
            was = true;
            happens(fixture);
        }
    });
    assert!(was, "{}", said(&fixture));
    fixture
}

#[test]
fn missing_target_stops_the_delete() {
    let fixture = razed("oldapps", "newapps", false);
    assert!(fixture.fake_namespace.get("oldapps", "h-0").is_some(), "{}", said(&fixture));
    let told = "step old-oldapp: not done within 90s: newapps.example.com n/h-0, which was created from this object, does not exist";
    assert!(said(&fixture).contains(told), "{}", said(&fixture));
    // An object without the created-from annotation would be mistaken for another client's object.
    let fixture = meddled("oldapps", false, |fixture| {
        fixture
            .fake_namespace
            .change("newapps", "h-0", |one| drop(one["metadata"].as_object_mut().unwrap().remove("annotations")));
    });
    assert!(fixture.fake_namespace.get("oldapps", "h-0").is_some(), "{}", said(&fixture));
}

#[test]
fn missing_source_stops_the_revert() {
    let fixture = razed("newapps", "oldapps", true);
    let left = fixture.fake_namespace.get("newapps", "h-0").or_else(|| fixture.fake_namespace.get("oldapps", "h-0"));
    assert!(left.is_some(), "{}", said(&fixture));
}

/// Runs until a Deployment is deleted for its replacement, calls `happens`, and returns the fixture after the rest of
/// the run.
fn gap(happens: impl Fn(&mut Ordeal)) -> Ordeal {
    let mut fixture = fixture(1);
    fixture.goes_on = true;
    let mut was = false;
    drives(&mut fixture, 30, |fixture, asked| {
        if !was && deletes(asked, "deployments") {
            was = true;
            happens(fixture);
        }
    });
    assert!(was);
    fixture
}

#[test]
fn closed_gate_does_not_strand_deletion() {
    let fixture = gap(|fixture| fixture.shut = true);
    assert_eq!(deployment(&fixture)["spec"]["selector"]["matchLabels"]["newapp"], "h-0", "{}", said(&fixture));
}

#[test]
fn changed_workflow_does_not_strand_deletion() {
    let fixture = gap(|fixture| fixture.rollout["status"]["steps"] = json!("1:another"));
    assert!(said(&fixture).contains("the workflows have changed since the start of the rollout"), "{}", said(&fixture));
    assert_eq!(deployment(&fixture)["spec"]["selector"]["matchLabels"]["newapp"], "h-0");
}

#[test]
fn timeout_does_not_strand_deletion() {
    let mut fixture = fixture(1);
    fixture.goes_on = true;
    drives(&mut fixture, 200, |fixture, asked| fixture.refuses |= asked.closes_gap());
    assert!(said(&fixture).contains("step deployment: not done within 90s: no"), "{}", said(&fixture));
    assert_eq!(*deployment(&fixture), Value::Null);
    fixture.refuses = false;
    drives(&mut fixture, 5, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Paused, "no client has resumed the rollout");
    assert_eq!(deployment(&fixture)["spec"]["selector"]["matchLabels"]["newapp"], "h-0");
}

#[test]
fn foreign_deployment_is_left_alone() {
    let mut fixture = fixture(1);
    fixture.fake_namespace.change("deployments", "h-0", |one| one["metadata"]["ownerReferences"] = json!([]));
    is_refused(&mut fixture, "deployments.apps n/h-0 has no owner reference to the object");
}

#[test]
fn shared_pods_block_recreation() {
    let mut fixture = fixture(1);
    let selector =
        json!({"matchLabels": {"oldapp": "h-0"}, "matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]});
    let other = json!({
        "metadata": {"name": "other", "namespace": "n"},
        "spec": {"selector": selector, "template": {"metadata": {"labels": {"oldapp": "h-0"}}}},
    });
    fixture.fake_namespace.create("deployments", other).unwrap();
    is_refused(&mut fixture, "deployments.apps other also selects the Pods of deployments.apps n/h-0");
}

#[test]
fn gitops_managed_deployment_blocks_start() {
    let mut fixture = fixture(1);
    let fields = json!([{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {}}]);
    fixture.fake_namespace.change("oldapps", "h-0", |oldapp| oldapp["metadata"]["managedFields"] = fields);
    is_refused(&mut fixture, "argocd-controller applies the object, and would recreate the object after the deletion");
    fixture.set("takeOver", json!(true));
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

/// The runner detects a change between the preflight check and the deletion.
#[test]
fn late_obstacle_precedes_deletion() {
    let mut fixture = fixture(1);
    let scaler = json!({
        "metadata": {"name": "grows", "namespace": "n"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "h-0"}},
    });
    drives(&mut fixture, 40, |fixture, asked| {
        if asked.plural == "controllerrevisions" && fixture.fake_namespace.names("horizontalpodautoscalers").is_empty()
        {
            fixture.fake_namespace.create("horizontalpodautoscalers", scaler.clone()).unwrap();
        }
        assert!(!deletes(asked, "deployments"), "an autoscaler scales the Deployment");
    });
    assert!(
        fixture.fake_namespace.get("horizontalpodautoscalers", "grows").is_some(),
        "an autoscaler was created in the meantime"
    );
    fixture.fake_namespace.things.remove(&("horizontalpodautoscalers".to_owned(), "grows".to_owned()));
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

#[test]
fn namespace_quota_is_shared() {
    let mut fixture = fixture(2);
    let quota = json!({
        "metadata": {"name": "tight", "namespace": "n"}, "spec": {"hard": {"pods": "7"}},
        "status": {"used": {"pods": "4"}},
    });
    fixture.fake_namespace.create("resourcequotas", quota).unwrap();
    let mut told = String::new();
    drives(&mut fixture, 10, |fixture, _| told = said(fixture));
    assert!(told.contains("where 2 are needed, and 2 for other objects in flight"), "{told}");
    fixture.fake_namespace.things.remove(&("resourcequotas".to_owned(), "tight".to_owned()));
    drives(&mut fixture, 300, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

/// Changes that do not affect the generation are also saved, if they occur between save and deletion.
#[test]
fn edit_after_save_saves_again() {
    let mut fixture = fixture(1);
    let mut was = false;
    drives(&mut fixture, 200, |fixture, asked| {
        if deletes(asked, "deployments") && !was {
            was = true;
            fixture.fake_namespace.change("deployments", "h-0", |one| {
                one["metadata"]["labels"]["team"] = json!("blue");
                let owners = one["metadata"]["ownerReferences"].as_array_mut().unwrap();
                owners.push(json!({"kind": "Node", "name": "other", "uid": "other"}));
            });
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
    let metadata = &deployment(&fixture)["metadata"];
    assert_eq!(
        (&metadata["labels"]["team"], metadata["ownerReferences"].as_array().unwrap().len()),
        (&json!("blue"), 2)
    );
}

/// The serving Pods are deleted last, if the Pods of the new Deployment are ready now, not only during an earlier wait.
#[test]
fn pods_wait_for_available_successors() {
    let mut fixture = fixture(1);
    let breaks = |fixture: &mut Ordeal| {
        fixture.is_stuck = true;
        let new = |set: &&String| {
            fixture.fake_namespace.get("replicasets", set).unwrap()["metadata"]["labels"]["newapp"] == "h-0"
        };
        let set = fixture.fake_namespace.names("replicasets").iter().find(new).unwrap().clone();
        fixture.fake_namespace.change("replicasets", &set, |set| set["status"] = json!({"ready": 0}));
    };
    drives(&mut fixture, 60, |fixture, asked| {
        assert!(!deletes(asked, "replicasets"), "those in their place are not available");
        if matches!(asked.call, ObjectCall::Patch(_)) && !fixture.is_stuck {
            breaks(fixture);
        }
    });
    assert!(fixture.is_stuck, "{}", said(&fixture));
    fixture.is_stuck = false;
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

#[test]
fn busy_writer_is_named_in_time() {
    let mut fixture = fixture(1);
    drives(&mut fixture, 300, |fixture, asked| {
        if deletes(asked, "oldapps") {
            let now = fixture.fake_namespace.now;
            fixture.fake_namespace.change("oldapps", "h-0", |oldapp| {
                oldapp["status"]["seen"] = json!([now, oldapp["metadata"]["resourceVersion"]])
            });
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Paused, "{}", said(&fixture));
    let why = "step old-oldapp: not done within 90s: another client writes oldapps.was.example.com n/h-0 continuously";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
}

/// A client sets its own reference again after each write.
#[test]
fn reverting_writer_is_named_in_time() {
    let mut fixture = fixture(1);
    fixture.rival = Some(fixture.fake_namespace.get("services", "h-0").unwrap()["metadata"]["ownerReferences"].clone());
    drives(&mut fixture, 300, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Paused, "{}", said(&fixture));
    let why = "step adopt: not done within 90s: another client writes services n/h-0 continuously";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
    fixture.rival = None;
    fixture.resume();
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

#[test]
fn stuck_finalizer_is_named() {
    let mut fixture = fixture(1);
    drives(&mut fixture, 300, |fixture, asked| {
        if matches!(asked.call, ObjectCall::Patch(_)) {
            fixture
                .fake_namespace
                .change("oldapps", "h-0", |oldapp| oldapp["metadata"]["finalizers"] = json!(["old.example.com/hold"]));
        }
    });
    assert_eq!(fixture.status().phase, RolloutPhase::Paused, "{}", said(&fixture));
    let why = "is still terminating after 90s: old.example.com/hold of metadata.finalizers block the deletion";
    assert!(said(&fixture).contains(why), "{}", said(&fixture));
    fixture
        .fake_namespace
        .change("oldapps", "h-0", |oldapp| drop(oldapp["metadata"].as_object_mut().unwrap().remove("finalizers")));
    fixture.resume();
    drives(&mut fixture, 200, |_, _| {});
    assert_eq!(fixture.status().phase, RolloutPhase::Complete, "{}", said(&fixture));
}

/// The deletion of the owner would cascade to transferred dependents.
#[test]
fn manual_delete_returns_dependents() {
    let mut fixture = fixture(1);
    let mut was = false;
    drives(&mut fixture, 300, |fixture, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            fixture.set("direction", json!("Undo"));
            fixture.fake_namespace.change("newapps", "h-0", |newapp| {
                newapp["metadata"]["deletionTimestamp"] = json!("now");
                newapp["metadata"]["finalizers"] = json!(["new.example.com/hold"]);
            });
        }
    });
    let newapp = fixture.fake_namespace.get("newapps", "h-0").unwrap()["metadata"]["uid"].as_str().unwrap();
    assert_eq!(fixture.fake_namespace.belonging(newapp), [], "{}", said(&fixture));
}

/// The saved data of a Deployment stays and is reported.
#[test]
fn manual_delete_names_saved_data() {
    let mut fixture = fixture(1);
    drives(&mut fixture, 60, |fixture, asked| {
        if deletes(asked, "deployments") {
            fixture.fake_namespace.things.remove(&("oldapps".to_owned(), "h-0".to_owned()));
        }
    });
    let failures = fixture.status().failures;
    let [failure] = failures.as_slice() else { panic!("{failures:?} {}", said(&fixture)) };
    let saved = fixture.fake_namespace.names("controllerrevisions");
    assert!(failure.message.contains(&format!("controllerrevisions.apps n/{} is kept", saved[0])), "{failure:?}");
    assert_eq!(failure.reason, "Abandoned");
}
