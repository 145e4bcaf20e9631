//! Properties of a hand-over.

use pointsman_rollout::{
    Direction, OwnerReferences, RolloutPhase, RolloutStatus, missing_mutations, rights, rights_elsewhere,
    step_descriptions,
};
use serde_json::{Value, json};

use super::fake_runner::FakeRunner;
use super::garden::{FINISHED, Garden, NEEDS};

/// Enough passes for a whole rollout and one minute of health.
const PASSES: usize = 60;

#[track_caller]
fn is_through(garden: &Garden, name: &str) {
    assert!(garden.says(name, NEEDS) && garden.says(name, FINISHED), "{:#}", garden.clusters[name]);
    assert!(garden.is_handed_over(name), "{name}");
    assert!(garden.shoots[name].classes.is_empty(), "{:?}", garden.shoots[name].classes);
}

#[track_caller]
fn is_untouched(garden: &Garden, name: &str) {
    let annotations = &garden.clusters[name]["metadata"]["annotations"];
    assert_eq!(*annotations, Value::Null, "{name}");
    assert_eq!(garden.shoots[name].classes.len(), 2, "{name}");
}

/// The rollout's message about a skipped object.
fn unmoved(garden: &Garden, name: &str) -> (String, String) {
    let status = garden.status();
    let one = status.blocked.iter().find(|one| one.object == name);
    one.map(|one| (one.state.clone(), one.message.clone())).unwrap_or_default()
}

#[test]
fn handover_survives_any_kill() {
    let ended = |killed_after: Option<usize>| {
        let mut garden = Garden::planted(1);
        garden.plant("one");
        garden.plant("two");
        let mut fake_runner = FakeRunner::default();
        let planned = fake_runner.run(&mut garden, PASSES, killed_after);
        assert_eq!(planned.status.phase, RolloutPhase::Complete, "{killed_after:?}: {:#?}", fake_runner.log);
        ["one", "two"].iter().for_each(|name| is_through(&garden, name));
        for deployment in garden.deployments.values() {
            assert_eq!(deployment["metadata"]["generation"], 2, "it is mutated once: {killed_after:?}");
        }
        let objects: Vec<&String> = fake_runner.log.iter().filter(|told| !told.starts_with("marks")).collect();
        assert_eq!(objects.len(), 10, "each class goes once, each Deployment is sent once: {objects:#?}");
        (fake_runner.calls, garden)
    };
    let (calls, mut garden) = ended(None);
    assert!(calls > 25, "{calls}");
    for at in 1..calls {
        ended(Some(at));
    }
    // A second rollout over the same shoots has no work.
    let before = (garden.clusters.clone(), garden.deployments.clone());
    garden.rollout["metadata"]["uid"] = json!("rollout-2");
    garden.rollout["status"] = Value::Null;
    let mut fake_runner = FakeRunner::default();
    let planned = fake_runner.run(&mut garden, PASSES, None);
    assert_eq!((planned.status.phase, fake_runner.log.len()), (RolloutPhase::Complete, 0), "{:?}", fake_runner.log);
    assert_eq!(before, (garden.clusters, garden.deployments));
}

#[test]
fn initial_wait_takes_no_slot() {
    let mut garden = Garden::planted(1);
    for name in ["asleep", "away", "empty", "old", "zfine"] {
        garden.plant(name);
    }
    garden.clusters.get_mut("asleep").unwrap()["spec"]["shoot"]["spec"]["hibernation"]["enabled"] = json!(true);
    garden.shoots.get_mut("asleep").unwrap().is_away = true;
    garden.shoots.get_mut("away").unwrap().is_away = true;
    garden.shoots.get_mut("empty").unwrap().nodes.clear();
    garden.shoots.get_mut("old").unwrap().nodes.insert("node-2".to_owned(), "v1.17.9".to_owned());
    let mut fake_runner = FakeRunner::default();
    fake_runner.run(&mut garden, PASSES, None);
    is_through(&garden, "zfine");
    // A week later nothing has failed and no object was written.
    garden.now += 7 * 24 * 3600;
    let calls = fake_runner.log.len();
    let planned = fake_runner.run(&mut garden, PASSES, None);
    assert_eq!(planned.status.phase, RolloutPhase::Waiting, "{:?}", planned.status);
    assert_eq!(fake_runner.log.len(), calls, "{:?}", fake_runner.log);
    assert!(planned.status.failures.is_empty() && planned.status.in_flight.is_empty());
    for (name, said) in [
        ("asleep", "step awake: spec.shoot.spec.hibernation.enabled is true"),
        (
            "away",
            "step new-nodes: nodes in the cluster of secret away/gardener cannot be listed: no answer within 10 s",
        ),
        ("empty", "step new-nodes: the list of nodes in the cluster of secret empty/gardener is empty"),
        ("old", "node-2: status.nodeInfo.kubeletVersion is \"v1.17.9\", and must be at least \"1.18.0\""),
    ] {
        let (state, why) = unmoved(&garden, name);
        assert_eq!(state, "Waiting", "{name}");
        assert!(why.contains(said), "{name}: {why}");
        is_untouched(&garden, name);
    }
    // Each object continues when its obstacle is removed.
    garden.clusters.get_mut("asleep").unwrap()["spec"]["shoot"]["spec"]["hibernation"]["enabled"] = json!(false);
    garden.shoots.values_mut().for_each(|shoot| shoot.is_away = false);
    garden.shoots.get_mut("empty").unwrap().nodes.insert("node-1".to_owned(), "v1.18.20".to_owned());
    garden.shoots.get_mut("old").unwrap().nodes.remove("node-2");
    let planned = fake_runner.run(&mut garden, 4 * PASSES, None);
    assert_eq!(planned.status.phase, RolloutPhase::Complete, "{:?}", planned.status);
    garden.shoots.keys().for_each(|name| is_through(&garden, name));
}

