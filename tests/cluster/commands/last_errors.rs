//! The last errors in `pointsman status`: read directly, through the API server, or unavailable.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::access::{each_right, web_server};
use crate::commands::rotate_trouble::own_address;
use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("status_prints_last_errors", told).of(&WIDGETS).newest().failing(),
    Scenario::new("error_reading_right_is_exact", asked).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// An unreachable server is one line, and requires no action.
fn told(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let own = format!("127.0.0.1:{}", admin(ctx));
    assert_eq!(errors(ctx, 0, &[&own]), (json!([]), json!({&own: env!("CARGO_PKG_VERSION")}), json!([])));
    assert!(screen(ctx, &[&own]).contains(&format!("\n  last errors   none of {own}\n")));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("127.0.0.1:{}", silent.local_addr().unwrap().port());
    let older =
        Proxy::start(&ctx.test_cluster.api.client, |_, _, _| Fate::Answer(404, None, "no such path".to_owned()));
    let (older, other) = (format!("127.0.0.1:{}", older.port), format!("127.0.0.1:{}", web_server()));
    let (_, reported_by, unknown) = errors(ctx, 0, &["127.0.0.1:1", &silent, &older, &other, &own]);
    assert_eq!(reported_by, json!({&own: env!("CARGO_PKG_VERSION")}), "the others are asked all the same");
    for (at, words) in [
        "127.0.0.1:1: Connection refused",
        "no answer within 3 s",
        "its pointsman is older",
        "check that this is the admin port",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(unknown[at].as_str().unwrap().contains(words), "{words}: {unknown}");
    }
    // Two pointsman servers of different versions.
    let next = json!({"version": "99.0.0", "errors": []}).to_string();
    let next = Proxy::start(&ctx.test_cluster.api.client, move |_, _, _| Fate::Answer(200, None, next.clone()));
    let (calls, next) = (|| next.calls().len(), format!("127.0.0.1:{}", next.port));
    let name = ctx.crd_name();
    let (_, text, _) = ctx.command(&["status", &name, &name, &format!("--admin={next}")]);
    assert_eq!((text.matches(&name).count() > 1, calls()), (true, 1), "two kinds of one server: {text}");
    let text = screen(ctx, &[&own, &next]);
    let words = format!("99.0.0 at {next}");
    assert!(
        text.contains(&words) && text.contains("install the same version everywhere, see docs/upgrade.md"),
        "{text}"
    );
    assert!(!screen(ctx, &[&own]).contains("docs/upgrade.md"));
    // The Service of this test cluster has no Pods.
    assert!(screen(ctx, &[]).contains("\n  last errors   not known: no Pod responds"));
    spoil(ctx);
    ctx.eventually(|| (ctx.get(old, "bad").code == 500).then_some(()));
    let (seen, ..) = errors(ctx, 1, &[&own]);
    let one = &seen[0];
    assert_eq!(seen.as_array().unwrap().len(), 1, "{seen}");
    let said = ["endpoint", "webhook", "kind", "from", "to", "object", "path"].map(|name| one[name].as_str().unwrap());
    let bad = format!("{}/bad", ctx.ns);
    assert_eq!(said, [&own, "convert", ctx.kind().name(), new, old, &bad, "spec"]);
    assert!(one["reason"].as_str().unwrap().contains("must be an object, not a string"), "{one}");
    assert!(one["times"].as_u64() >= Some(1) && one["first"].as_str() <= one["last"].as_str(), "{one}");
    let text = screen(ctx, &[&own]);
    assert!(text.contains("\n  last error    20") && text.contains(&format!("{bad} (object 0): spec: ")), "{text}");
    assert!(!format!("{seen}{text}").contains("secret"), "nothing of what is in an object is told");
}

