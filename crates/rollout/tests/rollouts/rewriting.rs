//! StagedRollouts that rewrite every object: a model of the API server's storage, kills, edits by other clients, and a
//! CRD that changes.

use std::collections::BTreeMap;
use std::time::Duration;

use pointsman_core::laws::Random;
use pointsman_rollout::{
    ClockReading, FleetObject, LookupResults, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus,
    RolloutWrite, RunnerCache, answered_rollout, plan, rollout_lookups, start_refusals, step_descriptions,
};
use serde_json::{Value, json};

use crate::database::{ANNOTATION, apply};
use crate::kinds::KINDS;
use crate::patches::database;

fn rollout(members: &Value) -> Result<Rollout, String> {
    let waves =
        json!([{"name": "first", "selector": {"labels": "rollout=canary"}}, {"name": "rest", "maxInFlight": 3}]);
    let mut spec = json!({"kind": "database", "workflow": "rewrite", "to": "v1", "waves": waves, "timeout": "10m"});
    spec.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let metadata = json!({"name": "r", "uid": "rollout-1"});
    let document =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": metadata, "spec": spec});
    answered_rollout(&document, &KINDS[0]).map_err(|bad| bad.to_string())
}

/// The storage of an API server.
struct Store {
    /// By name: the object and its storage version.
    objects: BTreeMap<String, (Value, &'static str)>,
    storage: &'static str,
    generation: i64,
    now: u64,
}

impl Store {
    fn new(count: usize) -> Self {
        let object = |at: usize| {
            let labels = if at == 0 { json!({"rollout": "canary"}) } else { json!({"a": "b"}) };
            let name = format!("b-{at}");
            (name.clone(), (database(json!({"name": name, "uid": format!("u-{at}"), "labels": labels})), "v0"))
        };
        Self { objects: (0..count).map(object).collect(), storage: "v1", generation: 1, now: 1_795_000_000 }
    }

    fn crd(&self) -> Value {
        let versions = ["v0", "v1"].map(|name| json!({"name": name, "served": true, "storage": name == self.storage}));
        json!({
            "metadata": {"name": "databases.example.com", "uid": "crd-1", "generation": self.generation},
            "spec": {"versions": versions, "conversion": {"strategy": "Webhook"}},
            "status": {"storedVersions": ["v0", "v1"]},
        })
    }

    fn flip(&mut self) {
        (self.storage, self.generation) = (if self.storage == "v1" { "v0" } else { "v1" }, self.generation + 1);
    }

    /// Any write stores the object in the current storage version.
    fn noise(&mut self, name: &str) {
        if let Some((object, stored)) = self.objects.get_mut(name) {
            (object["status"]["noise"], *stored) = (json!(self.now), self.storage);
        }
    }

    /// Returns true if the object was written.
    fn patch(&mut self, name: &str, patch: &Value) -> bool {
        let Some((object, stored)) = self.objects.get_mut(name) else { return false };
        let mut next = object.clone();
        let tried = patch.as_array().unwrap().iter().try_for_each(|operation| apply(&mut next, operation));
        if tried.is_none() {
            return false;
        }
        let mut bare = next.clone();
        bare["metadata"].as_object_mut().unwrap().remove("annotations");
        let mut was = object.clone();
        was["metadata"].as_object_mut().unwrap().remove("annotations");
        assert_eq!(bare, was, "only the metadata of the rollout changes");
        (*object, *stored) = (next, self.storage);
        true
    }
}

/// A runner of the rollout.
struct Scribe {
    status: RolloutStatus,
    runner_cache: RunnerCache,
    started: u64,
    writes: BTreeMap<String, usize>,
}

impl Scribe {
    fn plans(&mut self, rollout: &Rollout, store: &Store) -> RolloutPlan {
        let fleet: Vec<FleetObject> =
            store.objects.values().filter_map(|(object, _)| FleetObject::of(object, rollout)).collect();
        let mut answers = LookupResults::default();
        rollout_lookups(rollout, &self.status).iter().for_each(|lookup| answers.saw(lookup, &[store.crd()]));
        let runner_cache = std::mem::take(&mut self.runner_cache);
        let facts = PlanInput { consistent: true, answers, runner_cache, ..PlanInput::default() };
        let steady = Duration::from_secs(store.now - self.started);
        let plan = plan(rollout, &self.status, &fleet, facts, ClockReading { wall: store.now, steady });
        self.runner_cache = plan.runner_cache.clone();
        plan
    }

