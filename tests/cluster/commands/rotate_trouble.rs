//! `pointsman rotate-ca`, and other commands that test endpoints, during faults of every type.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::commands::rotate::{HOOKS, Replica, assert_trusted, ca_file, names, register, rotate, trust, unregister};
use crate::scenario::Scenario;
use crate::support::acting::run;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::pki::Authority;
use crate::support::pointsman::{Pointsman, Setup, write_pair};
use crate::support::process::free_port;
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("expired_authority_is_not_trusted_alone", out_of_date).of(&WIDGETS).newest().failing(),
    Scenario::new("shared_service_webhooks_are_rotated", shared).of(&WIDGETS).newest().failing(),
    Scenario::new("rotation_keeps_concurrent_changes", meanwhile).of(&WIDGETS).newest().failing(),
    Scenario::new("only_ready_endpoints_are_probed", endpoints).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// An API server checks the dates of an authority as well. The tested endpoint presents a valid certificate of that
/// authority.
fn out_of_date(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    register(ctx);
    for (name, authority, said) in [
        ("past", Authority::lasting(1990, 2000), "has expired, at 2000-01-01"),
        ("future", Authority::lasting(2090, 2100), "is not valid before 2090-01-01"),
    ] {
        let replica = Replica::start(ctx, name, &authority);
        let file = ca_file(ctx, &format!("{name}.crt"), &authority);
        let (code, _, errors) = rotate(ctx, &[&file, &replica.endpoint(), "--settle=0s"]);
        assert_eq!(code, 1, "{name}: {errors}");
        assert!(errors.contains(said) && errors.contains("Both authorities are trusted"), "{name}: {errors}");
        ctx.eventually(|| ctx.get(new, "a").is_ok().then_some(()));
        ctx.patch(new, "a", &json!({"metadata": {"labels": {"still": name}}})).ok();
        // `enable` refuses the authority as well.
        let (code, _, errors) = ctx.enables(&[&file, &replica.endpoint(), "--force-conflicts"]);
        assert!(code == 1 && errors.contains(said) && errors.contains("the cluster is unchanged"), "{name}: {errors}");
        trust(ctx, &[&ctx.test_cluster.authority]);
    }
    unregister(ctx);
}

