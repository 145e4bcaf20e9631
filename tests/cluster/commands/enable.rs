//! `pointsman enable` points a CRD to a server only after every endpoint has answered, and restores an unreadable CRD.

use std::fs;

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::enable_trouble::remove_conversion;
use crate::commands::rotate::thorough;
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, TestContext};
use crate::support::pki::Authority;
use crate::support::pointsman::Pointsman;
use crate::support::process::free_port;
use crate::support::sample::{ENGINE, Sample, WIDGET};
use crate::support::side_by_side::{A, SideBySide};
use crate::support::test_cluster::Route;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("enable_waits_for_every_server", enabled).failing(),
    Scenario::new("unreadable_crd_is_restored", put_back).of(&WIDGETS).failing(),
    Scenario::new("registration_works_or_is_removed", registered).of(&ENGINES).newest().failing(),
    Scenario::new("registration_survives_kill_at_any_call", killed).of(&ENGINES).newest().failing(),
    Scenario::new("foreign_webhooks_need_force", led_elsewhere).of(&ENGINES).newest().failing(),
    Scenario::new("foreign_conversion_is_kept", others).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];
static ENGINES: [&Sample; 1] = [&ENGINE];

/// The classic outage: the CRD is applied before its webhook is up.
fn enabled(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    with_one_version(ctx);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let before = ctx.crd_now();
    let untouched = |said: &str, more: &[&str]| {
        let (code, _, errors) = ctx.enables(more);
        assert_eq!(code, 1, "{errors}");
        assert!(errors.contains(said) && errors.contains("the cluster is unchanged"), "{said}: {errors}");
        assert_eq!(ctx.crd_now()["spec"], before["spec"]);
        assert!(ctx.list(old).is_ok());
    };
    // No server runs.
    ctx.stop_pointsman();
    untouched("unreachable from here", &[]);
    // A server of another kind runs.
    let mut setup = ctx.setup.clone();
    setup.kinds = ctx.dir.join("others");
    ctx.sample.install("others.example.com", &setup.kinds);
    let mut stranger = Pointsman::start(&setup);
    untouched("is not served here", &[]);
    stranger.kill();
    *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&ctx.setup));
    // With an authority that the API server would not receive.
    let other = ctx.dir.join("other.crt");
    fs::write(&other, &Authority::new().pem).unwrap();
    untouched("TLS as", &[&format!("--ca-file={}", other.display())]);
    // All checks pass: a dry run only tests. Field conflicts are reported first.
    untouched("conflict with", &["--dry-run=server"]);
    let (code, text, errors) = ctx.enables(&["--dry-run=server", "--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    assert!(text.contains("can be enabled"), "{text}");
    assert_eq!(ctx.crd_now()["spec"], before["spec"]);
    let (code, text, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    assert!(text.contains("is enabled; 1 endpoint tested"), "{text}");
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{old}", ctx.group));
    assert_eq!(ctx.get(new, "a").ok()["apiVersion"], format!("{}/{new}", ctx.group));
    // A second run changes nothing.
    let generation = ctx.crd_now()["metadata"]["generation"].clone();
    let (code, _, errors) = ctx.enables(&[]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(ctx.crd_now()["metadata"]["generation"], generation);
}

/// The endpoint answers pointsman; the API server is directed to another address.
fn put_back(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    with_one_version(ctx);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let before = ctx.crd_now();
    let (host, port) = (&ctx.setup.host, ctx.setup.port);
    let endpoint = format!("--endpoint={host}:{port}");
    let wrong = match ctx.route {
        Route::Service => format!("--service={}/pointsman:{}", ctx.ns, free_port()),
        Route::Url => format!("--url=https://127.0.0.1:{}", free_port()),
    };
    let (code, _, errors) = ctx.enables(&[&wrong, &endpoint, "--force-conflicts"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("cannot be read") && errors.contains("the CRD is restored"), "{errors}");
    assert_eq!(ctx.crd_now()["spec"], before["spec"]);
    ctx.eventually(|| ctx.get(old, "a").is_ok().then_some(()));
}

/// Webhook configurations are applied last, tested, and deleted if no server answers.
fn registered(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    with_one_version(ctx);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let _servers = SideBySide::start(ctx, &[A], &[]);
    let file = |name: &str, service: &str| {
        let file = ctx.dir.join(name);
        let service = format!("--service={}/{service}:{}", ctx.ns, ctx.setup.port);
        let versions = [format!("--controller-version={A}"), format!("--default={A}"), format!("--served={A}")];
        let all = ["webhooks", &versions[0], &versions[1], &versions[2], &service];
        fs::write(&file, ctx.pointsman_prints(&all)).unwrap();
        format!("--webhooks={}", file.display())
    };
    let there = |kind: &str| -> Vec<Value> {
        let list = ctx.call_get(&format!("/apis/admissionregistration.k8s.io/v1/{kind}"));
        let end = format!(".{}", ctx.crd_name());
        let ours = |item: &&Value| item["metadata"]["name"].as_str().unwrap().ends_with(&end);
        list["items"].as_array().unwrap().iter().filter(ours).cloned().collect()
    };
    let all = || (there("validatingwebhookconfigurations"), there("mutatingwebhookconfigurations"));
    // The Service does not exist: the API server reaches no server, and every write would fail.
    let before = ctx.crd_now();
    let nowhere = file("nowhere.json", "nowhere");
    let (code, _, errors) = ctx.enables(&["--force-conflicts", &nowhere]);
    assert_eq!(code, 1, "{errors}");
    for said in ["no object can be created", "the CRD is restored", "the webhook configurations are restored as well"] {
        assert!(errors.contains(said), "{said}: {errors}");
    }
    assert_eq!(all(), (Vec::new(), Vec::new()));
    assert_eq!(ctx.crd_now()["spec"], before["spec"]);
    ctx.eventually(|| ctx.create(old, &ctx.object(old, "b")).is_ok().then_some(()));
    // The plan, for programs.
    let there_is = file("there.json", &format!("engine-{}", A.replace('.', "-")));
    let (code, text, errors) = ctx.enables(&[&there_is, "--dry-run=client", "-o", "json"]);
    assert_eq!(code, 0, "{errors}");
    let plan: Value = serde_json::from_str(&text).unwrap();
    let steps: Vec<&str> = plan["steps"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
    assert!(steps[0].starts_with("test every endpoint of"), "{steps:?}");
    let at = |start: &str| steps.iter().position(|step| step.starts_with(start)).unwrap();
    assert!(at("apply CustomResourceDefinition") < at("apply ValidatingWebhookConfiguration"), "{steps:?}");
    assert!(steps.last().unwrap().starts_with("read "), "{steps:?}");
    assert_eq!((plan["dryRun"].as_str(), all()), (Some("client"), (Vec::new(), Vec::new())));
    // A kind that is never registered.
    let crd = ctx.dir.join("crd.json");
    fs::write(&crd, ctx.enabled(old).to_string()).unwrap();
    let (code, _, errors) = ctx.enables(&[&format!("--webhooks={}", crd.display())]);
    assert!(code == 2 && errors.contains("CustomResourceDefinition is no webhook configuration"), "{errors}");
    // The command succeeds, also the second time.
    for _ in 0..2 {
        let (code, _, errors) = ctx.enables(&["--force-conflicts", &there_is]);
        assert_eq!(code, 0, "{errors}");
        for version in [old, ctx.sample.new] {
            assert!(errors.matches(&format!("an object can be created at {version}")).count() >= 2, "{errors}");
        }
    }
    let (validating, mutating) = all();
    assert!(!validating.is_empty() && !mutating.is_empty());
    assert!(validating.iter().all(|one| one["metadata"]["generation"] == 1), "applied again, and not changed");
}

/// Sends SIGKILL after the first call, after the second, and so on, each time from the initial state.
fn killed(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    with_one_version(ctx);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let _servers = SideBySide::start(ctx, &[A], &[]);
    let service = format!("--service={}/engine-{}:{}", ctx.ns, A.replace('.', "-"), ctx.setup.port);
    let versions = [format!("--controller-version={A}"), format!("--default={A}"), format!("--served={A}")];
    let text = ctx.pointsman_prints(&["webhooks", &versions[0], &versions[1], &versions[2], &service]);
    let (file, printed) = (ctx.dir.join("webhooks.json"), serde_json::from_str(&text).unwrap());
    fs::write(&file, &text).unwrap();
    let flags = ["--force-conflicts".to_owned(), format!("--webhooks={}", file.display())];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    for last in (0..).step_by(if thorough() { 1 } else { 12 }) {
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| ctx.enable_args(kubeconfig, &flags));
        let (code, _, errors) = ctx.enables(&flags);
        assert_eq!(code, 0, "after call {last}, {:?}: {errors}", calls.last());
        ctx.get(ctx.sample.new, "a").ok();
        let made = ctx.create(old, &ctx.object(old, "b")).ok();
        assert_eq!(made["metadata"]["labels"][ctx.kind().version_label()], A, "after call {last}");
        ctx.delete(old, "b").ok();
        ctx.kubectl(&["delete"], &printed);
        if ended.is_some() {
            println!("     killed up to call {last}");
            assert!(last > 20, "{calls:?}");
            return;
        }
        remove_conversion(ctx);
    }
}

fn others(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    ctx.enable(old);
    let elsewhere = format!("--service={}/other:{}", ctx.ns, ctx.setup.port);
    let (code, _, errors) = ctx.enables(&[&elsewhere]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("is converted by Service") && errors.contains("--repoint"), "{errors}");
    // Fields of another field manager stay with that manager.
    let (code, _, errors) = ctx.enables(&["--no-rules"]);
    let conflict = errors.contains("--force-conflicts");
    assert!(code == 0 || conflict, "{errors}");
    // A version that the definition lacks may have stored objects.
    let path = format!("{CRDS}/{}/status", ctx.crd_name());
    ctx.change_crd(|crd| {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let mut strange = versions[0].clone();
        (strange["name"], strange["storage"], strange["served"]) = (json!("v0strange"), json!(false), json!(false));
        versions.push(strange);
    });
    let stored = json!({"status": {"storedVersions": [old, "v0strange"]}});
    ctx.call(Method::PATCH, &path, Some(("application/merge-patch+json", stored.to_string()))).ok();
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("may have objects stored as v0strange"), "{errors}");
}

/// The CRD as it was before any conversion.
fn with_one_version(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    // Also creates the Service.
    let mut crd = ctx.enabled(old);
    drop(crd["spec"].as_object_mut().unwrap().remove("conversion"));
    crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    ctx.install(&crd);
}

/// The API server accepts one address per webhook, so a plain apply fails.
fn led_elsewhere(ctx: &TestContext<'_>) {
    with_one_version(ctx);
    let _servers = SideBySide::start(ctx, &[A], &[]);
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let versions = [format!("--controller-version={A}"), format!("--default={A}"), format!("--served={A}")];
    let printed = |service: &str| {
        let service = format!("--service={}/{service}:{}", ctx.ns, ctx.setup.port);
        let text = ctx.pointsman_prints(&["webhooks", &versions[0], &versions[1], &versions[2], &service]);
        let file = ctx.dir.join(format!("{service}.json").replace('/', "-"));
        fs::write(&file, &text).unwrap();
        (serde_json::from_str::<Value>(&text).unwrap(), format!("--webhooks={}", file.display()))
    };
    let (ours, here) = printed(&format!("engine-{}", A.replace('.', "-")));
    // The webhooks for unlabelled objects as well: clients cannot create any.
    let mut elsewhere = ours["items"].as_array().unwrap().clone();
    elsewhere.retain(|item| item["kind"] == "MutatingWebhookConfiguration");
    let selector = json!({"matchExpressions": [{"key": "theirs", "operator": "DoesNotExist"}]});
    for hook in &mut elsewhere {
        hook["webhooks"][0]["clientConfig"] = json!({"url": "https://127.0.0.1:1/mutate"});
        hook["webhooks"][0]["namespaceSelector"] = selector.clone();
        ctx.kubectl(&["apply"], hook);
    }
    let at = |hook: &Value| {
        let name = hook["metadata"]["name"].as_str().unwrap();
        format!("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{name}")
    };
    let there = || elsewhere.iter().map(|hook| ctx.call_get(&at(hook))).collect::<Vec<_>>();
    let before = there();
    for flags in [&[here.as_str()][..], &[&here, "--repoint"], &[&here, "--dry-run=server"]] {
        let (code, _, errors) = ctx.enables(flags);
        assert_eq!(code, 1, "{errors}");
        assert!(errors.contains("points to https://127.0.0.1:1/mutate, according to kubectl"), "{errors}");
        assert!(errors.contains("the cluster is unchanged") && errors.contains("--force-conflicts"), "{errors}");
        assert_eq!(there(), before);
    }
    let (code, _, errors) = ctx.enables(&[&here, "--force-conflicts", "--dry-run=server"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("would take ownership of") && errors.contains("https://127.0.0.1:1/mutate"), "{errors}");
    assert_eq!(there(), before, "a dry run writes nothing");
    // The new address has no server: the configuration is restored.
    let (code, _, errors) = ctx.enables(&[&printed("engine-gone").1, "--force-conflicts"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("the webhook configurations are restored as well"), "{errors}");
    for (now, before) in there().iter().zip(&before) {
        assert_eq!(now["webhooks"], before["webhooks"]);
        assert_eq!(now["metadata"]["labels"], before["metadata"]["labels"]);
    }
    let (code, _, errors) = ctx.enables(&[&here]);
    assert_eq!(code, 1, "what was put back is not ours: {errors}");
    assert!(errors.contains("--force-conflicts"), "{errors}");
    let (code, _, errors) = ctx.enables(&[&here, "--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    for hook in there() {
        let webhook = &hook["webhooks"][0];
        assert!(webhook["clientConfig"]["url"].is_null() && webhook["clientConfig"]["service"].is_object(), "{hook}");
        assert_eq!(webhook["namespaceSelector"], selector, "other fields of the client stay");
    }
    let now = there();
    let (code, _, errors) = ctx.enables(&[&here]);
    assert_eq!(code, 0, "what is ours needs no word: {errors}");
    assert_eq!(there(), now);
    ctx.kubectl(&["delete"], &ours);
}
