//! Other clusters, over real sockets: those that answer, those that do not, and how often they are asked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::{Client, Config};
use pointsman_core::definition::Kind;
use pointsman_core::roll::{
    FleetObject, FleetRoll, Moment, RollAnswers, RollFacts, RollQuestion, RollStatus, answered_roll, forecast,
    waiting_questions,
};
use serde_json::{Value, json};

use super::CRD;
use crate::cluster::Cluster;
use crate::roll::elsewhere::Elsewhere;
use crate::web::tests::{Manner, SmallServer, answer, waited};

/// Boats that wait for the nodes of clusters of their own.
fn fleet(names: &[&str]) -> (FleetRoll, Vec<FleetObject>) {
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: boats.crd.yaml\nhealthy: {all: [{field: \
                      status.ready, is: true}]}\njourneys:\n  j:\n  - {name: nodes, wait: {list: nodes, every: {field: \
                      spec.fine, is: true}, on: {cluster: {secret: way, namespace: \"{name}\"}}}}\n";
    let kind = Kind::from_crd(definition, CRD).unwrap();
    let spec = json!({"kind": "boat", "journey": "j", "to": "b", "waves": [{"name": "all"}]});
    let roll =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "Roll", "metadata": {"name": "r", "uid": "u"}, "spec": spec});
    let roll = answered_roll(&roll, &kind).unwrap();
    let boat =
        |name: &&str| json!({"metadata": {"name": name, "namespace": "n", "uid": name}, "status": {"ready": true}});
    let fleet = names.iter().filter_map(|name| FleetObject::of(&boat(name), &roll)).collect();
    (roll, fleet)
}

/// A Secret whose kubeconfig leads to a server.
fn way(server: &SmallServer) -> Vec<u8> {
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n\
         clusters: [{{name: it, cluster: {{server: '{}'}}}}]\nusers: [{{name: it, user: {{token: t}}}}]\n",
        server.url("")
    );
    let secret = json!({"metadata": {"resourceVersion": "1"}, "data": {"kubeconfig": STANDARD.encode(kubeconfig)}});
    answer(200, &secret.to_string())
}

/// How each object stands by these answers.
fn standings(roll: &FleetRoll, fleet: &[FleetObject], answers: RollAnswers) -> BTreeMap<String, String> {
    let facts = RollFacts { answers, consistent: true, ahead: true, ..RollFacts::default() };
    let now = Moment { wall: 1_795_000_000, steady: Duration::ZERO };
    let all = forecast(roll, &RollStatus::default(), fleet, facts, now);
    all.into_iter().map(|one| (one.object.title(), format!("{} {}", one.standing.word(), one.standing.why()))).collect()
}

#[test]
fn nobody_waits_for_a_cluster_that_does_not_answer_and_nobody_is_asked_twice() {
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
    let (roll, fleet) = fleet(&["dead", "empty", "fine", "lost", "silent"]);
    let questions: Vec<RollQuestion> = waiting_questions(&roll, &RollStatus::default(), &fleet);
    assert_eq!(questions.len(), 5);
    let mut config = Config::new(own.url("").parse().unwrap());
    config.default_retry = false;
    let first = waited(async {
        let cluster = Cluster::new(Client::try_from(config).unwrap(), own.url(""));
        let mut elsewhere = Elsewhere::default();
        let (mut answers, began) = (RollAnswers::default(), Instant::now());
        elsewhere.tell(&cluster, &questions, Duration::from_secs(1), &mut answers).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        // What is known is known for a while.
        let asked = own.heads().len();
        elsewhere.tell(&cluster, &questions, Duration::from_millis(100), &mut RollAnswers::default()).await;
        assert_eq!((own.heads().len(), fine.heads().len()), (asked, 1));
        answers
    });
    let told = standings(&roll, &fleet, first);
    for (name, said) in [
        ("n/dead", "its credentials are dead"),
        ("n/empty", "secret empty/way: kubeconfig: there is no such key"),
        ("n/fine", "Old "),
        ("n/lost", "there is no secret lost/way"),
        ("n/silent", "there is no answer yet"),
    ] {
        assert!(told[name].contains(said), "{name}: {}", told[name]);
    }
    assert!(told.iter().all(|(name, told)| name == "n/fine" || told.starts_with("Waiting step nodes: ")), "{told:?}");
}
