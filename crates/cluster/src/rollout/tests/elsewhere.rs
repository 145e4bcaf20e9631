//! Other clusters, over real sockets: reachable, unreachable, and the number of requests to each.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::{Client, Config};
use pointsman_core::definition::Kind;
use pointsman_rollout::{
    ClockReading, FleetObject, LookupRequest, LookupResults, ObjectCall, ObjectWrite, OtherCluster, PlanInput,
    Propagation, Rollout, RolloutStatus, answered_rollout, forecast, initial_wait_lookups,
};
use serde_json::{Value, json};

use super::CRD;
use crate::cluster::Cluster;
use crate::rollout::remote_lookups::RemoteLookups;
use crate::rollout::writes::WriteOutcome;
use crate::web::tests::{Manner, SmallServer, answer, waited};

/// Databases that wait for the nodes of their own clusters.
fn fleet(names: &[&str]) -> (Rollout, Vec<FleetObject>) {
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: databases.crd.yaml\nhealth: {all: [{field: \
                      status.ready, is: true}]}\nworkflows:\n  j:\n  - {name: nodes, wait: {list: nodes, every: {field: \
                      spec.fine, is: true}, on: {cluster: {secret: way, namespace: \"{name}\"}}}}\n";
    let kind = Kind::from_crd(definition, CRD).unwrap();
    let spec = json!({"kind": "database", "workflow": "j", "to": "b", "waves": [{"name": "all"}]});
    let rollout = json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "u"}, "spec": spec});
    let rollout = answered_rollout(&rollout, &kind).unwrap();
    let database =
        |name: &&str| json!({"metadata": {"name": name, "namespace": "n", "uid": name}, "status": {"ready": true}});
    let fleet = names.iter().filter_map(|name| FleetObject::of(&database(name), &rollout)).collect();
    (rollout, fleet)
}

/// A Secret with the kubeconfig of a server.
fn way(server: &SmallServer) -> Vec<u8> {
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n\
         clusters: [{{name: it, cluster: {{server: '{}'}}}}]\nusers: [{{name: it, user: {{token: t}}}}]\n",
        server.url("")
    );
    let secret = json!({"metadata": {"resourceVersion": "1"}, "data": {"kubeconfig": STANDARD.encode(kubeconfig)}});
    answer(200, &secret.to_string())
}

/// The state of each object with these lookup results.
fn object_states(rollout: &Rollout, fleet: &[FleetObject], answers: LookupResults) -> BTreeMap<String, String> {
    let facts = PlanInput { answers, consistent: true, ahead: true, ..PlanInput::default() };
    let now = ClockReading { wall: 1_795_000_000, steady: Duration::ZERO };
    let all = forecast(rollout, &RolloutStatus::default(), fleet, facts, now);
    all.into_iter()
        .map(|one| (one.object.title(), format!("{} {}", one.object_state.word(), one.object_state.why())))
        .collect()
}

#[test]
fn unreachable_cluster_is_queried_once() {
    let nodes = |items: Value| answer(200, &json!({"items": items, "metadata": {}}).to_string());
    let fine =
        SmallServer::start(move |_| Manner::Says(nodes(json!([{"metadata": {"name": "a"}, "spec": {"fine": true}}]))));
    let silent = SmallServer::start(|_| Manner::Holds(Vec::new()));
    let dead = SmallServer::start(|_| Manner::Says(answer(401, "{\"message\": \"Unauthorized\"}")));
    let ways = [("fine", way(&fine)), ("silent", way(&silent)), ("dead", way(&dead))];
    let own = SmallServer::start(move |path| {
        let name = path.split('/').nth(4).unwrap_or_default();
        let known = ways.iter().find(|(of, _)| *of == name).map(|(_, way)| way.clone());
        let exec = json!({"metadata": {}, "data": {"other": ""}});
        Manner::Says(match (known, name) {
            (Some(way), _) => way,
            (None, "empty") => answer(200, &exec.to_string()),
            _ => answer(404, "{\"message\": \"secrets \\\"way\\\" not found\"}"),
        })
    });
    let (rollout, fleet) = fleet(&["dead", "empty", "fine", "lost", "silent"]);
    let lookups: Vec<LookupRequest> = initial_wait_lookups(&rollout, &RolloutStatus::default(), &fleet);
    assert_eq!(lookups.len(), 5);
    let mut config = Config::new(own.url("").parse().unwrap());
    config.default_retry = false;
    let first = waited(async {
        let cluster = Cluster::new(Client::try_from(config).unwrap(), own.url(""));
        let mut elsewhere = RemoteLookups::default();
        let (mut answers, began) = (LookupResults::default(), Instant::now());
        elsewhere.results(&cluster, &lookups, Duration::from_secs(1), &mut answers).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        // A result stays cached for a while.
        let asked = own.heads().len();
        elsewhere.results(&cluster, &lookups, Duration::from_millis(100), &mut LookupResults::default()).await;
        assert_eq!((own.heads().len(), fine.heads().len()), (asked, 1));
        answers
    });
    let told = object_states(&rollout, &fleet, first);
    for (name, said) in [
        ("n/dead", "its credentials have expired"),
        ("n/empty", "secret empty/way: kubeconfig: the Secret has no such key"),
        ("n/fine", "Pending "),
        ("n/lost", "secret lost/way with the kubeconfig of the other cluster does not exist"),
        ("n/silent", "no response yet"),
    ] {
        assert!(told[name].contains(said), "{name}: {}", told[name]);
    }
    assert!(told.iter().all(|(name, told)| name == "n/fine" || told.starts_with("Waiting step nodes: ")), "{told:?}");
}

