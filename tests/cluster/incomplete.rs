//! Reads never fail: an object that another version cannot represent fails no list, before, during and after a change
//! of the storage version. Writes of such objects are refused by the policy that is printed with the CRD, and by
//! `/validate`.

use hyper::Method;
use serde_json::{Value, json};

use crate::losses::PARCELS;
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::TestContext;
use crate::support::process::{SOON, eventually};
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

fn parcel(ctx: &TestContext<'_>, version: &str, name: &str, field: &str, value: &str) -> Value {
    ctx.with_spec(version, name, json!({"image": "i", field: value}))
}

/// Checks that lists and gets succeed at both versions. Returns the annotations by version.
#[track_caller]
fn readable(ctx: &TestContext<'_>, name: &str) -> [Option<String>; 2] {
    [ctx.sample.old, ctx.sample.new].map(|version| {
        for query in ["", "?resourceVersion=0", "?limit=2"] {
            let path = format!("{}{query}", ctx.all(version));
            // After a change of the CRD the caches are filled again, and reject reads meanwhile.
            let list = || Some(ctx.call(Method::GET, &path, None)).filter(|answer| answer.code != 429);
            ctx.eventually(list).ok();
        }
        let object = ctx.get(version, name).ok();
        object["metadata"]["annotations"][MARK].as_str().map(str::to_owned)
    })
}

/// Checks that every write at this version is refused, and that the stored object stays unchanged.
#[track_caller]
fn refused(ctx: &TestContext<'_>, version: &str, name: &str, kept: &str) {
    let stored = ctx.etcd(name);
    let read = ctx.get(version, name).ok();
    let mut fresh = read.clone();
    fresh["metadata"].as_object_mut().unwrap().remove("annotations");
    let applied = ctx.with_spec(version, name, json!({"image": "other"}));
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let answers = [
        ("an update", ctx.update(version, name, &read)),
        ("a patch", ctx.patch(version, name, &label)),
        ("a status", ctx.patch(version, &format!("{name}/status"), &json!({"status": {"phase": "x"}}))),
        ("an apply", ctx.force_apply(version, name, &applied, "x")),
        ("a replacement", ctx.update(version, name, &fresh)),
    ];
    for (what, answer) in answers {
        explained(&answer, kept, what);
    }
    assert_eq!(ctx.etcd(name), stored);
}

#[track_caller]
fn explained(answer: &Answer, kept: &str, what: &str) {
    let message = answer.fails(422);
    assert!(message.contains(kept), "{what}: {message}");
    assert!(message.len() < 1500, "{what}: {message}");
}

/// Applies the policy for a storage version, and waits until the policy refuses this object at that version.
pub(crate) fn guard(ctx: &TestContext<'_>, storage: &str, version: &str, refused: &Value) {
    let policy = ctx.printed_policy(storage);
    ctx.kubectl(&["apply"], &policy);
    let path = format!("{}?dryRun=All", ctx.all(version));
    eventually("the policy is in force", SOON, || {
        let answer = ctx.post(&path, refused);
        (answer.code == 422 && answer.message().contains(&format!("{storage} is stored"))).then_some(())
    });
}

