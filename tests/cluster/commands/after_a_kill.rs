//! After a kill, the same command need not run again: another command may follow, without data loss.

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::enable_trouble::{assert_no_conversion, remove_conversion};
use crate::commands::rotate::{ca_file, register, thorough, trust, unregister};
use crate::scenario::Scenario;
use crate::support::acting::Told;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::pki::Authority;
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("killed_disable_can_be_reenabled", back).of(&WIDGETS).newest().failing(),
    Scenario::new("killed_enable_can_be_disabled", left).of(&WIDGETS).newest().failing(),
    Scenario::new("killed_migration_can_be_reversed", turned).of(&WIDGETS).newest().failing(),
    Scenario::new("killed_rotation_can_be_enabled", enabled).of(&WIDGETS).newest().failing(),
    Scenario::new("forbidden_cleanup_is_reported", noted).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Every n-th call, or every call in a thorough run.
fn steps(often: usize) -> impl Iterator<Item = usize> {
    (0..).step_by(if thorough() { 1 } else { often })
}

#[track_caller]
fn done(what: &str, (code, text, errors): Told) {
    assert_eq!(code, 0, "{what}: {text}{errors}");
}

/// Objects from before and new objects are unchanged in both versions.
#[track_caller]
fn nothing_is_lost(ctx: &TestContext<'_>, what: &str) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.eventually(|| ctx.get(old, "a").is_ok().then_some(()));
    let read = ctx.get(new, "a").ok()["spec"].clone();
    let fresh = ctx.create(old, &ctx.object(old, "fresh")).ok();
    assert!(fresh["metadata"]["uid"].is_string());
    assert_eq!(ctx.get(new, "fresh").ok()["spec"], read, "{what}");
    ctx.delete(old, "fresh").ok();
}

fn back(ctx: &TestContext<'_>) {
    let (new, name) = (ctx.sample.new, ctx.crd_name());
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    for last in steps(2) {
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            let flags = ["--served", new, "--settle=0s", &kubeconfig];
            ctx.on_the_cluster(&[&["disable", &name, &ctx.server()], &flags[..]].concat())
        });
        let what = format!("after call {last}, {:?}", calls.last());
        done(&what, ctx.enables(&["--repoint", "--force-conflicts"]));
        nothing_is_lost(ctx, &what);
        let crd = ctx.crd_now();
        assert_eq!(crd["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null, "{what}");
        let (code, text, errors) = ctx.command(&["status", &name]);
        assert_eq!(code, 0, "{what}: {text}{errors}");
        if ended.is_some() {
            assert!(last > 12, "{calls:?}");
            return;
        }
    }
}

fn left(ctx: &TestContext<'_>) {
    let (old, name) = (ctx.sample.old, ctx.crd_name());
    assert_no_conversion(ctx);
    let before = ctx.get(old, "a").ok()["spec"].clone();
    for last in steps(3) {
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| ctx.enable_args(kubeconfig, &["--force-conflicts"]));
        let what = format!("after call {last}, {:?}", calls.last());
        ctx.eventually(|| ctx.list(old).is_ok().then_some(()));
        let disabled = ctx.command(&["disable", &name, &ctx.server(), "--served", old, "--settle=0s"]);
        done(&what, disabled);
        let crd = ctx.crd_now();
        assert!(crd["spec"]["conversion"]["webhook"].is_null(), "{what}: {crd}");
        ctx.eventually(|| ctx.get(old, "a").is_ok().then_some(()));
        assert_eq!(ctx.get(old, "a").ok()["spec"], before, "{what}");
        if ended.is_some() {
            assert!(last > 8, "{calls:?}");
            return;
        }
        remove_conversion(ctx);
    }
}

fn turned(ctx: &TestContext<'_>) {
    let (old, new, name) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    ctx.enable(old);
    for at in 0..5 {
        let name = if at == 0 { "a".to_owned() } else { format!("w-{at}") };
        ctx.create(old, &ctx.object(old, &name)).ok();
    }
    for last in steps(3) {
        let flags = ["--to", new, "--settle=0s", "--page=2", "--max-in-flight=1"];
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| ctx.migrate_args(kubeconfig, &flags));
        let what = format!("after call {last}, {:?}", calls.last());
        nothing_is_lost(ctx, &what);
        // `disable` is refused in the middle, and the attempt does no harm.
        let stored = ctx.stored_versions();
        let (code, text, errors) = ctx.command(&["disable", &name, &ctx.server(), "--served", old, "--dry-run=server"]);
        assert_eq!(code == 0, stored == json!([old]), "{what}, {stored}: {text}{errors}");
        done(&what, ctx.enables(&["--force-conflicts"]));
        done(&what, ctx.migrate(&["--to", old, "--settle=0s"]));
        assert_eq!(ctx.stored_versions(), json!([old]), "{what}");
        nothing_is_lost(ctx, &what);
        if ended.is_some() {
            assert!(last > 8, "{calls:?}");
            break;
        }
    }
    done("at last", ctx.command(&["disable", &name, &ctx.server(), "--served", old, "--settle=0s"]));
}

fn enabled(ctx: &TestContext<'_>) {
    let (old, name) = (ctx.sample.old, ctx.crd_name());
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    register(ctx);
    for last in steps(2) {
        let next = Authority::new();
        let file = ca_file(ctx, "next.crt", &next);
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            ["rotate-ca", &ctx.server(), &file, "--settle=0s", &kubeconfig].map(str::to_owned).to_vec()
        });
        let what = format!("after call {last}, {:?}", calls.last());
        // The servers still present the old certificate: an `enable` based on the servers keeps its authority trusted.
        nothing_is_lost(ctx, &what);
        done(&what, ctx.enables(&["--force-conflicts"]));
        nothing_is_lost(ctx, &what);
        let (code, text, errors) = ctx.command(&["status", &name]);
        assert_eq!(code, 0, "{what}: {text}{errors}");
        if ended.is_some() {
            assert!(last > 4, "{calls:?}");
            return unregister(ctx);
        }
        trust(ctx, &[&ctx.test_cluster.authority]);
    }
}

/// The CRD is enabled nevertheless, and the next `enable` removes the annotation.
fn noted(ctx: &TestContext<'_>) {
    const NOTE: &str = "pointsman.dev/disabling";
    ctx.enable(ctx.sample.new);
    let crd = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", ctx.crd_name());
    let note = json!({"metadata": {"annotations": {NOTE: "{}"}}});
    ctx.call(Method::PATCH, &crd, Some((MERGE, note.to_string()))).ok();
    let denied = status(403, "customresourcedefinitions is forbidden: you may only apply it");
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| match path.split_once('?') {
        Some((at, query)) if method == Method::PATCH && at == crd && !query.contains("force=") => {
            Fate::Answer(403, None, denied.clone())
        }
        _ => Fate::Pass,
    });
    let (code, text, errors) = ctx.enables_at(&ctx.through(proxy.port), &["--force-conflicts"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(
        errors.contains(&format!("warning: cannot remove the annotation {NOTE}"))
            && errors.contains("Run enable again"),
        "{errors}"
    );
    assert_eq!(ctx.crd_now()["metadata"]["annotations"][NOTE], "{}");
    done("once more", ctx.enables(&["--force-conflicts"]));
    assert_eq!(ctx.crd_now()["metadata"]["annotations"][NOTE], Value::Null);
}