    /// Performs the writes of a plan, at most `most` before the runner is killed.
    fn writes(&mut self, planned: RolloutPlan, store: &mut Store, most: usize) {
        for write in planned.writes.into_iter().take(most) {
            match write {
                RolloutWrite::Status(status) => self.status = RolloutStatus::of(&json!({"status": status.to_json()})),
                RolloutWrite::Move(one) => {
                    let stored = self.status.stored.as_ref().expect("it is written down before anything is written");
                    assert!(pointsman_rollout::wall(&stored.since).unwrap() + 10 <= store.now);
                    if store.patch(&one.name, &one.patch) {
                        *self.writes.entry(one.name).or_default() += 1;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn scribe(store: &Store) -> Scribe {
    let (status, runner_cache) = (RolloutStatus::default(), RunnerCache::default());
    Scribe { status, runner_cache, started: store.now, writes: BTreeMap::new() }
}

/// Each object is written once, despite kills, and is in the storage version when the rollout reports success. If the
/// CRD changes, the rollout reports no success before an operator resumes.
#[test]
fn histories_of_rewriting_keep_every_property() {
    let rollout = rollout(&json!({})).unwrap();
    let (mut complete, mut changed) = (0, 0);
    for seed in 0..400 {
        let random = &mut Random::new(seed);
        let (count, flips) = (1 + random.below(7), random.percent(50));
        let mut store = Store::new(count);
        let mut scribe = scribe(&store);
        let mut was_resumed = false;
        for _ in 0..400 {
            store.now += random.below(5) as u64;
            let planned = scribe.plans(&rollout, &store);
            let most = if random.percent(20) { random.below(4) } else { usize::MAX };
            let is_killed = most < planned.writes.len();
            scribe.writes(planned, &mut store, most);
            if is_killed {
                (scribe.runner_cache, scribe.started) = (RunnerCache::default(), store.now);
            }
            match random.below(100) {
                0..10 => store.noise(&format!("b-{}", random.below(count))),
                10..18 if flips && scribe.status.started.is_some() => store.flip(),
                20..30 if scribe.status.phase == RolloutPhase::Paused => {
                    scribe.status.resume(ClockReading { wall: store.now, steady: Duration::ZERO });
                    was_resumed = true;
                }
                _ => {}
            }
            if scribe.status.is_over() {
                break;
            }
        }
        let twice = scribe.writes.iter().find(|(_, writes)| **writes > 1);
        assert_eq!(twice, None, "seed {seed}: no object is written twice");
        changed += usize::from(scribe.status.reason.as_deref() == Some("Changed") || was_resumed);
        if scribe.status.phase == RolloutPhase::Complete && !was_resumed {
            complete += 1;
            let old = store.objects.iter().find(|(_, (_, stored))| *stored != "v1");
            assert_eq!(old.map(|(name, _)| name), None, "seed {seed}: {:?}", scribe.status);
            assert_eq!(scribe.writes.len(), count, "seed {seed}");
            // A repeated plan writes nothing.
            assert!(scribe.plans(&rollout, &store).writes.is_empty(), "seed {seed}");
        }
        assert!(flips || scribe.status.phase == RolloutPhase::Complete, "seed {seed}: {:?}", scribe.status);
    }
    assert!(complete > 150 && changed > 50, "{complete} complete, {changed} changed");
}

#[test]
fn rewrite_needs_storage_version() {
    let rollout = rollout(&json!({})).unwrap();
    let refused = |crd: Result<Vec<Value>, &str>| {
        let mut answers = LookupResults::default();
        for lookup in rollout_lookups(&rollout, &RolloutStatus::default()) {
            match &crd {
                Ok(found) => answers.saw(&lookup, found),
                Err(why) => answers.cannot_read(&lookup, (*why).to_owned()),
            }
        }
        start_refusals(&rollout, &[], &PlanInput { answers, ..PlanInput::default() }).join("; ")
    };
    let mut store = Store::new(1);
    assert_eq!(refused(Ok(vec![store.crd()])), "");
    store.flip();
    assert_eq!(
        refused(Ok(vec![store.crd()])),
        "the CRD databases.example.com stores v0: change its storage version to v1 first"
    );
    store.flip();
    let mut unserved = store.crd();
    unserved["spec"]["versions"][1]["served"] = json!(false);
    assert!(refused(Ok(vec![unserved])).contains("does not serve v1"));
    let mut unconverted = store.crd();
    unconverted["spec"]["conversion"]["strategy"] = json!("None");
    assert!(refused(Ok(vec![unconverted.clone()])).contains("has stored other versions without a conversion webhook"));
    unconverted["status"]["storedVersions"] = json!(["v1"]);
    assert_eq!(refused(Ok(vec![unconverted])), "", "there is nothing to convert");
    assert_eq!(refused(Ok(vec![])), "the CRD databases.example.com does not exist");
    assert_eq!(refused(Err("forbidden")), "the CRD databases.example.com cannot be read: forbidden");
    let unasked = start_refusals(&rollout, &[], &PlanInput::default()).join("; ");
    assert_eq!(unasked, "the CRD databases.example.com was not read yet");
}

/// After an undo no object has a rollout annotation.
#[test]
fn undone_rollout_leaves_nothing() {
    let mut store = Store::new(3);
    let forward = rollout(&json!({})).unwrap();
    let mut scribe = scribe(&store);
    while !scribe.status.is_over() {
        store.now += 2;
        let planned = scribe.plans(&forward, &store);
        scribe.writes(planned, &mut store, usize::MAX);
    }
    assert_eq!(scribe.status.phase, RolloutPhase::Complete);
    let annotation = |object: &Value| object["metadata"]["annotations"].get(ANNOTATION).cloned();
    assert!(store.objects.values().all(|(object, _)| annotation(object).is_some()));
    let back = rollout(&json!({"direction": "Undo"})).unwrap();
    for _ in 0..300 {
        store.now += 2;
        let planned = scribe.plans(&back, &store);
        scribe.writes(planned, &mut store, usize::MAX);
    }
    assert_eq!((scribe.status.phase, scribe.status.reason.as_deref()), (RolloutPhase::Aborted, Some("RolledBack")));
    assert!(store.objects.values().all(|(object, _)| annotation(object).is_none()), "{:?}", store.objects);
}

#[test]
fn impossible_rewrite_is_refused() {
    let steps = step_descriptions(&rollout(&json!({})).unwrap());
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].does, "only writes its progress, so that the object is stored as v1");
    let last = json!({"name": "rest"});
    let (label, other) =
        (json!({"name": "a", "workflow": "controller-version"}), json!({"name": "a", "workflow": "x"}));
    for (members, why) in [
        (json!({"to": "v2"}), "to: \"v2\" is no version of database, did you mean \"v1\"? Known versions: v1"),
        (json!({"from": "v1"}), "the stored version of an object cannot be read"),
        (json!({"waves": [label, last]}), "a rollout changes version labels in all waves or in none"),
        (json!({"waves": [other, last]}), "workflow: rewrite applies to the whole StagedRollout"),
        (
            json!({"workflow": null, "to": "2.17.0", "waves": [{"name": "all", "workflow": "rewrite"}]}),
            "applies to the whole StagedRollout",
        ),
        (json!({"workflow": "rewrit"}), "did you mean \"rewrite\"? Known workflows: controller-version, rewrite"),
    ] {
        let error = rollout(&members).map(|_| ()).unwrap_err();
        assert!(error.contains(why), "{members}: {error}");
    }
}