fn flip(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    guard(ctx, old, new, &parcel(ctx, new, "probe", "extra", &big()));
    // Before: the old version is stored.
    ctx.create(old, &ctx.object(old, "small")).ok();
    for name in ["a", "b", "c"] {
        ctx.create(old, &parcel(ctx, old, name, "note", &big())).ok();
    }
    let of_old = "pointsman.dev/kept-v1";
    assert_eq!(readable(ctx, "a"), [None, Some(of_old.to_owned())]);
    refused(ctx, new, "a", of_old);
    explained(&ctx.create(new, &parcel(ctx, new, "d", "extra", &big())), "pointsman.dev/kept-v2", "a creation");
    ctx.patch(old, "a", &json!({"metadata": {"labels": {"c": "d"}}})).ok();
    ctx.patch(new, "small", &json!({"metadata": {"labels": {"c": "d"}}})).ok();
    // A terminating object may be deleted, at either version.
    ctx.patch(old, "c", &json!({"metadata": {"finalizers": ["example.com/hold"]}})).ok();
    ctx.delete(new, "c").ok();
    ctx.patch(new, "c", &json!({"metadata": {"finalizers": null}})).ok();
    assert_eq!(ctx.get(new, "c").code, 404);
    // During: the new version is the storage version, and these objects are stored in the old version.
    guard(ctx, new, old, &parcel(ctx, old, "probe", "note", &big()));
    ctx.store(new);
    assert_eq!(readable(ctx, "a"), [None, Some(of_old.to_owned())]);
    refused(ctx, new, "a", of_old);
    let label = json!({"metadata": {"labels": {"e": "f"}}});
    explained(&ctx.patch(old, "a", &label), of_old, "values without a place in the new version");
    ctx.patch(old, "a", &json!({"spec": {"note": "n"}})).ok();
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{new}", ctx.group));
    assert_eq!(readable(ctx, "a"), [None, None]);
    ctx.patch(new, "small", &label).ok();
    assert_eq!(readable(ctx, "b"), [None, Some(of_old.to_owned())]);
    ctx.delete(new, "b").ok();
    // After: deletes the policy of the old version, which refused large objects of the new version.
    explained(&ctx.create(new, &parcel(ctx, new, "d", "extra", &big())), "pointsman.dev/kept-v2", "too early");
    ctx.forget_policy(old);
    ctx.eventually(|| ctx.create(new, &parcel(ctx, new, "d", "extra", &big())).is_ok().then_some(()));
    assert_eq!(readable(ctx, "d"), [Some("pointsman.dev/kept-v2".to_owned()), None]);
    refused(ctx, old, "d", "pointsman.dev/kept-v2");
    explained(&ctx.create(old, &parcel(ctx, old, "e", "note", &big())), of_old, "a creation");
    ctx.patch(new, "d", &label).ok();
    assert_eq!(ctx.get(old, "a").ok()["spec"]["note"], "n");
    ctx.forget_policy(new);
}

fn validated(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(new, &parcel(ctx, new, "before", "extra", &big())).ok();
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    // An object that some served version cannot represent is refused, at every version.
    for (version, field) in [(old, "note"), (new, "extra")] {
        let answer = ctx.create(version, &parcel(ctx, version, "a", field, &big()));
        explained(&answer, "cannot represent this object", "a creation");
        ctx.create(version, &parcel(ctx, version, version, field, "short")).ok();
        explained(
            &ctx.patch(version, version, &json!({"spec": {field: big()}})),
            "cannot represent this object",
            "a patch",
        );
    }
    // Earlier objects may stay; a client that cannot read a whole object cannot write that object.
    let warned = ctx.patch(new, "before", &json!({"metadata": {"labels": {"a": "b"}}}));
    assert!(warned.warnings.concat().contains("existed before"), "{:?}", warned.warnings);
    warned.ok();
    assert_eq!(readable(ctx, "before"), [Some("pointsman.dev/kept-v2".to_owned()), None]);
    let seen = ctx.get(old, "before").ok();
    explained(&ctx.update(old, "before", &seen), "pointsman.dev/kept-v2", "an update");
    assert_eq!(ctx.etcd("before")["spec"]["extra"], big());
    ctx.keep(servers.servers);
}

/// No policy refuses writes, and no read fails. The data loss is visible.
fn unguarded(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(old, &parcel(ctx, old, "a", "note", &big())).ok();
    assert_eq!(ctx.etcd("a")["metadata"]["annotations"][MARK], "pointsman.dev/kept-v1");
    let mark = Some("pointsman.dev/kept-v1".to_owned());
    assert_eq!(readable(ctx, "a"), [mark.clone(), mark]);
    // Annotations that leave no space for pointsman's annotations.
    let mut full = ctx.object(new, "full");
    full["metadata"]["annotations"] = json!({"a": "x".repeat(262_143)});
    full["spec"]["extra"] = json!("e");
    ctx.create(new, &full).ok();
    assert_eq!(readable(ctx, "full"), [None, None]);
    // A forged annotation is carried along, and can be removed.
    let mut forged = ctx.object(old, "forged");
    forged["metadata"]["annotations"] = json!({MARK: "made up"});
    ctx.create(old, &forged).ok();
    let made_up = Some("made up".to_owned());
    assert_eq!(readable(ctx, "forged"), [made_up.clone(), made_up]);
    ctx.store(old);
    readable(ctx, "forged");
    guard(ctx, old, new, &parcel(ctx, new, "probe", "extra", &big()));
    ctx.patch(old, "forged", &json!({"metadata": {"annotations": {MARK: null}}})).ok();
    assert_eq!(readable(ctx, "forged"), [None, None]);
    assert_eq!(ctx.call(Method::GET, &ctx.one(new, "full"), None).code, 200);
    ctx.forget_policy(old);
}
