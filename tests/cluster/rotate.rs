//! `pointsman rotate-ca`: another authority, while users write and read.

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
use crate::support::pki::Authority;
use crate::support::pointsman::{Pointsman, Setup, write_pair};
use crate::support::process::free_port;
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{CRDS, MERGE, Scene};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("authority_rotation_fails_no_call", rotated).of(&WIDGETS).newest().failing().alone(),
    Scenario::new("rotation_survives_kill_at_any_call", killed)
        .of(&WIDGETS)
        .newest()
        .failing(),
    Scenario::new("needed_authority_is_trusted_again", needed).of(&WIDGETS).newest().failing(),
    Scenario::new("cert_manager_bundles_are_kept", injected).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

pub(crate) const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1";

/// One of several servers behind one address, with certificate files of its own.
pub(crate) struct Replica {
    dir: PathBuf,
    pub(crate) setup: Setup,
    pub(crate) running: Pointsman,
}

impl Replica {
    pub(crate) fn start(scene: &Scene<'_>, name: &str, authority: &Authority) -> Self {
        let dir = scene.dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        let (cert, key) = write_pair(&dir, &authority.issue(&names(scene)));
        let log = scene.setup.log.with_extension(format!("{name}.log"));
        let setup = Setup { cert, key, log, port: free_port(), ..scene.setup.clone() };
        let running = Pointsman::start(&setup);
        Self { dir, setup, running }
    }

    /// Files that are taken over within seconds.
    pub(crate) fn give(&self, scene: &Scene<'_>, authority: &Authority) {
        write_pair(&self.dir, &authority.issue(&names(scene)));
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("--endpoint={}:{}", self.setup.host, self.setup.port)
    }
}

pub(crate) fn names(scene: &Scene<'_>) -> [String; 3] {
    ["localhost".to_owned(), "127.0.0.1".to_owned(), format!("pointsman.{}.svc", scene.ns)]
}

/// A file with an authority in it.
pub(crate) fn ca_file(scene: &Scene<'_>, name: &str, authority: &Authority) -> String {
    let file = scene.dir.join(name);
    fs::write(&file, &authority.pem).unwrap();
    format!("--ca-file={}", file.display())
}

pub(crate) fn args(scene: &Scene<'_>, more: &[&str]) -> Vec<String> {
    let own = ["rotate-ca".to_owned(), scene.server(), format!("--kubeconfig={}", scene.bed.api.kubeconfig.display())];
    own.into_iter().chain(more.iter().map(|arg| (*arg).to_owned())).collect()
}

pub(crate) fn rotate(scene: &Scene<'_>, more: &[&str]) -> Told {
    run(&args(scene, more))
}

/// Webhook configurations that ask the same server, and fail where it cannot be asked.
pub(crate) fn register(scene: &Scene<'_>) {
    for (kind, plural, path) in [
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "/validate"),
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "/mutate"),
    ] {
        let mut client = scene.conversion()["webhook"]["clientConfig"].clone();
        client["service"]["path"] = json!(path);
        let rules = json!([{
            "apiGroups": [scene.group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*"],
        }]);
        let webhook = json!({
            "name": format!("w.{}", scene.group), "clientConfig": client, "rules": rules, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "matchPolicy": "Exact",
        });
        let api = "admissionregistration.k8s.io/v1";
        let document = json!({"apiVersion": api, "kind": kind, "metadata": {"name": scene.ns}, "webhooks": [webhook]});
        scene.post(&format!("{HOOKS}/{plural}"), &document).ok();
    }
}

pub(crate) fn unregister(scene: &Scene<'_>) {
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        scene.call(Method::DELETE, &format!("{HOOKS}/{plural}/{}", scene.ns), None);
    }
}

