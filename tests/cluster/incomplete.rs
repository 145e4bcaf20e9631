//! Readers never pay: an object that another version cannot hold fails no list, before, during and after a flip of the
//! storage version. Who writes it is refused, by the policy that is printed with the CRD, and by `/validate`.

use hyper::Method;
use serde_json::{Value, json};

use crate::losses::PARCELS;
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::process::{SOON, eventually};
use crate::support::scene::Scene;
use crate::support::side_by_side::{A, SideBySide};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("oversized_objects_fail_no_reader", flip).of(&PARCELS).newest(),
    Scenario::new("oversized_objects_are_refused_on_write", validated).of(&PARCELS).newest(),
    Scenario::new("dropped_data_is_marked", unguarded).of(&PARCELS).newest(),
];

const MARK: &str = "pointsman.dev/incomplete";

/// More than an annotation can hold.
fn big() -> String {
    "x".repeat(300_000)
}

fn parcel(scene: &Scene<'_>, version: &str, name: &str, field: &str, value: &str) -> Value {
    scene.with_spec(version, name, json!({"image": "i", field: value}))
}

/// Lists and gets answer at both versions. Returns the marks, by version.
#[track_caller]
fn readable(scene: &Scene<'_>, name: &str) -> [Option<String>; 2] {
    [scene.sample.old, scene.sample.new].map(|version| {
        for query in ["", "?resourceVersion=0", "?limit=2"] {
            let path = format!("{}{query}", scene.all(version));
            // After a change of the CRD caches are filled anew, and send readers away until they are.
            let list = || Some(scene.call(Method::GET, &path, None)).filter(|answer| answer.code != 429);
            scene.eventually(list).ok();
        }
        let object = scene.get(version, name).ok();
        object["metadata"]["annotations"][MARK].as_str().map(str::to_owned)
    })
}

/// However it is written at this version, it is refused, and what is stored stays as it is.
#[track_caller]
fn refused(scene: &Scene<'_>, version: &str, name: &str, kept: &str) {
    let stored = scene.etcd(name);
    let read = scene.get(version, name).ok();
    let mut fresh = read.clone();
    fresh["metadata"].as_object_mut().unwrap().remove("annotations");
    let applied = scene.with_spec(version, name, json!({"image": "other"}));
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let answers = [
        ("an update", scene.update(version, name, &read)),
        ("a patch", scene.patch(version, name, &label)),
        ("a status", scene.patch(version, &format!("{name}/status"), &json!({"status": {"phase": "x"}}))),
        ("an apply", scene.force_apply(version, name, &applied, "x")),
        ("a replacement", scene.update(version, name, &fresh)),
    ];
    for (what, answer) in answers {
        explained(&answer, kept, what);
    }
    assert_eq!(scene.etcd(name), stored);
}

#[track_caller]
fn explained(answer: &Answer, kept: &str, what: &str) {
    let message = answer.fails(422);
    assert!(message.contains(kept), "{what}: {message}");
    assert!(message.len() < 1500, "{what}: {message}");
}

/// Applies the policy that is printed for a stored version, and waits until it refuses this object at that version.
pub(crate) fn guard(scene: &Scene<'_>, storage: &str, version: &str, refused: &Value) {
    let policy = scene.printed_policy(storage);
    scene.kubectl(&["apply"], &policy);
    let path = format!("{}?dryRun=All", scene.all(version));
    eventually("the policy is in force", SOON, || {
        let answer = scene.post(&path, refused);
        (answer.code == 422 && answer.message().contains(&format!("{storage} is stored"))).then_some(())
    });
}

