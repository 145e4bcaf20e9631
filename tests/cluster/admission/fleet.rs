//! Incidents of a real fleet, each reproduced once on the real API server.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::admission::modes::audited;
use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::sample::{ELASTICSEARCH, ENGINE, Sample};
use crate::support::side_by_side::{A, B, SideBySide, UNKNOWN};

static ENGINES: [&Sample; 1] = [&ENGINE];
static ELASTICSEARCHES: [&Sample; 1] = [&ELASTICSEARCH];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("misdirected_registration_is_refused", misdirected).of(&ENGINES).newest(),
    Scenario::new("terminating_apply_is_judged", going).of(&ENGINES).newest(),
    Scenario::new("failed_audit_server_delays_one_second", shadow_down).of(&ENGINES).newest(),
    Scenario::new("adoption_counts_once_without_dry_run", adopted).of(&ENGINES).newest(),
    Scenario::new("changes_use_the_authors_path", named).materialize().newest(),
    Scenario::new("restored_or_stale_is_reported", told).of(&ENGINES).newest(),
    Scenario::new("emergency_delete_admits_writes", emergency).of(&ENGINES).newest(),
    Scenario::new("handover_needs_condition_or_reason", handed_over).of(&ELASTICSEARCHES).newest(),
    Scenario::new("retired_version_leaves_no_object", retired).of(&ENGINES).newest(),
    Scenario::new("operator_webhook_is_overlaid_per_version", laid_over).of(&ELASTICSEARCHES).newest(),
];

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

fn flip(ctx: &TestContext<'_>, label: &str) -> Value {
    json!({"metadata": {"labels": {ctx.label_key(): label}}})
}

/// The path of a configuration of pointsman.
fn configuration(ctx: &TestContext<'_>, what: &str, name: &str) -> String {
    format!("{REGISTRATION}/{what}webhookconfigurations/pointsman-{name}.{}", ctx.crd_name())
}

fn misdirected(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    // Redirects the objects of B to the server of A.
    let path = configuration(ctx, "validating", "v2-17-0");
    let mut wrong = ctx.call_get(&path);
    wrong["webhooks"][0]["clientConfig"]["service"]["name"] = json!("engine-2-16-0");
    ctx.call(Method::PUT, &path, Some(("application/json", wrong.to_string()))).ok();
    let dry = format!("{}?dryRun=All", ctx.all(new));
    let message = ctx.eventually(|| {
        let answer = ctx.post(&dry, &ctx.labelled(new, "b", Some(B)));
        (!answer.is_ok()).then(|| answer.fails(400))
    });
    assert!(message.contains("leads to the wrong server"), "{message}");
    assert!(message.contains("is 2.17.0, and this is the server of 2.16.0"), "{message}");
    let page = servers.servers[0].metrics();
    assert!(
        page.lines().any(|line| line.contains("rule=\"registration\"") && line.contains("effect=\"deny\"")),
        "{page}"
    );
}

