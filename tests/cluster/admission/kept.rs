//! Stamped and kept values on a real API server, which never block a client.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, SideBySide};
use crate::support::verbs::assert_holds;

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("replace_at_old_version_keeps_fields", replaced).of(&ENGINES),
    Scenario::new("repeated_apply_keeps_the_stamps", stamped).of(&ENGINES).newest(),
    Scenario::new("invalid_stored_objects_are_never_stuck", invalid).of(&ENGINES).newest(),
];

const HASH: &str = "rollout-hash";

/// One controller version, registered for a CRD with the desired storage version.
fn registered<'a>(ctx: &'a TestContext<'a>, storage: &str) -> SideBySide<'a> {
    ctx.install(&ctx.printed_crd(&["--storage", storage]));
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    servers
}

/// Checks that the label and the hash exist, and that the hash equals the output of `pointsman hash`.
#[track_caller]
fn assert_stamped(ctx: &TestContext<'_>, object: &Value) {
    let metadata = &object["metadata"];
    assert_eq!(metadata["labels"][ctx.label_key()], A, "{object:#}");
    let annotations = &metadata["annotations"];
    let stamp = |name: &str| annotations[format!("{}/{name}", ctx.group)].clone();
    assert_eq!(stamp(HASH), ctx.printed_hash(object), "{object:#}");
    assert_eq!(stamp("rollout-hash-version"), "1", "{object:#}");
}

fn replaced(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let _servers = registered(ctx, new);
    for storage in [new, old] {
        if storage == old {
            ctx.store(old);
        }
        let name = format!("stored-as-{storage}");
        ctx.create(new, &ctx.object(new, &name)).ok();
        let before = ctx.get(new, &name).ok();
        assert_stamped(ctx, &before);
        // Without annotations and labels, as in a repository.
        let manifest = ctx.object(old, &name);
        ctx.kubectl(&["replace"], &manifest);
        let after = ctx.get(new, &name).ok();
        assert_eq!(after["spec"], before["spec"], "{storage} stored");
        assert_stamped(ctx, &after);
        let mut changed = manifest.clone();
        changed["spec"]["power"] = json!(60);
        ctx.kubectl(&["replace"], &changed);
        let after = ctx.get(new, &name).ok();
        let mut expected = ctx.object(new, &name)["spec"].clone();
        expected["power"] = json!(60);
        assert_eq!(after["spec"], expected, "{storage} stored");
        assert_stamped(ctx, &after);
        assert_stamped(ctx, &ctx.get(old, &name).ok());
        let stored = ctx.etcd(&name);
        assert_eq!(stored["apiVersion"], format!("{}/{storage}", ctx.group));
        let text = stored.to_string();
        for held in ["water", "pressure"] {
            assert!(text.contains(held), "{storage} stored: {text}");
        }
        // A field of the newer version alone can be removed there, and stays removed.
        ctx.patch(new, &name, &json!({"spec": {"cooling": null}})).ok();
        ctx.kubectl(&["replace"], &manifest);
        let after = ctx.get(new, &name).ok();
        assert_eq!(after["spec"].get("cooling"), None, "{storage} stored");
        assert_eq!(after["spec"]["turbo"], json!({"pressure": 3}), "{storage} stored");
    }
}

