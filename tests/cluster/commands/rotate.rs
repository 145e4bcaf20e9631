//! `pointsman rotate-ca`: replaces the authority, while users write and read.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::load::{MANY, under_load};
use crate::scenario::Scenario;
use crate::support::acting::{Told, run};
use crate::support::balancer::Balancer;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::pki::Authority;
use crate::support::pointsman::{Pointsman, Setup, write_pair};
use crate::support::process::free_port;
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("authority_rotation_fails_no_call", rotated).of(&WIDGETS).newest().failing().alone(),
    Scenario::new("rotation_survives_kill_at_any_call", killed).of(&WIDGETS).newest().failing(),
    Scenario::new("needed_authority_is_trusted_again", needed).of(&WIDGETS).newest().failing(),
    Scenario::new("cert_manager_bundles_are_kept", injected).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

pub(crate) const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1";

/// One of several servers with one address, with separate certificate files.
pub(crate) struct Replica {
    dir: PathBuf,
    pub(crate) setup: Setup,
    pub(crate) running: Pointsman,
}

impl Replica {
    pub(crate) fn start(ctx: &TestContext<'_>, name: &str, authority: &Authority) -> Self {
        let dir = ctx.dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        let (cert, key) = write_pair(&dir, &authority.issue(&names(ctx)));
        let log = ctx.setup.log.with_extension(format!("{name}.log"));
        let setup = Setup { cert, key, log, port: free_port(), ..ctx.setup.clone() };
        let running = Pointsman::start(&setup);
        Self { dir, setup, running }
    }

    /// Writes new certificate files, which the server loads within seconds.
    pub(crate) fn give(&self, ctx: &TestContext<'_>, authority: &Authority) {
        write_pair(&self.dir, &authority.issue(&names(ctx)));
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("--endpoint={}:{}", self.setup.host, self.setup.port)
    }
}

pub(crate) fn names(ctx: &TestContext<'_>) -> [String; 3] {
    ["localhost".to_owned(), "127.0.0.1".to_owned(), format!("pointsman.{}.svc", ctx.ns)]
}

/// A file with an authority.
pub(crate) fn ca_file(ctx: &TestContext<'_>, name: &str, authority: &Authority) -> String {
    let file = ctx.dir.join(name);
    fs::write(&file, &authority.pem).unwrap();
    format!("--ca-file={}", file.display())
}

pub(crate) fn args(ctx: &TestContext<'_>, more: &[&str]) -> Vec<String> {
    let own =
        ["rotate-ca".to_owned(), ctx.server(), format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display())];
    own.into_iter().chain(more.iter().map(|arg| (*arg).to_owned())).collect()
}

pub(crate) fn rotate(ctx: &TestContext<'_>, more: &[&str]) -> Told {
    run(&args(ctx, more))
}

/// Webhook configurations with the same server, which refuse writes if the server is unreachable.
pub(crate) fn register(ctx: &TestContext<'_>) {
    for (kind, plural, path) in [
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "/validate"),
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "/mutate"),
    ] {
        let mut client = ctx.conversion()["webhook"]["clientConfig"].clone();
        client["service"]["path"] = json!(path);
        let rules = json!([{
            "apiGroups": [ctx.group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*"],
        }]);
        let webhook = json!({
            "name": format!("w.{}", ctx.group), "clientConfig": client, "rules": rules, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Exact",
        });
        let api = "admissionregistration.k8s.io/v1";
        let document = json!({"apiVersion": api, "kind": kind, "metadata": {"name": ctx.ns}, "webhooks": [webhook]});
        ctx.post(&format!("{HOOKS}/{plural}"), &document).ok();
    }
}

pub(crate) fn unregister(ctx: &TestContext<'_>) {
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        ctx.call(Method::DELETE, &format!("{HOOKS}/{plural}/{}", ctx.ns), None);
    }
}

