//! One thing that is in the way of an object that becomes another one, at a time.

use std::ops::{Deref, DerefMut};

use pointsman_core::rollout::{ObjectCall, ObjectWrite, RolloutPhase};
use serde_json::{Value, json};

use super::drover::{County, Deed, Drover};
use super::errands::{makes_no_way, must_not_go, write};
use super::laws::operator;
use super::settlers::{HOUSE, Plot};
use super::village::{No, PODS, Village, name};

/// A county in which one thing is in the way.
pub(super) struct Ordeal {
    pub(super) county: County,
    /// Whoever runs the rollout, all the time.
    pub(super) drover: Drover,
    huts: usize,
    /// No Pods get ready.
    is_stuck: bool,
    /// Whoever runs the rollout goes on while it is paused.
    goes_on: bool,
    /// The next write goes off, and gets nowhere for now.
    pub(super) is_late: bool,
    /// Somebody has a Service belong to these again, time after time.
    rival: Option<Value>,
}

impl Deref for Ordeal {
    type Target = County;

    fn deref(&self) -> &County {
        &self.county
    }
}

impl DerefMut for Ordeal {
    fn deref_mut(&mut self) -> &mut County {
        &mut self.county
    }
}

/// So many huts, which may all go at once.
pub(super) fn county(huts: usize) -> Ordeal {
    let plot = Plot { huts, max_in_flight: huts, accepted: true, on_failure: "Pause", runners: 1, script: Vec::new() };
    let county = County::new(Village::settled(huts), &HOUSE, plot.rollout());
    Ordeal {
        drover: Drover::started(county.village.now),
        county,
        huts,
        is_stuck: false,
        goes_on: false,
        is_late: false,
        rival: None,
    }
}

/// Runs it until it is over, or paused, or so many seconds have passed. Somebody may do something before each write to
/// another object.
pub(super) fn drives(county: &mut Ordeal, seconds: u64, mut before: impl FnMut(&mut Ordeal, &ObjectWrite)) {
    drives_all(county, seconds, |county, write| {
        if let Some(asked) = write {
            before(county, asked);
        }
    });
}

/// The same, where somebody may also do something after each write of one of its own objects.
pub(super) fn drives_all(county: &mut Ordeal, seconds: u64, mut at: impl FnMut(&mut Ordeal, Option<&ObjectWrite>)) {
    for _ in 0..seconds {
        for _ in 0..4 {
            let asked = match county.drover.step(0, &mut county.county) {
                Deed::Writes(asked) => asked,
                Deed::Marked(_) => {
                    at(county, None);
                    continue;
                }
                _ => continue,
            };
            at(county, Some(&asked));
            if std::mem::take(&mut county.is_late) {
                continue;
            }
            assert_eq!(makes_no_way(county, &asked).map_or_else(|| must_not_go(county, &asked), |_| None), None);
            match write(county, &asked) {
                Ok(()) => county.drover.answered(&asked.uid),
                Err(No::Refused) => county.drover.refused(&asked.uid, &county.county),
                Err(No::NotYet) => county.drover.not_yet(&asked.uid, &county.county),
                Err(No::Stale) => {}
            }
            if let Some(owners) = county.rival.clone() {
                county.village.change("services", "h-0", |one| one["metadata"]["ownerReferences"] = owners);
            }
        }
        passes(county);
        let status = county.status();
        if status.is_over() || (status.phase == RolloutPhase::Paused && !county.goes_on) {
            return;
        }
    }
}

/// A second of everybody else.
pub(super) fn passes(county: &mut Ordeal) {
    county.village.controllers();
    if !county.is_stuck {
        for set in county.village.names("replicasets") {
            county.village.ready(&set);
        }
    }
    operator(&mut county.village);
    county.village.now += 1;
    (0..county.huts).for_each(|at| assert!(county.village.serving(&name(at)) >= PODS, "{}", name(at)));
}

pub(super) fn deletes(write: &ObjectWrite, plural: &str) -> bool {
    write.plural == plural && matches!(write.call, ObjectCall::Delete { .. })
}

pub(super) fn deployment(county: &Ordeal) -> &Value {
    county.village.get("deployments", &name(0)).unwrap_or(&Value::Null)
}

/// What is said of an object that is not moved, or of the whole rollout.
pub(super) fn said(county: &Ordeal) -> String {
    let status = county.status();
    let unmoved: Vec<String> = status.blocked.iter().map(|one| format!("{}: {}", one.state, one.message)).collect();
    format!("{:?} {} {}", status.phase, status.message, unmoved.join("; "))
}

