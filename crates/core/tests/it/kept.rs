//! The format of kept annotations in users' clusters: every form ever written stays readable.
//!
//! A file in `tests/data/kept` contains an object with an annotation, the target version, and the converted object. A
//! released file is never changed or removed; `POINTSMAN_BLESS=1` writes `replaces` into a file without one.

use std::path::Path;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook, is_kept};
use serde_json::{Value, json};

use crate::kinds::WEBHOOK;

#[test]
fn every_form_ever_written_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kept");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut members = std::collections::BTreeSet::new();
    for file in files {
        let name = file.display();
        let mut case: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let to = case["to"].as_str().unwrap().to_owned();
        let converted =
            WEBHOOK.convert(&case["object"].to_string(), &to).unwrap_or_else(|error| panic!("{name}: {error}"));
        let replaces: Value = serde_json::from_str(&converted.text).unwrap();
        if std::env::var_os("POINTSMAN_BLESS").is_some() && case["becomes"].is_null() {
            case["becomes"] = replaces.clone();
            std::fs::write(&file, serde_json::to_string_pretty(&case).unwrap() + "\n").unwrap();
        }
        assert_eq!(case["becomes"], replaces, "{name}");
        let annotation = &case["object"]["metadata"]["annotations"][format!("pointsman.dev/kept-{to}")];
        let annotation: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap_or_default();
        members.extend(names(&annotation).map(str::to_owned));
        members.extend(names(&annotation["rollout"]).map(|name| format!("rollout.{name}")));
        for (_, entry) in annotation["fields"].as_object().into_iter().flatten() {
            members.extend(names(entry).map(|name| format!("fields.{name}")));
            members.extend(names(&entry["each"]).map(|name| format!("each.{name}")));
        }
    }
    let all = [
        "annotations",
        "each.count",
        "each.items",
        "each.omitted",
        "fields",
        "fields.became",
        "fields.digest",
        "fields.each",
        "fields.rest",
        "fields.seen",
        "fields.value",
        "fields.was",
        "rollout",
        "rollout.absent",
        "rollout.at",
        "rollout.completed",
        "rollout.request",
        "rollout.returned",
        "sparse",
    ];
    assert!(all.iter().all(|member| members.contains(*member)), "only {members:?} are shown");
}

/// The member names of an object; empty for other values.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(|members| members.keys().map(String::as_str))
}

pub(super) fn at(webhook: &Webhook, object: &Value, to: &str) -> Value {
    serde_json::from_str(&webhook.convert(&object.to_string(), to).unwrap().text).unwrap()
}

/// The kept annotation of an object for a version.
fn kept<'o>(object: &'o Value, version: &str) -> &'o str {
    object["metadata"]["annotations"][format!("pointsman.dev/kept-{version}")].as_str().unwrap()
}

/// A kind of at least two versions, each with its spec properties and the operation that leads to it.
pub(super) fn things(versions: &[(&str, &str)]) -> Webhook {
    let crd: String = (1..)
        .zip(versions)
        .map(|(at, (spec, _))| {
            format!(
                "  - name: v{at}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema: {{type: object, \
                 properties: {{spec: {{type: object, properties: {{{spec}}}}}}}}}\n",
                at == 1
            )
        })
        .collect();
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  scope: Namespaced\n  versions:\n{crd}"
    );
    let steps: String = (1..)
        .zip(versions.iter().skip(1))
        .map(|(at, (_, operation))| format!("- {{from: v{at}, to: v{}, operations: [{operation}]}}\n", at + 1))
        .collect();
    let definition = format!("apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: x\nsteps:\n{steps}");
    Webhook::new(vec![Kind::from_crd(&definition, &crd).unwrap()], Metadata::Full).unwrap()
}

fn thing(version: &str, spec: Value, (kept_for, kept): (&str, &str)) -> Value {
    let annotation = format!("pointsman.dev/kept-{kept_for}");
    json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Thing",
        "metadata": {"name": "t", "uid": "u", "annotations": {annotation: kept}},
        "spec": spec,
    })
}

/// An API server stores no longer annotation: a longer one is forged and skipped without parsing.
#[test]
fn overlong_annotation_is_ignored() {
    let sparse = r#"{"sparse":true}"#;
    let padded = |length: usize| format!("{sparse}{}", " ".repeat(length - sparse.len()));
    assert!(is_kept(&padded(256 << 10)) && !is_kept(&padded((256 << 10) + 1)) && !is_kept("{}"));
}

/// The position of the next item is omitted: most lists keep a value of each item.
#[test]
fn positions_count_skipped_items() {
    let route = |name: &str, debug: bool| json!({"name": name, "path": "/", "debug": debug});
    let routes = [("a", true), ("b", true), ("c", false), ("d", true), ("e", true)].map(|(name, on)| route(name, on));
    let object = json!({
        "apiVersion": "example.com/v1alpha1", "kind": "Proxy", "metadata": {"name": "p", "uid": "u"},
        "spec": {"image": "i", "routes": routes},
    });
    let there = at(&WEBHOOK, &object, "v1beta1");
    let kept: Value = serde_json::from_str(kept(&there, "v1alpha1")).unwrap();
    let items = kept.pointer("/fields/spec.routes/each/items").and_then(Value::as_array).unwrap();
    let begin: Vec<&Value> = items.iter().map(|item| &item[0]).collect();
    assert_eq!(begin, [&json!(["a"]), &json!(["b"]), &json!(3), &json!(["e"])], "{kept}");
}