/// The bundles of the CRD and of the webhook configurations, if any.
pub(crate) fn bundles(ctx: &TestContext<'_>) -> Vec<String> {
    let mut found = vec![ctx.crd_now()["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone()];
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let answer = ctx.call(Method::GET, &format!("{HOOKS}/{plural}/{}", ctx.ns), None);
        found.extend(answer.is_ok().then(|| answer.body["webhooks"][0]["clientConfig"]["caBundle"].clone()));
    }
    let decoded = |bundle: &Value| String::from_utf8(STANDARD.decode(bundle.as_str().unwrap()).unwrap()).unwrap();
    found.iter().map(decoded).collect()
}

/// Checks that each of these authorities is trusted everywhere, and no other.
#[track_caller]
pub(crate) fn assert_trusted(ctx: &TestContext<'_>, authorities: &[&Authority]) {
    let base64 = |pem: &str| pem.lines().filter(|line| !line.starts_with('-')).collect::<String>();
    for bundle in bundles(ctx) {
        assert_eq!(bundle.matches("BEGIN CERTIFICATE").count(), authorities.len(), "{bundle}");
        for authority in authorities {
            assert!(base64(&bundle).contains(&base64(&authority.pem)), "{bundle}");
        }
    }
}

/// Two replicas with one address, 20 writers and readers; then the same in the usual, naive order.
fn rotated(ctx: &TestContext<'_>) {
    ctx.stop_pointsman();
    let balancer = Balancer::start(ctx.setup.port);
    let old = &ctx.test_cluster.authority;
    let replicas = [Replica::start(ctx, "one", old), Replica::start(ctx, "two", old)];
    balancer.set(&[replicas[0].running.backend(), replicas[1].running.backend()]);
    ctx.enable(ctx.sample.new);
    register(ctx);
    let endpoints = [replicas[0].endpoint(), replicas[1].endpoint()];
    let mut authorities = Vec::new();
    let (load, rounds) = under_load(ctx, 20, || {
        let mut rounds = 0;
        while rounds == 0 || (thorough() && rounds < ROUNDS) {
            let new = Authority::new();
            let before = authorities.last().unwrap_or(old);
            change(ctx, &replicas, &endpoints, before, &new);
            authorities.push(new);
            rounds += 1;
        }
        rounds
    });
    assert!(!thorough() || load.requests >= MANY, "{} calls", load.requests);
    println!("     {rounds} changes of authority under {} calls: {} errors", load.requests, load.errors.len());
    assert_eq!(load.errors, [""; 0]);
    // The naive order: replaces the bundle first, and the certificates afterwards.
    let next = Authority::new();
    ctx.call(Method::DELETE, &ctx.all(ctx.sample.new), None).ok();
    let (naive, ()) = under_load(ctx, 20, || {
        let bundle = STANDARD.encode(&next.pem);
        let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}).to_string();
        ctx.call(Method::PATCH, &format!("{CRDS}/{}", ctx.crd_name()), Some((MERGE, patch))).ok();
        // A kubelet takes a minute.
        thread::sleep(Duration::from_secs(3));
        replicas.iter().for_each(|replica| replica.give(ctx, &next));
        thread::sleep(Duration::from_secs(1));
    });
    println!("     the naive order under {} calls: {} errors", naive.requests, naive.errors.len());
    assert!(naive.errors.iter().any(|error| error.contains("x509")), "{:?}", naive.errors.first());
    unregister(ctx);
    ctx.keep((balancer, replicas.map(|replica| replica.running)));
}

/// Each step, with its messages and trusted authorities.
fn change(ctx: &TestContext<'_>, replicas: &[Replica; 2], endpoints: &[String; 2], old: &Authority, new: &Authority) {
    let file = ca_file(ctx, "new.crt", new);
    let flags = [&file, endpoints[0].as_str(), &endpoints[1], "--settle=2s"];
    let generation = || ctx.crd_now()["metadata"]["generation"].as_u64().unwrap();
    let before = generation();
    let unproven = |endpoint: &str| {
        let (code, _, errors) = rotate(ctx, &flags);
        let said = format!("{} still shows a certificate of the old authority", &endpoint["--endpoint=".len()..]);
        assert!(code == 1 && errors.contains(&said) && errors.contains("Both authorities are trusted"), "{errors}");
        assert_trusted(ctx, &[old, new]);
    };
    unproven(&endpoints[0]);
    replicas[0].give(ctx, new);
    // The server loads the files within ten seconds; the command publishes the authority only once.
    ctx.eventually(|| {
        let (code, _, errors) = rotate(ctx, &flags);
        assert!(code == 1 && !errors.contains("done: "), "{errors}");
        errors.contains(&format!("{} still shows", &endpoints[1]["--endpoint=".len()..])).then_some(())
    });
    assert_eq!(generation(), before + 1);
    let waiting = args(ctx, &[&flags[..], &["--wait=60s"]].concat());
    let (code, text, errors) = thread::scope(|scope| {
        let waits = scope.spawn(|| run(&waiting));
        thread::sleep(Duration::from_millis(500));
        replicas[1].give(ctx, new);
        waits.join().unwrap()
    });
    assert_eq!(code, 0, "{errors}");
    assert!(text.contains("trusted in 3 documents, and 2 endpoints show it; 1 change of CRDs"), "{text}");
    assert!(errors.contains("change 1 of a CRD"), "{errors}");
    assert_trusted(ctx, &[new]);
    let (code, text, errors) = rotate(ctx, &flags);
    assert!(code == 0 && text.contains("no changes were needed"), "{text}{errors}");
    assert_eq!(generation(), before + 2);
}

pub(crate) fn thorough() -> bool {
    std::env::var_os("POINTSMAN_THOROUGH").is_some()
}

/// Enough for 20,000 calls.
const ROUNDS: usize = 20;

