//! What was killed need not be run again: somebody may do something else next, and nothing is lost by it.

use hyper::Method;
use serde_json::{Value, json};

use crate::enable_trouble::{assert_no_conversion, remove_conversion};
use crate::rotate::{ca_file, register, thorough, trust, unregister};
use crate::scenario::Scenario;
use crate::support::acting::Told;
use crate::support::pki::Authority;
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{MERGE, Scene};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("killed_disable_can_be_reenabled", back).of(&WIDGETS).newest().failing(),
    Scenario::new("killed_enable_can_be_disabled", left).of(&WIDGETS).newest().failing(),
    Scenario::new("killed_migration_can_be_reversed", turned).of(&WIDGETS).newest().failing(),
    Scenario::new("killed_rotation_can_be_enabled", enabled).of(&WIDGETS).newest().failing(),
    Scenario::new("forbidden_cleanup_is_reported", noted).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Every so many calls, all of them where it may take long.
fn steps(often: usize) -> impl Iterator<Item = usize> {
    (0..).step_by(if thorough() { 1 } else { often })
}

#[track_caller]
fn done(what: &str, (code, text, errors): Told) {
    assert_eq!(code, 0, "{what}: {text}{errors}");
}

/// Objects that were written before and are written now are what they were, in both versions.
#[track_caller]
fn nothing_is_lost(scene: &Scene<'_>, what: &str) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.eventually(|| scene.get(old, "a").is_ok().then_some(()));
    let read = scene.get(new, "a").ok()["spec"].clone();
    let fresh = scene.create(old, &scene.object(old, "fresh")).ok();
    assert!(fresh["metadata"]["uid"].is_string());
    assert_eq!(scene.get(new, "fresh").ok()["spec"], read, "{what}");
    scene.delete(old, "fresh").ok();
}

fn back(scene: &Scene<'_>) {
    let (new, name) = (scene.sample.new, scene.crd_name());
    scene.enable(new);
    scene.create(new, &scene.object(new, "a")).ok();
    for last in steps(2) {
        let (ended, calls) = scene.killed_after(last, |kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            let flags = ["--served", new, "--settle=0s", &kubeconfig];
            scene.on_the_cluster(&[&["disable", &name, &scene.server()], &flags[..]].concat())
        });
        let what = format!("after call {last}, {:?}", calls.last());
        done(&what, scene.enables(&["--repoint", "--force-conflicts"]));
        nothing_is_lost(scene, &what);
        let crd = scene.crd_now();
        assert_eq!(crd["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null, "{what}");
        let (code, text, errors) = scene.command(&["status", &name]);
        assert_eq!(code, 0, "{what}: {text}{errors}");
        if ended.is_some() {
            assert!(last > 12, "{calls:?}");
            return;
        }
    }
}

fn left(scene: &Scene<'_>) {
    let (old, name) = (scene.sample.old, scene.crd_name());
    assert_no_conversion(scene);
    let before = scene.get(old, "a").ok()["spec"].clone();
    for last in steps(3) {
        let (ended, calls) =
            scene.killed_after(last, |kubeconfig| scene.enable_args(kubeconfig, &["--force-conflicts"]));
        let what = format!("after call {last}, {:?}", calls.last());
        scene.eventually(|| scene.list(old).is_ok().then_some(()));
        let disabled = scene.command(&["disable", &name, &scene.server(), "--served", old, "--settle=0s"]);
        done(&what, disabled);
        let crd = scene.crd_now();
        assert!(crd["spec"]["conversion"]["webhook"].is_null(), "{what}: {crd}");
        scene.eventually(|| scene.get(old, "a").is_ok().then_some(()));
        assert_eq!(scene.get(old, "a").ok()["spec"], before, "{what}");
        if ended.is_some() {
            assert!(last > 8, "{calls:?}");
            return;
        }
        remove_conversion(scene);
    }
}

fn turned(scene: &Scene<'_>) {
    let (old, new, name) = (scene.sample.old, scene.sample.new, scene.crd_name());
    scene.enable(old);
    for at in 0..5 {
        let name = if at == 0 { "a".to_owned() } else { format!("w-{at}") };
        scene.create(old, &scene.object(old, &name)).ok();
    }
    for last in steps(3) {
        let flags = ["--to", new, "--settle=0s", "--page=2", "--max-in-flight=1"];
        let (ended, calls) = scene.killed_after(last, |kubeconfig| scene.migrate_args(kubeconfig, &flags));
        let what = format!("after call {last}, {:?}", calls.last());
        nothing_is_lost(scene, &what);
        // Nobody leaves in the middle, and nobody is harmed by trying.
        let stored = scene.stored_versions();
        let (code, text, errors) =
            scene.command(&["disable", &name, &scene.server(), "--served", old, "--dry-run=server"]);
        assert_eq!(code == 0, stored == json!([old]), "{what}, {stored}: {text}{errors}");
        done(&what, scene.enables(&["--force-conflicts"]));
        done(&what, scene.migrate(&["--to", old, "--settle=0s"]));
        assert_eq!(scene.stored_versions(), json!([old]), "{what}");
        nothing_is_lost(scene, &what);
        if ended.is_some() {
            assert!(last > 8, "{calls:?}");
            break;
        }
    }
    done("at last", scene.command(&["disable", &name, &scene.server(), "--served", old, "--settle=0s"]));
}

fn enabled(scene: &Scene<'_>) {
    let (old, name) = (scene.sample.old, scene.crd_name());
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    register(scene);
    for last in steps(2) {
        let next = Authority::new();
        let file = ca_file(scene, "next.crt", &next);
        let (ended, calls) = scene.killed_after(last, |kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            ["rotate-ca", &scene.server(), &file, "--settle=0s", &kubeconfig].map(str::to_owned).to_vec()
        });
        let what = format!("after call {last}, {:?}", calls.last());
        // The servers still show what they did: whoever enables by that keeps them trusted.
        nothing_is_lost(scene, &what);
        done(&what, scene.enables(&["--force-conflicts"]));
        nothing_is_lost(scene, &what);
        let (code, text, errors) = scene.command(&["status", &name]);
        assert_eq!(code, 0, "{what}: {text}{errors}");
        if ended.is_some() {
            assert!(last > 4, "{calls:?}");
            return unregister(scene);
        }
        trust(scene, &[&scene.bed.authority]);
    }
}

/// It is enabled all the same, and the next enable takes it off.
fn noted(scene: &Scene<'_>) {
    const NOTE: &str = "pointsman.dev/disabling";
    scene.enable(scene.sample.new);
    let crd = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", scene.crd_name());
    let note = json!({"metadata": {"annotations": {NOTE: "{}"}}});
    scene.call(Method::PATCH, &crd, Some((MERGE, note.to_string()))).ok();
    let denied = status(403, "customresourcedefinitions is forbidden: you may only apply it");
    let proxy = Proxy::start(&scene.bed.api.client, move |_, method, path| match path.split_once('?') {
        Some((at, query)) if method == Method::PATCH && at == crd && !query.contains("force=") => {
            Fate::Answer(403, None, denied.clone())
        }
        _ => Fate::Pass,
    });
    let (code, text, errors) = scene.enables_at(&scene.through(proxy.port), &["--force-conflicts"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(
        errors.contains(&format!("warning: cannot remove the annotation {NOTE}"))
            && errors.contains("Run enable again"),
        "{errors}"
    );
    assert_eq!(scene.crd_now()["metadata"]["annotations"][NOTE], "{}");
    done("once more", scene.enables(&["--force-conflicts"]));
    assert_eq!(scene.crd_now()["metadata"]["annotations"][NOTE], Value::Null);
}
