//! Every field manager owns what it owned, in a version that is served, whatever a command has done.

use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::pointsman::Pointsman;
use crate::support::process::Process;
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::{APPLY, MERGE, Scene};

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

/// One manager applies the address, another one the replicas, and a third one writes a label, all at the old version.
fn create(scene: &Scene<'_>, name: &str) {
    let old = scene.sample.old;
    applies(scene, old, name, "owner", &json!({"hostPort": "example.com:8080"}));
    applies(scene, old, name, "scaler", &json!({"replicas": 2}));
    let label = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
    let path = format!("{}?fieldManager=labeler", scene.one(old, name));
    scene.call(Method::PATCH, &path, Some((MERGE, label))).ok();
}

/// Server-side apply by a manager, without force.
#[track_caller]
fn applies(scene: &Scene<'_>, version: &str, name: &str, manager: &str, spec: &Value) -> Value {
    let object = scene.with_spec(version, name, spec.clone());
    let path = format!("{}?fieldManager={manager}", scene.one(version, name));
    scene.call(Method::PATCH, &path, Some((APPLY, object.to_string()))).ok()
}

/// Manager, version and fields of each entry, as stored.
fn owners(scene: &Scene<'_>, name: &str) -> Vec<(String, String, Value)> {
    let stored = scene.etcd(name);
    let entries = stored["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let mut owners: Vec<_> = entries
        .iter()
        .map(|entry| (text(entry, "manager"), text(entry, "apiVersion"), entry["fieldsV1"]["f:spec"].clone()))
        .collect();
    owners.sort_by(|one, other| one.0.cmp(&other.0));
    owners
}

/// The entries that are expected once the old version is gone.
fn translated(scene: &Scene<'_>) -> Vec<(String, String, Value)> {
    let entry =
        |manager: &str, fields: Value| (manager.to_owned(), format!("{}/{}", scene.group, scene.sample.new), fields);
    vec![
        entry("labeler", Value::Null),
        entry("owner", json!({"f:host": {}, "f:port": {}})),
        entry("scaler", json!({"f:replicas": {}})),
    ]
}

/// Each manager can apply, and a field that its only owner leaves out goes.
fn assert_owned(scene: &Scene<'_>, name: &str) {
    let new = scene.sample.new;
    assert_eq!(owners(scene, name), translated(scene), "{name}");
    applies(scene, new, name, "owner", &json!({"host": "example.com", "port": 8080}));
    let after = applies(scene, new, name, "scaler", &json!({}));
    assert_eq!(after["spec"].get("replicas"), None, "{after}");
    let after = applies(scene, new, name, "owner", &json!({"host": "example.com"}));
    assert_eq!(after["spec"].get("port"), None, "{after}");
}

/// Answers between two kills, in turn. An object takes a few, and a page of 50 objects that no cache holds takes 50:
/// some kills come in the middle of each, and all of it gets done.
const ANSWERED: [u64; 4] = [150, 5, 80, 20];

/// The webhook is killed again and again while objects are written: every manager owns what it owned.
fn flickering(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(old);
    let names: Vec<String> = (0..150).map(|at| format!("w-{at}")).collect();
    names.iter().for_each(|name| create(scene, name));
    let before: Vec<_> = names.iter().map(|name| owners(scene, name)).collect();
    assert_eq!(before[0].len(), 3, "{:?}", before[0]);
    let args = scene.migrate_args(&scene.bed.api.kubeconfig, &["--to", new, "--settle=1s", "--max-in-flight=4"]);
    let log = scene.dir.join("migrate.log");
    let mut process = Process::start("migrate", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log);
    let mut ended = None;
    let mut flickers = 0;
    scene.eventually(|| {
        // SIGKILL, so that calls break in the middle.
        drop(scene.pointsman.borrow_mut().take());
        thread::sleep(Duration::from_millis(60));
        let pointsman = Pointsman::start(&scene.setup);
        let answers = ANSWERED[flickers % ANSWERED.len()];
        flickers += 1;
        // Counted in answers, not in time: a slow machine makes progress as well.
        while ended.is_none() && pointsman.answered() < answers {
            ended = process.end(Duration::from_millis(10));
        }
        *scene.pointsman.borrow_mut() = Some(pointsman);
        ended.map(drop)
    });
    let log = std::fs::read_to_string(log).unwrap();
    println!("     {flickers} flickers, {} calls were tried again", log.matches("trying again").count());
    let failed: Vec<&str> = log.lines().filter(|line| !line.contains("trying again")).collect();
    assert_eq!(ended, Some(0), "{failed:#?}");
    for (name, before) in names.iter().zip(&before) {
        assert_eq!(scene.etcd(name)["apiVersion"], format!("{}/{new}", scene.group), "{name}");
        // Where the API server could not tell who owns what just then, all of it is written down in the new version.
        let now = owners(scene, name);
        assert!(now == *before || now == translated(scene), "{name}: {now:?}");
    }
}

/// The old version is not served any more, and then not known.
fn disabled(scene: &Scene<'_>) {
    let (old, new, crd) = (scene.sample.old, scene.sample.new, scene.crd_name());
    scene.enable(old);
    ["a", "b", "c"].iter().for_each(|name| create(scene, name));
    let (code, text, errors) = scene.migrate(&["--to", new, "--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    scene.commanded(&["disable", &crd, &scene.server(), "--served", new, "--settle=1s"]);
    assert_owned(scene, "a");
    // Once more, there is nothing to do.
    scene.commanded(&["disable", &crd, &scene.server(), "--settle=0s"]);
    scene.change_crd(|crd| crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] != old));
    scene.eventually(|| scene.patch(new, "c", &json!({"metadata": {"labels": {"z": "z"}}})).is_ok().then_some(()));
    assert_owned(scene, "b");
}

/// The conversion was taken away by hand, so that entries name a version that is not served.
fn forgotten(scene: &Scene<'_>) {
    let (old, new, crd) = (scene.sample.old, scene.sample.new, scene.crd_name());
    scene.enable(old);
    create(scene, "a");
    let (code, text, errors) = scene.migrate(&["--to", new, "--settle=1s"]);
    assert_eq!(code, 0, "{text}{errors}");
    scene.change_crd(|crd| {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["served"] = json!(version["name"] == new);
        }
    });
    scene.eventually(|| (scene.list(old).code == 404).then_some(()));
    let text = scene.commanded(&["migrate", &crd, "--forget", old]);
    assert!(text.contains("1 object"), "{text}");
    assert_owned(scene, "a");
}

