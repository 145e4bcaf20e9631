//! Writes of steps to other objects, and lookups of other objects, over real sockets.

use kube::{Client, Config};
use pointsman_core::definition::Kind;
use pointsman_rollout::{
    FleetObject, LookupResults, ObjectCall, ObjectWrite, PreconditionObject, Propagation, Replacement,
    ReplacementObject, Rollout, RolloutStatus, answered_rollout, step_lookups,
};
use serde_json::{Value, json};

use super::super::lookups::{Compiled, perform_lookups};
use super::super::object_steps::write_object;
use super::super::remote_lookups::RemoteLookups;
use super::super::writes::WriteOutcome;
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::web::tests::{Manner, SmallServer, answer, waited};

/// Runs work against an API server with these responses.
pub(in crate::rollout) fn against<T>(server: &SmallServer, work: impl AsyncFnOnce(&Cluster) -> T) -> T {
    waited(async {
        let mut config = Config::new(server.url("").parse().unwrap());
        config.default_retry = false;
        work(&Cluster::new(Client::try_from(config).unwrap(), server.url(""))).await
    })
}

pub(in crate::rollout) fn says(code: u16, message: &str) -> Manner {
    let status = json!({"kind": "Status", "status": "Failure", "code": code, "message": message});
    Manner::Says(answer(code, &status.to_string()))
}

/// The discovery response for a group.
fn group(path: &str) -> Option<Manner> {
    let apps = json!({"preferredVersion": {"groupVersion": "apps/v1"}});
    (path == "/apis/apps").then(|| Manner::Says(answer(200, &apps.to_string())))
}

pub(super) fn write(call: ObjectCall) -> ObjectWrite {
    let [plural, group, name, of] = ["deployments", "apps", "a", "n/a"].map(str::to_owned);
    let (namespace, uid) = (Some("n".to_owned()), "u".to_owned());
    ObjectWrite { cluster: None, plural, group, version: None, namespace, name, call, of, uid }
}

pub(super) async fn writes(cluster: &Cluster, one: &ObjectWrite) -> Result<WriteOutcome, CallError> {
    write_object(cluster, &[], &mut RemoteLookups::default(), one).await
}

/// Attempts a deletion whose replacement gets this dry-run response. Returns the result, and whether a deletion was
/// requested.
fn makes_way(code: u16, message: &'static str) -> (Result<WriteOutcome, CallError>, bool) {
    makes_way_beside(code, message, &json!([]))
}

/// The same with these ReplicaSets.
fn makes_way_beside(code: u16, message: &'static str, sets: &Value) -> (Result<WriteOutcome, CallError>, bool) {
    let sets = json!({"items": sets}).to_string();
    let server = SmallServer::start(move |path| match group(path) {
        Some(manner) => manner,
        None if path.contains("/replicasets?labelSelector=app%3Da%2Cold%3Da") => Manner::Says(answer(200, &sets)),
        None if path.contains("/replicasets") => says(400, "no such labels"),
        None if path.contains("/selfsubjectreviews?dryRun=All") => {
            Manner::Says(answer(201, &json!({"metadata": {"creationTimestamp": "2026-11-20T10:48:40Z"}}).to_string()))
        }
        None if path.contains("/deployments?dryRun=All&") => says(code, message),
        None => Manner::Says(answer(200, "{}")),
    });
    let successor = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}});
    let call = ObjectCall::Delete {
        uid: "d".to_owned(),
        resource_version: "7".to_owned(),
        propagation: Propagation::Orphan,
        replacement: Some(Box::new(Replacement::Successor(ReplacementObject {
            object: successor,
            owned: ("replicasets".to_owned(), "apps".to_owned()),
            labels: "app=a,old=a".to_owned(),
        }))),
    };
    let landed = against(&server, async |cluster| writes(cluster, &write(call)).await);
    (landed, server.heads().iter().any(|head| head.starts_with("DELETE")))
}