fn going(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    let mut object = ctx.labelled(new, "going", Some(A));
    object["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:36:38Z");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object["spec"]["power"] = json!(500);
    let message = ctx.apply(new, "going", &object, "applier").fails(422);
    assert!(message.contains("must be less than or equal to 100"), "{message}");
    let mut unserved = ctx.labelled(new, "gone", Some(UNKNOWN));
    unserved["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:36:38Z");
    unserved["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let message = ctx.apply(new, "gone", &unserved, "applier").fails(422);
    assert!(message.contains("is served; served versions:"), "{message}");
}

fn shadow_down(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    // The server of the shadow is unreachable, and its address refuses no connection.
    let printed = ctx.pointsman_prints(&[
        "webhooks",
        "--controller-version=2.17.0",
        "--shadow=2.16.0",
        "--guard=none",
        "--url=https://192.0.2.1:8443",
    ]);
    let mut all: Value = serde_json::from_str(&printed).unwrap();
    let items = all["items"].as_array_mut().unwrap();
    items.retain(|document| document["metadata"]["name"].as_str().unwrap().contains("-shadows-"));
    assert_eq!(items.len(), 1);
    ctx.kubectl(&["apply"], &all);
    std::thread::sleep(Duration::from_secs(2));
    let mut slowest = Duration::ZERO;
    for number in 0..5 {
        let began = Instant::now();
        ctx.create(new, &ctx.object(new, &format!("e{number}"))).ok();
        slowest = slowest.max(began.elapsed());
    }
    println!("a write took at most {slowest:?} beside a shadow that does not answer");
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
}

fn flips(servers: &SideBySide<'_>, at: usize) -> String {
    let page = servers.servers[at].metrics();
    let lines = page.lines().filter_map(|line| line.strip_prefix("pointsman_controller_version_flips_total{outcome="));
    lines.map(str::to_owned).collect::<Vec<_>>().join(" ")
}

fn adopted(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    // These objects exist before any registration.
    for name in ["a", "b", "c"] {
        ctx.create(new, &ctx.object(new, name)).ok();
    }
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let dry =
        ctx.call(Method::PATCH, &format!("{}?dryRun=All", ctx.one(new, "a")), Some((MERGE, flip(ctx, A).to_string())));
    dry.ok();
    assert_eq!((flips(&servers, 0), flips(&servers, 1)), (String::new(), String::new()), "a dry run is no flip");
    let ((), said) = servers.answered(|| drop(ctx.patch(new, "a", &flip(ctx, A)).ok()));
    assert_eq!(said, "A: mutate patch, validate allow", "one call for each webhook");
    ctx.patch(new, "b", &flip(ctx, B)).ok();
    assert_eq!(flips(&servers, 0), "\"entered\"} 1");
    assert_eq!(flips(&servers, 1), "\"entered\"} 1");
    // An unlabelled object belongs to the default version, for every client.
    let ((), said) = servers.answered(|| drop(ctx.patch(new, "c", &json!({"spec": {"power": 80}})).ok()));
    assert_eq!(said, "A: mutate patch, validate allow");
    assert_eq!(flips(&servers, 0), "\"entered\"} 1");
    // A Scale has no label, even if the object has a controller: the server of the default version receives the
    // request.
    for name in ["a/scale", "b/scale"] {
        let ((), said) = servers.answered(|| drop(ctx.patch(new, name, &json!({"spec": {"replicas": 3}})).ok()));
        assert_eq!(said, "A: validate allow", "{name}");
    }
}

fn named(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    ctx.create(old, &ctx.object(old, "m")).ok();
    let told = |patch: Value| {
        let answer = ctx.patch(old, "m", &json!({"spec": patch}));
        let warnings = answer.warnings.join("\n");
        answer.ok();
        warnings
    };
    let warned = told(json!({"serviceAccountAnnotations": {"team": "b"}}));
    assert!(warned.contains("this change starts a rollout: serviceAccountAnnotations ("), "{warned}");
    let warned = told(json!({"environmentdIamRoleArn": "arn:aws:iam::123456789012:role/other"}));
    assert!(warned.contains("this change starts a rollout: environmentdIamRoleArn ("), "{warned}");
}

fn told(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.object(new, "e")).ok();
    let hash = format!("{}/rollout-hash", ctx.group);
    let warned = |patch: Value| ctx.patch(new, "e", &patch).warnings.join("\n");
    let said = warned(json!({"metadata": {"labels": {ctx.label_key(): null}}}));
    assert!(said.contains("was restored to \"2.16.0\""), "{said}");
    let said = warned(json!({"metadata": {"annotations": {&hash: null}}}));
    assert!(said.contains("rollout-hash was restored: its value is computed from the spec"), "{said}");
    let said = warned(json!({"metadata": {"annotations": {&hash: "mine"}}}));
    assert!(said.contains("rollout-hash was overwritten"), "{said}");
    assert_eq!(warned(json!({"metadata": {"annotations": {"note": "x"}}})), "");
    // Without the mutating webhook, the object is stored with the hash of its earlier state.
    let path = configuration(ctx, "mutating", "v2-16-0");
    ctx.call(Method::DELETE, &path, None).ok();
    let said = ctx.eventually(|| {
        let dry = format!("{}?dryRun=All", ctx.one(new, "e"));
        let answer = ctx.call(Method::PATCH, &dry, Some((MERGE, json!({"spec": {"power": 61}}).to_string())));
        let said = answer.warnings.join("\n");
        answer.ok();
        said.contains("the object was changed after /mutate, or bypassed /mutate").then_some(said)
    });
    assert!(said.contains(&hash), "{said}");
    ctx.patch(new, "e", &json!({"spec": {"power": 99}})).ok();
    let stale = ctx.get(new, "e").ok();
    assert_ne!(stale["metadata"]["annotations"][&hash], ctx.printed_hash(&stale));
    servers.register("deny");
    ctx.patch(new, "e", &json!({"metadata": {"labels": {"touched": "yes"}}})).ok();
    let now = ctx.get(new, "e").ok();
    assert_eq!(now["metadata"]["annotations"][&hash], ctx.printed_hash(&now), "any write stamps the hash again");
    // Each write warns of an unserved label, and the label stays.
    let mut unserved = ctx.etcd("e");
    unserved["metadata"]["labels"][ctx.label_key()] = json!(UNKNOWN);
    ctx.test_cluster.etcd.write(&ctx.key("e"), &unserved);
    let said = ctx.eventually(|| {
        let answer = ctx.patch(new, "e", &json!({"metadata": {"annotations": {"note": "y"}}}));
        let said = answer.warnings.join("\n");
        said.contains("which no server handles").then_some(said)
    });
    assert!(said.contains("is \"9.9.9\", which no server handles: this write was not validated"), "{said}");
    // The repair succeeds without a message about a path.
    ctx.patch(new, "e", &flip(ctx, A)).ok();
}