/// Owner references to the version that goes are counted within the kind, and found in other kinds by the documented
/// command.
fn referred(scene: &Scene<'_>) {
    let (old, new, crd) = (scene.sample.old, scene.sample.new, scene.crd_name());
    scene.enable(new);
    let uid = scene.create(new, &scene.object(new, "parent")).ok()["metadata"]["uid"].clone();
    let reference = json!({
        "apiVersion": format!("{}/{old}", scene.group), "kind": scene.sample.kind, "name": "parent", "uid": uid,
    });
    let mut child = scene.object(new, "child");
    child["metadata"]["ownerReferences"] = json!([reference]);
    scene.create(new, &child).ok();
    let map = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
    scene.post(&format!("/api/v1/namespaces/{}/configmaps", scene.ns), &map).ok();
    let text = scene.commanded(&["status", &crd]);
    assert!(text.contains(&format!("owners in     {old}: 1\n")), "{text}");
    let named = format!("may go        {old}: no, it is named in owner references of 1: pointsman disable {crd}, ");
    assert!(text.contains(&named), "{text}");
    // Once the version is not served, the garbage collector deletes such children for a while.
    assert_eq!(children(scene), format!("ConfigMap {}/child\n", scene.ns));
    let (code, text, errors) = scene.command(&["disable", &crd, &scene.server(), "--served", new, "--settle=1s"]);
    assert!(code == 0 && !text.contains("left: "), "{text}{errors}");
    assert!(errors.contains("renamed: owner references in 1 object\n"), "{errors}");
    assert!(errors.contains(&format!("whose owner references name {old} may be deleted")), "{errors}");
    let now = scene.get(new, "child").ok()["metadata"]["ownerReferences"].clone();
    assert_eq!(now[0]["apiVersion"], format!("{}/{new}", scene.group), "{now}");
    scene.commanded(&["status", &crd]);
}