#[test]
fn failed_shoot_gets_no_mark() {
    let mut garden = Garden::planted(3);
    for name in ["failed", "going", "new", "other"] {
        garden.plant(name);
    }
    garden.shoots.get_mut("new").unwrap().has_control_plane = false;
    garden.deployments.retain(|(namespace, _), _| namespace != "new");
    // A lookup in this cluster would fail.
    garden.shoots.get_mut("new").unwrap().is_away = true;
    garden.clusters.get_mut("failed").unwrap()["spec"]["shoot"]["status"]["lastOperation"]["state"] = json!("Failed");
    garden.clusters.get_mut("going").unwrap()["spec"]["shoot"]["metadata"]["deletionTimestamp"] = json!("now");
    garden.clusters.get_mut("other").unwrap()["spec"]["shoot"]["spec"]["provider"]["type"] = json!("gcp");
    let mut fake_runner = FakeRunner::default();
    let planned = fake_runner.run(&mut garden, PASSES, None);
    assert_eq!(planned.status.phase, RolloutPhase::Complete, "{:?}", planned.status);
    assert!(garden.says("new", NEEDS) && garden.says("new", FINISHED));
    ["failed", "going", "other"].iter().for_each(|name| is_untouched(&garden, name));
    assert!(fake_runner.log.iter().all(|told| told == "marks new"), "{:?}", fake_runner.log);
}

/// A list that is briefly empty, or of the wrong place, finishes no object.
#[test]
fn listed_deployments_block_finish() {
    let mut garden = Garden::planted(1);
    garden.plant("one").has_control_plane = false;
    garden.behind = usize::MAX;
    let planned = FakeRunner::default().run(&mut garden, PASSES, None);
    assert!(!garden.says("one", FINISHED) && !garden.is_handed_over("one"), "{:?}", planned.status);
    garden.behind = 0;
    let planned = FakeRunner::default().run(&mut garden, PASSES, None);
    assert_eq!(planned.status.phase, RolloutPhase::Complete, "{:?}", planned.status);
    assert!(garden.says("one", FINISHED) && garden.is_handed_over("one"));
}

/// A list that is briefly empty at any time skips no step of a started object.
#[test]
fn briefly_empty_list_skips_nothing() {
    for lasts in [1, 2, 5] {
        for begins in 1..25 {
            let (mut garden, mut fake_runner) = before_the_classes_go();
            fake_runner.run(&mut garden, begins, None);
            garden.shoots.get_mut("one").unwrap().has_control_plane = false;
            fake_runner.run(&mut garden, lasts, None);
            garden.shoots.get_mut("one").unwrap().has_control_plane = true;
            let planned = fake_runner.run(&mut garden, PASSES, None);
            assert_eq!(planned.status.phase, RolloutPhase::Complete, "{begins}, {lasts}: {:?}", planned.status);
            is_through(&garden, "one");
        }
    }
    // A list that stays empty is reported by name.
    let (mut garden, mut fake_runner) = before_the_classes_go();
    garden.shoots.get_mut("one").unwrap().has_control_plane = false;
    let planned = fake_runner.run(&mut garden, 4, None);
    let why = planned.object_states[0].why();
    assert!(why.contains("the list of controlplanes.extensions.gardener.cloud of one is empty now"), "{why}");
    assert_eq!(garden.shoots["one"].classes.len(), 2);
}

