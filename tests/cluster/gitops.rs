//! Repeated applies of a manifest change nothing, and field managers conflict as in one version.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::TestContext;
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("repeated_apply_changes_nothing", again_and_again),
    Scenario::new("repeated_kubectl_apply_changes_nothing", with_kubectl),
    Scenario::new("field_managers_at_two_versions_coexist", two_managers),
    Scenario::new("field_managers_conflict_across_versions", conflicts),
    Scenario::new("kubectl_replace_works_across_versions", replaces),
];

/// A way to apply a manifest.
type Apply = fn(&TestContext<'_>, &str, &str, &Value) -> Answer;

const WAYS: [(&str, Apply); 3] = [
    ("client-side", |ctx, version, name, manifest| {
        // The patch of kubectl: the manifest, with a copy in an annotation.
        let mut patch = manifest.clone();
        let kept = json!({"kubectl.kubernetes.io/last-applied-configuration": manifest.to_string()});
        patch["metadata"]["annotations"] = kept;
        match ctx.get(version, name).code {
            404 => ctx.create(version, &patch),
            _ => ctx.patch(version, name, &patch),
        }
    }),
    ("server-side", |ctx, version, name, manifest| ctx.apply(version, name, manifest, "git")),
    ("forced", |ctx, version, name, manifest| ctx.force_apply(version, name, manifest, "git")),
];

fn again_and_again(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [old, new] {
        if storage == old {
            ctx.enable(old);
        } else {
            ctx.store(new);
        }
        for version in [old, new] {
            for (way, apply) in WAYS {
                let name = format!("{way}-{version}-in-{storage}");
                let manifest = ctx.object(version, &name);
                apply(ctx, version, &name, &manifest).ok();
                let before = everything(ctx, &name);
                for round in 0..times(ctx) {
                    apply(ctx, version, &name, &manifest).ok();
                    if round == 0 {
                        assert_eq!(everything(ctx, &name), before, "{name}, the second time");
                    }
                }
                assert_eq!(everything(ctx, &name), before, "{name}");
            }
        }
    }
}

/// The stored object and its reads at both versions, with managed fields.
fn everything(ctx: &TestContext<'_>, name: &str) -> [Value; 3] {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    [ctx.etcd(name), ctx.get(old, name).ok(), ctx.get(new, name).ok()]
}

/// A hundred times on the main cluster, ten times on the others, to save time.
fn times(ctx: &TestContext<'_>) -> usize {
    if ctx.test_cluster.plan.name == "1.36" { 100 } else { 10 }
}

fn with_kubectl(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    for version in [old, new] {
        for flags in [&["apply"][..], &["apply", "--server-side"]] {
            let name = format!("{version}-{}", flags.len());
            let manifest = ctx.object(version, &name);
            ctx.kubectl(flags, &manifest);
            let before = everything(ctx, &name);
            for _ in 0..3 {
                let said = ctx.kubectl(flags, &manifest);
                let quiet = said.contains("unchanged") || said.contains("serverside-applied");
                assert!(quiet, "{said}");
            }
            assert_eq!(everything(ctx, &name), before, "{name}");
            let (same, difference) = ctx.try_kubectl(&["diff"], &manifest);
            assert!(same, "kubectl diff: {difference}");
        }
    }
}

fn two_managers(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [old, new] {
        if storage == old {
            ctx.enable(old);
        } else {
            ctx.store(new);
        }
        let name = &format!("in-{storage}");
        let (at_old, at_new) = (ctx.object(old, name), ctx.object(new, name));
        // The second manager applies the same values at the other version: no conflict.
        ctx.apply(old, name, &at_old, "one").ok();
        ctx.apply(new, name, &at_new, "two").ok();
        let before = everything(ctx, name);
        for _ in 0..times(ctx) / 4 {
            ctx.apply(old, name, &at_old, "one").ok();
            ctx.apply(new, name, &at_new, "two").ok();
            ctx.force_apply(old, name, &at_old, "one").ok();
            ctx.force_apply(new, name, &at_new, "two").ok();
        }
        assert_eq!(everything(ctx, name), before, "{storage} stored");
        // A third manager owns a field and releases it.
        let mut third = ctx.with_spec(new, name, json!({}));
        third["metadata"]["labels"] = json!({"third": "yes"});
        ctx.apply(new, name, &third, "three").ok();
        ctx.apply(old, name, &at_old, "one").ok();
        assert_eq!(ctx.get(old, name).ok()["metadata"]["labels"]["third"], "yes");
        third["metadata"].as_object_mut().unwrap().remove("labels");
        ctx.apply(new, name, &third, "three").ok();
        let now = everything(ctx, name);
        assert_eq!(now[1]["spec"], before[1]["spec"]);
        assert_eq!(now[2]["spec"], before[2]["spec"]);
        assert_eq!(now[0]["metadata"].get("labels"), None);
    }
}

fn conflicts(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.apply(old, "a", &ctx.object(old, "a"), "one").ok();
    let mut changed = ctx.object(new, "a");
    let field = if ctx.sample.scale { "host" } else { "backendSecretName" };
    changed["spec"][field] = json!("another");
    let refusal = ctx.apply(new, "a", &changed, "two");
    assert!(refusal.fails(409).contains("conflict with \"one\""), "{}", refusal.message());
    ctx.force_apply(new, "a", &changed, "two").ok();
    assert_holds(&ctx.get(new, "a").ok(), &json!({"spec": {field: "another"}}));
    let refusal = ctx.apply(old, "a", &ctx.object(old, "a"), "one");
    assert!(refusal.fails(409).contains("conflict with \"two\""), "{}", refusal.message());
    ctx.force_apply(old, "a", &ctx.object(old, "a"), "one").ok();
    assert_holds(&ctx.get(old, "a").ok(), &json!({"spec": ctx.sample.old_spec()}));
    // Fields without a manager are deleted in both versions.
    let manager = |entry: &Value| entry["manager"].as_str().unwrap().to_owned();
    let managed = ctx.get(old, "a").ok()["metadata"]["managedFields"].clone();
    let managers: Vec<String> = managed.as_array().unwrap().iter().map(manager).collect();
    assert!(managers.contains(&"one".to_owned()), "{managers:?}");
}

fn replaces(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    // A replace at the older version with the output of kubectl changes nothing.
    let before = everything(ctx, "a");
    let read = ctx.get(old, "a").ok();
    ctx.kubectl(&["replace"], &read);
    let now = everything(ctx, "a");
    assert_eq!(now[2]["spec"], before[2]["spec"]);
    assert_eq!(now[1]["spec"], before[1]["spec"]);
    // A replace with a user's file changes nothing in the fields of that file.
    ctx.create(old, &ctx.object(old, "b")).ok();
    let before = everything(ctx, "b");
    ctx.kubectl(&["replace"], &ctx.object(old, "b"));
    assert_eq!(everything(ctx, "b")[1]["spec"], before[1]["spec"]);
    ctx.kubectl(&["delete"], &ctx.object(old, "a"));
    assert_eq!(ctx.get(new, "a").code, 404);
}