/// What is trusted: of the CRD, and of the webhook configurations where there are some.
pub(crate) fn bundles(scene: &Scene<'_>) -> Vec<String> {
    let mut found = vec![scene.crd_now()["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone()];
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let answer = scene.call(Method::GET, &format!("{HOOKS}/{plural}/{}", scene.ns), None);
        found.extend(answer.is_ok().then(|| answer.body["webhooks"][0]["clientConfig"]["caBundle"].clone()));
    }
    let decoded = |bundle: &Value| String::from_utf8(STANDARD.decode(bundle.as_str().unwrap()).unwrap()).unwrap();
    found.iter().map(decoded).collect()
}

/// Whether each of these is trusted everywhere, and nothing else anywhere.
#[track_caller]
pub(crate) fn assert_trusted(scene: &Scene<'_>, authorities: &[&Authority]) {
    let base64 = |pem: &str| pem.lines().filter(|line| !line.starts_with('-')).collect::<String>();
    for bundle in bundles(scene) {
        assert_eq!(bundle.matches("BEGIN CERTIFICATE").count(), authorities.len(), "{bundle}");
        for authority in authorities {
            assert!(base64(&bundle).contains(&base64(&authority.pem)), "{bundle}");
        }
    }
}

/// Two replicas behind one address, 20 writers and readers; then the same in the order in which it is usually done.
fn rotated(scene: &Scene<'_>) {
    scene.stop_pointsman();
    let balancer = Balancer::start(scene.setup.port);
    let old = &scene.bed.authority;
    let replicas = [Replica::start(scene, "one", old), Replica::start(scene, "two", old)];
    balancer.set(&[replicas[0].running.backend(), replicas[1].running.backend()]);
    scene.enable(scene.sample.new);
    register(scene);
    let endpoints = [replicas[0].endpoint(), replicas[1].endpoint()];
    let mut authorities = Vec::new();
    let (load, rounds) = under_load(scene, 20, || {
        let mut rounds = 0;
        while rounds == 0 || (thorough() && rounds < ROUNDS) {
            let new = Authority::new();
            let before = authorities.last().unwrap_or(old);
            change(scene, &replicas, &endpoints, before, &new);
            authorities.push(new);
            rounds += 1;
        }
        rounds
    });
    assert!(!thorough() || load.requests >= MANY, "{} calls", load.requests);
    println!("     {rounds} changes of authority under {} calls: {} errors", load.requests, load.errors.len());
    assert_eq!(load.errors, [""; 0]);
    // The way of those who replace the bundle, and the certificates then.
    let next = Authority::new();
    scene.call(Method::DELETE, &scene.all(scene.sample.new), None).ok();
    let (naive, ()) = under_load(scene, 20, || {
        let bundle = STANDARD.encode(&next.pem);
        let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}).to_string();
        scene.call(Method::PATCH, &format!("{CRDS}/{}", scene.crd_name()), Some((MERGE, patch))).ok();
        // A kubelet takes a minute.
        thread::sleep(Duration::from_secs(3));
        replicas.iter().for_each(|replica| replica.give(scene, &next));
        thread::sleep(Duration::from_secs(1));
    });
    println!("     the naive order under {} calls: {} errors", naive.requests, naive.errors.len());
    assert!(naive.errors.iter().any(|error| error.contains("x509")), "{:?}", naive.errors.first());
    unregister(scene);
    scene.keep((balancer, replicas.map(|replica| replica.running)));
}

/// Each step, with what is said and trusted then.
fn change(scene: &Scene<'_>, replicas: &[Replica; 2], endpoints: &[String; 2], old: &Authority, new: &Authority) {
    let file = ca_file(scene, "new.crt", new);
    let flags = [&file, endpoints[0].as_str(), &endpoints[1], "--settle=2s"];
    let generation = || scene.crd_now()["metadata"]["generation"].as_u64().unwrap();
    let before = generation();
    let unproven = |endpoint: &str| {
        let (code, _, errors) = rotate(scene, &flags);
        let said = format!("{} still shows a certificate of the old authority", &endpoint["--endpoint=".len()..]);
        assert!(code == 1 && errors.contains(&said) && errors.contains("Both authorities are trusted"), "{errors}");
        assert_trusted(scene, &[old, new]);
    };
    unproven(&endpoints[0]);
    replicas[0].give(scene, new);
    // Taken over within ten seconds; what was published is not published again.
    scene.eventually(|| {
        let (code, _, errors) = rotate(scene, &flags);
        assert!(code == 1 && !errors.contains("done: "), "{errors}");
        errors.contains(&format!("{} still shows", &endpoints[1]["--endpoint=".len()..])).then_some(())
    });
    assert_eq!(generation(), before + 1);
    let waiting = args(scene, &[&flags[..], &["--wait=60s"]].concat());
    let (code, text, errors) = thread::scope(|scope| {
        let waits = scope.spawn(|| run(&waiting));
        thread::sleep(Duration::from_millis(500));
        replicas[1].give(scene, new);
        waits.join().unwrap()
    });
    assert_eq!(code, 0, "{errors}");
    assert!(text.contains("trusted in 3 documents, and 2 endpoints show it; 1 change of CRDs"), "{text}");
    assert!(errors.contains("change 1 of a CRD"), "{errors}");
    assert_trusted(scene, &[new]);
    let (code, text, errors) = rotate(scene, &flags);
    assert!(code == 0 && text.contains("no changes were needed"), "{text}{errors}");
    assert_eq!(generation(), before + 2);
}

pub(crate) fn thorough() -> bool {
    std::env::var_os("POINTSMAN_THOROUGH").is_some()
}

/// Enough for 20,000 calls.
const ROUNDS: usize = 20;