#[test]
fn rights_are_checked_before_delete() {
    let there = "deployments.apps \"a\" already exists";
    let counted = "deployments.apps \"a\" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: \
                   count/deployments.apps=3, limited: count/deployments.apps=3";
    for (code, message) in [(409, there), (403, counted), (201, "{}")] {
        let (landed, is_deleted) = makes_way(code, message);
        assert!(matches!(landed, Ok(WriteOutcome::Written(_))) && is_deleted, "{code} {message}: {landed:?}");
    }
    let denied = "admission webhook \"w\" denied the request: nobody cannot set that";
    let reference = "deployments.apps \"a\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a \
                     resource you can't set finalizers on: , <nil>";
    let takes = ": this needs `update` of `finalizers` of its owners; pointsman rollout rights --guarded-owners prints the role";
    for (code, message, next) in [
        (403, denied, ""),
        (403, reference, takes),
        (422, "spec.selector: Invalid value", ""),
        (400, "no", ""),
        (404, "no", ""),
    ] {
        let (landed, is_deleted) = makes_way(code, message);
        let Ok(WriteOutcome::Refused(why)) = landed else { panic!("{code} {message}: {landed:?}") };
        let end = format!("{message}{next}");
        assert!(why.ends_with(&end) && why.contains("the old object was not deleted") && !is_deleted, "{why}");
    }
    for (code, message) in [(503, "busy"), (409, "Operation cannot be fulfilled on resourcequotas \"q\"")] {
        let (landed, is_deleted) = makes_way(code, message);
        assert!(matches!(landed, Ok(WriteOutcome::Later(_))) && !is_deleted, "{code} {message}: {landed:?}");
    }
    let rights =
        "deployments.apps is forbidden: User \"u\" cannot create resource \"deployments\" in API group \"apps\"";
    let (landed, is_deleted) = makes_way(403, rights);
    assert!(landed.is_err() && !is_deleted, "{landed:?}");
}

/// The garbage collector would delete dependents that it has not observed yet.
#[test]
fn delete_waits_for_dependents() {
    let there = "deployments.apps \"a\" already exists";
    let owners = |uid: &str| json!([{"kind": "Deployment", "name": "a", "uid": uid, "controller": true}]);
    let set = |since: &str, owners: &Value| json!([{"metadata": {"name": "a-1", "creationTimestamp": since, "ownerReferences": owners}}]);
    let (landed, is_deleted) = makes_way_beside(409, there, &set("2026-11-20T10:48:30Z", &owners("d")));
    assert!(matches!(landed, Ok(WriteOutcome::Written(_))) && is_deleted, "{landed:?}");
    for (since, owners, cause) in
        [("2026-11-20T10:48:31Z", owners("d"), "a-1 "), ("2026-11-20T09:00:00Z", json!([]), "the ownership of a-1 ")]
    {
        let (landed, is_deleted) = makes_way_beside(409, there, &set(since, &owners));
        let Ok(WriteOutcome::NotYet(why)) = landed else { panic!("{landed:?}") };
        let expected = format!("deployments.apps n/a is not deleted yet: {cause}");
        assert!(why.starts_with(&expected) && !is_deleted, "{why}");
    }
}

/// Attempts the deletion of an object for a counterpart, which is read as `found` and whose write gets the response
/// `written`. Returns the result, and whether a deletion was requested.
fn leaves(written: Vec<u8>, found: Vec<u8>) -> (Result<WriteOutcome, CallError>, bool) {
    let server = SmallServer::start(move |path| match group(path) {
        Some(manner) => manner,
        None if path == "/apis/example.com/v1/namespaces/n/newapps/a" => Manner::Says(found.clone()),
        None if path.starts_with("/apis/example.com/v1/namespaces/n/newapps/a?") => Manner::Says(written.clone()),
        None => Manner::Says(answer(200, "{}")),
    });
    let [plural, group, version, name, uid] = ["newapps", "example.com", "v1", "a", "h"].map(str::to_owned);
    let annotation = Some(("made-of".to_owned(), "d".to_owned()));
    let counterpart = PreconditionObject { plural, group, version, name, uid, annotation };
    let call = ObjectCall::Delete {
        uid: "d".to_owned(),
        resource_version: "7".to_owned(),
        propagation: Propagation::Orphan,
        replacement: Some(Box::new(Replacement::Counterpart(counterpart))),
    };
    let landed = against(&server, async |cluster| writes(cluster, &write(call)).await);
    (landed, server.heads().iter().any(|head| head.starts_with("DELETE")))
}

