//! Creations without a response, over real sockets.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::{Client, Config};
use pointsman_rollout::{JobWrite, ObjectCall, ObjectWrite, Propagation, RolloutStatus};
use serde_json::{Value, json};

use super::super::clock::RolloutClock;
use super::super::object_steps::try_made;
use super::super::pending_writes::{PendingWrites, UnacknowledgedWrite};
use super::super::writes::WriteOutcome;
use super::beside::{against, says, write, writes};
use crate::cluster::Cluster;
use crate::web::tests::{Manner, SmallServer, answer, waited};

fn deployment() -> Value {
    let metadata = json!({"name": "a", "namespace": "n", "annotations": {"pointsman.dev/created-from": "u", "pointsman.dev/kept-v2": "{}", "theirs": "x"}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
}

/// An API server that closes the connection on a creation, and returns the object once it exists.
fn silent(is_there: &Arc<AtomicBool>) -> SmallServer {
    let is_there = is_there.clone();
    SmallServer::start(move |path| match path.contains("/deployments?") {
        true if path.contains("dryRun=All") => Manner::Says(answer(201, &deployment().to_string())),
        true => Manner::Says(Vec::new()),
        false if is_there.load(Ordering::Relaxed) => Manner::Says(answer(200, "{}")),
        false => says(404, "not found"),
    })
}

/// Creates an object as a runner does.
async fn makes(cluster: &Cluster, one: &ObjectWrite) -> WriteOutcome {
    match try_made(cluster, one).await.unwrap() {
        Some(no) => no,
        None => writes(cluster, one).await.unwrap(),
    }
}

/// The number of creations without dry run.
fn posts(server: &SmallServer) -> usize {
    server.heads().iter().filter(|head| head.starts_with("POST") && !head.contains("dryRun=All")).count()
}

async fn open(cluster: &Cluster, one: &ObjectWrite) -> PendingWrites {
    let sent = Instant::now();
    let landed = writes(cluster, one).await;
    assert!(matches!(&landed, Ok(WriteOutcome::Later(error)) if error.leaves_open()), "{landed:?}");
    let mut all = PendingWrites::default();
    all.add(UnacknowledgedWrite::object(cluster, one, (sent, RolloutClock::start())).await.unwrap());
    all
}

/// The creation of a replacement is sent again at once, and awaited to the end: the first request may be processed
/// after the replacement was deleted.
#[test]
fn unacknowledged_write_blocks_until_seen() {
    for (call, sent, is_over) in
        [(ObjectCall::Create(deployment()), 1, true), (ObjectCall::Succeed(deployment()), 2, false)]
    {
        let is_there = Arc::default();
        let server = silent(&is_there);
        against(&server, async |cluster| {
            let mut all = open(cluster, &write(call)).await;
            all.settle(cluster, RolloutClock::start()).await;
            assert_eq!((all.is_empty(), posts(&server)), (false, sent));
            is_there.store(true, Ordering::Relaxed);
            all.settle(cluster, RolloutClock::start()).await;
            assert_eq!((all.is_empty(), posts(&server)), (is_over, sent));
        });
    }
}

/// A Job that was requested this many seconds ago.
fn job(name: &str, seconds: u64) -> UnacknowledgedWrite {
    let [namespace, of, uid] = ["n", "n/a", "u"].map(str::to_owned);
    let job = JobWrite { namespace, name: name.to_owned(), body: json!({}), of, uid };
    let sent = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
    UnacknowledgedWrite::job(&job, (sent, RolloutClock::start()))
}

/// After the longest request time, a lookup is unnecessary.
#[test]
fn finished_request_ends_the_wait() {
    let server = SmallServer::start(|_| says(404, "not found"));
    for (seconds, is_over) in [(64, false), (65, true)] {
        let mut all = PendingWrites::default();
        all.add(job("a", seconds));
        all.forget_late();
        assert_eq!(all.is_empty(), is_over, "after {seconds} s");
        let asked = server.heads().len();
        against(&server, async |cluster| all.settle(cluster, RolloutClock::start()).await);
        assert_eq!((all.is_empty(), server.heads().len() == asked), (is_over, is_over), "after {seconds} s");
    }
}

/// Other objects are blocked meanwhile, so their timeouts restart, once per request. If the same request repeatedly
/// gets no response, the fleet does not wait forever.
#[test]
fn object_deadline_extends_once() {
    let (clock, before) = (RolloutClock::start(), RolloutStatus::default());
    let mut all = PendingWrites::default();
    for (name, is_granted) in [("a", true), ("a", false), ("b", true), ("a", false)] {
        all.add(job(name, 65));
        let waits = all.next_status(&before, clock.now());
        assert!(waits.message.starts_with(&format!("job n/{name}: the creation was requested")), "{}", waits.message);
        all.status_written();
        assert!(all.is_waited_for(), "it may still come");
        all.forget_late();
        // The extension is repeated until a status with it is written.
        for _ in 0..2 {
            assert_eq!(all.next_status(&before, clock.now()).resumed.is_some(), is_granted, "{name}");
            assert!(all.is_waited_for());
        }
        all.status_written();
        assert!(!all.is_waited_for());
    }
}

/// A patch is observed by its values, a deletion by the absence of the object. Neither affects another object of that
/// name.
#[test]
fn unacknowledged_patch_blocks_until_seen() {
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "add", "path": "/metadata/labels/a", "value": "b"},
    ]);
    let (uid, resource_version) = ("u".to_owned(), "7".to_owned());
    let delete = ObjectCall::Delete { uid, resource_version, propagation: Propagation::Background, replacement: None };
    let is = |uid: &str, more: Value| {
        let mut object = json!({"metadata": {"uid": uid}});
        object["metadata"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Some(object)
    };
    let labelled = json!({"labels": {"a": "b", "c": "d"}});
    for (call, there, is_over) in [
        (ObjectCall::Patch(patch.clone()), is("u", json!({})), false),
        (ObjectCall::Patch(patch.clone()), is("u", labelled), true),
        (ObjectCall::Patch(patch.clone()), is("v", json!({})), true),
        (ObjectCall::Patch(patch), None, true),
        (delete.clone(), is("u", json!({"resourceVersion": "7"})), false),
        (delete.clone(), is("u", json!({"resourceVersion": "8"})), true),
        (delete.clone(), is("u", json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})), true),
        (delete.clone(), is("v", json!({})), true),
        (delete, None, true),
    ] {
        let told = format!("{call:?} {there:?}");
        let server = SmallServer::start(move |path| match (path.contains("fieldManager"), &there) {
            (true, _) => Manner::Says(Vec::new()),
            (_, Some(object)) => Manner::Says(answer(200, &object.to_string())),
            _ => says(404, "not found"),
        });
        let one = ObjectWrite { version: Some("v1".to_owned()), ..write(call) };
        against(&server, async |cluster| {
            let open = UnacknowledgedWrite::object(cluster, &one, (Instant::now(), RolloutClock::start())).await;
            let mut all = PendingWrites::default();
            all.add(open.unwrap());
            all.settle(cluster, RolloutClock::start()).await;
            assert_eq!(all.is_empty(), is_over, "{told}");
        });
    }
}