/// SIGKILL after the first call, after the second, and so on.
fn killed(scene: &Scene<'_>) {
    scene.enable(scene.sample.new);
    register(scene);
    let (served, other) = (&scene.bed.authority, Authority::new());
    let file = ca_file(scene, "served.crt", served);
    let away = ca_file(scene, "other.crt", &other);
    for last in 0.. {
        // Nobody asks meanwhile, so that nobody minds that the other one is trusted alone.
        trust(scene, &[&other]);
        let endpoint = format!("--endpoint={}:{}", scene.setup.host, scene.setup.port);
        let flags = [file.as_str(), &endpoint, "--settle=0s"];
        let (ended, calls) = scene.killed_after(last, |kubeconfig| {
            let mut through = args(scene, &flags);
            through[2] = format!("--kubeconfig={}", kubeconfig.display());
            through
        });
        // Whatever is there, the one that is served is trusted or was not yet added, and the same command goes on.
        let (code, _, errors) = rotate(scene, &flags);
        assert_eq!(code, 0, "after call {last}, {:?}: {errors}", calls.last());
        assert_trusted(scene, &[served]);
        if ended.is_some() {
            println!("     killed after each of {last} calls");
            assert!(last > 12, "{calls:?}");
            break;
        }
    }
    // And nothing is done for an authority that nobody shows.
    let (code, _, errors) = rotate(scene, &[&away, "--settle=0s", "--dry-run=server"]);
    assert!(
        code == 0 && errors.contains("would trust the new authority beside the old one") && !errors.contains("done: "),
        "{errors}"
    );
    assert_trusted(scene, &[served]);
    unregister(scene);
}

/// Has these authorities trusted, everywhere.
pub(crate) fn trust(scene: &Scene<'_>, authorities: &[&Authority]) {
    let pem: String = authorities.iter().map(|authority| authority.pem.as_str()).collect();
    let bundle = json!(STANDARD.encode(pem));
    let patch = |path: &str, place: &str| {
        let patch = json!([{"op": "replace", "path": place, "value": bundle}]).to_string();
        scene.call(Method::PATCH, path, Some(("application/json-patch+json", patch))).ok();
    };
    patch(&format!("{CRDS}/{}", scene.crd_name()), "/spec/conversion/webhook/clientConfig/caBundle");
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        patch(&format!("{HOOKS}/{plural}/{}", scene.ns), "/webhooks/0/clientConfig/caBundle");
    }
}

/// Whoever was asked shows the new one; whoever the API server asks does not.
fn needed(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    scene.create(old, &scene.object(old, "a")).ok();
    let authority = Authority::new();
    let elsewhere = Replica::start(scene, "elsewhere", &authority);
    let file = ca_file(scene, "new.crt", &authority);
    let (code, _, errors) = rotate(scene, &[&file, &elsewhere.endpoint(), "--settle=1s"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("cannot be read") && errors.contains("both authorities are trusted again"), "{errors}");
    assert!(errors.contains("change 3 of a CRD"), "{errors}");
    assert_trusted(scene, &[&authority, &scene.bed.authority]);
    scene.eventually(|| scene.get(new, "a").is_ok().then_some(()));
    // Nobody is there at all, and nobody leads there.
    let free = format!("--endpoint=127.0.0.1:{}", free_port());
    let (code, _, errors) = rotate(scene, &[&file, &free, "--settle=0s"]);
    assert!(code == 1 && errors.contains("cannot be reached from here"), "{errors}");
    let mut another = args(scene, &[&file]);
    another[1] = format!("--service={}/nobody", scene.ns);
    let (code, _, errors) = run(&another);
    let said = format!("no CRD and no webhook configuration of this cluster leads to Service {}/nobody", scene.ns);
    assert!(code == 1 && errors.contains(&said), "{errors}");
    scene.keep(elsewhere.running);
}

/// cert-manager would replace what is written: it is told, or left alone.
fn injected(scene: &Scene<'_>) {
    scene.enable(scene.sample.new);
    let path = format!("{CRDS}/{}", scene.crd_name());
    let annotation = "cert-manager.io/inject-ca-from";
    let patch = json!({"metadata": {"annotations": {annotation: "n/c"}}}).to_string();
    scene.call(Method::PATCH, &path, Some((MERGE, patch))).ok();
    let file = ca_file(scene, "same.crt", &scene.bed.authority);
    let endpoint = format!("--endpoint={}:{}", scene.setup.host, scene.setup.port);
    let (code, _, errors) = rotate(scene, &[&file, &endpoint]);
    assert!(code == 1 && errors.contains("nothing was changed") && errors.contains("--take-over"), "{errors}");
    assert_eq!(scene.crd_now()["metadata"]["annotations"][annotation], "n/c");
    let (code, _, errors) = rotate(scene, &[&file, &endpoint, "--take-over", "--settle=0s"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(scene.crd_now()["metadata"]["annotations"][annotation], Value::Null);
    assert_trusted(scene, &[&scene.bed.authority]);
}