fn there(metadata: &Value) -> Vec<u8> {
    answer(200, &json!({"metadata": metadata}).to_string())
}

fn no(code: u16, message: &str) -> Vec<u8> {
    answer(code, &json!({"code": code, "message": message}).to_string())
}

/// The remaining object, with the annotation that identifies it.
fn fits() -> Vec<u8> {
    there(&json!({"uid": "h", "annotations": {"made-of": "d"}}))
}

/// Another client may delete the counterpart between the read and the deletion. Then neither object would remain.
#[test]
fn delete_of_missing_owner_is_skipped() {
    let unsaid = "has lost made-of: d; set the value again";
    for (found, told) in [
        (there(&json!({"uid": "h", "deletionTimestamp": "2026-11-20T10:48:31Z"})), "is being deleted"),
        (there(&json!({"uid": "another one"})), "no longer exists"),
        (no(404, "newapps.example.com \"a\" not found"), "no longer exists"),
        (there(&json!({"uid": "h", "annotations": {"made-of": "another"}})), unsaid),
        (there(&json!({"uid": "h"})), unsaid),
    ] {
        let (landed, is_deleted) = leaves(no(500, "nobody asks"), found);
        let Ok(WriteOutcome::NotYet(why)) = landed else { panic!("{landed:?}") };
        assert_eq!(why, format!("deployments.apps n/a is not deleted: newapps.example.com n/a {told}"));
        assert!(!is_deleted);
    }
    let (landed, is_deleted) = leaves(fits(), no(500, "conversion failed"));
    let unread = "deployments.apps n/a is not deleted: newapps.example.com n/a cannot be read: ";
    assert!(matches!(&landed, Ok(WriteOutcome::Refused(why)) if why.starts_with(unread)) && !is_deleted, "{landed:?}");
    for busy in [leaves(no(503, "busy"), fits()), leaves(fits(), no(503, "busy"))] {
        assert!(matches!(busy.0, Ok(WriteOutcome::Later(_))) && !busy.1, "{busy:?}");
    }
}