fn stamped(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let servers = registered(ctx, new);
    for version in [old, new] {
        for flags in [&["apply"][..], &["apply", "--server-side"]] {
            let name = format!("{version}-{}", flags.len());
            let manifest = ctx.object(version, &name);
            ctx.kubectl(flags, &manifest);
            let before = ctx.get(version, &name).ok();
            assert_stamped(ctx, &before);
            // kubectl processes the items of a list one after the other.
            let again = json!({"apiVersion": "v1", "kind": "List", "items": vec![manifest.clone(); 20]});
            let (said, answered) = servers.answered(|| ctx.kubectl(flags, &again));
            let quiet = said.matches("unchanged").count() + said.matches("serverside-applied").count();
            assert_eq!(quiet, 20, "{said}");
            let after = ctx.get(version, &name).ok();
            assert_eq!(after, before, "{name}: {answered}");
            let (same, difference) = ctx.try_kubectl(&["diff"], &manifest);
            assert!(same, "kubectl diff: {difference}");
            // Another spec has another hash.
            ctx.patch(version, &name, &json!({"spec": {"power": 90}})).ok();
            let changed = ctx.get(version, &name).ok();
            assert_stamped(ctx, &changed);
            let hash = |object: &Value| object["metadata"]["annotations"][format!("{}/{HASH}", ctx.group)].clone();
            assert_ne!(hash(&changed), hash(&before));
            // The hash is equal in both versions.
            let other = if version == old { new } else { old };
            assert_eq!(hash(&ctx.get(other, &name).ok()), hash(&changed), "{name}");
        }
        let created = format!("{version}-created");
        ctx.kubectl(&["create"], &ctx.object(version, &created));
        assert_stamped(ctx, &ctx.get(version, &created).ok());
        let mut generated = ctx.object(version, "x");
        generated["metadata"] = json!({"generateName": format!("{version}-generated-")});
        let generated = ctx.create(version, &generated).ok();
        assert_stamped(ctx, &generated);
        let tried = ctx.object(version, &format!("{version}-tried"));
        let path = format!("{}?dryRun=All", ctx.all(version));
        assert_stamped(ctx, &ctx.post(&path, &tried).ok());
        assert_eq!(ctx.get(version, &format!("{version}-tried")).code, 404);
        // A removed label is restored.
        let path = json!({"metadata": {"labels": null, "annotations": null}});
        assert_stamped(ctx, &ctx.patch(version, &created, &path).ok());
    }
}

fn invalid(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.install(&ctx.printed_crd(&[]));
    let names: Vec<(String, &str)> = [old, new]
        .into_iter()
        .flat_map(|version| ["before", "etcd"].map(|way| (format!("{way}-{version}"), version)))
        .collect();
    for (name, _) in &names {
        let mut object = ctx.labelled(new, name, Some(A));
        object["metadata"]["finalizers"] = json!(["example.com/wait"]);
        object["spec"]["power"] = json!(if name.starts_with("before") { 500 } else { 75 });
        ctx.create(new, &object).ok();
    }
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    for (name, version) in &names {
        if name.starts_with("etcd") {
            let mut stored = ctx.etcd(name);
            stored["spec"]["power"] = json!(500);
            ctx.test_cluster.etcd.write(&ctx.key(name), &stored);
            ctx.eventually(|| (ctx.get(version, name).ok()["spec"]["power"] == 500).then_some(()));
        }
        let tell = |answer: crate::support::client::Answer| {
            let told = answer.warnings.concat();
            assert!(told.contains("spec.power: Invalid value: 500"), "{name}: {told}");
            assert!(told.contains("existed before, so the value may stay"), "{name}: {told}");
            answer.ok()
        };
        let annotation = json!({"metadata": {"annotations": {"touched": "yes"}}});
        let object = tell(ctx.patch(version, name, &annotation));
        assert_stamped(ctx, &object);
        // A change of another field of the spec is accepted.
        tell(ctx.patch(version, name, &json!({"spec": {"note": "old"}})));
        // A change of the invalid field is refused.
        let message = ctx.patch(version, name, &json!({"spec": {"power": 501}})).fails(422);
        assert!(message.contains("less than or equal to 100"), "{message}");
        let (_, said) = servers.answered(|| {
            let status = json!({"status": {"replicas": 1}});
            ctx.patch(version, &format!("{name}/status"), &status).ok();
        });
        assert_eq!(said, "nobody", "{name}");
        let (_, said) = servers.answered(|| {
            let scale = json!({"spec": {"replicas": 4}});
            ctx.patch(version, &format!("{name}/scale"), &scale).ok();
        });
        assert_eq!(said, "A: validate allow", "{name}");
        assert_holds(&ctx.get(new, name).ok(), &json!({"spec": {"replicas": 4}, "status": {"replicas": 1}}));
        ctx.delete(version, name).ok();
        let finalizers = json!({"metadata": {"finalizers": null}});
        let going = ctx.get(version, name).ok();
        assert!(going["metadata"]["deletionTimestamp"].is_string(), "{going:#}");
        ctx.patch(version, name, &finalizers).ok();
        assert_eq!(ctx.get(version, name).code, 404, "{name}");
    }
    // A deletion of many objects would cause one DELETE review each, without a name, if deletions were reviewed.
    ctx.create(new, &ctx.object(new, "last")).ok();
    ctx.call(Method::DELETE, &ctx.all(old), None).ok();
    assert_eq!(ctx.get(new, "last").code, 404);
}
