//! `pointsman enable` during faults, and incidents reported by users of other tools.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::acting::run;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::pointsman::{Pointsman, Setup};
use crate::support::process::{Process, SOON, free_port};
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{Sample, WIDGET};

/// Scenarios without a webhook for some time run alone: the garbage collector waits for every kind.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("enable_survives_kill_at_any_call", killed).of(&WIDGETS).newest().failing(),
    Scenario::new("three_concurrent_enables_agree", three).of(&WIDGETS).newest(),
    Scenario::new("wrong_response_blocks_enable", wrong).of(&WIDGETS).newest(),
    Scenario::new("concurrent_change_is_reread", meanwhile).of(&WIDGETS).newest(),
    Scenario::new("foreign_fields_need_force", taken_over).of(&WIDGETS).newest(),
    Scenario::new("foreign_policies_are_respected", judged).of(&WIDGETS).newest().failing(),
    Scenario::new("restored_crd_can_be_enabled", again).of(&WIDGETS).newest().failing().alone().thorough(),
    Scenario::new("dropped_stanza_is_enabled_again", dropped).of(&WIDGETS).newest(),
    Scenario::new("removed_version_is_restored", removed).of(&WIDGETS).newest().failing().alone().thorough(),
    Scenario::new("early_removed_webhook_is_named", webhook_first).of(&WIDGETS).newest().failing().alone().thorough(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Installs the CRD without conversion, and one object.
pub(crate) fn assert_no_conversion(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    let mut crd = ctx.enabled(old);
    drop(crd["spec"].as_object_mut().unwrap().remove("conversion"));
    crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    ctx.install(&crd);
    ctx.create(old, &ctx.object(old, "a")).ok();
}

pub(crate) fn remove_conversion(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    ctx.change_crd(|crd| {
        drop(crd["spec"].as_object_mut().unwrap().remove("conversion"));
        crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    });
    ctx.eventually(|| (ctx.list(ctx.sample.new).code == 404).then_some(()));
}

fn start(ctx: &TestContext<'_>, port: u16, more: &[&str]) -> Process {
    let args = ctx.enable_args(&ctx.through(port), more);
    Process::start("enable", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &ctx.dir.join("enable.log"))
}

/// Sends SIGKILL after the first call, after the second, and so on.
fn killed(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let mut enabled = Value::Null;
    for last in 0.. {
        let (ended, calls) = ctx.killed_after(last, |kubeconfig| ctx.enable_args(kubeconfig, &["--force-conflicts"]));
        // Handlers of the former CRD may still be terminating.
        ctx.eventually(|| ctx.list(ctx.sample.old).is_ok().then_some(()));
        let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
        assert_eq!(code, 0, "after call {last}, {:?}: {errors}", calls.last());
        let spec = ctx.crd_now()["spec"].clone();
        assert!(enabled.is_null() || enabled == spec, "the same end");
        enabled = spec;
        ctx.get(ctx.sample.new, "a").ok();
        if ended.is_some() {
            println!("     killed after each of {last} calls");
            assert!(last > 8, "{calls:?}");
            return;
        }
        remove_conversion(ctx);
    }
}

fn three(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    for _ in 0..3 {
        let args = ctx.enable_args(&ctx.test_cluster.api.kubeconfig, &["--force-conflicts"]);
        thread::scope(|scope| {
            let all: Vec<_> = (0..3).map(|_| scope.spawn(|| run(&args))).collect();
            for one in all {
                let (code, _, errors) = one.join().unwrap();
                assert_eq!(code, 0, "{errors}");
            }
        });
        ctx.get(ctx.sample.new, "a").ok();
        remove_conversion(ctx);
    }
}

/// Endpoints with wrong, partial, late or endless responses, and an endpoint of another version next to a correct one.
fn wrong(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let before = ctx.crd_now();
    let spoken = |text: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    let review = |uid: &str, result: Value| {
        let response = json!({"uid": uid, "result": result, "convertedObjects": []});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}).to_string()
    };
    let failure = json!({"status": "Failure", "message": "no idea"});
    let uid = "pointsman-self-test";
    let cases: [(String, &str); 8] = [
        (spoken(&review(uid, failure)), "no idea"),
        (spoken(&review("another", json!({"status": "Success"}))), "/response/uid"),
        (spoken(&review(uid, json!({"status": "Success"}))), "differently from the local definition"),
        (spoken("<html>"), "is not JSON"),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(), "HTTP 404"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":".to_owned(), "ends early"),
        ("nonsense".to_owned(), "127.0.0.1"),
        (String::new(), "no answer within 10 s"),
    ];
    for (answer, said) in cases {
        let port = misbehaving(ctx, answer);
        let endpoint = format!("--endpoint=127.0.0.1:{port}");
        let good = format!("--endpoint=127.0.0.1:{}", ctx.setup.port);
        let (code, text, errors) = ctx.enables(&[&good, &endpoint, "--force-conflicts", "-o", "json"]);
        assert_eq!((code, text.as_str()), (1, ""), "{errors}");
        assert!(errors.contains(said) && errors.contains("the cluster is unchanged"), "{said}: {errors}");
        assert!(errors.contains(&format!("127.0.0.1:{port}")), "who it is: {errors}");
    }
    // An older release of the same kind lacks one field.
    let mut setup = Setup { port: free_port(), kinds: ctx.dir.join("older"), ..ctx.setup.clone() };
    std::fs::create_dir_all(&setup.kinds).unwrap();
    for file in std::fs::read_dir(&ctx.setup.kinds).unwrap() {
        let file = file.unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        std::fs::write(setup.kinds.join(file.file_name()), text.replace("separator: \":\"", "separator: \";\""))
            .unwrap();
    }
    setup.flags.clear();
    let other = Pointsman::start(&setup);
    let (one, two) =
        (format!("--endpoint=127.0.0.1:{}", ctx.setup.port), format!("--endpoint=127.0.0.1:{}", setup.port));
    let (code, _, errors) = ctx.enables(&[&one, &two, "--force-conflicts"]);
    drop(other);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains(&format!("127.0.0.1:{}: converts to", setup.port)), "{errors}");
    assert_eq!(ctx.crd_now()["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"], "untouched");
    // With IPv6.
    let setup = Setup { port: free_port(), host: "[::1]".to_owned(), ..ctx.setup.clone() };
    let six = Pointsman::start(&setup);
    let endpoint = format!("--endpoint=[::1]:{}", setup.port);
    let (code, text, errors) = ctx.enables(&[&endpoint, "--dry-run=server", "--force-conflicts"]);
    drop(six);
    assert_eq!(code, 0, "{text}{errors}");
}

