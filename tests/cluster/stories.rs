//! Materialize through an upgrade of its CRD and its controller, and back.

use serde_json::{Value, json};

use crate::controllers::{
    FIRST, PHASES, Phase, SECOND, THIRD, calculated, new_controller, old_controller, reports_completion, rollouts,
};
use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("adopting_new_version_starts_no_rollout", adopting).materialize(),
    Scenario::new("adoption_shows_a_running_rollout", under_way).materialize(),
    Scenario::new("upgrade_rollouts_at_either_version", upgrades).materialize(),
    Scenario::new("upgrade_by_annotation_rollouts_and_completes", by_annotation).materialize(),
    Scenario::new("status_of_old_controllers_is_converted", old_writes).materialize(),
    Scenario::new("rollback_finds_the_old_objects_unchanged", rollback).materialize(),
];

fn adopting(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    old_controller(ctx, "a", Phase::Settled, SECOND);
    for storage in [old, new, old] {
        if storage != old || ctx.etcd("a")["apiVersion"] != format!("{}/{old}", ctx.group) {
            ctx.store(storage);
        }
        assert!(!rollouts(ctx, "a"), "{storage} stored");
        assert!(reports_completion(ctx, "a"), "{storage} stored");
        assert_eq!(ctx.get(old, "a").ok()["spec"]["requestRollout"], SECOND);
        // Rewritten, and with a status of the new controller.
        ctx.patch(new, "a", &json!({"metadata": {"labels": {"touched-in": storage}}})).ok();
        assert!(!rollouts(ctx, "a"), "{storage} stored, rewritten");
        new_controller(ctx, "a", Phase::Settled);
        assert!(!rollouts(ctx, "a") && reports_completion(ctx, "a"), "{storage} stored, new controller");
    }
    // Fields without effect on rollouts start none, at either version.
    for (version, replicas) in [(old, 3), (new, 5)] {
        ctx.patch(version, "a", &json!({"spec": {"consoleReplicas": replicas}})).ok();
        assert!(!rollouts(ctx, "a"), "consoleReplicas at {version}");
    }
}

fn under_way(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [old, new] {
        if storage == old {
            ctx.enable(old);
        } else {
            ctx.store(new);
        }
        for phase in [Phase::Fresh, Phase::Applying, Phase::Promoting] {
            let name = format!("{phase:?}-{storage}").to_lowercase();
            ctx.create(old, &ctx.object(old, &name)).ok();
            old_controller(ctx, &name, phase, SECOND);
            let seen = ctx.get(new, &name).ok()["status"].clone();
            assert_eq!(seen.get("lastCompletedRolloutHash"), None, "{name}: {seen}");
            let requested = (phase != Phase::Promoting).then(|| json!(calculated(ctx, &name)));
            assert_eq!(seen.get("requestedRolloutHash"), requested.as_ref(), "{name}");
            if phase != Phase::Fresh {
                assert!(!reports_completion(ctx, &name), "{name}");
            }
            // The old controller completes the rollout.
            old_controller(ctx, &name, Phase::Settled, SECOND);
            assert!(!rollouts(ctx, &name) && reports_completion(ctx, &name), "{name}");
        }
    }
}

/// v1alpha1 over v1alpha1, v1alpha2 over v1alpha1, and so on, with either storage version.
fn upgrades(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [new, old] {
        if storage == new {
            ctx.enable(new);
        } else {
            ctx.store(old);
        }
        for born in [old, new] {
            for applied in [old, new] {
                let name = format!("{applied}-over-{born}-in-{storage}");
                ctx.force_apply(born, &name, &ctx.object(born, &name), "user").ok();
                new_controller(ctx, &name, Phase::Settled);
                assert!(!rollouts(ctx, &name) && reports_completion(ctx, &name), "{name} at first");
                let mut upgraded = ctx.object(applied, &name);
                upgraded["spec"]["environmentdImageRef"] = json!("materialize/environmentd:v26.13.0");
                if applied == old {
                    upgraded["spec"]["requestRollout"] = json!(THIRD);
                }
                ctx.force_apply(applied, &name, &upgraded, "user").ok();
                assert!(rollouts(ctx, &name), "{name}");
                assert!(!reports_completion(ctx, &name), "{name}: told done before it began");
                new_controller(ctx, &name, Phase::Applying);
                assert!(!reports_completion(ctx, &name), "{name}: told done while it rollouts");
                new_controller(ctx, &name, Phase::Promoting);
                assert!(!reports_completion(ctx, &name), "{name}: told done while it promotes");
                new_controller(ctx, &name, Phase::Settled);
                assert!(!rollouts(ctx, &name) && reports_completion(ctx, &name), "{name} at last");
                if applied == old {
                    assert_eq!(ctx.get(old, &name).ok()["spec"]["requestRollout"], THIRD);
                }
            }
        }
    }
}

