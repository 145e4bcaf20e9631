//! Storage migration (KEP-4192) from an old version without a webhook to a new one that no longer needs it.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::migrate::{freeze, policy};
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, TestContext};
use crate::support::process::{SOON, eventually};
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::sample::{Sample, WIDGET};
use crate::support::verbs::assert_holds;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("migrated_storage_needs_no_webhook", migration).needs("kube-controller-manager").failing().alone(),
    Scenario::new("cluster_migrates_storage_where_supported", delegated)
        .of(&WIDGETS)
        .needs("kube-controller-manager")
        .failing()
        .alone()
        .thorough(),
    Scenario::new("missing_storage_migration_is_detected", not_offered).of(&WIDGETS),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Migrates to another version and back with the controller of the cluster: killed in the middle, with an object that
/// the controller cannot write, and with a controller that never starts.
fn delegated(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    for name in ["a", "bad", "c"] {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let svm = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
    let path = format!("{svm}/pointsman.{}", ctx.crd_name());
    let flags = ["--settle=1s", "--means=storage-version-migration"];
    let assert_stored = |version: &str| {
        for name in ["a", "bad", "c"] {
            assert_eq!(version_of(&ctx.etcd(name)), version, "{name}");
        }
        assert_eq!(ctx.stored_versions(), json!([version]));
        assert_eq!(ctx.call(Method::GET, &path, None).code, 404, "nothing of it is left");
    };
    // Killed while the cluster writes, or just before: the same command continues.
    let args = ctx.migrate_args(&ctx.test_cluster.api.kubeconfig, &[&["--to", new], &flags[..]].concat());
    let mut process = ctx.started("migrate", &args);
    ctx.eventually(|| ctx.call(Method::GET, &path, None).is_ok().then_some(()));
    process.kill();
    let (code, text, errors) = ctx.migrate(&flags);
    println!("     {}", errors.replace('\n', "\n     "));
    assert_eq!(code, 0, "{text}{errors}");
    assert!(errors.contains("the cluster rewrites the objects: StorageVersionMigration pointsman."), "{errors}");
    assert_stored(new);
    // An object that cannot be written is reported, as in a migration without the controller.
    let policy = policy(ctx);
    freeze(ctx, &policy);
    let (code, text, errors) = ctx.migrate(&[&["--to", old], &flags[..]].concat());
    println!("     {}", errors.replace('\n', "\n     "));
    assert_eq!(code, 1, "{text}{errors}");
    assert!(text.contains("not everything is stored") && text.contains("bad") && text.contains("frozen"), "{text}");
    // The controller removes both versions from the list despite the failure. Both are restored, even if the lists of
    // pointsman fail.
    let lists = format!("/{}?", ctx.sample.plural);
    let forbidden = status(403, "lists are forbidden");
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| {
        match method == Method::GET && path.contains(&lists) {
            true => Fate::Answer(403, None, forbidden.clone()),
            false => Fate::Pass,
        }
    });
    let (code, text, errors) = ctx.migrate_at(&ctx.through(proxy.port), &[&["--to", old], &flags[..]].concat());
    println!("     {}", errors.replace('\n', "\n     "));
    assert!(code == 1 && errors.contains("lists are forbidden"), "{text}{errors}");
    let stored = ctx.stored_versions();
    let stored = stored.as_array().unwrap();
    assert!(stored.contains(&json!(old)) && stored.contains(&json!(new)), "{stored:?}");
    ctx.kubectl(&["delete"], &policy);
    ctx.eventually(|| (ctx.migrate(&["--settle=0s", "--means=auto"]).0 == 0).then_some(()));
    assert_stored(old);
    // The controller reports nothing.
    let asked = path.clone();
    let silent = json!({"metadata": {"name": "x"}, "spec": {}}).to_string();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| match path == asked {
        true if method != Method::DELETE => Fate::Answer(200, None, silent.clone()),
        _ => Fate::Pass,
    });
    let through = ctx.through(proxy.port);
    let (code, text, errors) = ctx.migrate_at(&through, &[&["--to", new], &flags[..]].concat());
    assert_eq!(code, 0, "{text}{errors}");
    let expected = "the migration was not started within 30 s: check that the migration controller runs";
    assert!(errors.contains(expected), "{errors}");
    assert_stored(new);
}