/// A server with the certificate of pointsman that sends this text to each client, and stays silent if the text is
/// empty.
fn misbehaving(ctx: &TestContext<'_>, answer: String) -> u16 {
    answering(ctx, move |_| answer.clone())
}

/// The same, for a server that reads the body.
fn answering(ctx: &TestContext<'_>, answer: impl Fn(&[u8]) -> String + Send + 'static) -> u16 {
    let read = |file| std::fs::read(file).unwrap();
    let chain = CertificateDer::pem_slice_iter(&read(&ctx.setup.cert)).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(&read(&ctx.setup.key)).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = ServerConnection::new(config.clone()).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(tls, stream));
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                let header = line.to_lowercase();
                length = header.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
                line.clear();
            }
            let mut body = vec![0; length];
            let _ = stream.read_exact(&mut body);
            let answer = answer(&body);
            let _ = stream.get_mut().write_all(answer.as_bytes());
            let _ = stream.get_mut().flush();
            if answer.is_empty() {
                thread::sleep(Duration::from_secs(15));
            }
        }
    });
    port
}

/// Another client changes the CRD while endpoints are tested: `enable` does not overwrite the change silently.
fn meanwhile(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let path = format!("/customresourcedefinitions/{}?fieldManager", ctx.crd_name());
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, asked| {
        let is_it = method == Method::PATCH && asked.contains(&path) && !asked.contains("dryRun");
        if is_it { Fate::HeldBefore } else { Fate::Pass }
    });
    let mut process = start(ctx, proxy.port, &["--force-conflicts"]);
    let held = |call: &String| call.starts_with("PATCH") && call.contains("customresource") && !call.contains("dryRun");
    ctx.eventually(|| proxy.calls().iter().any(held).then_some(()));
    ctx.change_crd(|crd| {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let mut more = versions[0].clone();
        (more["name"], more["storage"]) = (json!("v3"), json!(false));
        versions.push(more);
    });
    proxy.release();
    assert_eq!(process.end(SOON), Some(1));
    let log = std::fs::read_to_string(ctx.dir.join("enable.log")).unwrap();
    assert!(log.contains("serves v3, a version without definition"), "{log}");
    assert_eq!(ctx.crd_now()["spec"]["versions"].as_array().unwrap().len(), 2, "nothing was dropped");
}

