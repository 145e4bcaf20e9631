//! A fleet that is listed once and then watched, over real sockets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use kube::{Client, Config};
use pointsman_core::definition::Kind;
use pointsman_rollout::{Rollout, RolloutStatus};
use serde_json::{Value, json};

use super::super::fleet::Fleet;
use super::{CRD, metric, rollout};
use crate::cluster::Cluster;
use crate::web::tests::{Manner, SmallServer, answer, waited};

const LIST: &str = "/apis/example.com/v1/databases?limit=50";
const PATIENCE: Duration = Duration::from_millis(300);

fn database(name: &str, version: &str, revision: u64) -> Value {
    json!({"metadata": {
        "namespace": "n", "name": name, "uid": format!("uid-{name}"), "resourceVersion": revision.to_string(),
        "labels": {"example.com/controller-version": version},
    }})
}

fn told(events: &[(&str, Value)]) -> Vec<u8> {
    let lines = events.iter().map(|(what, object)| json!({"type": what, "object": object}).to_string() + "\n");
    format!("HTTP/1.1 200 As it is\r\ncontent-type: application/json\r\n\r\n{}", lines.collect::<String>()).into()
}

/// An API server with databases a and b, and these responses to watches, by their number.
fn server(watched: impl Fn(usize) -> Manner + Send + Sync + 'static) -> SmallServer {
    let watches = AtomicUsize::new(0);
    SmallServer::start(move |path| match path {
        LIST => {
            let items = [database("a", "1.0.0", 8), database("b", "1.0.0", 9)];
            Manner::Says(answer(200, &json!({"metadata": {"resourceVersion": "10"}, "items": items}).to_string()))
        }
        path if path.starts_with("/apis/example.com/v1/databases?watch=true") => {
            watched(watches.fetch_add(1, Ordering::Relaxed))
        }
        "/apis/example.com/v1/namespaces/n/databases/a" => {
            Manner::Says(answer(200, &database("a", "1.2.0", 30).to_string()))
        }
        path if path.contains("/customresourcedefinitions/") => Manner::Says(answer(200, CRD)),
        _ => Manner::Says(answer(404, "{}")),
    })
}

/// The version of each object, and the result of `work`.
fn after<T>(server: &SmallServer, work: impl AsyncFnOnce(&Cluster, &Rollout, &mut Fleet) -> T) -> (Vec<String>, T) {
    let (kind, rollout): (Kind, Rollout) = rollout("start", &[metric("fine")]);
    waited(async {
        let config = Config::new(server.url("").parse().unwrap());
        let cluster = Cluster::new(Client::try_from(config).unwrap(), server.url(""));
        let mut fleet = Fleet::list(&cluster, &kind, &rollout, &RolloutStatus::default()).await.unwrap();
        let answered = work(&cluster, &rollout, &mut fleet).await;
        let objects = fleet.objects.iter();
        (objects.map(|object| format!("{} {}", object.name(), object.version().unwrap())).collect(), answered)
    })
}

/// Watches for a while. A kept-alive connection may close during the next request, so retries as a runner does.
async fn heard(cluster: &Cluster, rollout: &Rollout, fleet: &mut Fleet) -> bool {
    loop {
        match fleet.listen(cluster, rollout, PATIENCE).await {
            Ok(all) => return all,
            Err(error) => assert!(error.passes(), "{error}"),
        }
    }
}