/// The ConfigMaps that refer to the old version, as docs/uninstall.md finds them.
fn children(scene: &Scene<'_>) -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/uninstall.md")).unwrap();
    let template = page.split("go-template='").nth(1).unwrap().split('\'').next().unwrap();
    let template = template.replace("materialize.cloud/v1alpha1", &format!("{}/{}", scene.group, scene.sample.old));
    let output = std::process::Command::new(scene.bed.assets.path("kubectl"))
        .arg(format!("--kubeconfig={}", scene.bed.api.kubeconfig.display()))
        .args(["get", "configmaps", "-A", "--ignore-not-found", "-o", &format!("go-template={template}")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// With the webhook down, the version that is stored can be written, whichever way the migration went.
fn outage(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.conversion();
    let (code, _, errors) = scene.enables(&[]);
    assert_eq!(code, 0, "{errors}");
    for to in [new, old, new] {
        let (code, text, errors) = scene.migrate(&["--to", to, "--settle=1s"]);
        assert_eq!(code, 0, "{text}{errors}");
        for version in [old, new] {
            let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
            let name = format!("pointsman-incomplete.{version}.{}", scene.crd_name());
            let there = scene.call(Method::GET, &format!("{path}/{name}"), None).is_ok();
            assert_eq!(there, version == to, "{name}");
        }
    }
    scene.stop_pointsman();
    // The API server looks at policies as they were a moment ago.
    scene.eventually(|| scene.create(new, &scene.object(new, "a")).is_ok().then_some(()));
    scene.patch(new, "a", &json!({"metadata": {"labels": {"x": "y"}, "finalizers": ["e.com/f"]}})).ok();
    let status = json!({"status": {"observedGeneration": 1}}).to_string();
    scene.call(Method::PATCH, &scene.one(new, "a/status"), Some((MERGE, status))).ok();
    scene.patch(new, "a", &json!({"metadata": {"finalizers": null}})).ok();
}

/// What is printed can be applied by two managers, one after the other.
fn printed_twice(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.conversion();
    let (code, _, errors) = scene.enables(&[]);
    assert_eq!(code, 0, "{errors}");
    for version in [old, new] {
        scene.kubectl(&["apply", "--server-side"], &scene.printed_policy(version));
        scene.kubectl(&["apply", "--server-side", "--field-manager=another"], &scene.printed_policy(version));
    }
    let service = format!("--service={}/pointsman:{}", scene.ns, scene.setup.port);
    let printed = scene.pointsman_prints(&[
        "webhooks",
        "--controller-version=1.0.0",
        "--default=1.0.0",
        "--served=1.0.0",
        &service,
    ]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    scene.kubectl(&["apply", "--server-side"], &printed);
    scene.kubectl(&["apply", "--server-side", "--field-manager=another"], &printed);
    scene.kubectl(&["delete"], &printed);
}

/// Versions with one schema need no conversion: migrate stores them anew.
fn one_schema(scene: &Scene<'_>) {
    let (old, new, crd) = (scene.sample.old, scene.sample.new, scene.crd_name());
    let mut same = scene.crd.clone();
    same["spec"]["conversion"] = json!({"strategy": "None"});
    let schema = same["spec"]["versions"][0].clone();
    for version in same["spec"]["versions"].as_array_mut().unwrap() {
        for member in ["schema", "subresources", "additionalPrinterColumns"] {
            version[member] = schema[member].clone();
        }
        version["storage"] = json!(version["name"] == old);
    }
    scene.post(crate::support::scene::CRDS, &same).ok();
    let name = same["spec"]["versions"][0]["name"].as_str().unwrap().to_owned();
    let object = scene.with_spec(old, "a", scene.sample.spec(&name));
    scene.eventually(|| scene.create(old, &object).is_ok().then_some(()));
    scene.change_crd(|crd| {
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["storage"] = json!(version["name"] == new);
        }
    });
    let (_, text, errors) = scene.command(&["status", &crd]);
    assert!(!format!("{text}{errors}").contains("lose fields"), "{text}{errors}");
    let (code, text, errors) = scene.migrate(&["--settle=2s"]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(scene.stored_versions(), json!([new]));
    assert_eq!(scene.etcd("a")["apiVersion"], format!("{}/{new}", scene.group));
}
