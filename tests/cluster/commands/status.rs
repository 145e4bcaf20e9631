//! `pointsman status` and `migrate --forget`: the state of a kind, and the remains of a removed version.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::acting::run;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::pki::Authority;
use crate::support::process::{Process, SOON};
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{ENGINE, Sample, WIDGET};
use crate::support::side_by_side::{A, B, SideBySide};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("status_names_required_actions", told).newest().failing(),
    Scenario::new("kept_data_of_removed_version_expires", forgotten),
    Scenario::new("killed_forget_resumes", killed).newest(),
    Scenario::new("restored_version_keeps_its_data", served_again).newest(),
    Scenario::new("unserved_version_objects_are_counted", unserved).of(&WIDGETS).newest(),
    Scenario::new("status_watch_shows_changes", watched).newest(),
    Scenario::new("doctor_finds_cluster_mismatches", doctored).of(&ENGINES).newest().failing().alone(),
    Scenario::new("unknown_kind_fails_status", unknown).of(&WIDGETS).newest(),
    Scenario::new("restored_annotation_counts_as_present", mutated).of(&ENGINES).newest().failing(),
];

static ENGINES: [&Sample; 1] = [&ENGINE];
static WIDGETS: [&Sample; 1] = [&WIDGET];

/// A CRD that converts through pointsman without a definition is reported, and an empty check fails.
fn unknown(ctx: &TestContext<'_>) {
    let name = ctx.crd_name();
    ctx.enable(ctx.sample.old);
    let others = ctx.dir.join("others");
    fs::create_dir(&others).unwrap();
    for file in ["engines.yaml", "engines.crd.yaml"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinds").join(file);
        fs::copy(from, others.join(file)).unwrap();
    }
    let with_others = |command: &str| {
        let kubeconfig = format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display());
        let kinds = format!("--kinds={}", others.display());
        run(&[command, "--no-built-in", &kinds, &kubeconfig].map(str::to_owned))
    };
    let (code, text, errors) = with_others("status");
    assert_eq!((code, text.as_str()), (1, ""), "{errors}");
    assert!(errors.contains(&format!("{name} converts through ")), "{errors}");
    assert!(
        errors.contains("cannot check this cluster: no known kind is installed\nhint: pointsman status"),
        "{errors}"
    );
    let (code, text, errors) = with_others("doctor");
    let found = format!("CustomResourceDefinition {name}: converts through ");
    assert!(code == 1 && text.contains(&found), "{text}{errors}");
    // Another kind of the same server.
    let mut other = crd(ctx);
    let spec = json!({"group": format!("other.{}", ctx.group), "names": other["spec"]["names"], "scope": "Namespaced",
        "versions": other["spec"]["versions"], "conversion": other["spec"]["conversion"]});
    let plural = spec["names"]["plural"].as_str().unwrap().to_owned();
    let unknown = format!("{plural}.{}", spec["group"].as_str().unwrap());
    other = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": unknown}, "spec": spec});
    ctx.post(CRDS, &other).ok();
    let (code, text, errors) = ctx.command(&["status"]);
    assert!(code == 1 && text.contains(&name), "{text}{errors}");
    assert!(errors.contains(&format!("{unknown} converts through ")), "{errors}");
    assert!(!ctx.command(&["status", &name]).2.contains(&unknown));
    ctx.call(Method::DELETE, &format!("{CRDS}/{unknown}"), None).ok();
}

/// The storage version may be unserved.
fn unserved(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    for name in ["a", "b"] {
        ctx.create(new, &ctx.object(new, name)).ok();
    }
    serve_alone(ctx, old);
    let (_, text, errors) = ctx.command(&["status", &ctx.crd_name(), "-o", "json"]);
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&seen["objects"], &seen["storage"]), (&json!(2), &json!(new)), "{text}{errors}");
    assert!(ctx.commanded(&["plan", &ctx.crd_name()]).contains("2 objects"));
}