/// The write of the counterpart counts: it changes the object, so that a late deletion of the earlier state fails.
#[test]
fn kept_object_is_written_first() {
    let says = |state: &str| {
        there(&json!({"uid": "h", "annotations": {"made-of": "d", "pointsman.dev/source-resource-version": state}}))
    };
    let (landed, is_deleted) = leaves(says("7"), fits());
    assert!(matches!(landed, Ok(WriteOutcome::Written(_))) && is_deleted, "{landed:?}");
    // A policy removes the annotation again: the response is 200 without an effect.
    for answered in [fits(), says("6")] {
        let (landed, is_deleted) = leaves(answered, fits());
        let why = "n/a does not keep the annotation pointsman.dev/source-resource-version: a mutating webhook or policy removes the annotation";
        assert!(matches!(&landed, Ok(WriteOutcome::Refused(said)) if said.contains(why)) && !is_deleted, "{landed:?}");
    }
    // After a kill, the runner skips the repeated write.
    let (landed, is_deleted) = leaves(no(403, "no"), says("7"));
    assert!(matches!(landed, Ok(WriteOutcome::Written(_))) && is_deleted, "{landed:?}");
    assert!(!leaves(no(403, "admission webhook"), says("6")).1, "it was another state of the other one");
    let whose = "deployments.apps n/a is not deleted: newapps.example.com n/a cannot be written: ";
    // A rejection of the counterpart, such as for its size, concerns only these two objects.
    for (code, message) in [(403, "admission webhook \"a\" denied the request: no"), (500, "request is too large")] {
        let (landed, is_deleted) = leaves(no(code, message), fits());
        assert!(
            matches!(&landed, Ok(WriteOutcome::Refused(why)) if why.starts_with(whose)) && !is_deleted,
            "{landed:?}"
        );
    }
    for (code, message) in [(404, "not found"), (409, "conflict"), (422, "the server rejected our request")] {
        let (landed, is_deleted) = leaves(no(code, message), fits());
        assert!(
            matches!(&landed, Ok(WriteOutcome::NotYet(why)) if why.ends_with(message)) && !is_deleted,
            "{landed:?}"
        );
    }
    let going = json!({"uid": "h", "annotations": {"made-of": "d"}, "deletionTimestamp": "2026-11-20T10:48:31Z"});
    let (landed, is_deleted) = leaves(there(&going), fits());
    assert!(matches!(&landed, Ok(WriteOutcome::NotYet(why)) if why.ends_with("is being deleted")), "{landed:?}");
    assert!(!is_deleted);
}

/// A write that fails each time would delay all later writes.
#[test]
fn failure_stays_with_its_object() {
    let server =
        SmallServer::start(|path| group(path).unwrap_or_else(|| says(500, "etcdserver: request is too large")));
    let call = || ObjectCall::Create(json!({"apiVersion": "apps/v1", "kind": "ControllerRevision"}));
    let landed = against(&server, async |cluster| writes(cluster, &write(call())).await);
    assert!(matches!(&landed, Ok(WriteOutcome::Refused(why)) if why.contains("too large")), "{landed:?}");
    let server = SmallServer::start(|path| group(path).unwrap_or_else(|| says(429, "too many")));
    let landed = against(&server, async |cluster| writes(cluster, &write(call())).await);
    assert!(matches!(landed, Ok(WriteOutcome::Later(_))), "{landed:?}");
}

/// A new object of the same name does not receive the error.
#[test]
fn only_target_gets_refusal() {
    for (uid, is_told) in [("u", true), ("another", false)] {
        let found = json!({"metadata": {"uid": uid, "resourceVersion": "7"}});
        let server = SmallServer::start(move |path| {
            group(path).unwrap_or_else(|| Manner::Says(answer(200, &found.to_string())))
        });
        let call = ObjectCall::ReportRefusal(json!({"status": {"error": "no"}}));
        let landed = against(&server, async |cluster| writes(cluster, &write(call)).await);
        assert_eq!(matches!(landed, Ok(WriteOutcome::Written(_))), is_told, "{landed:?}");
        assert_eq!(server.heads().iter().any(|head| head.starts_with("PATCH")), is_told);
    }
}

const DEFINITION: &str = "apiVersion: pointsman.dev/v1
kind: KindDefinition
crd: newapps.crd.yaml
health: {all: [{field: status.state, is: stable}]}
replaces:
  from: {crd: oldapps.crd.yaml, version: v1, health: {all: [{field: status.state, is: stable}]}}
  to: v1
  operations: []
workflows:
  moves:
  - {name: convert, convert: {}}
  - {name: adopt, adopt: {resources: [services, things.example.org]}}
  - name: pods
    delete: {resource: replicaset.apps, labels: \"oldapp={name}\"}
    irreversible: they are gone
  - {name: oldapp, delete: {on: source}, irreversible: it is gone}
";

fn crd(group: &str, kind: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "properties": {
        "status": {"type": "object", "properties": {"state": {"type": "string"}}},
    }});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let names = json!({"kind": kind, "plural": plural});
    let spec = json!({"group": group, "names": names, "scope": "Namespaced", "versions": [version]});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")}, "spec": spec,
    })
    .to_string()
}

