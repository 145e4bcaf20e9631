//! A write of an object that a served version cannot represent is refused.

use pointsman_core::webhook::{Enforcement, Webhook};
use serde_json::{Value, json};

use super::{load, plain};

fn proxy(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Proxy",
        "metadata": {"name": "a", "namespace": "b"}, "spec": spec,
    })
}

fn noted(length: usize) -> Value {
    proxy("v1alpha1", json!({"image": "i", "legacyMode": "x".repeat(length)}))
}

fn errors(webhook: &Webhook, new: &Value, old: Option<&Value>) -> (Vec<String>, Vec<String>) {
    let (judgement, _) = webhook.judge(&new.to_string(), old.map(Value::to_string).as_deref()).unwrap();
    let errors = judgement.errors.iter().map(ToString::to_string);
    (errors.collect(), judgement.warnings)
}

#[test]
fn unrepresentable_value_refuses_write() {
    let webhook = plain(load("proxies.yaml"), Enforcement::Enforce);
    assert_eq!(errors(&webhook, &noted(4_000), None).0, Vec::<String>::new());
    let (found, _) = errors(&webhook, &noted(262_144), Some(&noted(4_000)));
    assert_eq!(found.len(), 2, "v1beta1 and v1: {found:?}");
    for (error, version) in found.iter().zip(["v1beta1", "v1"]) {
        let start = format!("metadata.annotations: Invalid value: {version} cannot represent this object: ");
        assert!(
            error.starts_with(&start) && error.contains("the values of v1alpha1") && error.contains("262144"),
            "{error}"
        );
    }
    // An old violation may stay.
    let (found, warnings) = errors(&webhook, &noted(262_145), Some(&noted(262_144)));
    assert_eq!(found, Vec::<String>::new());
    assert!(warnings[0].contains("cannot represent this object"), "{warnings:?}");
}

#[test]
fn incomplete_read_is_not_written() {
    let webhook = plain(load("proxies.yaml"), Enforcement::Enforce);
    let mut marked = proxy("v1", json!({"container": {"image": "i"}}));
    marked["metadata"]["annotations"] = json!({"pointsman.dev/incomplete": "pointsman.dev/kept-v1alpha1"});
    for old in [None, Some(&marked)] {
        let (found, _) = errors(&webhook, &marked, old);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("read without pointsman.dev/kept-v1alpha1"), "{found:?}");
    }
}
