//! The laws of `/mutate`, over objects generated from the kind's own schemas.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, HASH_SCHEMA, Settings, Webhook};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::objects::{Random, cases, object};
use super::{embedded, serving, with};

pub(super) const SERVED: &str = "2.17.0";

pub(super) fn stamping(kind: Kind) -> Webhook {
    serving(kind, Some(SERVED), Settings { default: true, ..Settings::default() })
}

fn key(kind: &Kind, name: &str) -> String {
    format!("{}/{name}", kind.group())
}

/// Changes metadata the way people, tools and partial patches do.
fn disturb(object: &mut Value, label: &str, random: &mut Random) {
    let members = object.as_object_mut().unwrap();
    match random.next() % 20 {
        0 => drop(members.remove("metadata")),
        1 => drop(members.insert("metadata".to_owned(), Value::Null)),
        2 => drop(members.insert("metadata".to_owned(), json!({}))),
        _ => {}
    }
    let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let labels = [
        Value::Null,
        json!({}),
        json!({label: SERVED}),
        json!({label: SERVED, "app": "x"}),
        json!({label: "2.16.0"}),
        json!({label: null}),
        json!({"a~b/c": ""}),
    ];
    let annotations = [
        Value::Null,
        json!({}),
        json!({"note": "x"}),
        json!({"materialize.cloud/rollout-hash": "stale"}),
        json!({"materialize.cloud/rollout-hash": null, "materialize.cloud/force-rollout": "now"}),
        json!({"pointsman.dev/kept-v1alpha1": "{", "materialize.cloud/rollout-hash-version": "0"}),
    ];
    for (name, choices) in [("labels", &labels[..]), ("annotations", &annotations[..])] {
        if random.percent(70) {
            let mut choice = random.pick(choices).clone();
            if let (Some(kept), Some(choice)) = (metadata.get(name).and_then(Value::as_object), choice.as_object_mut())
            {
                choice.extend(kept.clone());
            }
            metadata.insert(name.to_owned(), choice);
        }
    }
}

/// The object without the stamps of pointsman and without empty maps.
fn rest(object: &Value, stamps: &[String]) -> Value {
    let mut object = object.clone();
    let metadata = match object.get("metadata") {
        Some(metadata) if metadata.is_object() => metadata.clone(),
        _ => json!({}),
    };
    let mut metadata = metadata.as_object().unwrap().clone();
    for map in ["labels", "annotations"] {
        let mut entries = metadata.get(map).and_then(Value::as_object).cloned().unwrap_or_default();
        entries.retain(|key, _| !stamps.contains(key));
        metadata.insert(map.to_owned(), Value::Object(entries));
    }
    object["metadata"] = Value::Object(metadata);
    object
}

/// An update by a tool that does not know which annotations it must keep.
fn updated(old: &Value, label: &str, random: &mut Random) -> Value {
    let mut new = old.clone();
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        for map in ["annotations", "labels"] {
            if random.percent(40) {
                metadata.remove(map);
            }
        }
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut)
            && random.percent(20)
        {
            labels.insert(label.to_owned(), json!(random.pick(&["2.16.0", SERVED, "odd label", ""])));
        }
    }
    if random.percent(50) && new["spec"].is_object() {
        new["spec"]["environmentdImageRef"] = json!("materialize/environmentd:v26.9.0");
    }
    new
}

/// A generated creation or update: the optional old object, and the new object.
fn random_write(webhook: &Webhook, label: &str, random: &mut Random) -> (Option<Value>, Value) {
    let version = *random.pick(&["v1alpha1", "v1alpha2"]);
    let kind = &webhook.kinds()[0];
    let mut new = object(kind, version, random);
    let mut old = None;
    if random.percent(60) {
        // The old object was converted from the other version, so that it contains kept values.
        let other = if version == "v1alpha1" { "v1alpha2" } else { "v1alpha1" };
        let mut before = object(kind, other, random);
        if let Ok(converted) = webhook.convert(&before.to_string(), version) {
            before = serde_json::from_str(&converted.text).unwrap();
            disturb(&mut before, label, random);
            new = updated(&before, label, random);
            old = Some(before);
        }
    }
    if old.is_none() {
        disturb(&mut new, label, random);
    }
    (old, new)
}

