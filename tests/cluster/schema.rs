//! The work of the API server around a conversion: pruning, defaults, and protected metadata.

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::verbs::assert_holds;
use serde_json::{Value, json};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("unknown_fields_in_etcd_are_pruned", pruning),
    Scenario::new("defaults_follow_request_version", defaults).materialize(),
    Scenario::new("metadata_is_equal_in_every_version", metadata),
    Scenario::new("large_numbers_and_odd_keys_survive", odd_values),
];

fn pruning(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [old, new] {
        if storage == old {
            ctx.enable(old);
        } else {
            ctx.store(new);
        }
        let name = format!("stored-{storage}");
        ctx.create(old, &ctx.object(old, &name)).ok();
        let before: Vec<Value> = [old, new].map(|version| ctx.get(version, &name).ok()).into();
        let mut dirty = ctx.etcd(&name);
        dirty["garbage"] = json!({"a": 1});
        dirty["spec"]["garbage"] = json!("text");
        dirty["status"] = json!({"garbage": [1, 2]});
        ctx.test_cluster.etcd.write(&ctx.key(&name), &dirty);
        for (version, before) in [old, new].into_iter().zip(before) {
            // A read through a cache follows etcd with a short delay.
            let now = ctx.eventually(|| {
                Some(ctx.get(version, &name).ok())
                    .filter(|now| now["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"])
            });
            assert_eq!(now["spec"], before["spec"], "at {version}, {storage} stored");
            assert_eq!(now["garbage"], Value::Null);
            assert_eq!(now["status"]["garbage"], Value::Null);
        }
        // The next write removes the unknown field.
        ctx.patch(old, &name, &json!({"metadata": {"labels": {"x": "y"}}})).ok();
        assert!(!ctx.etcd(&name).to_string().contains("garbage"), "{}", ctx.etcd(&name));
    }
}

fn defaults(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let minimal = json!({"environmentdImageRef": "e:v1", "backendSecretName": "s"});
    ctx.create(new, &ctx.with_spec(new, "b", minimal.clone())).ok();
    assert_holds(&ctx.etcd("b"), &json!({"spec": {"rolloutStrategy": "WaitUntilReady", "enableRbac": false}}));
    let at_old = ctx.get(old, "b").ok();
    assert_eq!(at_old["spec"]["inPlaceRollout"], json!(false), "the older schema's default, as it would fill it");
    // Stored without defaults, as by an older CRD: reads add defaults, and the stored object stays unchanged.
    let mut bare = ctx.etcd("b");
    bare["spec"] = minimal.clone();
    ctx.test_cluster.etcd.write(&ctx.key("b"), &bare);
    let filled = ctx.eventually(|| {
        Some(ctx.get(new, "b").ok())
            .filter(|now| now["metadata"]["resourceVersion"] != at_old["metadata"]["resourceVersion"])
    });
    assert_eq!(filled["spec"]["rolloutStrategy"], "WaitUntilReady");
    assert_holds(
        &ctx.get(old, "b").ok(),
        &json!({"spec": {"rolloutStrategy": "WaitUntilReady", "inPlaceRollout": false}}),
    );
    assert_eq!(ctx.etcd("b")["spec"], minimal);
    // Created at the older version: the newer version does not show the defaults of the older version.
    ctx.create(old, &ctx.with_spec(old, "a", minimal)).ok();
    let at_new = ctx.get(new, "a").ok();
    assert_eq!(at_new["spec"].get("inPlaceRollout"), None);
    assert_eq!(at_new["spec"].get("requestRollout"), None);
}

fn metadata(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let mut owner = ctx.object(new, "owner");
    owner["metadata"]["labels"] = json!({"role": "owner"});
    let owner = ctx.create(new, &owner).ok();
    let mut object = ctx.object(old, "a");
    object["metadata"]["labels"] = json!({"a": "b"});
    object["metadata"]["annotations"] = json!({"example.com/a": "b", "pointsman.dev/other": "ours by name only"});
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    ctx.create(old, &object).ok();
    let (at_old, at_new) = (ctx.get(old, "a").ok(), ctx.get(new, "a").ok());
    for field in
        ["uid", "resourceVersion", "generation", "creationTimestamp", "finalizers", "ownerReferences", "labels"]
    {
        assert_eq!(at_old["metadata"][field], at_new["metadata"][field], "{field}");
    }
    for version in [&at_old, &at_new] {
        assert_holds(version, &json!({"metadata": {"annotations": object["metadata"]["annotations"]}}));
    }
    // Metadata removed at one version is removed at the other.
    ctx.patch(new, "a", &json!({"metadata": {"labels": null, "finalizers": null}})).ok();
    let at_old = ctx.get(old, "a").ok();
    assert_eq!(at_old["metadata"].get("labels"), None);
    assert_eq!(at_old["metadata"].get("finalizers"), None);
    assert_holds(&at_old, &json!({"spec": ctx.sample.old_spec()}));
}

fn odd_values(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let mut object = ctx.object(old, "a");
    let odd = "quotes \" and \\ and \u{1f682} and \u{2028} and <&>";
    object["metadata"]["annotations"] = json!({"example.com/odd": odd});
    if ctx.sample.scale {
        object = ctx.object(new, "a");
        object["metadata"]["annotations"] = json!({"example.com/odd": odd});
        object["spec"]["port"] = json!(9_007_199_254_740_993_i64);
    }
    let born = if ctx.sample.scale { new } else { old };
    ctx.create(born, &object).ok();
    for version in [old, new, old] {
        let read = ctx.get(version, "a").ok();
        assert_eq!(read["metadata"]["annotations"]["example.com/odd"], odd);
        ctx.update(version, "a", &read).ok();
    }
    assert_holds(&ctx.get(born, "a").ok(), &json!({"spec": object["spec"]}));
}