/// Sends SIGKILL after the first call, after the second, and so on.
fn killed(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.new);
    register(ctx);
    let (served, other) = (&ctx.test_cluster.authority, Authority::new());
    let file = ca_file(ctx, "served.crt", served);
    let away = ca_file(ctx, "other.crt", &other);
    for last in 0.. {
        // No client converts meanwhile, so trusting the other authority alone does no harm.
        trust(ctx, &[&other]);
        let endpoint = format!("--endpoint={}:{}", ctx.setup.host, ctx.setup.port);
        let flags = [file.as_str(), &endpoint, "--settle=0s"];
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| {
            let mut through = args(ctx, &flags);
            through[2] = format!("--kubeconfig={}", kubeconfig.display());
            through
        });
        // In each state, the served authority is trusted or still to be added, and the same command continues.
        let (code, _, errors) = rotate(ctx, &flags);
        assert_eq!(code, 0, "after call {last}, {:?}: {errors}", calls.last());
        assert_trusted(ctx, &[served]);
        if ended.is_some() {
            println!("     killed after each of {last} calls");
            assert!(last > 12, "{calls:?}");
            break;
        }
    }
    // The command does nothing for an authority that no server uses.
    let (code, _, errors) = rotate(ctx, &[&away, "--settle=0s", "--dry-run=server"]);
    assert!(
        code == 0
            && errors.contains("would trust the new authority in addition to the old one")
            && !errors.contains("done: "),
        "{errors}"
    );
    assert_trusted(ctx, &[served]);
    unregister(ctx);
}

/// Makes these authorities trusted everywhere.
pub(crate) fn trust(ctx: &TestContext<'_>, authorities: &[&Authority]) {
    let pem: String = authorities.iter().map(|authority| authority.pem.as_str()).collect();
    let bundle = json!(STANDARD.encode(pem));
    let patch = |path: &str, place: &str| {
        let patch = json!([{"op": "replace", "path": place, "value": bundle}]).to_string();
        ctx.call(Method::PATCH, path, Some(("application/json-patch+json", patch))).ok();
    };
    patch(&format!("{CRDS}/{}", ctx.crd_name()), "/spec/conversion/webhook/clientConfig/caBundle");
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        patch(&format!("{HOOKS}/{plural}/{}", ctx.ns), "/webhooks/0/clientConfig/caBundle");
    }
}

/// The tested endpoint presents the new certificate; the endpoint that the API server uses does not.
fn needed(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let authority = Authority::new();
    let elsewhere = Replica::start(ctx, "elsewhere", &authority);
    let file = ca_file(ctx, "new.crt", &authority);
    let (code, _, errors) = rotate(ctx, &[&file, &elsewhere.endpoint(), "--settle=1s"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("cannot be read") && errors.contains("both authorities are trusted again"), "{errors}");
    assert!(errors.contains("change 3 of a CRD"), "{errors}");
    assert_trusted(ctx, &[&authority, &ctx.test_cluster.authority]);
    ctx.eventually(|| ctx.get(new, "a").is_ok().then_some(()));
    // The endpoint is unreachable, and no CRD leads to the other Service.
    let free = format!("--endpoint=127.0.0.1:{}", free_port());
    let (code, _, errors) = rotate(ctx, &[&file, &free, "--settle=0s"]);
    assert!(code == 1 && errors.contains("unreachable from here"), "{errors}");
    let mut another = args(ctx, &[&file]);
    another[1] = format!("--service={}/nobody", ctx.ns);
    let (code, _, errors) = run(&another);
    let said = format!("no CRD and no webhook configuration of this cluster leads to Service {}/nobody", ctx.ns);
    assert!(code == 1 && errors.contains(&said), "{errors}");
    ctx.keep(elsewhere.running);
}

/// cert-manager would replace the bundle: the command refuses, or removes the annotation with `--take-over`.
fn injected(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.new);
    let path = format!("{CRDS}/{}", ctx.crd_name());
    let annotation = "cert-manager.io/inject-ca-from";
    let patch = json!({"metadata": {"annotations": {annotation: "n/c"}}}).to_string();
    ctx.call(Method::PATCH, &path, Some((MERGE, patch))).ok();
    let file = ca_file(ctx, "same.crt", &ctx.test_cluster.authority);
    let endpoint = format!("--endpoint={}:{}", ctx.setup.host, ctx.setup.port);
    let (code, _, errors) = rotate(ctx, &[&file, &endpoint]);
    assert!(code == 1 && errors.contains("the cluster is unchanged") && errors.contains("--take-over"), "{errors}");
    assert_eq!(ctx.crd_now()["metadata"]["annotations"][annotation], "n/c");
    let (code, _, errors) = rotate(ctx, &[&file, &endpoint, "--take-over", "--settle=0s"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(ctx.crd_now()["metadata"]["annotations"][annotation], Value::Null);
    assert_trusted(ctx, &[&ctx.test_cluster.authority]);
}