fn watches(server: &SmallServer) -> Vec<String> {
    let heads = server.heads().into_iter().filter(|head| head.contains("watch=true"));
    heads.map(|head| head.split_once("resourceVersion=").unwrap().1.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn fleet_follows_watch() {
    let server = server(|_| {
        Manner::Holds(told(&[
            ("MODIFIED", database("a", "1.1.0", 12)),
            ("MODIFIED", database("a", "1.0.0", 11)),
            ("ADDED", database("c", "1.0.0", 13)),
            ("DELETED", database("b", "1.0.0", 14)),
            ("BOOKMARK", json!({"metadata": {"resourceVersion": "20"}})),
        ]))
    });
    let (objects, all) = after(&server, async |cluster, rollout, fleet| heard(cluster, rollout, fleet).await);
    assert_eq!((objects, all), (vec!["a 1.1.0".to_owned(), "c 1.0.0".to_owned()], true));
    assert_eq!(watches(&server), ["10"]);
}

#[test]
fn ended_watch_resumes() {
    let server = server(|number| match number {
        0 => Manner::Says(told(&[("MODIFIED", database("a", "1.1.0", 12))])),
        _ => Manner::Holds(told(&[("MODIFIED", database("b", "1.1.0", 15))])),
    });
    let (objects, all) = after(&server, async |cluster, rollout, fleet| {
        (heard(cluster, rollout, fleet).await, heard(cluster, rollout, fleet).await)
    });
    assert_eq!((objects, all), (vec!["a 1.1.0".to_owned(), "b 1.1.0".to_owned()], (true, true)));
    assert_eq!(watches(&server), ["10", "12"]);
}

#[test]
fn expired_watch_lists_again() {
    let gone = json!({"kind": "Status", "code": 410, "message": "too old resource version"});
    let error = json!({"kind": "Status", "code": 500, "message": "the cache is broken"});
    for first in [answer(410, &gone.to_string()), told(&[("ERROR", gone)]), told(&[("ERROR", error)])] {
        let server = server(move |_| Manner::Says(first.clone()));
        let (_, all) = after(&server, async |cluster, rollout, fleet| heard(cluster, rollout, fleet).await);
        assert!(!all);
    }
    let refused = json!({"kind": "Status", "code": 403, "message": "no"}).to_string();
    let server = server(move |_| Manner::Says(answer(403, &refused)));
    let (_, error) = after(&server, async |cluster, rollout, fleet| {
        loop {
            match fleet.listen(cluster, rollout, PATIENCE).await {
                Err(error) if error.passes() => {}
                heard => return heard,
            }
        }
    });
    assert_eq!(error.unwrap_err().code(), Some(403));
}

#[test]
fn write_response_precedes_watch() {
    let server = server(|_| Manner::Holds(told(&[("MODIFIED", database("a", "1.0.0", 11))])));
    let (objects, all) = after(&server, async |cluster, rollout, fleet| {
        fleet.wrote(&database("a", "1.1.0", 12), rollout);
        heard(cluster, rollout, fleet).await
    });
    assert_eq!((objects, all), (vec!["a 1.1.0".to_owned(), "b 1.0.0".to_owned()], true), "the watch is behind");
}

#[test]
fn broken_event_restarts_watch() {
    let whole = told(&[("MODIFIED", database("a", "1.1.0", 12)), ("MODIFIED", database("b", "1.1.0", 13))]);
    let server = server(move |number| match number {
        0 => Manner::Says(whole[..whole.len() - 20].to_vec()),
        _ => Manner::Holds(told(&[("MODIFIED", database("b", "1.1.0", 13))])),
    });
    let (objects, _) = after(&server, async |cluster, rollout, fleet| {
        heard(cluster, rollout, fleet).await;
        heard(cluster, rollout, fleet).await
    });
    assert_eq!(objects, ["a 1.1.0", "b 1.1.0"]);
    assert_eq!(watches(&server), ["10", "12"]);
}

#[test]
fn stale_object_is_read_first() {
    let server = server(|_| Manner::Holds(told(&[])));
    let uids = ["uid-a", "uid-nobody"].into();
    let (objects, is_new) = after(&server, async |cluster, rollout, fleet| {
        let max_in_flight = fleet.reread(cluster, rollout, &uids).await.unwrap();
        sleep(Duration::from_millis(2_100));
        let later = fleet.reread(cluster, rollout, &uids).await.unwrap();
        (max_in_flight, later, fleet.reread(cluster, rollout, &uids).await.unwrap())
    });
    assert_eq!((objects[0].as_str(), is_new), ("a 1.2.0", (false, true, false)));
    assert_eq!(server.heads().iter().filter(|head| head.contains("/databases/a ")).count(), 1);
}
