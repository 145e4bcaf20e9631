//! Registrations as the API server returns them, and the removal of a version during concurrent writes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::sample::{ELASTICSEARCH, ENGINE, Sample};
use crate::support::side_by_side::{A, B, SideBySide};

static ENGINES: [&Sample; 1] = [&ENGINE];
static BOTH: [&Sample; 2] = [&ENGINE, &ELASTICSEARCH];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("printed_webhooks_match_stored_ones", stored).of(&BOTH).newest(),
    Scenario::new("version_retires_under_load", gone).of(&ENGINES).newest(),
];

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

const RESOURCES: [&str; 4] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// The registrations for the kind of a ctx, in the format of `kubectl get -o json`: other scenarios share the API
/// server.
fn registered(ctx: &TestContext<'_>) -> Vec<Value> {
    let end = format!(".{}", ctx.crd_name());
    let mut all = Vec::new();
    for resource in RESOURCES {
        let list = ctx.call_get(&format!("{REGISTRATION}/{resource}"));
        let kind = list["kind"].as_str().unwrap().trim_end_matches("List").to_owned();
        for item in list["items"].as_array().unwrap() {
            if item["metadata"]["name"].as_str().unwrap().ends_with(&end) {
                let mut item = item.clone();
                item["apiVersion"] = json!("admissionregistration.k8s.io/v1");
                item["kind"] = json!(kind);
                all.push(item);
            }
        }
    }
    all
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// The API server fills in defaults, and `doctor` reports none of them.
fn stored(ctx: &TestContext<'_>) {
    let crd = match ctx.sample.old == ctx.sample.new {
        true => serde_json::from_str(&ctx.pointsman_prints(&["crd", "--no-conversion"])).unwrap(),
        false => ctx.printed_crd(&[]),
    };
    ctx.install(&crd);
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    for (guard, enforcement) in [("deny", "enforce"), ("warn", "warn"), ("audit", "audit")] {
        servers.register(guard);
        let there = registered(ctx);
        assert_eq!(there.len(), 10, "{there:#?}");
        let server = ["webhooks", "doctor", "--controller-version=2.17.0", "--served-versions=2.16.0,2.17.0"];
        let enforcement = format!("--enforcement={enforcement}");
        let (code, said, errors) = ctx.told_of(&[&server[..], &[&enforcement]].concat(), &list(&there));
        assert_eq!((code, said.as_str(), errors.as_str()), (0, "OK: no findings\n", ""), "{guard}");
    }
    // A single change in the cluster is found in the returned registrations.
    let name = format!("pointsman-v2-17-0.{}", ctx.crd_name());
    let patch = json!([{"op": "replace", "path": "/webhooks/0/rules/0/scope", "value": "Cluster"}]);
    let path = format!("{REGISTRATION}/validatingwebhookconfigurations/{name}");
    let json_patch = "application/json-patch+json";
    ctx.call(hyper::Method::PATCH, &path, Some((json_patch, patch.to_string()))).ok();
    let (code, said, _) = ctx.told_of(&["webhooks", "doctor", "--enforcement=audit"], &list(&registered(ctx)));
    let wanted = format!(
        "BLOCKED: 1 finding\nValidatingWebhookConfiguration {name}: its rule does not match: objects of the kind are Namespaced, and the rule is for \
         Cluster\n  webhooks[0].rules[0].scope: Namespaced\n"
    );
    assert_eq!((code, said), (1, wanted));
}

/// At every step, valid writes succeed and each object has a server.
fn gone(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let mut servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    ctx.create(new, &ctx.labelled(new, "b", Some(B))).ok();
    servers.servers[1].setup.flags.push("--default-version".to_owned());
    servers.restart(&[]);
    // Reports objects that stay with A until a client moves them.
    ctx.create(new, &ctx.object(new, "a")).ok();
    let service = format!("--service={}/engine-{{version}}:{}", ctx.ns, ctx.setup.port);
    let kind = format!("--kind={}", ctx.crd_name());
    let ca = format!("--ca-file={}", ctx.dir.join("ca.crt").display());
    let retire = |more: &[&str]| {
        let args = ["webhooks", "retire", A, "--served", B, "--output=json", &service, &kind, &ca];
        let objects = [ctx.list(new).ok()["items"].as_array().unwrap().clone(), registered(ctx)].concat();
        ctx.told_of(&[&args[..], more].concat(), &list(&objects))
    };
    let (code, _, said) = retire(&[]);
    assert!(code == 1 && said.contains("/a: ") && said.contains("is still 2.16.0"), "{said}");
    ctx.patch(new, "a", &json!({"metadata": {"labels": {ctx.label_key(): B}}})).ok();
    let (code, text, said) = retire(&[]);
    assert_eq!(code, 0, "{said}");
    let steps: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(steps["steps"].as_array().unwrap().len(), 3, "whose the default is was found: {steps:#}");
    let mut number = 0;
    for step in steps["steps"].as_array().unwrap() {
        let began = number;
        // Applies one document after the other, like kubectl, with writes at each intermediate state.
        for document in step["documents"].as_array().unwrap() {
            match step["kubectl"].as_str().unwrap() {
                "delete" => ctx.kubectl(&["delete", "--ignore-not-found"], document),
                _ => ctx.kubectl(&["apply"], document),
            };
            write_for(ctx, Duration::from_millis(500), &mut number);
        }
        // Every API server needs some time to observe the change.
        write_for(ctx, Duration::from_millis(1500), &mut number);
        println!("step {}: {} rounds of writes", step["step"], number - began);
    }
    servers.servers[0].running = None;
    write_for(ctx, Duration::from_secs(1), &mut number);
    // The remaining registrations fit the remaining server, and no object belongs to the other version.
    let server = ["webhooks", "doctor", "--controller-version=2.17.0", "--default-version", "--served-versions=2.17.0"];
    let (code, said, _) = ctx.told_of(&server, &list(&registered(ctx)));
    assert_eq!((code, said.as_str()), (0, "OK: no findings\n"));
    let all = ctx.list(new).ok();
    for object in all["items"].as_array().unwrap() {
        assert_eq!(object["metadata"]["labels"][ctx.label_key()], B, "{object:#}");
    }
}

/// Creates and changes objects for some time. Each write is reviewed and stamped, and none is refused.
fn write_for(ctx: &TestContext<'_>, time: Duration, number: &mut i64) {
    let (new, label) = (ctx.sample.new, ctx.label_key());
    let hash = format!("{}/rollout-hash", ctx.group);
    let began = Instant::now();
    while began.elapsed() < time {
        *number += 1;
        let name = format!("w{number}");
        let made = ctx.create(new, &ctx.object(new, &name)).ok();
        let of = &made["metadata"]["labels"][&label];
        assert!(*of == A || *of == B, "{made:#}");
        assert!(made["metadata"]["annotations"][&hash].is_string(), "nobody stamped it: {made:#}");
        for owner in [None, Some(B)] {
            let mut strong = ctx.labelled(new, &format!("s{number}"), owner);
            strong["spec"]["power"] = json!(500);
            ctx.create(new, &strong).fails(422);
        }
        ctx.patch(new, "b", &json!({"spec": {"power": 60 + *number % 20}})).ok();
        // Hands objects of the removed version over.
        if *of == A {
            ctx.patch(new, &name, &json!({"metadata": {"labels": {&label: B}}})).ok();
        }
    }
}