/// Reports the former field managers, for the policy as for the CRD; without the flag nothing is written.
fn taken_over(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let mut policy = ctx.printed_policy(ctx.sample.old);
    policy["items"][0]["spec"]["failurePolicy"] = json!("Ignore");
    ctx.kubectl(&["apply", "--server-side", "--field-manager=theirs"], &policy);
    let name = policy["items"][0]["metadata"]["name"].as_str().unwrap();
    let at = format!("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}");
    let before = (ctx.call_get(&at), ctx.crd_now());
    let (code, _, errors) = ctx.enables(&[]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("the cluster is unchanged") && errors.contains("\"theirs\""), "{errors}");
    assert!(errors.contains(name) && errors.contains(".spec.failurePolicy"), "{errors}");
    assert_eq!((ctx.call_get(&at), ctx.crd_now()), before);
    let (code, _, errors) = ctx.enables(&["--force-conflicts", "--dry-run=server"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!((ctx.call_get(&at), ctx.crd_now()), before, "a dry run writes nothing");
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        errors.contains("takes ownership of ValidatingAdmissionPolicy") && errors.contains("\"theirs\""),
        "{errors}"
    );
    assert_eq!(ctx.call_get(&at)["spec"]["failurePolicy"], "Fail");
}

/// A foreign policy refuses the CRD; a foreign webhook is dead, changes new objects, or rejects dry runs.
fn judged(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let before = ctx.crd_now()["spec"].clone();
    let hooks = "/apis/admissionregistration.k8s.io/v1";
    let rule = |group: &str, resource: &str, operation: &str| json!({"apiGroups": [group], "apiVersions": ["*"], "operations": [operation], "resources": [resource]});
    let (name, metadata) = (format!("{}-theirs", ctx.ns), json!({"name": format!("{}-theirs", ctx.ns)}));
    let is_ours = format!("object.metadata.name == '{}'", ctx.crd_name());
    let policy = json!({
        "matchConstraints": {"resourceRules": [rule("apiextensions.k8s.io", "customresourcedefinitions", "UPDATE")]},
        "matchConditions": [{"name": "one", "expression": is_ours}],
        "validations": [{"expression": "false", "message": "CRDs are frozen this week"}],
    });
    let binding = json!({"policyName": name, "validationActions": ["Deny"]});
    for (plural, spec) in [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)] {
        ctx.post(&format!("{hooks}/{plural}"), &json!({"metadata": metadata, "spec": spec})).ok();
    }
    // The API server applies and drops a policy after a moment.
    let tried = format!("{CRDS}/{}?dryRun=All", ctx.crd_name());
    let touched = || (MERGE, json!({"metadata": {"labels": {"touched": "yes"}}}).to_string());
    let is_followed = || !ctx.call(Method::PATCH, &tried, Some(touched())).is_ok();
    ctx.eventually(|| is_followed().then_some(()));
    let (_, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert!(errors.contains("CRDs are frozen this week"), "{errors}");
    assert_eq!(ctx.crd_now()["spec"], before);
    for plural in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
        ctx.call(Method::DELETE, &format!("{hooks}/{plural}/{name}"), None).ok();
    }
    ctx.eventually(|| (!is_followed()).then_some(()));
    let hook = |kind: &str, port: u16, effects: &str| {
        let webhook = json!({
            "name": format!("theirs.{}", ctx.group), "failurePolicy": "Fail", "sideEffects": effects,
            "clientConfig": {"url": format!("https://127.0.0.1:{port}/"), "caBundle": STANDARD.encode(&ctx.test_cluster.authority.pem)},
            "rules": [rule(&ctx.group, "*", "CREATE")], "admissionReviewVersions": ["v1"],
        });
        let path = format!("{hooks}/{kind}");
        ctx.post(&path, &json!({"metadata": metadata, "webhooks": [webhook]})).ok();
        format!("{path}/{name}")
    };
    // A dead webhook: creations cannot be checked, and the message names the webhook.
    let dead = hook("validatingwebhookconfigurations", free_port(), "None");
    let old = ctx.sample.old;
    // A dry run: an object stored before the API server observed the webhook could not be created again.
    let made = || ctx.post(&format!("{}?dryRun=All", ctx.all(old)), &ctx.object(old, "b"));
    ctx.eventually(|| (!made().is_ok()).then_some(()));
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert!(code == 1 && errors.contains("failed calling webhook \"theirs."), "{errors}");
    assert!(errors.contains("the CRD is restored"), "{errors}");
    assert_eq!(ctx.crd_now()["spec"], before);
    ctx.call(Method::DELETE, &dead, None).ok();
    // A webhook that rejects dry runs proves nothing more.
    let some = hook("mutatingwebhookconfigurations", free_port(), "NoneOnDryRun");
    ctx.eventually(|| (!made().is_ok()).then_some(()));
    ctx.call(Method::DELETE, &some, None).ok();
    // A webhook that changes every object: creation succeeds with the change.
    let changes = hook("mutatingwebhookconfigurations", admitting(ctx, &labelling()), "None");
    ctx.eventually(|| {
        let made = made();
        (made.is_ok() && made.body["metadata"]["labels"]["theirs"] == "yes").then_some(())
    });
    let (code, text, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{text}{errors}");
    ctx.call(Method::DELETE, &changes, None).ok();
}

/// A review response that labels every object.
fn labelling() -> String {
    let labels = json!([{"op": "add", "path": "/metadata/labels", "value": {"theirs": "yes"}}]);
    let patch = STANDARD.encode(labels.to_string());
    let response = json!({"uid": "UID", "allowed": true, "patchType": "JSONPatch", "patch": patch});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).to_string()
}

