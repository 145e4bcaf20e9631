//! Every field manager keeps its fields, in a served version, after each command.

use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{APPLY, MERGE, TestContext};
use crate::support::pointsman::Pointsman;
use crate::support::process::Process;
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("flickering_webhook_loses_no_owner", flickering).of(&WIDGETS).failing(),
    Scenario::new("disabled_kind_keeps_field_owners", disabled).of(&WIDGETS).failing(),
    Scenario::new("forgotten_version_keeps_field_owners", forgotten).of(&WIDGETS).failing(),
    Scenario::new("owner_references_of_version_are_counted", referred).of(&WIDGETS).newest(),
    Scenario::new("webhook_outage_spares_stored_version", outage).of(&WIDGETS).newest().failing(),
    Scenario::new("printed_documents_apply_twice", printed_twice).of(&WIDGETS).newest(),
    Scenario::new("one_schema_migrates_without_webhook", one_schema).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// One manager applies the address, a second the replicas, and a third writes a label, all at the old version.
fn create(ctx: &TestContext<'_>, name: &str) {
    let old = ctx.sample.old;
    applies(ctx, old, name, "owner", &json!({"hostPort": "example.com:8080"}));
    applies(ctx, old, name, "scaler", &json!({"replicas": 2}));
    let label = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
    let path = format!("{}?fieldManager=labeler", ctx.one(old, name));
    ctx.call(Method::PATCH, &path, Some((MERGE, label))).ok();
}

/// Server-side apply by a manager, without force.
#[track_caller]
fn applies(ctx: &TestContext<'_>, version: &str, name: &str, manager: &str, spec: &Value) -> Value {
    let object = ctx.with_spec(version, name, spec.clone());
    let path = format!("{}?fieldManager={manager}", ctx.one(version, name));
    ctx.call(Method::PATCH, &path, Some((APPLY, object.to_string()))).ok()
}