fn emergency(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let mut servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    servers.stop();
    ctx.create(new, &ctx.object(new, "refused")).fails(500);
    // The procedure of docs/running.md, for this kind alone: other scenarios share this API server.
    for what in ["mutatingwebhook", "validatingwebhook"] {
        for name in ["v2-16-0", "v2-17-0", "default"] {
            let path = configuration(ctx, what.trim_end_matches("webhook"), name);
            let document = ctx.call_get(&path);
            assert_eq!(document["metadata"]["labels"]["app.kubernetes.io/component"], "admission", "{path}");
            ctx.call(Method::DELETE, &path, None).ok();
        }
    }
    for what in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
        for policy in ["version-label", "unserved-label"] {
            let path = format!("{REGISTRATION}/{what}/pointsman-{policy}.{}", ctx.crd_name());
            let document = ctx.call_get(&path);
            assert_eq!(document["metadata"]["labels"]["app.kubernetes.io/component"], "admission", "{path}");
            ctx.call(Method::DELETE, &path, None).ok();
        }
    }
    ctx.eventually(|| ctx.create(new, &ctx.object(new, "through")).is_ok().then_some(()));
}

fn handed_over(ctx: &TestContext<'_>) {
    let version = ctx.sample.new;
    let crd: Value = serde_json::from_str(&ctx.pointsman_prints(&["crd", "--no-conversion"])).unwrap();
    ctx.install(&crd);
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    ctx.create(version, &ctx.labelled(version, "es", Some(A))).ok();
    let says = |phase: &str| ctx.patch(version, "es/status", &json!({"status": {"phase": phase}})).ok();
    says("ApplyingChanges");
    let message = ctx.patch(version, "es", &flip(ctx, B)).fails(422);
    assert!(
        message.contains("2.16.0 has not finished its work on this object: status.phase is \"ApplyingChanges\""),
        "{message}"
    );
    let mut told = flip(ctx, B);
    told["metadata"]["annotations"] = json!({"pointsman.dev/hand-over": "2.16.0 hangs"});
    let answer = ctx.patch(version, "es", &told);
    assert!(answer.warnings.concat().contains("handed over because of annotation"), "{:?}", answer.warnings);
    answer.ok();
    let heard = ctx.eventually(|| audited(ctx, "es", "/overridden").into_iter().next());
    assert!(heard.1.starts_with("2.16.0 hangs: "), "{heard:?}");
    let page = servers.servers[0].metrics();
    assert!(page.lines().any(|line| line.contains("effect=\"overridden\"")), "{page}");
    // The way back is refused at first, since the reason belonged to another write. Once the rollout is complete, the
    // object may move back by one minor version.
    ctx.patch(version, "es", &flip(ctx, A)).fails(422);
    says("Ready");
    ctx.patch(version, "es", &flip(ctx, A)).ok();
    // The server rejects a similar but wrong label; the guard alone rejects it as well.
    let mistaken = json!({"metadata": {"labels": {"eaas.search.mercari.in/controller-version": B}}});
    let message = ctx.patch(version, "es", &mistaken).fails(422);
    assert!(message.contains("desired-controller-version: set this label instead"), "{message}");
}