#[test]
fn unsent_or_noop_is_not_pending() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    waited(async {
        let url = format!("http://127.0.0.1:{port}");
        let mut config = Config::new(url.parse().unwrap());
        config.default_retry = false;
        let cluster = Cluster::new(Client::try_from(config).unwrap(), url);
        let landed = writes(&cluster, &write(ObjectCall::Create(deployment()))).await;
        assert!(matches!(&landed, Ok(WriteOutcome::Later(error)) if !error.leaves_open()), "{landed:?}");
        for call in [ObjectCall::ReportRefusal(json!({})), ObjectCall::Readmit("s".to_owned())] {
            let sent = (Instant::now(), RolloutClock::start());
            let open = UnacknowledgedWrite::object(&cluster, &write(call), sent).await;
            assert!(open.is_none());
        }
    });
}

/// An API server that times out on its store has neither accepted nor rejected the write.
#[test]
fn store_timeout_stays_pending() {
    let (uid, resource_version) = ("u".to_owned(), "7".to_owned());
    let delete = ObjectCall::Delete { uid, resource_version, propagation: Propagation::Background, replacement: None };
    for call in [ObjectCall::Create(deployment()), ObjectCall::Patch(json!([])), delete] {
        for (message, is_open) in [("etcdserver: request timed out", true), ("etcdserver: request is too large", false)]
        {
            let one = ObjectWrite { version: Some("v1".to_owned()), ..write(call.clone()) };
            let server = SmallServer::start(move |_| says(500, message));
            let landed = against(&server, async |cluster| writes(cluster, &one).await);
            assert_eq!(matches!(&landed, Ok(WriteOutcome::Later(error)) if error.leaves_open()), is_open, "{landed:?}");
        }
    }
}