/// Manager, version and fields of each stored entry.
fn owners(ctx: &TestContext<'_>, name: &str) -> Vec<(String, String, Value)> {
    let stored = ctx.etcd(name);
    let entries = stored["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let mut owners: Vec<_> = entries
        .iter()
        .map(|entry| (text(entry, "manager"), text(entry, "apiVersion"), entry["fieldsV1"]["f:spec"].clone()))
        .collect();
    owners.sort_by(|one, other| one.0.cmp(&other.0));
    owners
}

/// The expected entries after the removal of the old version.
fn translated(ctx: &TestContext<'_>) -> Vec<(String, String, Value)> {
    let entry =
        |manager: &str, fields: Value| (manager.to_owned(), format!("{}/{}", ctx.group, ctx.sample.new), fields);
    vec![
        entry("labeler", Value::Null),
        entry("owner", json!({"f:host": {}, "f:port": {}})),
        entry("scaler", json!({"f:replicas": {}})),
    ]
}

/// Checks that each manager can apply, and that a field is deleted if its only owner omits it.
fn assert_owned(ctx: &TestContext<'_>, name: &str) {
    let new = ctx.sample.new;
    assert_eq!(owners(ctx, name), translated(ctx), "{name}");
    applies(ctx, new, name, "owner", &json!({"host": "example.com", "port": 8080}));
    let after = applies(ctx, new, name, "scaler", &json!({}));
    assert_eq!(after["spec"].get("replicas"), None, "{after}");
    let after = applies(ctx, new, name, "owner", &json!({"host": "example.com"}));
    assert_eq!(after["spec"].get("port"), None, "{after}");
}

/// The number of responses between two kills, in turn. An object takes a few responses, and an uncached page of 50
/// objects takes 50 responses. Some kills interrupt each kind of request, and the migration still completes.
const ANSWERED: [u64; 4] = [150, 5, 80, 20];

/// The webhook is killed repeatedly while objects are written: every manager keeps its fields.
fn flickering(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let names: Vec<String> = (0..150).map(|at| format!("w-{at}")).collect();
    names.iter().for_each(|name| create(ctx, name));
    let before: Vec<_> = names.iter().map(|name| owners(ctx, name)).collect();
    assert_eq!(before[0].len(), 3, "{:?}", before[0]);
    let args = ctx.migrate_args(&ctx.test_cluster.api.kubeconfig, &["--to", new, "--settle=1s", "--max-in-flight=4"]);
    let log = ctx.dir.join("migrate.log");
    let mut process = Process::start("migrate", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log);
    let mut ended = None;
    let mut flickers = 0;
    ctx.eventually(|| {
        // SIGKILL, so that calls break in the middle.
        drop(ctx.pointsman.borrow_mut().take());
        thread::sleep(Duration::from_millis(60));
        let pointsman = Pointsman::start(&ctx.setup);
        let answers = ANSWERED[flickers % ANSWERED.len()];
        flickers += 1;
        // Counts responses instead of time: a slow machine makes progress as well.
        while ended.is_none() && pointsman.answered() < answers {
            ended = process.end(Duration::from_millis(10));
        }
        *ctx.pointsman.borrow_mut() = Some(pointsman);
        ended.map(drop)
    });
    let log = std::fs::read_to_string(log).unwrap();
    println!("     {flickers} flickers, {} calls were tried again", log.matches("retrying in").count());
    let failed: Vec<&str> = log.lines().filter(|line| !line.contains("retrying in")).collect();
    assert_eq!(ended, Some(0), "{failed:#?}");
    for (name, before) in names.iter().zip(&before) {
        assert_eq!(ctx.etcd(name)["apiVersion"], format!("{}/{new}", ctx.group), "{name}");
        // If the API server could not compute the owners at that time, all entries are in the new version.
        let now = owners(ctx, name);
        assert!(now == *before || now == translated(ctx), "{name}: {now:?}");
    }
}

/// The old version is not served, and later removed.
fn disabled(ctx: &TestContext<'_>) {
    let (old, new, crd) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    ctx.enable(old);
    ["a", "b", "c"].iter().for_each(|name| create(ctx, name));
    let (code, text, errors) = ctx.migrate(&["--to", new, "--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    ctx.commanded(&["disable", &crd, &ctx.server(), "--served", new, "--settle=1s"]);
    assert_owned(ctx, "a");
    // A second run changes nothing.
    ctx.commanded(&["disable", &crd, &ctx.server(), "--settle=0s"]);
    ctx.change_crd(|crd| crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] != old));
    ctx.eventually(|| ctx.patch(new, "c", &json!({"metadata": {"labels": {"z": "z"}}})).is_ok().then_some(()));
    assert_owned(ctx, "b");
}

/// The conversion was removed by hand, so that entries name an unserved version.
fn forgotten(ctx: &TestContext<'_>) {
    let (old, new, crd) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    ctx.enable(old);
    create(ctx, "a");
    let (code, text, errors) = ctx.migrate(&["--to", new, "--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    ctx.change_crd(|crd| {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["served"] = json!(version["name"] == new);
        }
    });
    ctx.eventually(|| (ctx.list(old).code == 404).then_some(()));
    let text = ctx.commanded(&["migrate", &crd, "--forget", old]);
    assert!(text.contains("1 object"), "{text}");
    assert_owned(ctx, "a");
}

/// Owner references to the removed version are counted within the kind; the documented command finds references in
/// other kinds.
fn referred(ctx: &TestContext<'_>) {
    let (old, new, crd) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    ctx.enable(new);
    let uid = ctx.create(new, &ctx.object(new, "parent")).ok()["metadata"]["uid"].clone();
    let reference = json!({
        "apiVersion": format!("{}/{old}", ctx.group), "kind": ctx.sample.kind, "name": "parent", "uid": uid,
    });
    let mut child = ctx.object(new, "child");
    child["metadata"]["ownerReferences"] = json!([reference]);
    ctx.create(new, &child).ok();
    let map = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
    ctx.post(&format!("/api/v1/namespaces/{}/configmaps", ctx.ns), &map).ok();
    let text = ctx.commanded(&["status", &crd]);
    assert!(text.contains(&format!("owners in     {old}: 1\n")), "{text}");
    let named = format!("removable     {old}: no, because of owner references of 1: run pointsman disable {crd}, ");
    assert!(text.contains(&named), "{text}");
    // While the version is unserved, the garbage collector deletes such children for some time.
    assert_eq!(children(ctx), format!("ConfigMap {}/child\n", ctx.ns));
    let (code, text, errors) = ctx.command(&["disable", &crd, &ctx.server(), "--served", new, "--settle=1s"]);
    assert!(code == 0 && !text.contains("left: "), "{text}{errors}");
    assert!(errors.contains("renamed: owner references in 1 object\n"), "{errors}");
    assert!(
        errors.contains(&format!("objects of other kinds with owner references to {old} may be deleted")),
        "{errors}"
    );
    let now = ctx.get(new, "child").ok()["metadata"]["ownerReferences"].clone();
    assert_eq!(now[0]["apiVersion"], format!("{}/{new}", ctx.group), "{now}");
    ctx.commanded(&["status", &crd]);
}