/// Two CRDs of other groups, and a webhook configuration shared with another team. Its bundles include an authority
/// that is neither the old nor the new one, and an invalid certificate.
fn shared(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.enable(new);
    register(ctx);
    // A kind that the server of the Service lacks.
    let group = format!("more.{}", ctx.group);
    let mut second = ctx.sample.install(&group, &ctx.dir.join("more"));
    second["spec"]["conversion"] = ctx.conversion();
    ctx.post(CRDS, &second).ok();
    let second = format!("{CRDS}/{}.{group}", ctx.sample.plural);
    // A foreign webhook in the same document, before pointsman's webhook, and a webhook that trusts a second authority
    // as well.
    let validating = format!("{HOOKS}/validatingwebhookconfigurations");
    let mine = ctx.call_get(&format!("{validating}/{}", ctx.ns))["webhooks"][0].clone();
    let other = Authority::new();
    let mut theirs = mine.clone();
    theirs["name"] = json!(format!("theirs.{}", ctx.group));
    theirs["failurePolicy"] = json!("Ignore");
    theirs["clientConfig"] = json!({
        "service": {"namespace": ctx.ns, "name": "theirs", "path": "/"}, "caBundle": STANDARD.encode(&other.pem),
    });
    let (mut beside, mut garbage) = (mine.clone(), mine);
    beside["name"] = json!(format!("beside.{}", ctx.group));
    beside["clientConfig"]["caBundle"] =
        json!(STANDARD.encode(format!("{}{}", ctx.test_cluster.authority.pem, other.pem)));
    garbage["name"] = json!(format!("garbage.{}", ctx.group));
    garbage["failurePolicy"] = json!("Ignore");
    garbage["clientConfig"]["caBundle"] = json!(STANDARD.encode("-----BEGIN CERTIFICATE-----\n*\n"));
    let webhooks = [theirs.clone(), beside, garbage];
    let name = format!("{}-shared", ctx.ns);
    let document = json!({"metadata": {"name": name}, "webhooks": webhooks});
    ctx.post(&validating, &document).ok();
    // Foreign configurations that lead to this server are checked as well.
    let (code, said, errors) = ctx.command(&["doctor", &ctx.crd_name()]);
    let finding = format!("ValidatingWebhookConfiguration {name}: certificate 1 of the caBundle is damaged");
    assert!(code == 1 && said.contains(&finding) && said.contains("pointsman rotate-ca --ca-file"), "{said}{errors}");
    let (next, endpoint) = (Authority::new(), format!("--endpoint={}:{}", ctx.setup.host, ctx.setup.port));
    let file = ca_file(ctx, "next.crt", &next);
    // Published everywhere, and dropped nowhere, since no server uses the new authority.
    let (code, _, errors) = rotate(ctx, &[&file, &endpoint, "--settle=0s"]);
    assert!(code == 1 && errors.contains("still shows a certificate of the old authority"), "{errors}");
    assert_trusted(ctx, &[&ctx.test_cluster.authority, &next]);
    let authorities = |config: &Value| {
        let bundle = STANDARD.decode(config["caBundle"].as_str().unwrap()).unwrap();
        String::from_utf8(bundle).unwrap().matches("BEGIN CERTIFICATE").count()
    };
    let of_second = || authorities(&ctx.call_get(&second)["spec"]["conversion"]["webhook"]["clientConfig"]);
    let of_shared = || {
        let webhooks = ctx.call_get(&format!("{validating}/{name}"))["webhooks"].clone();
        assert_eq!(webhooks[0]["clientConfig"]["caBundle"], theirs["clientConfig"]["caBundle"], "theirs");
        [1, 2].map(|at| authorities(&webhooks[at]["clientConfig"]))
    };
    assert_eq!((of_second(), of_shared()), (2, [3, 1]));
    // Back: every object of pointsman trusts the served authority alone.
    let file = ca_file(ctx, "served.crt", &ctx.test_cluster.authority);
    let (code, text, errors) = rotate(ctx, &[&file, &endpoint, "--settle=0s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains("trusted in 5 documents"), "{text}");
    assert_eq!((of_second(), of_shared()), (1, [1, 1]));
    assert_trusted(ctx, &[&ctx.test_cluster.authority]);
    ctx.call(Method::DELETE, &format!("{validating}/{name}"), None).ok();
    ctx.call(Method::DELETE, &second, None).ok();
    unregister(ctx);
}

/// A client labels all documents continuously, and another client changes to another authority at the same time.
fn meanwhile(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.new);
    register(ctx);
    let (served, other) = (&ctx.test_cluster.authority, Authority::new());
    let endpoint = format!("--endpoint={}:{}", ctx.setup.host, ctx.setup.port);
    let (file, away) = (ca_file(ctx, "served.crt", served), ca_file(ctx, "away.crt", &other));
    let paths = [
        format!("{CRDS}/{}", ctx.crd_name()),
        format!("{HOOKS}/validatingwebhookconfigurations/{}", ctx.ns),
        format!("{HOOKS}/mutatingwebhookconfigurations/{}", ctx.ns),
    ];
    let done = AtomicBool::new(false);
    let last = thread::scope(|scope| {
        let writes = scope.spawn(|| {
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                turn += 1;
                let patch = json!({"metadata": {"labels": {"turn": turn.to_string()}}}).to_string();
                for path in &paths {
                    ctx.test_cluster.api.client.call(Method::PATCH, path, Some((MERGE, patch.clone()))).ok();
                }
                thread::sleep(Duration::from_millis(30));
            }
            turn.to_string()
        });
        for _ in 0..3 {
            trust(ctx, &[&other]);
            let (one, two) = thread::scope(|scope| {
                let args = crate::commands::rotate::args(ctx, &[&file, &endpoint, "--settle=0s"]);
                let one = scope.spawn(move || run(&args));
                let two = rotate(ctx, &[&away, &endpoint, "--settle=0s"]);
                (one.join().unwrap(), two)
            });
            assert_eq!(two.0, 1, "nobody shows it: {}", two.2);
            println!("     the one that is served: {} {}", one.0, one.2.lines().last().unwrap());
            // Whichever write is last, the served authority is trusted everywhere.
            for bundle in crate::commands::rotate::bundles(ctx) {
                let base64 = |pem: &str| pem.lines().filter(|line| !line.starts_with('-')).collect::<String>();
                assert!(base64(&bundle).contains(&base64(&served.pem)), "{}{}", one.2, two.2);
            }
        }
        done.store(true, Ordering::Relaxed);
        writes.join().unwrap()
    });
    let (code, _, errors) = rotate(ctx, &[&file, &endpoint, "--settle=0s"]);
    assert_eq!(code, 0, "{errors}");
    assert_trusted(ctx, &[served]);
    for path in &paths {
        assert_eq!(ctx.call_get(path)["metadata"]["labels"]["turn"], last, "{path}");
    }
    unregister(ctx);
}