#[test]
fn mutate_changes_only_its_stamps() {
    let webhook = stamping(embedded("materialize"));
    let kind = &webhook.kinds()[0];
    let label = key(kind, "controller-version");
    let (hash, schema) = (key(kind, "rollout-hash"), key(kind, "rollout-hash-version"));
    let kept = ["pointsman.dev/kept-v1alpha1".to_owned(), "pointsman.dev/kept-v1alpha2".to_owned()];
    let (mut stamped, mut left, mut restored, mut pruned) = (0, 0, 0, 0);
    for case in 0..cases(2_000) {
        let random = &mut Random::new(case);
        let (old, new) = random_write(&webhook, &label, random);
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let mut request = review(operation, old.as_ref(), Some(&new));
        let answer = ask(&webhook, Endpoint::Mutate, &request);
        assert!(answer.allowed, "case {case}: {answer:?}");
        let after = &answer.patched;

        // A repeated call changes nothing, also in a dry run.
        let again = ask(&webhook, Endpoint::Mutate, &review(operation, old.as_ref(), Some(after)));
        assert!(again.patch.is_empty(), "case {case}: {:?} after {:?}", again.patch, answer.patch);
        request["request"]["dryRun"] = json!(true);
        assert_eq!(ask(&webhook, Endpoint::Mutate, &request).body, answer.body, "case {case}");

        // Nothing else is changed.
        let mut stamps = vec![label.clone(), hash.clone(), schema.clone()];
        stamps.extend(kept.clone());
        assert_eq!(rest(&new, &stamps), rest(after, &stamps), "case {case}");

        // The controller version of the object, and its stamps.
        let read = |object: &Value, map: &str, key: &str| {
            object["metadata"][map].get(key).and_then(Value::as_str).map(str::to_owned)
        };
        let was = old.as_ref().and_then(|old| read(old, "labels", &label));
        let sent = read(&new, "labels", &label);
        let expected = sent.clone().or(was).or_else(|| old.is_none().then(|| SERVED.to_owned()));
        assert_eq!(read(after, "labels", &label), expected, "case {case}: {new}");
        if expected.as_deref().is_none_or(|label| label == SERVED) {
            let preimage = webhook.preimage(&after.to_string()).unwrap();
            assert_eq!(read(after, "annotations", &hash), Some(preimage.hash()), "case {case}");
            assert_eq!(read(after, "annotations", &schema).as_deref(), Some(HASH_SCHEMA));
            stamped += 1;
            same_in_every_version(&webhook, after, &preimage.hash(), case);
            for key in &kept {
                let Some(before) = old.as_ref().and_then(|old| read(old, "annotations", key)) else { continue };
                let sent = read(&new, "annotations", key).unwrap_or_else(|| before.clone());
                restored += usize::from(read(&new, "annotations", key).is_none());
                let pointer = format!("/metadata/annotations/{}", key.replace('/', "~1"));
                let unpruned = with(after, &pointer, json!(sent));
                pruned += usize::from(unpruned != *after);
                for version in ["v1alpha1", "v1alpha2"] {
                    assert_eq!(said(&webhook, after, version), said(&webhook, &unpruned, version), "case {case}");
                }
                if old.as_ref().is_some_and(|old| old["spec"] == new["spec"]) && sent == before {
                    assert_eq!(unpruned, *after, "case {case}: nothing has changed");
                }
            }
        } else if sent.is_some() {
            assert!(answer.patch.is_empty(), "case {case}: another version's object is left alone: {answer:?}");
            left += 1;
        }
        never_patched(&webhook, &new, old.as_ref());
    }
    println!("{stamped} stamped, {left} left alone, {restored} annotations put back, {pruned} pruned");
    assert!(stamped > 100 && left > 10 && restored > 10 && pruned > 0, "{stamped} {left} {restored} {pruned}");
}

/// The object in a version, without kept annotations.
fn said(webhook: &Webhook, object: &Value, version: &str) -> Value {
    let converted = webhook.convert(&object.to_string(), version).unwrap();
    let mut said: Value = serde_json::from_str(&converted.text).unwrap();
    if let Some(annotations) = said["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|key, _| !key.starts_with("pointsman.dev/kept"));
    }
    said
}

/// The hash is equal in both versions, and equal to the hash that `/convert` puts into a requested rollout.
fn same_in_every_version(webhook: &Webhook, object: &Value, hash: &str, case: u64) {
    for version in ["v1alpha1", "v1alpha2"] {
        let converted = webhook.convert(&object.to_string(), version).unwrap();
        assert_eq!(webhook.preimage(&converted.text).unwrap().hash(), hash, "case {case} at {version}");
    }
    let complete = ["environmentdImageRef", "backendSecretName"].iter().all(|name| object["spec"][*name].is_string());
    if object["apiVersion"] != "materialize.cloud/v1alpha1" || !complete {
        return;
    }
    let mut asking = with(object, "/spec/requestRollout", json!("22222222-2222-2222-2222-222222222222"));
    asking["status"] = json!({"activeGeneration": 1, "conditions": [], "lastCompletedRolloutRequest": "33333333-3333-3333-3333-333333333333", "resourcesHash": ""});
    if let Some(annotations) = asking["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|key, _| !key.starts_with("pointsman.dev/kept"));
    }
    let converted = webhook.convert(&asking.to_string(), "v1alpha2").unwrap();
    let converted: Value = serde_json::from_str(&converted.text).unwrap();
    let hash = webhook.preimage(&asking.to_string()).unwrap().hash();
    assert_eq!(converted["status"]["requestedRolloutHash"], hash, "case {case}: {converted}");
}

/// Deletions, subresources and connections are never patched.
fn never_patched(webhook: &Webhook, new: &Value, old: Option<&Value>) {
    let mut status = review("UPDATE", Some(old.unwrap_or(new)), Some(new));
    status["request"]["subResource"] = json!("status");
    for request in [review("DELETE", Some(new), None), review("CONNECT", None, Some(new)), status] {
        assert!(ask(webhook, Endpoint::Mutate, &request).patch.is_empty());
    }
}