/// `status --watch` prints each change once; a short outage of the cluster ends nothing.
fn watched(ctx: &TestContext<'_>) {
    let (old, name) = (ctx.sample.old, ctx.crd_name());
    ctx.enable(old);
    let away = Arc::new(AtomicBool::new(false));
    let is_away = away.clone();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, _, _| match is_away.load(Ordering::Relaxed) {
        true => Fate::CutBefore,
        false => Fate::Pass,
    });
    let through = format!("--kubeconfig={}", ctx.through(proxy.port).display());
    let args = ctx.on_the_cluster(&["status", &name, "--watch", "--interval=1s", &through]);
    let log = ctx.dir.join("watch.log");
    let mut process = Process::start("watch", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log);
    let said = || fs::read_to_string(&log).unwrap_or_default();
    let sees = |text: &str| ctx.eventually(|| said().contains(text).then_some(()));
    sees("objects       0");
    ctx.create(old, &ctx.object(old, "a")).ok();
    sees("objects       1");
    away.store(true, Ordering::Relaxed);
    sees("warning: ");
    away.store(false, Ordering::Relaxed);
    ctx.create(old, &ctx.object(old, "b")).ok();
    sees("objects       2");
    process.interrupt();
    assert_eq!(process.end(Duration::from_secs(10)), Some(130), "{}", said());
    for count in 0..3 {
        assert_eq!(said().matches(&format!("objects       {count}")).count(), 1, "{}", said());
    }
    assert!(ctx.refused(&["status", "--watch", &ctx.as_nobody()]).contains("cannot get resource"));
}

/// `doctor` finds each mismatch in the cluster itself, with the command that fixes it.
fn doctored(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    forget_others(ctx);
    ctx.install(&ctx.printed_crd(&[]));
    let doctor = || ctx.command(&["doctor", &ctx.crd_name()]);
    let finds = |words: [&str; 2]| {
        ctx.eventually(|| {
            let (code, text, errors) = doctor();
            assert_eq!(code, 1, "{words:?}: {text}{errors}");
            words.iter().all(|word| text.contains(word)).then_some(())
        });
    };
    // An object of an unregistered version: no guard protects the label yet.
    ctx.create(new, &ctx.labelled(new, "foreign", Some(B))).ok();
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.labelled(new, "a", Some(A))).ok();
    finds([&format!("={B}, but this version has no registered webhook"), "pointsman webhooks --kind"]);
    ctx.delete(new, "foreign");
    ctx.eventually(|| (doctor().0 == 0).then_some(()));
    let (code, text, errors) = doctor();
    assert!(code == 0 && text == "OK: no findings\n", "{text}{errors}");
    // A Pod shows the flags of its server, which serves another version.
    let service = format!("/api/v1/namespaces/{}/services/engine-{}", ctx.ns, A.replace('.', "-"));
    let selector = json!({"spec": {"selector": {"app": "engine"}}}).to_string();
    ctx.call(Method::PATCH, &service, Some((MERGE, selector))).ok();
    let container = json!({"name": "c", "image": "i", "args": ["serve", format!("--controller-version={B}")]});
    let pod = json!({"metadata": {"name": "p", "labels": {"app": "engine"}}, "spec": {"containers": [container]}});
    let pods = format!("/api/v1/namespaces/{}/pods", ctx.ns);
    ctx.post(&format!("/api/v1/namespaces/{}/serviceaccounts", ctx.ns), &json!({"metadata": {"name": "default"}}));
    ctx.eventually(|| ctx.post(&pods, &pod).is_ok().then_some(()));
    finds([B, "--controller-version"]);
    ctx.call(Method::DELETE, &format!("{pods}/p?gracePeriodSeconds=0"), None);
    ctx.eventually(|| (doctor().0 == 0).then_some(()));
    // Another authority in the webhook configurations alone.
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let list = ctx.call_get(configurations);
    let end = format!(".{}", ctx.crd_name());
    let ours = |item: &&Value| item["metadata"]["name"].as_str().unwrap().ends_with(&end);
    let one = list["items"].as_array().unwrap().iter().find(ours).unwrap();
    let path = format!("{configurations}/{}", one["metadata"]["name"].as_str().unwrap());
    let trusts = |authority: &Authority| {
        let bundle = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &authority.pem);
        let patch =
            json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}]).to_string();
        ctx.call(Method::PATCH, &path, Some(("application/json-patch+json", patch))).ok();
    };
    trusts(&Authority::new());
    finds(["the API server would not trust the certificate", "pointsman rotate-ca"]);
    trusts(&ctx.test_cluster.authority);
    ctx.eventually(|| (doctor().0 == 0).then_some(()));
    // Findings that need only the documents are reported for a file, too.
    let file = ctx.dir.join("registered.json");
    let mut alone = one.clone();
    alone["apiVersion"] = json!("admissionregistration.k8s.io/v1");
    alone["kind"] = json!("ValidatingWebhookConfiguration");
    fs::write(&file, alone.to_string()).unwrap();
    let (code, text, _) = ctx.command(&["doctor", "-f", &file.display().to_string(), "--kubeconfig=/nowhere"]);
    assert!(code == 1 && text.contains("Configuration"), "{text}");
    assert!(ctx.refused(&["doctor", &ctx.as_nobody()]).contains("cannot "));
}