/// Fails with a message that names the alternative.
fn not_offered(ctx: &TestContext<'_>) {
    if ctx.call(Method::GET, "/apis/storagemigration.k8s.io", None).is_ok() {
        return;
    }
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let (code, _, errors) = ctx.migrate(&["--to", new, "--settle=1s", "--means=storage-version-migration"]);
    assert!(code == 1 && errors.contains("has no StorageVersionMigration"), "{errors}");
    assert!(errors.contains("--means=loop"), "{errors}");
    let (code, text, errors) = ctx.migrate(&["--to", new, "--settle=0s", "--means=auto"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(version_of(&ctx.etcd("a")), new);
}

/// `TestStorageVersionMigrationWithCRD` of Kubernetes, step by step.
fn migration(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    // One version, no webhook.
    let both = ctx.enabled(old);
    let mut crd = both.clone();
    crd["spec"].as_object_mut().unwrap().remove("conversion");
    crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    ctx.install(&crd);
    let names = ["a", "b", "c"];
    for name in names {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let seen = names.map(|name| ctx.get(old, name).ok());
    // A second version, and the webhook.
    ctx.change_crd(|crd| {
        crd["spec"]["conversion"] = both["spec"]["conversion"].clone();
        crd["spec"]["versions"] = both["spec"]["versions"].clone();
    });
    ctx.eventually(|| ctx.list(new).is_ok().then_some(()));
    ctx.eventually(|| ctx.create(new, &ctx.object(new, "d")).is_ok().then_some(()));
    assert_eq!(version_of(&ctx.etcd("d")), old);
    ctx.store(new);
    ctx.create(old, &ctx.object(old, "e")).ok();
    assert_eq!(version_of(&ctx.etcd("e")), new);
    assert_eq!(version_of(&ctx.etcd("a")), old, "nothing is rewritten by itself");
    let before = ["a", "b", "c", "d", "e"].map(|name| ctx.get(new, name).ok());
    assert_eq!(names.map(|name| ctx.get(old, name).ok()["spec"].clone()), seen.map(|object| object["spec"].clone()));
    migrate(ctx);
    for object in before {
        let name = object["metadata"]["name"].as_str().unwrap();
        assert_eq!(version_of(&ctx.etcd(name)), new, "{name}");
        let now = ctx.get(new, name).ok();
        assert_eq!(now["spec"], object["spec"], "{name}");
        assert_eq!(now["metadata"]["generation"], object["metadata"]["generation"], "{name}");
    }
    // The old version and the webhook are unused now.
    ctx.leave_alone(new, old);
    assert_eq!(ctx.names(new), ["a", "b", "c", "d", "e"]);
    assert_holds(&ctx.get(new, "a").ok(), &json!({"spec": ctx.sample.new_spec()}));
    ctx.patch(new, "a", &json!({"metadata": {"labels": {"still": "works"}}})).ok();
    ctx.delete(new, "b").ok();
}

fn version_of(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap().split('/').next_back().unwrap()
}

fn migrate(ctx: &TestContext<'_>) {
    let path = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
    let spec = json!({"resource": {"group": ctx.group, "resource": ctx.sample.plural}});
    ctx.post(path, &json!({"metadata": {"name": ctx.ns}, "spec": spec})).ok();
    let path = format!("{path}/{}", ctx.ns);
    let mut turn = 0;
    eventually("the migration", SOON, || {
        let migration = ctx.call_get(&path);
        let conditions = migration["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let has = |kind: &str| conditions.iter().any(|it| it["type"] == kind && it["status"] == "True");
        assert!(!has("Failed"), "{migration:#}");
        // The migration waits for the garbage collector's cache, which advances only after another write.
        if migration["status"]["resourceVersion"].is_string() {
            turn += 1;
            let label = json!({"metadata": {"labels": {"turn": turn.to_string()}}});
            ctx.patch(ctx.sample.new, "e", &label).ok();
            std::thread::sleep(Duration::from_millis(300));
        }
        has("Succeeded").then_some(())
    });
    let crd = ctx.call(Method::GET, &format!("{CRDS}/{}", ctx.crd_name()), None).ok();
    assert_eq!(crd["status"]["storedVersions"], json!([ctx.sample.new]));
}