/// A Service with several ports, and slices of both families, one of them orphaned.
fn endpoints(ctx: &TestContext<'_>) {
    let Some(host) = own_address() else {
        println!("     LEFT OUT: this machine has no address but its own");
        return;
    };
    ctx.enable(ctx.sample.new);
    let setup = Setup { host: host.clone(), port: free_port(), ..ctx.setup.clone() };
    let running = Pointsman::start(&setup);
    let namespace = format!("/api/v1/namespaces/{}/services", ctx.ns);
    let ports = json!([{"name": "metrics", "port": 8080}, {"name": "https", "port": 443, "targetPort": "webhooks"}]);
    ctx.post(&namespace, &json!({"metadata": {"name": "several"}, "spec": {"ports": ports}})).ok();
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", ctx.ns);
    let slice = |name: &str, family: &str, port: u16, endpoints: Value| {
        let labels = json!({"kubernetes.io/service-name": "several"});
        let ports = json!([{"name": "metrics", "port": 1}, {"name": "https", "port": port}]);
        let metadata = json!({"name": name, "labels": labels});
        let slice = json!({"metadata": metadata, "addressType": family, "ports": ports, "endpoints": endpoints});
        ctx.post(&slices, &slice).ok();
    };
    let dead = json!({"addresses": ["198.51.100.7"], "conditions": {"ready": false}});
    let going =
        json!({"addresses": ["198.51.100.8"], "conditions": {"ready": false, "serving": true, "terminating": true}});
    slice("one", "IPv4", setup.port, json!([{"addresses": [host], "conditions": {"ready": true}}, dead, going]));
    slice("same", "IPv4", setup.port, json!([{"addresses": [host]}]));
    slice("none", "IPv6", setup.port, json!([]));
    // The certificate has the name of the other Service.
    let server = format!("--service={}/several", ctx.ns);
    let (code, _, errors) = ctx.enables(&[&server, "--repoint", "--dry-run=client"]);
    assert!(code == 1 && errors.contains(&format!("{host}:{}: TLS as several.", setup.port)), "{errors}");
    assert!(!errors.contains("198.51.100"), "{errors}");
    // With the right name the command succeeds; the API server here cannot reach Services, so the command is a dry run.
    let names = [&names(ctx)[..], &[format!("several.{}.svc", ctx.ns)]].concat();
    write_pair(&ctx.dir, &ctx.test_cluster.authority.issue(&names));
    ctx.eventually(|| {
        let (code, _, errors) = ctx.enables(&[&server, "--repoint", "--dry-run=client"]);
        let asked = errors.lines().filter(|line| line.contains(&host)).count();
        assert!(code == 1 || asked == 1, "once, by both slices: {errors}");
        (code == 0).then_some(())
    });
    // An unreachable second address of the same Pods is reported by name.
    slice("six", "IPv6", setup.port, json!([{"addresses": ["2001:db8::7"]}]));
    let (code, _, errors) = ctx.enables(&[&server, "--repoint", "--dry-run=client"]);
    assert!(code == 1 && errors.contains("[2001:db8::7]:") && errors.contains("unreachable from here"), "{errors}");
    drop(running);
}

/// A non-loopback address of this machine; EndpointSlices must not contain loopback addresses.
pub(crate) fn own_address() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}