/// A result of up to 96 bytes, including quotes, is stored as text; a larger result as a digest. The escaping does not
/// matter.
#[test]
fn results_are_stored_to_96_bytes() {
    for (note, length, written) in
        [("x", 94, "became"), ("x", 95, "digest"), ("\\u0078", 94, "became"), ("\\u0078", 95, "digest")]
    {
        let object = format!(
            "{{\"apiVersion\":\"example.com/v1\",\"kind\":\"Mailbox\",\"metadata\":{{\"name\":\"m\",\"namespace\":\"n\",\
             \"uid\":\"u\"}},\"spec\":{{\"token\":\"\",\"mail\":\"a@b\",\"notes\":{{\"mail\":\"{}\"}}}}}}",
            note.repeat(length)
        );
        let there: Value = serde_json::from_str(&WEBHOOK.convert(&object, "v2").unwrap().text).unwrap();
        let kept: Value = serde_json::from_str(kept(&there, "v1")).unwrap();
        let entry = &kept["fields"]["spec.mail"];
        assert!(names(entry).any(|name| name == written), "{length} of {note}: {entry}");
    }
}

/// The report of a conversion lists values moved into the annotation and values restored from it.
#[test]
fn kept_and_restored_are_reported() {
    let dropped = "{drop: spec.note}";
    let webhook = things(&[("size: {type: integer}, note: {type: string}", ""), ("size: {type: integer}", dropped)]);
    let told = |object: &Value, to: &str| {
        let (converted, changes) = webhook.explain(&object.to_string(), to).unwrap();
        let told: Vec<_> = changes.iter().map(|change| (change.kept, change.given_back)).collect();
        (serde_json::from_str::<Value>(&converted.text).unwrap(), told)
    };
    let object = thing("v1", json!({"size": 1, "note": "x"}), ("v9", "{}"));
    let (there, kept) = told(&object, "v2");
    let (home, given_back) = told(&there, "v1");
    assert_eq!((kept, given_back), (vec![(true, false)], vec![(false, true)]), "{there}");
    assert_eq!(home["spec"], object["spec"]);
}

/// A value kept before the API server had a default for its result is also restored if the default is filled in now.
#[test]
fn later_default_is_no_edit() {
    let split = "{split: {field: spec.address, into: [spec.host, spec.port], separator: ':'}}";
    let webhook =
        things(&[("address: {type: string}", ""), ("host: {type: string}, port: {type: integer, default: 80}", split)]);
    let kept = r#"{"fields":{"spec.address":{"value":"a","became":[["a"],[]]}}}"#;
    for (port, address) in [(80, "a"), (81, "a:81")] {
        let stored = thing("v2", json!({"host": "a", "port": port}), ("v1", kept));
        assert_eq!(at(&webhook, &stored, "v1")["spec"]["address"], address);
    }
}

/// An entry for a more distant version stays verbatim until that version reads it, in any spelling.
#[test]
fn unused_entry_is_carried_verbatim() {
    let webhook = things(&[
        ("size: {type: integer}", ""),
        ("size: {type: integer}", ""),
        ("size: {type: integer}, legacy: {type: string}", "{add: spec.legacy}"),
    ]);
    let spelled = r#"{ "fields": {"spec.legacy": {"value": "x"}} }"#;
    let there = at(&webhook, &thing("v1", json!({"size": 1}), ("v3", spelled)), "v2");
    assert_eq!(kept(&there, "v3"), spelled);
    assert_eq!(at(&webhook, &there, "v3")["spec"]["legacy"], "x");
}

/// Each location has at most one value: a list of two was never written, and is ignored.
#[test]
fn duplicate_entries_are_ignored() {
    let joined = "{split: {field: spec.address, into: [spec.host, spec.port], separator: ':'}}";
    let webhook = things(&[("address: {type: string}", ""), ("host: {type: string}, port: {type: string}", joined)]);
    let became = |value: &str| {
        let kept = format!(r#"{{"fields":{{"spec.host":{{"value":{value},"became":"a:b:80"}}}}}}"#);
        at(&webhook, &thing("v1", json!({"address": "a:b:80"}), ("v2", &kept)), "v2")["spec"].clone()
    };
    assert_eq!(became(r#"[["a"],["b:80"]]"#), json!({"host": "a", "port": "b:80"}), "one is");
    assert_eq!(became(r#"[["c","a"],["b:80"]]"#), json!({"host": "a:b", "port": "80"}));
}

/// A kept request belongs to the completed hash that it was kept with.
#[test]
fn changed_hash_outdates_kept_request() {
    let [requested, completed] = ["2", "1"].map(|digit| {
        let group = |length: usize| digit.repeat(length);
        format!("{}-{}-{}-{}-{}", group(8), group(4), group(4), group(4), group(12))
    });
    let object = json!({
        "apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize",
        "metadata": {"name": "m", "namespace": "n", "uid": "u"},
        "spec": {
            "backendSecretName": "b", "environmentdImageRef": "materialize/environmentd:v26.12.0",
            "requestRollout": requested,
        },
        "status": {
            "activeGeneration": 2, "resourceId": "r", "conditions": [],
            "lastCompletedRolloutRequest": completed, "lastCompletedRolloutHash": "a".repeat(64),
        },
    });
    let there = at(&WEBHOOK, &object, "v1alpha2");
    assert_eq!(there["status"]["lastCompletedRolloutHash"], "a".repeat(64));
    assert_eq!(at(&WEBHOOK, &there, "v1alpha1")["status"]["lastCompletedRolloutRequest"], completed);
    let mut other = there;
    other["status"]["lastCompletedRolloutHash"] = json!("b".repeat(64));
    let home = at(&WEBHOOK, &other, "v1alpha1");
    let now = &home["status"]["lastCompletedRolloutRequest"];
    assert!(*now != completed && *now != requested, "{home}");
}