/// A server that answers each review with this response and the uid of the review.
fn admitting(ctx: &TestContext<'_>, review: &str) -> u16 {
    let review = review.to_owned();
    answering(ctx, move |asked| {
        let asked: Value = serde_json::from_slice(asked).unwrap_or_default();
        let text = review.replace("UID", asked["request"]["uid"].as_str().unwrap_or_default());
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}", text.len())
    })
}

/// Fields that pointsman wrote during a restore belong to pointsman.
fn again(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let own = format!("--endpoint=127.0.0.1:{}", ctx.setup.port);
    let nobody = format!("--service={}/pointsman:{}", ctx.ns, free_port());
    // Takes the fields over from the creator, so that no conflict remains.
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let before = ctx.crd_now();
    let (code, _, errors) = ctx.enables(&[&nobody, &own, "--repoint"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("the CRD is restored"), "{errors}");
    let now = ctx.crd_now();
    assert_eq!(now["spec"], before["spec"]);
    assert_eq!(now["metadata"]["annotations"], before["metadata"]["annotations"]);
    ctx.change_crd(|crd| drop(crd["spec"].as_object_mut().unwrap().remove("conversion")));
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let (code, _, errors) = ctx.enables(&[]);
    assert_eq!(code, 0, "with what we wrote ourselves there is no conflict: {errors}");
    // Already enabled with an unreachable server: the message does not call the former state working.
    ctx.change_crd(|crd| {
        crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] = json!(free_port());
    });
    let port = ctx.crd_now()["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"].clone();
    let dead = format!("--service={}/pointsman:{port}", ctx.ns);
    ctx.eventually(|| (!ctx.list(ctx.sample.new).is_ok()).then_some(()));
    let (code, _, errors) = ctx.enables(&[&dead, &own, "--force-conflicts"]);
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("the CRD had this conversion before, and stays unchanged"), "{errors}");
    let (code, _, errors) = ctx.enables(&["--repoint", "--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
}

/// An operator, a chart or a Helm sync applies its own CRD, without the conversion.
fn dropped(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.change_crd(|crd| drop(crd["spec"].as_object_mut().unwrap().remove("conversion")));
    // Reads only change the apiVersion; stored objects are unchanged, and the migration is refused.
    ctx.eventually(|| ctx.get(new, "a").body["spec"]["host"].is_null().then_some(()));
    let (code, _, errors) = ctx.migrate(&["--to", new]);
    assert!(code == 1 && errors.contains("no conversion webhook") && errors.contains("pointsman enable"), "{errors}");
    // The storage version changed too early as well: new writes only change the apiVersion, other objects are
    // unchanged.
    ctx.change_crd(|crd| {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["storage"] = json!(version["name"] == new);
        }
    });
    let (code, _, errors) = ctx.migrate(&[]);
    assert!(code == 1 && errors.contains("no conversion webhook"), "{errors}");
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    ctx.eventually(|| (ctx.get(new, "a").body["spec"]["host"] == "example.com").then_some(()));
    let (code, text, errors) = ctx.migrate(&["--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.get(old, "a").ok()["spec"], ctx.sample.old_spec());
}

/// A client removes a version from storedVersions by hand, and then from the CRD, while objects are stored in it.
fn removed(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.store(new);
    let status = format!("{CRDS}/{}/status", ctx.crd_name());
    let trimmed = json!({"status": {"storedVersions": [new]}}).to_string();
    ctx.call(Method::PATCH, &status, Some((MERGE, trimmed))).ok();
    ctx.change_crd(|crd| crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == new));
    ctx.eventually(|| (!ctx.get(new, "a").is_ok()).then_some(()));
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "enabling brings the version back: {errors}");
    ctx.eventually(|| ctx.get(new, "a").is_ok().then_some(()));
    // No record of the old stored version exists. A migration to the old version and back rewrites the object.
    for to in [old, new] {
        let (code, text, errors) = ctx.migrate(&["--to", to, "--settle=1s"]);
        assert_eq!(code, 0, "{text}{errors}");
    }
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{new}", ctx.group));
    assert_eq!(ctx.get(old, "a").ok()["spec"], ctx.sample.old_spec());
}