fn told(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let name = ctx.crd_name();
    assert!(ctx.refused(&["status", &name]).contains(&format!("CRD {name} does not exist")));
    ctx.enable(old);
    for name in ["a", "b"] {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    // All checks pass.
    let text = ctx.commanded(&["status", &name]);
    let stored = format!("stored        {old}; objects may be stored as {old}\n");
    for line in [stored.as_str(), "objects       2\n", "schemas       as in the definition\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let seen = status(ctx, 0);
    assert_eq!((&seen["objects"], &seen["findings"]), (&json!(2), &json!([])));
    assert_eq!(seen["authorities"].as_array().map(Vec::len), Some(1));
    assert!(seen["endpoints"][0]["expires"].is_string(), "{seen}");
    // The same for Prometheus.
    let sample = |metric: &str| {
        let (_, text, _) = ctx.command(&["status", &name, "-o", "prometheus"]);
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("{metric}{{crd=\"{name}\"}} ")));
        found.unwrap_or_else(|| panic!("{metric}: {text}")).parse::<u64>().unwrap()
    };
    assert_eq!((sample("pointsman_crd_drift"), sample("pointsman_status_findings")), (0, 0));
    // Without a name, for all existing CRDs.
    assert!(ctx.commanded(&["status"]).contains(&name));
    let unread = ctx.refused(&["status", &name, &ctx.as_nobody()]);
    assert!(unread.contains("cannot get resource"), "{unread}");
    // In the middle of a migration.
    ctx.store(new);
    needs(ctx, &format!("may still be stored as {old}"), "pointsman migrate");
    ctx.commanded(&["migrate", &name, "--settle=1s"]);
    // With another authority, and with another schema.
    let other = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, Authority::new().pem);
    let before = crd(ctx)["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone();
    let bundle = |bundle: Value| json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}});
    merge(ctx, &bundle(json!(other)));
    needs(ctx, "invalid peer certificate", "docs/rotate.md");
    merge(ctx, &bundle(before));
    ctx.change_crd(|crd| {
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        schema["surplus"] = json!({"type": "string"});
    });
    needs(ctx, "surplus is not in the definition's CRD", "pointsman enable");
    assert_eq!(sample("pointsman_crd_drift"), 1);
    // No server responds.
    ctx.stop_pointsman();
    needs(ctx, "unreachable from here", "docs/rotate.md");
    merge(ctx, &json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}}));
    needs(ctx, "no conversion webhook", "pointsman enable");
}

/// Deletes the registrations of completed scenarios, whose servers have stopped.
fn forget_others(ctx: &TestContext<'_>) {
    for what in [
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    ] {
        ctx.call(Method::DELETE, &format!("/apis/admissionregistration.k8s.io/v1/{what}"), None).ok();
    }
}