#[track_caller]
fn is_refused(county: &mut Ordeal, why: &str) {
    (0..3).for_each(|_| passes(county));
    let before = county.village.things.clone();
    drives(county, 40, |_, asked| panic!("{}", asked.told()));
    assert!(said(county).contains(why), "{}", said(county));
    assert_eq!(county.village.things, before, "nothing of it changes");
}

#[test]
fn refused_replacement_deletes_nothing() {
    let mut county = county(1);
    drives(&mut county, 60, |county, asked| county.refuses |= deletes(asked, "deployments"));
    assert_eq!(deployment(&county)["spec"]["selector"]["matchLabels"]["hut"], "h-0", "it is there");
    assert!(said(&county).contains("all 0/1, 1 under way; n/h-0: step deployment: no"), "{}", said(&county));
    drives(&mut county, 60, |_, _| {});
    assert!(said(&county).contains("step deployment: not done within 90s: no"), "{}", said(&county));
    assert_eq!(deployment(&county)["metadata"]["deletionTimestamp"], Value::Null);
    county.refuses = false;
    county.resume();
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

/// Whoever goes back deletes the new one only where the old one may come again.
#[test]
fn refused_revert_deletes_nothing() {
    let mut county = county(1);
    drives(&mut county, 200, |county, asked| {
        if asked.plural == "houses" && county.rollout["spec"]["direction"].is_null() {
            county.set("direction", json!("Undo"));
        }
        county.refuses |= deletes(asked, "deployments") && !county.rollout["spec"]["direction"].is_null();
    });
    assert_eq!(deployment(&county)["spec"]["selector"]["matchLabels"]["house"], "h-0", "{}", said(&county));
    county.refuses = false;
    county.resume();
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Aborted, "{}", said(&county));
    assert_eq!(deployment(&county)["spec"]["selector"]["matchLabels"]["hut"], "h-0");
}

/// One of the two that somebody deletes as the other one is about to go: nothing would be left of either.
fn razed(plural: &str, other: &str, turns: bool) -> Ordeal {
    meddled(plural, turns, |county| {
        county.village.change(other, "h-0", |one| one["metadata"]["deletionTimestamp"] = json!("now"));
        county.village.controllers();
    })
}

/// Somebody does something as one of the two is about to go.
fn meddled(plural: &str, turns: bool, mut happens: impl FnMut(&mut Ordeal)) -> Ordeal {
    let mut county = county(1);
    let mut was = false;
    drives(&mut county, 200, |county, asked| {
        if turns && asked.plural == "houses" && matches!(asked.call, ObjectCall::Create(_)) {
            county.set("direction", json!("Undo"));
        }
        if !was && deletes(asked, plural) {
            was = true;
            happens(county);
        }
    });
    assert!(was, "{}", said(&county));
    county
}

#[test]
fn missing_target_stops_the_delete() {
    let county = razed("huts", "houses", false);
    assert!(county.village.get("huts", "h-0").is_some(), "{}", said(&county));
    let told =
        "step old-hut: not done within 90s: houses.example.com n/h-0, which was made of this object, is not there";
    assert!(said(&county).contains(told), "{}", said(&county));
    // What says no longer that it was made of the other one would be taken for somebody else's.
    let county = meddled("huts", false, |county| {
        county
            .village
            .change("houses", "h-0", |one| drop(one["metadata"].as_object_mut().unwrap().remove("annotations")));
    });
    assert!(county.village.get("huts", "h-0").is_some(), "{}", said(&county));
}

#[test]
fn missing_source_stops_the_revert() {
    let county = razed("houses", "huts", true);
    let left = county.village.get("houses", "h-0").or_else(|| county.village.get("huts", "h-0"));
    assert!(left.is_some(), "{}", said(&county));
}

/// Runs it until a Deployment is deleted for another one, does something then, and returns who is there afterwards.
fn gap(happens: impl Fn(&mut Ordeal)) -> Ordeal {
    let mut county = county(1);
    county.goes_on = true;
    let mut was = false;
    drives(&mut county, 30, |county, asked| {
        if !was && deletes(asked, "deployments") {
            was = true;
            happens(county);
        }
    });
    assert!(was);
    county
}