/// If a policy reverts a change within the same write, the runner reports this and does not repeat the write.
#[test]
fn reverted_change_stays_pending() {
    let patch = json!([{"op": "add", "path": "/metadata/labels/a", "value": "b"}]);
    for (now, is_kept) in [(json!({"metadata": {"labels": {"a": "b"}}}), true), (json!({"metadata": {}}), false)] {
        let server = SmallServer::start(move |_| Manner::Says(answer(200, &now.to_string())));
        let landed = against(&server, async |cluster| writes(cluster, &write(ObjectCall::Patch(patch.clone()))).await);
        match landed.unwrap() {
            WriteOutcome::Written(_) if is_kept => {}
            WriteOutcome::NotYet(why) if !is_kept && why.contains("changes the same write") => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A created object is identified by its annotation. If a policy removes the annotation, the object is deleted again,
/// unless another object was deleted for it.
#[test]
fn unidentified_write_is_repeated() {
    let mut stripped = deployment();
    stripped["metadata"]["annotations"].as_object_mut().unwrap().remove("pointsman.dev/created-from");
    let without_theirs = {
        let mut object = deployment();
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        // The kept annotation of another version is not set by the rollout: admission webhooks may remove it as stale.
        annotations.retain(|name, _| name == "pointsman.dev/created-from");
        object
    };
    let kept = deployment();
    for (call, tried, now, deletes, made, goes) in [
        (ObjectCall::Create(deployment()), &kept, &stripped, 200, 1, true),
        (ObjectCall::Create(deployment()), &kept, &stripped, 403, 1, true),
        (ObjectCall::Create(deployment()), &kept, &without_theirs, 200, 1, false),
        (ObjectCall::Create(deployment()), &stripped, &kept, 200, 0, false),
        (ObjectCall::Succeed(deployment()), &stripped, &stripped, 200, 1, false),
    ] {
        let (tried, now) = (tried.to_string(), now.to_string());
        let server = SmallServer::start(move |path| match path.contains("/deployments?") {
            true if path.contains("dryRun=All") => Manner::Says(answer(201, &tried)),
            true => Manner::Says(answer(201, &now)),
            false => says(deletes, "no"),
        });
        let landed = against(&server, async |cluster| makes(cluster, &write(call)).await);
        assert_eq!(server.heads().iter().any(|head| head.starts_with("DELETE")), goes);
        assert_eq!(posts(&server), made);
        match landed {
            WriteOutcome::Refused(why) if goes || made == 0 => {
                let then = match (made, deletes) {
                    (0, _) => "no object was created",
                    (_, 200) => "the object was deleted again",
                    _ => "cannot delete the object",
                };
                assert!(
                    why.contains("does not keep the annotation pointsman.dev/created-from") && why.contains(then),
                    "{why}"
                );
            }
            WriteOutcome::Written(_) if !goes => {}
            other => panic!("{other:?}"),
        }
    }
}

/// If a webhook does not support dry runs, the object is created, and checked afterwards.
#[test]
fn dry_run_needs_support() {
    let server = SmallServer::start(|path| match path.contains("dryRun=All") {
        true => says(400, "admission webhook \"w\" does not support dry run"),
        false => Manner::Says(answer(201, &deployment().to_string())),
    });
    let one = write(ObjectCall::Create(deployment()));
    let landed = against(&server, async |cluster| makes(cluster, &one).await);
    assert!(matches!(landed, WriteOutcome::Written(_)) && posts(&server) == 1, "{landed:?}");
    // A lost response to a dry run leaves no pending write.
    let server = SmallServer::start(|_| Manner::Says(Vec::new()));
    let landed = against(&server, async |cluster| makes(cluster, &one).await);
    assert!(matches!(&landed, WriteOutcome::Later(error) if !error.leaves_open()) && posts(&server) == 0, "{landed:?}");
}