/// The lookup results for an oldapp with this many applied steps, from an API server with these responses.
fn known(steps: usize, server: &SmallServer) -> String {
    let mut read = |file: &str| {
        Ok(if file == "oldapps.crd.yaml" { crd("was.example.com", "OldApp") } else { crd("example.com", "NewApp") })
    };
    let kind = Kind::load("newapp.yaml", DEFINITION, &mut read).unwrap_or_else(|error| panic!("{error}"));
    let spec = json!({
        "kind": "newapp", "workflow": "moves", "to": "v1", "acceptedRisks": ["pods", "oldapp"], "waves": [{"name": "all"}],
    });
    let rollout = json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "u"}, "spec": spec});
    let rollout: Rollout = answered_rollout(&rollout, &kind).unwrap();
    let mark = json!({"rollout": "u", "was": null, "to": "v1", "at": "2026-11-18T10:00:00Z", "step": {"all": steps}});
    let oldapp = json!({"metadata": {
        "name": "h", "namespace": "n", "uid": "oldapp", "annotations": {"pointsman.dev/rollout": mark.to_string()},
    }});
    let reserved = json!([{"object": "n/h", "uid": "oldapp", "since": "2026-11-18T10:00:00Z", "wave": "all"}]);
    let status = RolloutStatus::of(&json!({"status": {"started": "2026-11-18T10:00:00Z", "inFlight": reserved}}));
    let fleet: Vec<FleetObject> = FleetObject::of(&oldapp, &rollout).into_iter().collect();
    let lookups = step_lookups(&rollout, &status, &fleet);
    let mut answers = LookupResults::default();
    against(server, async |cluster| {
        perform_lookups(cluster, Compiled { kind: &kind, mutated: &[] }, &lookups, &mut answers).await
    })
    .unwrap();
    format!("{answers:?}")
}

/// An aggregated API that is unavailable may have dependents of the object.
#[test]
fn unserved_api_keeps_owners() {
    let answers = |freshness: &'static str| {
        SmallServer::start(move |path| match path {
            "/api" => Manner::Says(answer(200, "{\"items\": []}")),
            "/apis" => {
                let version = json!({"version": "v1", "freshness": freshness, "resources": []});
                let items = json!([{"metadata": {"name": "things.example.org"}, "versions": [version]}]);
                Manner::Says(answer(200, &json!({"items": items}).to_string()))
            }
            _ => Manner::Says(answer(404, "{}")),
        })
    };
    let why = "things.example.org/v1 is not served now: its dependents are unknown";
    let (stale, current) = (known(3, &answers("Stale")), known(3, &answers("Current")));
    assert!(stale.contains(why), "{stale}");
    assert!(!current.contains("is not served now"), "{current}");
}

/// An unavailable aggregated resource delays only the objects that need it.
#[test]
fn unreadable_resource_spares_other_lookups() {
    let server = SmallServer::start(|path| match path {
        "/apis/things.example.org" | "/apis/example.org" => says(503, "the server is currently unable to handle it"),
        path if path.contains("/services") => says(500, "conversion webhook for things failed: Post \"https://a\""),
        _ => Manner::Says(answer(200, "{\"items\": []}")),
    });
    let told = known(1, &server);
    assert!(told.contains("currently unable to handle it") && told.contains("conversion webhook"), "{told}");
}

/// A misspelled resource has no objects, and the deletion step does not count as applied.
#[test]
fn deleted_resource_must_exist() {
    let server = SmallServer::start(|path| match group(path) {
        Some(manner) => manner,
        None => says(404, "the server could not find the requested resource"),
    });
    let told = known(2, &server);
    assert!(told.contains("replicaset") && told.contains("could not find the requested resource"), "{told}");
    // Dependents to be transferred are read again before the deletion: there may be none.
    let told = known(1, &server);
    assert!(!told.contains("metadata services of n\"): Err"), "{told}");
}