fn by_annotation(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    for version in [old, new] {
        let name = format!("forced-{version}");
        ctx.create(version, &ctx.object(version, &name)).ok();
        new_controller(ctx, &name, Phase::Settled);
        assert!(!rollouts(ctx, &name));
        let patch = json!({"metadata": {"annotations": {"materialize.cloud/force-rollout": FIRST}}});
        ctx.patch(version, &name, &patch).ok();
        assert!(rollouts(ctx, &name), "{name}");
        assert!(!reports_completion(ctx, &name), "{name}");
        new_controller(ctx, &name, Phase::Settled);
        assert!(!rollouts(ctx, &name) && reports_completion(ctx, &name), "{name}");
    }
}

/// Two controllers side by side, or a partial rollback: the write of the old controller counts.
fn old_writes(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    for storage in [new, old] {
        if storage == new {
            ctx.enable(new);
        } else {
            ctx.store(old);
        }
        for before in [Phase::Settled, Phase::Applying, Phase::Promoting] {
            // The whole status, and the single field alone.
            for whole in [true, false] {
                let name = format!("{before:?}-{whole}-{storage}").to_lowercase();
                ctx.create(old, &ctx.object(old, &name)).ok();
                new_controller(ctx, &name, before);
                let upgrade = json!({"spec": {"environmentdImageRef": "e:v2", "requestRollout": THIRD}});
                ctx.patch(old, &name, &upgrade).ok();
                assert!(rollouts(ctx, &name) && !reports_completion(ctx, &name), "{name}");
                if whole {
                    old_controller(ctx, &name, Phase::Settled, THIRD);
                } else {
                    let patch = json!({"status": {"lastCompletedRolloutRequest": THIRD}});
                    ctx.patch(old, &format!("{name}/status"), &patch).ok();
                }
                assert!(reports_completion(ctx, &name), "{name}");
                if whole || before != Phase::Promoting {
                    assert!(!rollouts(ctx, &name), "{name}: {:#}", ctx.get(new, &name).ok());
                }
            }
        }
    }
}

fn rollback(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let mut before = Vec::new();
    for phase in PHASES {
        let name = format!("{phase:?}").to_lowercase();
        let mut object = ctx.object(old, &name);
        object["metadata"]["annotations"] = json!({"example.com/mine": "yes"});
        object["spec"]["forcePromote"] = json!("");
        object["spec"]["serviceAccountAnnotations"] = json!({"example.com/other": "kept"});
        ctx.create(old, &object).ok();
        old_controller(ctx, &name, phase, SECOND);
        before.push((name.clone(), stored(ctx, &name)));
    }
    for (round, storage) in [new, old, new, old].into_iter().enumerate() {
        ctx.store(storage);
        for (name, was) in &before {
            ctx.patch(storage, name, &json!({})).ok();
            if storage == old {
                assert_eq!(&stored(ctx, name), was, "{name} after round {round}");
            } else {
                assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{new}", ctx.group));
                // The purpose of the newer version: its spec has no traces of the older version.
                assert_eq!(ctx.etcd(name)["spec"].get("requestRollout"), None);
            }
        }
    }
    // With changes in between: the values of the old controller remain, and only the changed fields differ.
    ctx.store(new);
    ctx.patch(new, "settled", &json!({"spec": {"environmentdImageRef": "e:v3"}})).ok();
    new_controller(ctx, "settled", Phase::Settled);
    ctx.store(old);
    ctx.patch(old, "settled", &json!({})).ok();
    let now = ctx.etcd("settled");
    assert_holds(
        &now,
        &json!({
            "apiVersion": format!("{}/{old}", ctx.group),
            "spec": {"environmentdImageRef": "e:v3", "requestRollout": SECOND, "inPlaceRollout": true},
            "status": {"resourcesHash": "0d1b7e", "lastCompletedRolloutRequest": SECOND},
        }),
    );
}

/// The stored object, without fields that change on every write and without pointsman's annotations.
fn stored(ctx: &TestContext<'_>, name: &str) -> Value {
    let mut object = ctx.etcd(name);
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.retain(|key, _| !key.starts_with("pointsman.dev/"));
    // Carried over: optional in the older schema, and ignored by its controller.
    let status = object["status"].as_object_mut().unwrap();
    status.remove("requestedRolloutHash");
    status.remove("lastCompletedRolloutHash");
    object
}