/// The Service is deleted first, and objects remain that need its conversion.
fn webhook_first(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    ctx.store(new);
    let service = format!("/api/v1/namespaces/{}/services/pointsman", ctx.ns);
    let there = ctx.call_get(&service);
    ctx.call(Method::DELETE, &service, None).ok();
    // Open connections continue without the Service.
    ctx.stop_pointsman();
    ctx.eventually(|| ctx.get(new, "a").message().contains("not found").then_some(()));
    // The API server could use its cache, and would lose the field managers.
    let args = ctx.migrate_args(&ctx.test_cluster.api.kubeconfig, &["--settle=0s"]);
    let log = ctx.dir.join("migrate.log");
    let mut process = Process::start("migrate", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log);
    let said = || std::fs::read_to_string(&log).unwrap();
    ctx.eventually(|| said().contains("\"pointsman\" not found (HTTP 500); trying again in").then_some(()));
    assert!(said().contains("conversion webhook for"), "{}", said());
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{old}", ctx.group));
    let (code, _, errors) = ctx.enables(&[]);
    assert!(code == 1 && errors.contains(&format!("Service {}/pointsman does not exist", ctx.ns)), "{errors}");
    let again = json!({"metadata": {"name": "pointsman"}, "spec": there["spec"]});
    ctx.post(&format!("/api/v1/namespaces/{}/services", ctx.ns), &again).ok();
    *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&ctx.setup));
    assert_eq!(process.end(SOON), Some(0), "{}", said());
    let stored = ctx.etcd("a");
    assert_eq!(stored["apiVersion"], format!("{}/{new}", ctx.group));
    assert!(stored["metadata"]["managedFields"].is_array(), "{stored}");
}