/// The ConfigMaps with references to the old version, found as in docs/uninstall.md.
fn children(ctx: &TestContext<'_>) -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/uninstall.md")).unwrap();
    let template = page.split("go-template='").nth(1).unwrap().split('\'').next().unwrap();
    let template = template.replace("materialize.cloud/v1alpha1", &format!("{}/{}", ctx.group, ctx.sample.old));
    let output = std::process::Command::new(ctx.test_cluster.assets.path("kubectl"))
        .arg(format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display()))
        .args(["get", "configmaps", "-A", "--ignore-not-found", "-o", &format!("go-template={template}")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// While the webhook is down, writes at the storage version succeed, for both directions of the migration.
fn outage(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.conversion();
    let (code, _, errors) = ctx.enables(&[]);
    assert_eq!(code, 0, "{errors}");
    for to in [new, old, new] {
        let (code, text, errors) = ctx.migrate(&["--to", to, "--settle=1s"]);
        assert_eq!(code, 0, "{text}{errors}");
        for version in [old, new] {
            let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
            let name = format!("pointsman-incomplete.{version}.{}", ctx.crd_name());
            let there = ctx.call(Method::GET, &format!("{path}/{name}"), None).is_ok();
            assert_eq!(there, version == to, "{name}");
        }
    }
    ctx.stop_pointsman();
    // The API server evaluates slightly outdated policies.
    ctx.eventually(|| ctx.create(new, &ctx.object(new, "a")).is_ok().then_some(()));
    ctx.patch(new, "a", &json!({"metadata": {"labels": {"x": "y"}, "finalizers": ["e.com/f"]}})).ok();
    let status = json!({"status": {"observedGeneration": 1}}).to_string();
    ctx.call(Method::PATCH, &ctx.one(new, "a/status"), Some((MERGE, status))).ok();
    ctx.patch(new, "a", &json!({"metadata": {"finalizers": null}})).ok();
}

/// Two managers can apply the printed documents, one after the other.
fn printed_twice(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.conversion();
    let (code, _, errors) = ctx.enables(&[]);
    assert_eq!(code, 0, "{errors}");
    for version in [old, new] {
        ctx.kubectl(&["apply", "--server-side"], &ctx.printed_policy(version));
        ctx.kubectl(&["apply", "--server-side", "--field-manager=another"], &ctx.printed_policy(version));
    }
    let service = format!("--service={}/pointsman:{}", ctx.ns, ctx.setup.port);
    let printed = ctx.pointsman_prints(&[
        "webhooks",
        "--controller-version=1.0.0",
        "--default=1.0.0",
        "--served=1.0.0",
        &service,
    ]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    ctx.kubectl(&["apply", "--server-side"], &printed);
    ctx.kubectl(&["apply", "--server-side", "--field-manager=another"], &printed);
    ctx.kubectl(&["delete"], &printed);
}

/// Versions with one schema need no conversion: migrate rewrites the objects.
fn one_schema(ctx: &TestContext<'_>) {
    let (old, new, crd) = (ctx.sample.old, ctx.sample.new, ctx.crd_name());
    let mut same = ctx.crd.clone();
    same["spec"]["conversion"] = json!({"strategy": "None"});
    let schema = same["spec"]["versions"][0].clone();
    for version in same["spec"]["versions"].as_array_mut().unwrap() {
        for member in ["schema", "subresources", "additionalPrinterColumns"] {
            version[member] = schema[member].clone();
        }
        version["storage"] = json!(version["name"] == old);
    }
    ctx.post(crate::support::ctx::CRDS, &same).ok();
    let name = same["spec"]["versions"][0]["name"].as_str().unwrap().to_owned();
    let object = ctx.with_spec(old, "a", ctx.sample.spec(&name));
    ctx.eventually(|| ctx.create(old, &object).is_ok().then_some(()));
    ctx.change_crd(|crd| {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["storage"] = json!(version["name"] == new);
        }
    });
    let (_, text, errors) = ctx.command(&["status", &crd]);
    assert!(!format!("{text}{errors}").contains("lose fields"), "{text}{errors}");
    let (code, text, errors) = ctx.migrate(&["--settle=2s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.stored_versions(), json!([new]));
    assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{new}", ctx.group));
}