#[test]
fn closed_gate_does_not_strand_deletion() {
    let county = gap(|county| county.shut = true);
    assert_eq!(deployment(&county)["spec"]["selector"]["matchLabels"]["house"], "h-0", "{}", said(&county));
}

#[test]
fn changed_workflow_does_not_strand_deletion() {
    let county = gap(|county| county.rollout["status"]["steps"] = json!("1:another"));
    assert!(said(&county).contains("its workflows are not those with which it began"), "{}", said(&county));
    assert_eq!(deployment(&county)["spec"]["selector"]["matchLabels"]["house"], "h-0");
}

#[test]
fn timeout_does_not_strand_deletion() {
    let mut county = county(1);
    county.goes_on = true;
    drives(&mut county, 200, |county, asked| county.refuses |= asked.closes_gap());
    assert!(said(&county).contains("step deployment: not done within 90s: no"), "{}", said(&county));
    assert_eq!(*deployment(&county), Value::Null);
    county.refuses = false;
    drives(&mut county, 5, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Paused, "nobody has resumed it");
    assert_eq!(deployment(&county)["spec"]["selector"]["matchLabels"]["house"], "h-0");
}

#[test]
fn foreign_deployment_is_left_alone() {
    let mut county = county(1);
    county.village.change("deployments", "h-0", |one| one["metadata"]["ownerReferences"] = json!([]));
    is_refused(&mut county, "deployments.apps n/h-0 does not belong to the object");
}