#[test]
fn other_class_is_left_alone() {
    let mut garden = Garden::planted(1);
    let classes = &mut garden.plant("one").classes;
    classes.insert("gp2".to_owned(), "ebs.csi.aws.com".to_owned());
    classes.insert("mine".to_owned(), "kubernetes.io/aws-ebs".to_owned());
    let planned = FakeRunner::default().run(&mut garden, PASSES, None);
    assert_eq!(planned.status.phase, RolloutPhase::Complete);
    let left: Vec<&String> = garden.shoots["one"].classes.keys().collect();
    assert_eq!(left, ["gp2", "mine"]);
}

/// The fact is removed between any two calls.
#[test]
fn removed_fact_blocks_finish() {
    let mut met = 0;
    for at in 0..20 {
        let mut garden = Garden::planted(1);
        garden.plant("one");
        garden.behind = 3;
        let mut fake_runner = FakeRunner::default();
        while !garden.says("one", NEEDS) {
            fake_runner.run(&mut garden, 1, None);
        }
        fake_runner.run(&mut garden, at + 1, None);
        if garden.says("one", FINISHED) {
            break;
        }
        met += 1;
        let annotations = garden.clusters.get_mut("one").unwrap()["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(NEEDS);
        let planned = fake_runner.run(&mut garden, 4 * PASSES, None);
        assert!(!garden.says("one", FINISHED), "{at}: {:#?}", fake_runner.log);
        assert_eq!(planned.status.phase, RolloutPhase::Paused, "{at}: {:?}", planned.status);
        garden.clusters.get_mut("one").unwrap()["metadata"]["annotations"][NEEDS] = json!("true");
        let mut status = garden.status();
        status.resume(pointsman_rollout::ClockReading { wall: garden.now, steady: std::time::Duration::ZERO });
        garden.rollout["status"] = status.to_json();
        fake_runner.run(&mut garden, 2 * PASSES, None);
        is_through(&garden, "one");
    }
    assert!(met > 3, "{met}");
}

#[test]
fn unobserved_objects_block_finish() {
    let mut garden = Garden::planted(1);
    garden.plant("one");
    garden.behind = 5;
    let (sent, log) = is_finished_last(garden);
    assert_eq!(sent, 8, "five in vain: {log:#?}");
}

/// Hands one shoot over and checks that the shoot is never reported finished too early. Returns the number of repeated
/// writes, and the log.
fn is_finished_last(mut garden: Garden) -> (usize, Vec<String>) {
    let mut fake_runner = FakeRunner::default();
    for _ in 0..PASSES {
        fake_runner.run(&mut garden, 1, None);
        assert!(!garden.says("one", FINISHED) || garden.is_handed_over("one"));
    }
    is_through(&garden, "one");
    let sent = fake_runner.log.iter().filter(|told| told.starts_with("sent once more")).count();
    (sent, fake_runner.log)
}

/// One of two servers never receives the fact: each object that this server leaves unchanged is sent again.
#[test]
fn all_servers_must_confirm() {
    let mut garden = Garden::planted(1);
    garden.plant("one");
    (garden.behind, garden.servers) = (usize::MAX, 2);
    let (sent, log) = is_finished_last(garden);
    assert!((4..=6).contains(&sent), "{log:#?}");
}

#[test]
fn missing_fact_names_the_object() {
    let mut garden = Garden::planted(1);
    garden.plant("one");
    garden.behind = usize::MAX;
    let mut fake_runner = FakeRunner::default();
    let planned = fake_runner.run(&mut garden, 200, None);
    assert_eq!(planned.status.phase, RolloutPhase::Paused);
    let said = &planned.status.message;
    for words in [
        "one: ",
        "step control-plane",
        "not done within 10m",
        "deployments.apps one/kube-apiserver: not mutated: spec.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!garden.says("one", FINISHED));
    let sent = fake_runner.log.iter().filter(|told| told.starts_with("sent once more")).count();
    assert!((20..60).contains(&sent), "again, and not all the time: {sent}");
    // The rollout continues where it stopped.
    garden.behind = 0;
    let mut status = garden.status();
    status.resume(pointsman_rollout::ClockReading { wall: garden.now, steady: std::time::Duration::ZERO });
    garden.rollout["status"] = status.to_json();
    fake_runner.run(&mut garden, PASSES, None);
    is_through(&garden, "one");
}

/// A garden whose shoot became unreachable after one of its two classes was deleted.
fn away_after_one_class() -> (Garden, FakeRunner) {
    let mut garden = Garden::planted(1);
    garden.plant("one");
    let mut fake_runner = FakeRunner::default();
    while !fake_runner.log.iter().any(|told| told.starts_with("deleted")) {
        fake_runner.run(&mut garden, 1, None);
    }
    garden.shoots.get_mut("one").unwrap().is_away = true;
    (garden, fake_runner)
}

#[test]
fn unreachable_cluster_is_retried() {
    let (mut garden, mut fake_runner) = away_after_one_class();
    garden.now += 7 * 24 * 3600;
    garden.plant("two");
    let planned = fake_runner.run(&mut garden, PASSES, None);
    assert_eq!(planned.status.phase, RolloutPhase::Rolling, "{:?}", planned.status);
    assert!(planned.status.failures.is_empty());
    // The object keeps its slot, the only one.
    is_untouched(&garden, "two");
    let why = planned.object_states[0].why();
    assert!(why.contains("step old-classes") && why.contains("no answer within 10 s"), "{why}");
    assert!(!garden.says("one", NEEDS));
    garden.shoots.get_mut("one").unwrap().is_away = false;
    fake_runner.run(&mut garden, 2 * PASSES, None);
    ["one", "two"].iter().for_each(|name| is_through(&garden, name));
}

/// A garden whose first shoot has passed all waits and still has all its classes.
fn before_the_classes_go() -> (Garden, FakeRunner) {
    let mut garden = Garden::planted(1);
    garden.plant("one");
    let mut fake_runner = FakeRunner::default();
    let steps = |garden: &Garden| {
        let mark =
            garden.clusters["one"]["metadata"]["annotations"]["pointsman.dev/rollout"].as_str().map(str::to_owned);
        let mark: Value = mark.and_then(|mark| serde_json::from_str(&mark).ok()).unwrap_or_default();
        mark["step"]["all"].as_u64().unwrap_or_default()
    };
    while steps(&garden) < 2 {
        fake_runner.run(&mut garden, 1, None);
    }
    assert_eq!(garden.shoots["one"].classes.len(), 2);
    (garden, fake_runner)
}

#[test]
fn irreversible_step_rechecks_waits() {
    type Change = fn(&mut Garden);
    let spoilt: [(&str, Change, Change); 4] = [
        (
            "an old node",
            |garden| drop(garden.shoots.get_mut("one").unwrap().nodes.insert("old".to_owned(), "v1.17.9".to_owned())),
            |garden| drop(garden.shoots.get_mut("one").unwrap().nodes.remove("old")),
        ),
        (
            "it sleeps",
            |garden| {
                garden.clusters.get_mut("one").unwrap()["spec"]["shoot"]["spec"]["hibernation"]["enabled"] = json!(true)
            },
            |garden| {
                garden.clusters.get_mut("one").unwrap()["spec"]["shoot"]["spec"]["hibernation"]["enabled"] =
                    json!(false)
            },
        ),
        (
            "it is away",
            |garden| garden.shoots.get_mut("one").unwrap().is_away = true,
            |garden| garden.shoots.get_mut("one").unwrap().is_away = false,
        ),
        (
            "it failed",
            |garden| {
                garden.clusters.get_mut("one").unwrap()["spec"]["shoot"]["status"]["lastOperation"]["state"] =
                    json!("Failed")
            },
            |garden| {
                garden.clusters.get_mut("one").unwrap()["spec"]["shoot"]["status"]["lastOperation"]["state"] =
                    json!("Succeeded")
            },
        ),
    ];
    for (what, spoil, fix) in spoilt {
        let (mut garden, mut fake_runner) = before_the_classes_go();
        spoil(&mut garden);
        garden.plant("two");
        garden.now += 24 * 3600;
        let planned = fake_runner.run(&mut garden, PASSES, None);
        assert_eq!(garden.shoots["one"].classes.len(), 2, "{what}: {:#?}", fake_runner.log);
        assert!(!garden.says("one", NEEDS), "{what}");
        // The object counts as not started: it occupies no slot and does not fail.
        assert!(planned.status.failures.is_empty(), "{what}: {:?}", planned.status.failures);
        assert!(
            garden.says("two", FINISHED),
            "{what}: {:#?} {:#?} {:?}",
            fake_runner.log,
            planned.status,
            planned.object_states
        );
        is_through(&garden, "two");
        fix(&mut garden);
        fake_runner.run(&mut garden, PASSES, None);
        // The rollout is over if no selected object is left.
        if what != "it failed" {
            is_through(&garden, "one");
        }
    }
}

/// The shoot's Secret now leads to another cluster with classes of the same names.
#[test]
fn redirected_object_waits_first() {
    let (mut garden, mut fake_runner) = before_the_classes_go();
    garden.shoots.get_mut("one").unwrap().nodes = [("other".to_owned(), "v1.17.1".to_owned())].into();
    fake_runner.run(&mut garden, PASSES, None);
    assert_eq!(garden.shoots["one"].classes.len(), 2, "{:#?}", fake_runner.log);
    assert!(!garden.says("one", NEEDS));
    garden.shoots.get_mut("one").unwrap().nodes = [("other".to_owned(), "v1.18.1".to_owned())].into();
    fake_runner.run(&mut garden, PASSES, None);
    is_through(&garden, "one");
}

#[test]
fn irreversible_object_is_not_pending() {
    let (mut garden, mut fake_runner) = away_after_one_class();
    garden.rollout["spec"]["direction"] = json!("Undo");
    let planned = fake_runner.run(&mut garden, PASSES, None);
    assert!(planned.status.is_over(), "{:?}", planned.status);
    assert_eq!(
        planned.object_states[0].word(),
        "Updated",
        "it does not count as taken back: {:?}",
        planned.object_states
    );
    assert!(!garden.says("one", NEEDS));
    // A new forward rollout finishes the started work.
    garden.shoots.get_mut("one").unwrap().is_away = false;
    garden.rollout["metadata"]["uid"] = json!("rollout-2");
    garden.rollout["spec"]["direction"] = json!("Forward");
    garden.rollout["status"] = Value::Null;
    FakeRunner::default().run(&mut garden, PASSES, None);
    is_through(&garden, "one");
}

#[test]
fn irreversible_step_stops_undo() {
    let mut garden = Garden::planted(1);
    garden.plant("one");
    let mut fake_runner = FakeRunner::default();
    fake_runner.run(&mut garden, PASSES, None);
    garden.rollout["spec"]["direction"] = json!("Undo");
    let planned = fake_runner.run(&mut garden, PASSES, None);
    assert_eq!(planned.status.direction, Direction::Undo);
    assert!(planned.status.is_over(), "{:?}", planned.status);
    is_through(&garden, "one");
}

#[test]
fn rollout_prints_rights_and_steps() {
    let garden = Garden::planted(1);
    let rollout = garden.compiled();
    let status = RolloutStatus::default();
    let told = missing_mutations(&rollout, &status, &[]).unwrap();
    for words in ["step control-plane", "mutation csi", "deployments.apps", "--kinds"] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(missing_mutations(&rollout, &status, &garden.mutated), None);
    for direction in ["Undo", "Abort"] {
        let mut turned = Garden::planted(1);
        turned.rollout["spec"]["direction"] = json!(direction);
        assert_eq!(missing_mutations(&turned.compiled(), &status, &[]), None, "{direction}");
    }
    let rights = rights(&rollout, &garden.kind, OwnerReferences::Free);
    let verbs = |group: &str, plural: &str| {
        let verbs = rights.get(&(group.to_owned(), plural.to_owned()));
        verbs.map(|verbs| verbs.iter().copied().collect::<Vec<_>>()).unwrap_or_default()
    };
    assert_eq!(verbs("", "secrets"), ["get"]);
    assert_eq!(verbs("apps", "deployments"), ["get", "patch"]);
    assert_eq!(verbs("extensions.gardener.cloud", "controlplanes"), ["list"]);
    assert!(verbs("", "nodes").is_empty() && verbs("storage.k8s.io", "storageclasses").is_empty());
    let elsewhere = rights_elsewhere(&rollout);
    let elsewhere: Vec<String> =
        elsewhere.iter().map(|((group, plural), verbs)| format!("{group}/{plural} {verbs:?}")).collect();
    assert_eq!(elsewhere, [r#"/nodes {"list"}"#, r#"storage.k8s.io/storageclasses {"delete", "get"}"#]);
    let steps: Vec<String> =
        step_descriptions(&rollout).into_iter().map(|step| format!("{}: {}", step.name, step.does)).collect();
    let all = steps.join("\n");
    for words in [
        "awake: waits for the object, if controlplanes.extensions.gardener.cloud of {name} exist",
        "new-nodes: waits until all nodes have the expected state in the cluster of secret {name}/gardener",
        "old-classes: deletes storageclasses.storage.k8s.io default, gp2 in the cluster of secret {name}/gardener",
        "control-plane: sends deployments.apps kube-apiserver, kube-controller-manager, kube-scheduler of {name} again, until mutation csi is applied",
    ] {
        assert!(all.contains(words), "{words}\n{all}");
    }
}