/// Removes pointsman's annotations for the removed version only; foreign annotations stay.
fn forgotten(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let (name, key) = (ctx.crd_name(), format!("pointsman.dev/kept-{old}"));
    ctx.enable(new);
    let kept = |name: &str| ctx.get(new, name).ok()["metadata"]["annotations"][&key].clone();
    let written = |name: &str, text: &str| {
        let mut object = ctx.object(new, name);
        object["metadata"]["annotations"] = json!({&key: text, "mine": "stays"});
        ctx.create(new, &object).ok();
    };
    let ours = "{\"fields\":{\"spec.none\":{\"value\":1}}}";
    written("ours", ours);
    written("theirs", "a note of another client");
    ctx.create(new, &ctx.object(new, "plain")).ok();
    let forget = ["migrate", &name, "--forget", old];
    assert!(ctx.refused(&forget).contains(&format!("serves {old}")));
    assert!(ctx.refused(&["migrate", &name, "--forget", new]).contains(&format!("serves {new}")));
    serve_alone(ctx, new);
    let path = format!("{CRDS}/{name}/status");
    let stored = |versions: Value| {
        let status = json!({"status": {"storedVersions": versions}}).to_string();
        ctx.call(Method::PATCH, &path, Some((MERGE, status))).ok();
    };
    stored(json!([old, new]));
    assert!(ctx.refused(&forget).contains(&format!("stored as {old}")));
    stored(json!([new]));
    assert!(ctx.refused(&[&forget[..], &[&ctx.as_nobody()]].concat()).contains("cannot get resource"));
    let text = ctx.commanded(&[&forget[..], &["--dry-run"]].concat());
    assert!(text.contains("would remove the annotation from 1 object, 3 objects checked"), "{text}");
    assert_eq!(kept("ours"), ours);
    let text = ctx.commanded(&forget);
    assert!(text.contains("removed from 1 object, 3 objects checked") && text.contains("left on 1 object"), "{text}");
    assert_eq!((kept("ours"), kept("theirs")), (Value::Null, json!("a note of another client")));
    assert_eq!(ctx.get(new, "ours").ok()["metadata"]["annotations"]["mine"], "stays");
    for (name, writes) in [("ours", 2), ("theirs", 1), ("plain", 1)] {
        assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key(name)), writes, "{name}");
    }
    assert!(ctx.commanded(&forget).contains("removed from 0 objects"));
    assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key("ours")), 2);
}

/// Objects with an annotation of pointsman for an unserved version. Returns the names and the annotation key.
fn keeping(ctx: &TestContext<'_>, count: usize) -> (Vec<String>, String) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let key = format!("pointsman.dev/kept-{old}");
    ctx.enable(new);
    let names: Vec<String> = (0..count).map(|at| format!("w-{at}")).collect();
    for name in &names {
        let mut object = ctx.object(new, name);
        object["metadata"]["annotations"] = json!({&key: "{\"sparse\":true}"});
        ctx.create(new, &object).ok();
    }
    serve_alone(ctx, new);
    (names, key)
}

/// If the version is served again, the command stops, so that the remaining kept values stay readable.
fn served_again(ctx: &TestContext<'_>) {
    let (old, name) = (ctx.sample.old, ctx.crd_name());
    let (names, key) = keeping(ctx, 200);
    let one = format!("/{}/w-", ctx.sample.plural);
    let writes = Arc::new(AtomicUsize::new(0));
    let seen = writes.clone();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| {
        let held = method == Method::PATCH && path.contains(&one) && seen.fetch_add(1, Ordering::Relaxed) == 20;
        if held { Fate::HeldBefore } else { Fate::Pass }
    });
    let through = format!("--kubeconfig={}", ctx.through(proxy.port).display());
    let args = ctx.on_the_cluster(&["migrate", &name, "--forget", old, "--max-in-flight=1", &through]);
    let log = ctx.dir.join("forget.log");
    let mut process = Process::start("forget", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log);
    ctx.eventually(|| (writes.load(Ordering::Relaxed) > 20).then_some(()));
    ctx.change_crd(|crd| {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["served"] = json!(true);
        }
    });
    proxy.release();
    let code = process.end(SOON);
    let said = fs::read_to_string(&log).unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("was changed or recreated by another client"), "{said}");
    let kept = |name: &&String| ctx.etcd(name)["metadata"]["annotations"][&key].is_string();
    // One write was in flight, and the command reads the CRD ten times a second.
    let left = names.iter().filter(kept).count();
    assert!((100..=180).contains(&left), "{left} left\n{said}");
}