fn flip(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    guard(scene, old, new, &parcel(scene, new, "probe", "extra", &big()));
    // Before: the old version is stored.
    scene.create(old, &scene.object(old, "small")).ok();
    for name in ["a", "b", "c"] {
        scene.create(old, &parcel(scene, old, name, "note", &big())).ok();
    }
    let of_old = "pointsman.dev/kept-v1";
    assert_eq!(readable(scene, "a"), [None, Some(of_old.to_owned())]);
    refused(scene, new, "a", of_old);
    explained(&scene.create(new, &parcel(scene, new, "d", "extra", &big())), "pointsman.dev/kept-v2", "a creation");
    scene.patch(old, "a", &json!({"metadata": {"labels": {"c": "d"}}})).ok();
    scene.patch(new, "small", &json!({"metadata": {"labels": {"c": "d"}}})).ok();
    // What goes may go, at whatever version.
    scene.patch(old, "c", &json!({"metadata": {"finalizers": ["example.com/hold"]}})).ok();
    scene.delete(new, "c").ok();
    scene.patch(new, "c", &json!({"metadata": {"finalizers": null}})).ok();
    assert_eq!(scene.get(new, "c").code, 404);
    // During: the new version is stored, and these objects are not yet.
    guard(scene, new, old, &parcel(scene, old, "probe", "note", &big()));
    scene.store(new);
    assert_eq!(readable(scene, "a"), [None, Some(of_old.to_owned())]);
    refused(scene, new, "a", of_old);
    let label = json!({"metadata": {"labels": {"e": "f"}}});
    explained(&scene.patch(old, "a", &label), of_old, "what the new version cannot hold");
    scene.patch(old, "a", &json!({"spec": {"note": "n"}})).ok();
    assert_eq!(scene.etcd("a")["apiVersion"], format!("{}/{new}", scene.group));
    assert_eq!(readable(scene, "a"), [None, None]);
    scene.patch(new, "small", &label).ok();
    assert_eq!(readable(scene, "b"), [None, Some(of_old.to_owned())]);
    scene.delete(new, "b").ok();
    // After: the policy of the old version goes, with which large objects of the new one were refused.
    explained(&scene.create(new, &parcel(scene, new, "d", "extra", &big())), "pointsman.dev/kept-v2", "too early");
    scene.forget_policy(old);
    scene.eventually(|| scene.create(new, &parcel(scene, new, "d", "extra", &big())).is_ok().then_some(()));
    assert_eq!(readable(scene, "d"), [Some("pointsman.dev/kept-v2".to_owned()), None]);
    refused(scene, old, "d", "pointsman.dev/kept-v2");
    explained(&scene.create(old, &parcel(scene, old, "e", "note", &big())), of_old, "a creation");
    scene.patch(new, "d", &label).ok();
    assert_eq!(scene.get(old, "a").ok()["spec"]["note"], "n");
    scene.forget_policy(new);
}

fn validated(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(new, &parcel(scene, new, "before", "extra", &big())).ok();
    let servers = SideBySide::start(scene, &[A], &[]);
    servers.register("deny");
    // What no served version may lack, in whichever it is written.
    for (version, field) in [(old, "note"), (new, "extra")] {
        let answer = scene.create(version, &parcel(scene, version, "a", field, &big()));
        explained(&answer, "cannot hold this object", "a creation");
        scene.create(version, &parcel(scene, version, version, field, "short")).ok();
        explained(
            &scene.patch(version, version, &json!({"spec": {field: big()}})),
            "cannot hold this object",
            "a patch",
        );
    }
    // What was there before may stay, and is not written by who cannot see all of it.
    let warned = scene.patch(new, "before", &json!({"metadata": {"labels": {"a": "b"}}}));
    assert!(warned.warnings.concat().contains("it was so before"), "{:?}", warned.warnings);
    warned.ok();
    assert_eq!(readable(scene, "before"), [Some("pointsman.dev/kept-v2".to_owned()), None]);
    let seen = scene.get(old, "before").ok();
    explained(&scene.update(old, "before", &seen), "pointsman.dev/kept-v2", "an update");
    assert_eq!(scene.etcd("before")["spec"]["extra"], big());
    scene.keep(servers.servers);
}

/// Nobody refuses, and nobody who reads fails. What is gone can be seen.
fn unguarded(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    scene.create(old, &parcel(scene, old, "a", "note", &big())).ok();
    assert_eq!(scene.etcd("a")["metadata"]["annotations"][MARK], "pointsman.dev/kept-v1");
    let mark = Some("pointsman.dev/kept-v1".to_owned());
    assert_eq!(readable(scene, "a"), [mark.clone(), mark]);
    // Annotations that leave no room for any of ours.
    let mut full = scene.object(new, "full");
    full["metadata"]["annotations"] = json!({"a": "x".repeat(262_143)});
    full["spec"]["extra"] = json!("e");
    scene.create(new, &full).ok();
    assert_eq!(readable(scene, "full"), [None, None]);
    // A mark that somebody made up is carried, and can be removed.
    let mut forged = scene.object(old, "forged");
    forged["metadata"]["annotations"] = json!({MARK: "made up"});
    scene.create(old, &forged).ok();
    let made_up = Some("made up".to_owned());
    assert_eq!(readable(scene, "forged"), [made_up.clone(), made_up]);
    scene.store(old);
    readable(scene, "forged");
    guard(scene, old, new, &parcel(scene, new, "probe", "extra", &big()));
    scene.patch(old, "forged", &json!({"metadata": {"annotations": {MARK: null}}})).ok();
    assert_eq!(readable(scene, "forged"), [None, None]);
    assert_eq!(scene.call(Method::GET, &scene.one(new, "full"), None).code, 200);
    scene.forget_policy(old);
}