/// Runs a pointsman command for this kind and its registrations.
fn about(ctx: &TestContext<'_>, args: &[&str], object: &Value) -> (i32, String, String) {
    let kind = format!("--kind={}", ctx.crd_name());
    let service = format!("--service={}/engine-{{version}}:{}", ctx.ns, ctx.setup.port);
    let ca = format!("--ca-file={}", ctx.dir.join("ca.crt").display());
    let ca = if args.contains(&"overlay") { &[][..] } else { &[ca.as_str()] };
    ctx.told_of(&[args, &[&kind, &service], ca].concat(), object)
}

fn retired(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let mut servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.labelled(new, "e", Some(A))).ok();
    let args = ["webhooks", "retire", A, "--served", B, "--default", B, "--output=json"];
    let (code, _, said) = about(ctx, &args, &ctx.list(new).ok());
    assert!(code == 1 && said.contains("/e: ") && said.contains("is still 2.16.0"), "{said}");
    ctx.patch(new, "e", &flip(ctx, B)).ok();
    // The server accepts unlabelled objects before the API server sends any.
    servers.servers[1].setup.flags.push("--default-version".to_owned());
    servers.restart(&[]);
    let (code, text, said) = about(ctx, &args, &ctx.list(new).ok());
    assert_eq!(code, 0, "{said}");
    let steps: Value = serde_json::from_str(&text).unwrap();
    for step in steps["steps"].as_array().unwrap() {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": step["documents"]});
        let verb = step["kubectl"].as_str().unwrap();
        let more: &[&str] = if verb == "delete" { &["--ignore-not-found"] } else { &[] };
        ctx.kubectl(&[&[verb], more].concat(), &list);
        // Every allowed write succeeds at each step.
        ctx.eventually(|| {
            let answer = ctx.create(new, &ctx.object(new, &format!("after-{}", step["step"])));
            answer.is_ok().then_some(())
        });
    }
    servers.servers[0].running = None;
    ctx.eventually(|| {
        let object = ctx.post(&format!("{}?dryRun=All", ctx.all(new)), &ctx.object(new, "last"));
        (object.is_ok() && object.body["metadata"]["labels"][ctx.label_key()] == B).then_some(())
    });
    // A changed policy is in force after a moment.
    let message = ctx.eventually(|| {
        let answer = ctx.post(&format!("{}?dryRun=All", ctx.all(new)), &ctx.labelled(new, "late", Some(A)));
        (!answer.is_ok()).then(|| answer.fails(422))
    });
    assert!(message.contains("no controller version \"2.16.0\" is served; served versions: 2.17.0"), "{message}");
}

fn laid_over(ctx: &TestContext<'_>) {
    let crd: Value = serde_json::from_str(&ctx.pointsman_prints(&["crd", "--no-conversion"])).unwrap();
    ctx.install(&crd);
    let own = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("operator.{}", ctx.group)},
        "webhooks": [{
            "name": format!("es.{}", ctx.group),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": ctx.ns, "name": "operator", "path": "/validate"}},
            "rules": [
                {"apiGroups": [ctx.group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]},
            ],
            "sideEffects": "None",
        }],
    });
    let args = ["webhooks", "overlay", "-", "--side-by-side=2.16.0,2.17.0", "--default=2.16.0", "--output=json"];
    let (code, text, said) = about(ctx, &args, &own);
    assert_eq!(code, 0, "{said}");
    let laid: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(laid["items"].as_array().unwrap().len(), 3, "{laid:#}");
    // The API server compiles the conditions and accepts the names.
    ctx.kubectl(&["apply", "--dry-run=server"], &laid);
}