/// Reads through the API server, from any place: with the right only.
fn asked(ctx: &TestContext<'_>) {
    let Some(host) = own_address() else {
        println!("     LEFT OUT: this machine has no address but its own");
        return;
    };
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    spoil(ctx);
    ctx.eventually(|| (ctx.get(old, "bad").code == 500).then_some(()));
    pod(ctx, &host);
    let port = format!("--admin-port={}", admin(ctx));
    let asks = |who: &Path| {
        let ask = || ctx.command(&["status", &ctx.crd_name(), &port, &as_(who)]);
        let (mut answer, began) = (ask(), Instant::now());
        // On a busy machine three seconds may not be enough.
        while answer.1.contains("not within") && began.elapsed() < Duration::from_secs(30) {
            answer = ask();
        }
        let (_, text, errors) = answer;
        let all = format!("{text}{errors}");
        let is_told = text.contains("\n  last error    20") && text.contains("must be an object, not a string");
        assert!(is_told || text.contains("\n  last errors   not known: "), "{all}");
        (i32::from(!is_told), text, errors)
    };
    each_right(ctx, &["pointsman-status-errors", "pointsman-status"], &|_| true, &asks);
    // Another server uses that port, or no server.
    let at = |port: u16| {
        let (code, text, _) = ctx.command(&["status", &ctx.crd_name(), &format!("--admin-port={port}")]);
        assert_eq!(code, 1, "the object is found all the same");
        text
    };
    let gone = at(1);
    assert!(gone.contains("not known: ") && gone.contains("connection refused"), "{gone}");
    // A Pod with an endless response.
    let endless = format!("{{\"errors\": [{}{{}}]}}", "{},".repeat(1 << 20));
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, _, path| match path.contains("/proxy/errors") {
        true => Fate::Answer(200, None, endless.clone()),
        false => Fate::Pass,
    });
    let (_, text, _) = ctx.command(&["status", &ctx.crd_name(), &as_(&ctx.through(proxy.port))]);
    assert!(text.contains("not known: ") && text.contains("which is more than is read"), "{text}");
    // A deleted Pod.
    ctx.call(Method::DELETE, &format!("/api/v1/namespaces/{}/pods/p?gracePeriodSeconds=0", ctx.ns), None).ok();
    let gone = at(admin(ctx));
    assert!(gone.contains("or the Pod was just deleted"), "{gone}");
}

/// An object with text as its spec, written directly to etcd.
fn spoil(ctx: &TestContext<'_>) {
    ctx.create(ctx.sample.new, &ctx.object(ctx.sample.new, "bad")).ok();
    let mut bad = ctx.etcd("bad");
    bad["spec"] = json!("secret");
    ctx.test_cluster.etcd.write(&ctx.key("bad"), &bad);
}

/// A Service with a Pod, and a CRD that uses the Service. No kubelet runs the Pod: its address is the address of this
/// machine.
fn pod(ctx: &TestContext<'_>, host: &str) {
    let namespace = format!("/api/v1/namespaces/{}", ctx.ns);
    let spec = json!({"ports": [{"port": 443}]});
    ctx.post(&format!("{namespace}/services"), &json!({"metadata": {"name": "pods"}, "spec": spec})).ok();
    ctx.post(&format!("{namespace}/serviceaccounts"), &json!({"metadata": {"name": "default"}}));
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    ctx.eventually(|| ctx.post(&format!("{namespace}/pods"), &pod).is_ok().then_some(()));
    let status = json!({"status": {"phase": "Running", "podIP": host, "podIPs": [{"ip": host}]}}).to_string();
    ctx.call(Method::PATCH, &format!("{namespace}/pods/p/status"), Some((MERGE, status))).ok();
    let reference = json!({"kind": "Pod", "namespace": ctx.ns, "name": "p"});
    let slice = json!({
        "metadata": {"name": "pods-1", "labels": {"kubernetes.io/service-name": "pods"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": ctx.setup.port}],
        "endpoints": [{"addresses": [host], "conditions": {"ready": true}, "targetRef": reference}],
    });
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", ctx.ns);
    ctx.post(&slices, &slice).ok();
    ctx.change_crd(|crd| {
        let client = &mut crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
        (client["name"], client["port"]) = (json!("pods"), json!(443));
    });
}

fn admin(ctx: &TestContext<'_>) -> u16 {
    ctx.pointsman.borrow().as_ref().unwrap().backend().1
}

fn as_(who: &Path) -> String {
    format!("--kubeconfig={}", who.display())
}

fn status(ctx: &TestContext<'_>, admins: &[&str], form: &str) -> (i32, String) {
    let admins: Vec<String> = admins.iter().map(|one| format!("--admin={one}")).collect();
    let mut args = vec!["status", form];
    let name = ctx.crd_name();
    args.push(&name);
    args.extend(admins.iter().map(String::as_str));
    let (code, text, errors) = ctx.command(&args);
    assert!(code < 2, "{text}{errors}");
    (code, text)
}

fn screen(ctx: &TestContext<'_>, admins: &[&str]) -> String {
    status(ctx, admins, "-otext").1
}

/// The errors, their sources, and the servers with unknown errors.
#[track_caller]
fn errors(ctx: &TestContext<'_>, wanted: i32, admins: &[&str]) -> (Value, Value, Value) {
    let (code, text) = status(ctx, admins, "-ojson");
    assert_eq!(code, wanted, "{text}");
    let mut seen: Value = serde_json::from_str(&text).unwrap();
    let seen = &mut seen["lastErrors"];
    (seen["errors"].take(), seen["toldBy"].take(), seen["unknown"].take())
}
