//! The conversion tests of Kubernetes (apiextensions-apiserver `conversion_test.go`, e2e `crd_conversion_webhook.go`)
//! with pointsman's kinds: stored versions and read results.

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::verbs::{assert_holds, content};
use serde_json::{Value, json};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("objects_read_at_either_version", read_in_the_other),
    Scenario::new("embedded_definition_serves_unchanged", read_in_the_other).built_in(),
    Scenario::new("storage_flips_lose_nothing", flip_and_back),
    Scenario::new("unserved_versions_round_trip", unserved),
    Scenario::new("mixed_storage_versions_read_alike", stored_differently),
    Scenario::new("mixed_storage_lists_are_right", lists),
    // 1.34 keeps a cache for such a version nevertheless.
    Scenario::new("unused_versions_are_not_requested", unused).newest(),
];

fn read_in_the_other(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.create(new, &ctx.object(new, "b")).ok();
    for name in ["a", "b"] {
        assert_holds(&ctx.get(new, name).ok(), &json!({"spec": ctx.sample.new_spec()}));
    }
    assert_holds(&ctx.get(old, "a").ok(), &json!({"spec": ctx.sample.old_spec()}));
    // A change at one version appears at the other version and in storage.
    ctx.patch(old, "a", &json!({"metadata": {"labels": {"changed": "at-old"}}})).ok();
    ctx.patch(new, "b", &json!({"metadata": {"labels": {"changed": "at-new"}}})).ok();
    for version in [old, new] {
        assert_eq!(ctx.get(version, "a").ok()["metadata"]["labels"]["changed"], "at-old");
        assert_eq!(ctx.get(version, "b").ok()["metadata"]["labels"]["changed"], "at-new");
    }
    assert_holds(&ctx.etcd("a"), &json!({"spec": ctx.sample.new_spec()}));
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{new}", ctx.group));
}

fn flip_and_back(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let mut seen: Vec<(String, &str, Value)> = Vec::new();
    for (round, storage) in [old, new, old].into_iter().enumerate() {
        if round > 0 {
            ctx.store(storage);
        }
        for version in [old, new] {
            let name = format!("{round}-{version}");
            ctx.create(version, &ctx.object(version, &name)).ok();
            assert_eq!(ctx.etcd(&name)["apiVersion"], format!("{}/{storage}", ctx.group));
            for reader in [old, new] {
                seen.push((name.clone(), reader, ctx.get(reader, &name).ok()));
            }
        }
        // Earlier reads give the same result, for every storage version.
        for (name, reader, before) in &seen {
            let now = ctx.get(reader, name).ok();
            assert_eq!(&now, before, "{name} at {reader}, {storage} stored");
        }
    }
    // Rewriting an object that is stored in the old version changes the stored version only.
    ctx.store(new);
    for (name, reader, before) in &seen {
        ctx.patch(new, name, &json!({})).ok();
        assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{new}", ctx.group));
        let now = ctx.get(reader, name).ok();
        assert_eq!(content(&now), content(before), "{name} at {reader}, rewritten");
    }
}

fn unserved(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let before = ctx.get(old, "a").ok();
    serve(ctx, old, false);
    ctx.eventually(|| (ctx.get(old, "a").code == 404).then_some(()));
    assert_holds(&ctx.get(new, "a").ok(), &json!({"spec": ctx.sample.new_spec()}));
    serve(ctx, old, true);
    let now = ctx.eventually(|| Some(ctx.get(old, "a")).filter(|answer| answer.code != 404));
    assert_eq!(now.ok(), before);
}

fn serve(ctx: &TestContext<'_>, version: &str, served: bool) {
    ctx.change_crd(|crd| {
        for entry in crd["spec"]["versions"].as_array_mut().unwrap() {
            if entry["name"] == version {
                entry["served"] = json!(served);
            }
        }
    });
}

fn stored_differently(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.store(new);
    ctx.create(old, &ctx.object(old, "b")).ok();
    assert_ne!(ctx.etcd("a")["apiVersion"], ctx.etcd("b")["apiVersion"]);
    for version in [old, new] {
        let specs = ["a", "b"].map(|name| ctx.get(version, name).ok()["spec"].clone());
        assert_eq!(specs[0], specs[1], "at {version}");
        assert_holds(&specs[0], &ctx.sample.spec(version));
    }
}

fn lists(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let mut names = Vec::new();
    for storage in [old, new] {
        if storage == new {
            ctx.store(new);
        }
        for version in [old, new] {
            let name = format!("{version}-stored-{storage}");
            ctx.create(version, &ctx.object(version, &name)).ok();
            names.push(name);
        }
    }
    names.sort();
    for version in [old, new] {
        // From the cache, page by page from etcd, and as a table.
        for query in ["", "?limit=3", "?resourceVersion=0"] {
            let list = ctx.call_get(&format!("{}{query}", ctx.all(version)));
            let items = list["items"].as_array().unwrap();
            let expected = if query == "?limit=3" { 3 } else { 4 };
            assert_eq!(items.len(), expected, "{query}");
            for item in items {
                let name = item["metadata"]["name"].as_str().unwrap();
                assert_eq!(item["apiVersion"], format!("{}/{version}", ctx.group));
                assert_eq!(item, &ctx.get(version, name).ok(), "{name} in a list and alone");
            }
        }
        assert_eq!(ctx.names(version), names);
    }
}

fn unused(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let mut crd = ctx.enabled(new);
    for entry in crd["spec"]["versions"].as_array_mut().unwrap() {
        entry["served"] = json!(entry["name"] == new);
    }
    ctx.install(&crd);
    ctx.apply(new, "a", &ctx.object(new, "a"), "one").ok();
    ctx.patch(new, "a", &json!({"metadata": {"labels": {"x": "y"}}})).ok();
    ctx.list(new).ok();
    assert_eq!(ctx.get(old, "a").code, 404);
    ctx.delete(new, "a").ok();
    assert_eq!(ctx.conversions(), (0, 0));
}
