//! `pointsman migrate`: rewrites stored objects, by a process that may be killed at any time.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::process::{Process, eventually};
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("killed_migration_resumes", killed).of(&WIDGETS).newest(),
    Scenario::new("stored_objects_migrate_both_ways", there_and_back).failing(),
    Scenario::new("unwritable_object_is_named", refused).of(&WIDGETS).failing(),
    Scenario::new("migration_blockers_are_reported", in_the_way).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// After five SIGKILLs the migration still completes, and each object is written at most once.
fn killed(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let count = std::env::var("POINTSMAN_OBJECTS").map_or(300, |count| count.parse().unwrap());
    let names: Vec<String> = (0..count).map(|at| format!("w-{at}")).collect();
    for name in &names {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let first = ctx.migrate_args(
        &ctx.test_cluster.api.kubeconfig,
        &["--to", new, "--settle=1s", "--page=40", "--max-in-flight=2"],
    );
    let log = ctx.dir.join("migrate.log");
    let pages = || fs::read_to_string(&log).unwrap_or_default().matches(" written, ").count();
    for killed in 0..5 {
        let mut process = Process::start("migrate", env!("CARGO_BIN_EXE_pointsman").as_ref(), &first, &log);
        // In the middle of its second page.
        ctx.eventually(|| (pages() > killed).then_some(()));
        process.kill();
        assert_eq!(ctx.stored_versions(), json!([old, new]), "it was not through");
    }
    let (code, text, errors) = ctx.migrate(&["--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains(&format!("every object is stored as {new}")), "{text}");
    for name in &names {
        assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{new}", ctx.group), "{name}");
        assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key(name)), 2, "{name}: created, and rewritten once");
    }
    assert_eq!(ctx.stored_versions(), json!([new]));
    assert_eq!(ctx.crd_now()["metadata"]["annotations"]["pointsman.dev/rewriting"], Value::Null);
    // Reads no object again: the CRD has the state. A policy of the former version could remain.
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, _, _| Fate::Pass);
    let (code, text, _) = ctx.migrate_at(&ctx.through(proxy.port), &[]);
    assert_eq!((code, text.ends_with(&format!("every object is stored as {new} already\n"))), (0, true), "{text}");
    assert_eq!(proxy.calls().len(), 3, "{:?}", proxy.calls());
    // The deletion of many objects takes time.
    let path = format!("{CRDS}/{}", ctx.crd_name());
    ctx.call(Method::DELETE, &path, None).ok();
    eventually("the fleet is deleted", Duration::from_secs(600), || {
        (ctx.call(Method::GET, &path, None).code == 404).then_some(())
    });
}

/// Only the stored version of an object changes; afterwards the old version and the webhook are unused.
fn there_and_back(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let before: Vec<Value> = ["a", "b"]
        .map(|name| {
            ctx.create(old, &ctx.object(old, name)).ok();
            ctx.get(old, name).ok()
        })
        .into();
    let (code, text, _) = ctx.migrate(&["--to", new, "--dry-run"]);
    assert_eq!(code, 0);
    assert!(text.contains("would check 2 objects"), "{text}");
    assert_eq!(ctx.stored_versions(), json!([old]));
    for (to, stored) in [(new, [old]), (old, [new])] {
        let (code, text, errors) = ctx.migrate(&["--to", to, "--settle=2s", "-o", "json"]);
        assert_eq!(code, 0, "{text}{errors}");
        let result: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!((&result["written"], &result["stored"]), (&json!(2), &json!([to])));
        assert_eq!(result["storedBefore"], json!(stored));
        assert_eq!(ctx.stored_versions(), json!([to]));
        for name in ["a", "b"] {
            assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{to}", ctx.group));
        }
    }
    for object in before {
        let now = ctx.get(old, object["metadata"]["name"].as_str().unwrap()).ok();
        assert_eq!(
            (&now["spec"], &now["metadata"]["generation"]),
            (&object["spec"], &object["metadata"]["generation"])
        );
        let annotations = |object: &Value| object["metadata"]["annotations"].clone();
        assert_eq!(annotations(&now), annotations(&object));
    }
    // The policies of both versions exist, and are deleted with the CRD of the scenario.
    let (code, _, errors) = ctx.migrate(&["--to", new, "--settle=2s"]);
    assert_eq!(code, 0, "{errors}");
    ctx.leave_alone(new, old);
    assert_eq!(ctx.names(new), ["a", "b"]);
}

/// The other objects are written and storedVersions stays; the next run writes the remaining object only.
fn refused(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    for name in ["a", "bad", "c"] {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let policy = policy(ctx);
    freeze(ctx, &policy);
    let (code, text, _) = ctx.migrate(&["--to", new, "--settle=2s"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("not everything is stored") && text.contains("bad") && text.contains("frozen"), "{text}");
    assert_eq!(ctx.stored_versions(), json!([old, new]));
    assert_eq!(ctx.etcd("c")["apiVersion"], format!("{}/{new}", ctx.group));
    ctx.kubectl(&["delete"], &policy);
    ctx.eventually(|| {
        let (code, text, _) = ctx.migrate(&["--settle=0s"]);
        (code == 0 && text.contains("1 object written")).then_some(())
    });
    assert_eq!(ctx.stored_versions(), json!([new]));
    assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key("a")), 2);
}

fn in_the_way(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let (code, _, errors) = ctx.migrate(&[]);
    assert_eq!(code, 1);
    assert!(errors.contains(&format!("CRD {} does not exist", ctx.crd_name())), "{errors}");
    ctx.enable(old);
    let (_, _, errors) = ctx.migrate(&["--to", "v9"]);
    assert!(errors.contains("has no version v9; known versions:"), "{errors}");
    // With a mere change of the apiVersion, fields would be lost.
    ctx.change_crd(|crd| drop(crd["spec"].as_object_mut().unwrap().remove("conversion")));
    let (code, _, errors) = ctx.migrate(&["--to", new]);
    assert_eq!(code, 1);
    assert!(errors.contains("no conversion webhook"), "{errors}");
    assert_eq!(ctx.stored_versions(), json!([old]));
    // No API server at this address.
    let nowhere = ctx.dir.join("nowhere");
    let text = fs::read_to_string(&ctx.test_cluster.api.kubeconfig).unwrap();
    let (before, after) = text.split_once("https://127.0.0.1:").unwrap();
    let (_, after) = after.split_once('\'').unwrap();
    fs::write(&nowhere, format!("{before}https://127.0.0.1:1'{after}")).unwrap();
    for (file, said) in [(nowhere, "no answer from https://127.0.0.1:1"), (ctx.dir.join("no"), "check --kubeconfig")] {
        let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(["migrate", &ctx.crd_name(), &format!("--kubeconfig={}", file.display())])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(said), "{errors}");
    }
}

/// Applies the policy, and waits until the policy is in force.
pub(crate) fn freeze(ctx: &TestContext<'_>, policy: &Value) {
    ctx.kubectl(&["apply"], policy);
    let path = format!("{}?dryRun=All", ctx.one(ctx.sample.old, "bad"));
    let patch = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
    ctx.eventually(|| (!ctx.call(Method::PATCH, &path, Some((MERGE, patch.clone()))).is_ok()).then_some(()));
}

/// Refuses every write of the object `bad`.
pub(crate) fn policy(ctx: &TestContext<'_>) -> Value {
    let name = format!("{}-frozen", ctx.ns);
    let rule = json!({
        "apiGroups": [ctx.group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [ctx.sample.plural],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "object.metadata.name != 'bad'", "message": "frozen"}],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]})
}