/// SIGKILL in the middle: no object is written twice.
fn killed(ctx: &TestContext<'_>) {
    let (old, name) = (ctx.sample.old, ctx.crd_name());
    let (names, key) = keeping(ctx, 120);
    let args = ctx.on_the_cluster(&["migrate", &name, "--forget", old, "--page=20", "--max-in-flight=1"]);
    let log = ctx.dir.join("forget.log");
    let pages = || fs::read_to_string(&log).unwrap_or_default().matches(" already current").count();
    for killed in 0..3 {
        let mut process = Process::start("forget", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log);
        ctx.eventually(|| (pages() > killed).then_some(()));
        process.kill();
    }
    ctx.commanded(&["migrate", &name, "--forget", old]);
    for name in &names {
        let object = ctx.etcd(name);
        assert_eq!(object["metadata"]["annotations"][&key], Value::Null, "{name}");
        assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key(name)), 2, "{name}: created, and written once");
    }
}

/// An annotation that a webhook restores remains, and the webhook is named.
fn mutated(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let (name, key) = (ctx.crd_name(), format!("pointsman.dev/kept-{new}"));
    ctx.install(&ctx.printed_crd(&["--storage", old]));
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.object(new, "a")).ok();
    let kept = || ctx.get(old, "a").ok()["metadata"]["annotations"][&key].clone();
    let before = kept();
    assert!(before.is_string(), "v2 can say more");
    serve_alone(ctx, old);
    let forget = ["migrate", &name, "--forget", new];
    let (code, text, _) = ctx.command(&forget);
    assert!(code == 1 && text.contains("an admission webhook restores the annotation"), "{text}");
    assert_eq!(kept(), before);
    // The recommended command resolves the problem.
    let text = ctx.commanded(&["disable", &name, &ctx.server(), "--admission", "--settle=2s"]);
    assert!(text.contains(&format!("values of {new} in an annotation of 1")), "{text}");
    assert!(ctx.commanded(&forget).contains("removed from 1 object"));
    assert_eq!(kept(), Value::Null);
}

/// Serves one version, and waits until no other version is served.
fn serve_alone(ctx: &TestContext<'_>, served: &str) {
    ctx.change_crd(|crd| {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["served"] = json!(version["name"] == served);
        }
    });
    let other = if served == ctx.sample.new { ctx.sample.old } else { ctx.sample.new };
    ctx.eventually(|| (ctx.list(other).code == 404).then_some(()));
}

#[track_caller]
fn needs(ctx: &TestContext<'_>, problem: &str, fix: &str) {
    let mut last = Value::Null;
    let is_it =
        |one: &Value| one["problem"].as_str().unwrap().contains(problem) && one["fix"].as_str().unwrap().contains(fix);
    ctx.eventually(|| {
        last = status(ctx, 1)["findings"].clone();
        last.as_array().unwrap().iter().any(is_it).then_some(())
    });
}

#[track_caller]
fn status(ctx: &TestContext<'_>, wanted: i32) -> Value {
    let (code, text, errors) = ctx.command(&["status", &ctx.crd_name(), "-o", "json"]);
    assert_eq!(code, wanted, "{text}{errors}");
    serde_json::from_str(&text).unwrap()
}

fn crd(ctx: &TestContext<'_>) -> Value {
    ctx.call_get(&format!("{CRDS}/{}", ctx.crd_name()))
}

fn merge(ctx: &TestContext<'_>, patch: &Value) {
    let path = format!("{CRDS}/{}", ctx.crd_name());
    ctx.call(Method::PATCH, &path, Some((MERGE, patch.to_string()))).ok();
}