#[test]
fn shared_pods_block_recreation() {
    let mut county = county(1);
    let selector =
        json!({"matchLabels": {"hut": "h-0"}, "matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]});
    let other = json!({
        "metadata": {"name": "other", "namespace": "n"},
        "spec": {"selector": selector, "template": {"metadata": {"labels": {"hut": "h-0"}}}},
    });
    county.village.create("deployments", other).unwrap();
    is_refused(&mut county, "deployments.apps other selects the Pods of deployments.apps n/h-0 as well");
}

#[test]
fn gitops_managed_deployment_blocks_start() {
    let mut county = county(1);
    let fields = json!([{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": {}}]);
    county.village.change("huts", "h-0", |hut| hut["metadata"]["managedFields"] = fields);
    is_refused(&mut county, "argocd-controller sets the object, and would make it again once it is deleted");
    county.set("takeOver", json!(true));
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

/// What changed between the look ahead and the deletion is seen.
#[test]
fn late_obstacle_precedes_deletion() {
    let mut county = county(1);
    let scaler = json!({
        "metadata": {"name": "grows", "namespace": "n"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "h-0"}},
    });
    drives(&mut county, 40, |county, asked| {
        if asked.plural == "controllerrevisions" && county.village.names("horizontalpodautoscalers").is_empty() {
            county.village.create("horizontalpodautoscalers", scaler.clone()).unwrap();
        }
        assert!(!deletes(asked, "deployments"), "it is scaled by somebody");
    });
    assert!(county.village.get("horizontalpodautoscalers", "grows").is_some(), "it came in between");
    county.village.things.remove(&("horizontalpodautoscalers".to_owned(), "grows".to_owned()));
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

#[test]
fn namespace_quota_is_shared() {
    let mut county = county(2);
    let quota = json!({
        "metadata": {"name": "tight", "namespace": "n"}, "spec": {"hard": {"pods": "7"}},
        "status": {"used": {"pods": "4"}},
    });
    county.village.create("resourcequotas", quota).unwrap();
    let mut told = String::new();
    drives(&mut county, 10, |county, _| told = said(county));
    assert!(told.contains("where 2 are needed, and 2 for what is under way beside it"), "{told}");
    county.village.things.remove(&("resourcequotas".to_owned(), "tight".to_owned()));
    drives(&mut county, 300, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

/// Whatever no generation counts is saved as well, where somebody changes it between the save and the deletion.
#[test]
fn edit_after_save_saves_again() {
    let mut county = county(1);
    let mut was = false;
    drives(&mut county, 200, |county, asked| {
        if deletes(asked, "deployments") && !was {
            was = true;
            county.village.change("deployments", "h-0", |one| {
                one["metadata"]["labels"]["team"] = json!("blue");
                let owners = one["metadata"]["ownerReferences"].as_array_mut().unwrap();
                owners.push(json!({"kind": "Node", "name": "other", "uid": "other"}));
            });
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
    let metadata = &deployment(&county)["metadata"];
    assert_eq!(
        (&metadata["labels"]["team"], metadata["ownerReferences"].as_array().unwrap().len()),
        (&json!("blue"), 2)
    );
}

/// The Pods that serve go last: if those of the new Deployment are there now, not when they were waited for.
#[test]
fn pods_wait_for_available_successors() {
    let mut county = county(1);
    let breaks = |county: &mut Ordeal| {
        county.is_stuck = true;
        let new =
            |set: &&String| county.village.get("replicasets", set).unwrap()["metadata"]["labels"]["house"] == "h-0";
        let set = county.village.names("replicasets").iter().find(new).unwrap().clone();
        county.village.change("replicasets", &set, |set| set["status"] = json!({"ready": 0}));
    };
    drives(&mut county, 60, |county, asked| {
        assert!(!deletes(asked, "replicasets"), "those in their place are not available");
        if matches!(asked.call, ObjectCall::Patch(_)) && !county.is_stuck {
            breaks(county);
        }
    });
    assert!(county.is_stuck, "{}", said(&county));
    county.is_stuck = false;
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

#[test]
fn busy_writer_is_named_in_time() {
    let mut county = county(1);
    drives(&mut county, 300, |county, asked| {
        if deletes(asked, "huts") {
            let now = county.village.now;
            county
                .village
                .change("huts", "h-0", |hut| hut["status"]["seen"] = json!([now, hut["metadata"]["resourceVersion"]]));
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Paused, "{}", said(&county));
    let why = "step old-hut: not done within 90s: another client writes huts.was.example.com n/h-0 continuously";
    assert!(said(&county).contains(why), "{}", said(&county));
}

/// Whoever sets their own reference again after each write.
#[test]
fn reverting_writer_is_named_in_time() {
    let mut county = county(1);
    county.rival = Some(county.village.get("services", "h-0").unwrap()["metadata"]["ownerReferences"].clone());
    drives(&mut county, 300, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Paused, "{}", said(&county));
    let why = "step adopt: not done within 90s: another client writes services n/h-0 continuously";
    assert!(said(&county).contains(why), "{}", said(&county));
    county.rival = None;
    county.resume();
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

#[test]
fn stuck_finalizer_is_named() {
    let mut county = county(1);
    drives(&mut county, 300, |county, asked| {
        if matches!(asked.call, ObjectCall::Patch(_)) {
            county.village.change("huts", "h-0", |hut| hut["metadata"]["finalizers"] = json!(["old.example.com/hold"]));
        }
    });
    assert_eq!(county.status().phase, RolloutPhase::Paused, "{}", said(&county));
    let why = "it is being deleted, and not gone within 90s: old.example.com/hold of its metadata.finalizers hold it";
    assert!(said(&county).contains(why), "{}", said(&county));
    county.village.change("huts", "h-0", |hut| drop(hut["metadata"].as_object_mut().unwrap().remove("finalizers")));
    county.resume();
    drives(&mut county, 200, |_, _| {});
    assert_eq!(county.status().phase, RolloutPhase::Complete, "{}", said(&county));
}

/// What goes would take along what was handed over to it.
#[test]
fn manual_delete_returns_dependents() {
    let mut county = county(1);
    let mut was = false;
    drives(&mut county, 300, |county, asked| {
        if asked.plural == "replicasets" && !was {
            was = true;
            county.set("direction", json!("Undo"));
            county.village.change("houses", "h-0", |house| {
                house["metadata"]["deletionTimestamp"] = json!("now");
                house["metadata"]["finalizers"] = json!(["new.example.com/hold"]);
            });
        }
    });
    let house = county.village.get("houses", "h-0").unwrap()["metadata"]["uid"].as_str().unwrap();
    assert_eq!(county.village.belonging(house), [], "{}", said(&county));
}

/// All that there is of a Deployment stays, and is named.
#[test]
fn manual_delete_names_saved_data() {
    let mut county = county(1);
    drives(&mut county, 60, |county, asked| {
        if deletes(asked, "deployments") {
            county.village.things.remove(&("huts".to_owned(), "h-0".to_owned()));
        }
    });
    let failures = county.status().failures;
    let [failure] = failures.as_slice() else { panic!("{failures:?} {}", said(&county)) };
    let saved = county.village.names("controllerrevisions");
    assert!(failure.message.contains(&format!("controllerrevisions.apps n/{} stays", saved[0])), "{failure:?}");
    assert_eq!(failure.reason, "Abandoned");
}