/// The cluster in the Secret of an object, and a deletion in that cluster.
fn deletion(name: &str) -> (OtherCluster, ObjectWrite) {
    let of = OtherCluster { namespace: name.to_owned(), secret: "way".to_owned(), key: "kubeconfig".to_owned() };
    let [plural, group, version] = ["nodes", "", "v1"].map(str::to_owned);
    let call = ObjectCall::Delete {
        uid: "d".to_owned(),
        resource_version: "7".to_owned(),
        propagation: Propagation::Background,
        replacement: None,
    };
    let (namespace, version, uid) = (None, Some(version), name.to_owned());
    let (name, title) = ("a".to_owned(), format!("n/{name}"));
    let write =
        ObjectWrite { cluster: Some(of.clone()), plural, group, version, namespace, name, call, of: title, uid };
    (of, write)
}

/// An API server with these Secrets.
fn leads_to(ways: Vec<(&'static str, Vec<u8>)>) -> SmallServer {
    SmallServer::start(move |path| {
        let name = path.split('/').nth(4).unwrap_or_default();
        let known = ways.iter().find(|(of, _)| *of == name).map(|(_, way)| way.clone());
        Manner::Says(known.unwrap_or_else(|| answer(404, "{\"message\": \"secrets \\\"way\\\" not found\"}")))
    })
}

fn list(fine: bool) -> Manner {
    let node = json!({"metadata": {"name": "a"}, "spec": {"fine": fine}});
    Manner::Says(answer(200, &json!({"items": [node], "metadata": {}}).to_string()))
}

/// Runs work with the own cluster and with lookups in other clusters.
async fn against<T>(own: &SmallServer, work: impl AsyncFnOnce(&Cluster, &mut RemoteLookups) -> T) -> T {
    let mut config = Config::new(own.url("").parse().unwrap());
    config.default_retry = false;
    let cluster = Cluster::new(Client::try_from(config).unwrap(), own.url(""));
    work(&cluster, &mut RemoteLookups::default()).await
}

#[test]
fn hanging_call_blocks_no_other() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let slow = SmallServer::start(move |path| match path {
        path if path.starts_with("/api/v1/nodes/a") => {
            held.lock().unwrap().recv().unwrap();
            Manner::Says(answer(200, "{}"))
        }
        _ => list(true),
    });
    let quick = SmallServer::start(|path| match path {
        path if path.starts_with("/api/v1/nodes/a") => Manner::Says(answer(200, "{}")),
        _ => list(true),
    });
    let own = leads_to(vec![("slow", way(&slow)), ("quick", way(&quick))]);
    let (rollout, fleet) = fleet(&["slow", "quick"]);
    let lookups = initial_wait_lookups(&rollout, &RolloutStatus::default(), &fleet);
    waited(against(&own, async |cluster, elsewhere| {
        elsewhere.results(cluster, &lookups, Duration::from_secs(5), &mut LookupResults::default()).await;
        let (of_slow, slowly) = deletion("slow");
        let (of_quick, quickly) = deletion("quick");
        for _ in 0..2 {
            let landed = elsewhere.write(&of_slow, &slowly, &json!({})).await;
            assert!(matches!(&landed, WriteOutcome::NotYet(why) if why.contains("no answer yet")), "{landed:?}");
        }
        let landed = elsewhere.write(&of_quick, &quickly, &json!({})).await;
        assert!(matches!(landed, WriteOutcome::Written(_)), "{landed:?}");
        release.send(()).unwrap();
        let mut landed = elsewhere.write(&of_slow, &slowly, &json!({})).await;
        while matches!(landed, WriteOutcome::NotYet(_)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            landed = elsewhere.write(&of_slow, &slowly, &json!({})).await;
        }
        assert!(matches!(landed, WriteOutcome::Written(_)), "{landed:?}");
    }));
    let sent = slow.heads().iter().filter(|head| head.starts_with("DELETE")).count();
    assert_eq!(sent, 1, "{:#?}", slow.heads());
}

#[test]
fn lookup_before_write_is_discarded() {
    let (release, held) = mpsc::channel::<()>();
    let (held, asked) = (Mutex::new(held), AtomicUsize::new(0));
    let there = SmallServer::start(move |path| {
        if path.starts_with("/api/v1/nodes/a") {
            return Manner::Says(answer(200, "{}"));
        }
        match asked.fetch_add(1, Ordering::SeqCst) {
            // The first list is part of the connection.
            0 => list(true),
            // The state before the write arrives late.
            1 => {
                held.lock().unwrap().recv().unwrap();
                list(true)
            }
            _ => Manner::Holds(Vec::new()),
        }
    });
    let own = leads_to(vec![("there", way(&there))]);
    let (rollout, fleet) = fleet(&["there"]);
    let lookups = initial_wait_lookups(&rollout, &RolloutStatus::default(), &fleet);
    let told = waited(against(&own, async |cluster, elsewhere| {
        let patience = Duration::from_secs(5);
        elsewhere.results(cluster, &lookups, patience, &mut LookupResults::default()).await;
        elsewhere.forget(&lookups);
        elsewhere.results(cluster, &lookups, Duration::from_millis(100), &mut LookupResults::default()).await;
        let (of, write) = deletion("there");
        let landed = elsewhere.write(&of, &write, &json!({})).await;
        assert!(matches!(landed, WriteOutcome::Written(_)), "{landed:?}");
        // The repeated lookup is pending when the response to the earlier one arrives.
        elsewhere.results(cluster, &lookups, Duration::from_millis(100), &mut LookupResults::default()).await;
        release.send(()).unwrap();
        let mut answers = LookupResults::default();
        elsewhere.results(cluster, &lookups, Duration::from_millis(500), &mut answers).await;
        object_states(&rollout, &fleet, answers)
    }));
    assert!(told["n/there"].contains("no response yet"), "{told:?}");
}
