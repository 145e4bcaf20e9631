//! A kind is replaced by another kind: small definitions, each with one value that is easily lost.

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, Law, survey};
use pointsman_core::webhook::{Facts, Metadata, OtherKind, ReplaceError, Webhook};
use serde_json::{Value, json};

/// A CRD whose versions have these properties below `spec`; the last one is stored.
fn crd(kind: &str, group: &str, versions: &[(&str, Value)]) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let version = |(at, (name, properties)): (usize, &(&str, Value))| {
        let spec = json!({"type": "object", "properties": properties});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({"name": name, "served": true, "storage": at + 1 == versions.len(), "schema": {"openAPIV3Schema": schema}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": versions.iter().enumerate().map(version).collect::<Vec<_>>(),
        },
    })
}

/// Loads the kind `new` with this addition to its definition; its objects were of the kind `old`.
fn load(old: &Value, new: &Value, more: Value) -> Result<Kind, BadDefinition> {
    let mut definition = json!({"apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "new.yaml"});
    definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let read = &mut |name: &str| Ok(if name == "new.yaml" { new.to_string() } else { old.to_string() });
    Kind::load("new.yaml", &definition.to_string(), read)
}

fn webhook(kind: Result<Kind, BadDefinition>) -> Webhook {
    Webhook::new(vec![kind.unwrap_or_else(|bad| panic!("{bad}"))], Metadata::Full).unwrap()
}

fn text() -> Value {
    json!({"type": "string"})
}

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}, "spec": spec})
}

fn replaces(webhook: &Webhook, object: &Value, (group, kind): (&str, &str)) -> Result<Value, ReplaceError> {
    let to = OtherKind { group, kind, version: None };
    let (converted, _) = webhook.convert_kind(&object.to_string(), to, &Facts::default())?;
    Ok(serde_json::from_str(&converted.text).unwrap())
}

fn converted(webhook: &Webhook, object: &Value, to: &str) -> Value {
    serde_json::from_str(&webhook.convert(&object.to_string(), to).unwrap().text).unwrap()
}

/// The same kind in another group: both have one plural and one version name.
#[test]
fn kind_may_change_its_group() {
    let old = crd("Cert", "o.io", &[("v1", json!({"a": text(), "precious": text()}))]);
    let new = crd("Cert", "n.io", &[("v1", json!({"b": text()}))]);
    let operations = json!([{"rename": {"from": "spec.a", "to": "spec.b"}}, {"drop": "spec.precious"}]);
    let becomes_it = json!({"from": {"crd": "old.yaml", "version": "v1"}, "to": "v1", "operations": operations});
    let webhook = webhook(load(&old, &new, json!({"replaces": becomes_it})));
    let before = object("o.io/v1", "Cert", json!({"a": "x", "precious": "p"}));
    let after = replaces(&webhook, &before, ("n.io", "Cert")).unwrap();
    assert_eq!((&after["apiVersion"], &after["spec"]), (&json!("n.io/v1"), &json!({"b": "x"})));
    assert_eq!(
        after["metadata"]["annotations"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["pointsman.dev/kept-certs.o.io.v1"]
    );
    assert_eq!(replaces(&webhook, &after, ("o.io", "Cert")).unwrap(), before);
}

/// Values kept for the kind in the other group differ from values kept for an equally named version of its own.
#[test]
fn groups_versions_do_not_mix() {
    let old = crd("Cert", "o.io", &[("v1", json!({"a": text(), "precious": text()}))]);
    let new = crd("Cert", "n.io", &[("v1", json!({"b": text(), "precious": text()})), ("v2", json!({"b": text()}))]);
    let operations = json!([{"rename": {"from": "spec.a", "to": "spec.b"}}, {"drop": "spec.precious"}]);
    let becomes_it = json!({"from": {"crd": "old.yaml", "version": "v1"}, "to": "v2", "operations": operations});
    let steps = json!([{"from": "v1", "to": "v2", "operations": [{"drop": "spec.precious"}]}]);
    let webhook = webhook(load(&old, &new, json!({"replaces": becomes_it, "steps": steps})));
    let before = object("o.io/v1", "Cert", json!({"a": "x", "precious": "p"}));
    let after = replaces(&webhook, &before, ("n.io", "Cert")).unwrap();
    let there = converted(&webhook, &after, "v1");
    assert_eq!(there["spec"], json!({"b": "x"}), "the annotation of another kind is not restored");
    let again = converted(&webhook, &there, "v2");
    assert_eq!(replaces(&webhook, &again, ("o.io", "Cert")).unwrap(), before);
}

/// A default of map entries applies to null entries: the API server creates no entry. Source: `apiextensions-apiserver
/// pkg/apiserver/schema/defaulting/algorithm.go`.
#[test]
fn default_creates_no_map_entry() {
    let map = json!({"type": "object", "additionalProperties": {"type": "string", "default": "q"}});
    let old = crd("Old", "o.io", &[("v1", json!({"e": text(), "d": map}))]);
    let new = crd("New", "n.io", &[("v1", json!({"d": map}))]);
    let operations = json!([{"moveIntoMap": {"field": "spec.e", "map": "spec.d", "key": "k/e"}}]);
    let becomes_it = json!({"from": {"crd": "old.yaml", "version": "v1"}, "to": "v1", "operations": operations});
    let webhook = webhook(load(&old, &new, json!({"replaces": becomes_it})));
    for spec in [json!({"d": {"x": "y"}}), json!({"e": "1", "d": {"x": "y"}}), json!({"e": "1"}), json!({})] {
        let before = object("o.io/v1", "Old", spec);
        let after = replaces(&webhook, &before, ("n.io", "New")).unwrap();
        assert_eq!(after["spec"]["d"]["k/e"], before["spec"]["e"], "{after}");
        assert_eq!(replaces(&webhook, &after, ("o.io", "Old")).unwrap(), before);
    }
}

/// A client may edit a value that a condition tests, or the name of the Secret with a fact.
#[test]
fn condition_edit_affects_its_dependents() {
    let old = crd("Old", "o.io", &[("v1", json!({"secret": text(), "mode": text(), "host": text(), "port": text()}))]);
    let external = json!({"type": "object", "properties": {"host": text(), "port": text()}});
    let new = crd("New", "n.io", &[("v1", json!({"secret": text(), "mode": text(), "external": external}))]);
    let fact = json!({"fact": "ext", "operations": [{"move": {"from": "spec.host", "to": "spec.external.host"}}]});
    let port = json!([{"move": {"from": "spec.port", "to": "spec.external.port"}}]);
    let mode = json!({"field": "spec.mode", "set": true, "operations": port});
    let becomes_it = json!({
        "from": {"crd": "old.yaml", "version": "v1"}, "to": "v1",
        "facts": {"ext": {"secret": "spec.secret", "key": "K"}},
        "operations": [{"when": fact}, {"when": mode}],
    });
    for external in ["true", "false"] {
        let mut kind = load(&old, &new, json!({"replaces": becomes_it})).unwrap_or_else(|bad| panic!("{bad}"));
        let versions = kind.take_conversion().unwrap().into_versions();
        let facts: Facts = [("ext", external)].into_iter().collect();
        let webhook = Webhook::new(vec![versions], Metadata::Full).unwrap().knowing(facts);
        let laws: Vec<Law> = LAWS.into_iter().filter(|law| law.name != "stale").collect();
        let (words, converted) = (Dictionary::default(), || {});
        for seed in 0..5 {
            let mut options = CheckOptions {
                seed,
                cases: 40,
                laws: &laws,
                words: &words,
                has_time: &mut || true,
                converted: &converted,
            };
            let found = survey(&webhook, &webhook.kinds()[0], &[], &mut options);
            let broken: Vec<String> =
                found.results.iter().filter_map(|it| Some(it.broken.as_ref()?.to_string())).collect();
            assert!(broken.is_empty(), "ext={external}, seed {seed}\n{}", broken.join("\n\n"));
        }
    }
}

/// A refused value is also refused in a manifest, although the API server's defaults are missing there.
#[test]
fn refused_value_may_be_filled() {
    let on = json!({"type": "boolean", "default": true});
    let canary = json!({"type": "object", "properties": {"enable": on}});
    let blue = json!({"type": "object", "default": {}, "properties": {"green": {"type": "string", "default": "on"}}});
    let old = crd("Old", "o.io", &[("v1", json!({"canary": canary, "blue": blue, "off": {"type": "boolean"}}))]);
    let new = crd("New", "n.io", &[("v1", json!({}))]);
    let refuse = |field: &str, is: Value| json!({"when": {"field": field, "is": is}, "message": field});
    let drops = json!([{"drop": "spec.canary"}, {"drop": "spec.blue"}, {"drop": "spec.off"}]);
    let with = |refuse: Value| {
        let from = json!({"crd": "old.yaml", "version": "v1"});
        let becomes_it = json!({"from": from, "to": "v1", "operations": drops, "refuse": [refuse]});
        webhook(load(&old, &new, json!({"replaces": becomes_it})))
    };
    for (refusal, spec, is_refused) in [
        (refuse("spec.canary.enable", json!(true)), json!({"canary": {}}), true),
        (refuse("spec.canary.enable", json!(true)), json!({"canary": {"enable": null}}), true),
        (refuse("spec.canary.enable", json!(true)), json!({"canary": {"enable": false}}), false),
        (refuse("spec.canary.enable", json!(true)), json!({}), false),
        (refuse("spec.blue.green", json!("on")), json!({}), true),
        (refuse("spec.blue.green", json!("on")), json!({"blue": {"green": "off"}}), false),
        (refuse("spec.off", json!(true)), json!({}), false),
    ] {
        let result = replaces(&with(refusal.clone()), &object("o.io/v1", "Old", spec.clone()), ("n.io", "New"));
        assert_eq!(matches!(result, Err(ReplaceError::Refused { .. })), is_refused, "{refusal} {spec}: {result:?}");
    }
}

/// A replacement without a well-defined result is refused at load, before any object exists.
#[test]
fn impossible_replacement_is_refused() {
    let list = |more: Value| {
        let mut item = json!({"name": text()});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": "array", "items": {"type": "object", "properties": item}})
    };
    let old = crd("Old", "o.io", &[("v1", json!({"secret": text(), "l": list(json!({"h": text()}))}))]);
    let inner = json!({"type": "object", "properties": {"h": text()}});
    let new = crd("New", "n.io", &[("v1", json!({"secret": text(), "l": list(json!({"e": inner}))}))]);
    let when = json!([{"when": {"fact": "ext", "operations": [{"move": {"from": "h", "to": "e.h"}}]}}]);
    let said = |old: &Value, operations: Value| {
        let becomes_it = json!({
            "from": {"crd": "old.yaml", "version": "v1"}, "to": "v1",
            "facts": {"ext": {"secret": "spec.secret", "key": "K"}}, "operations": operations,
        });
        load(old, &new, json!({"replaces": becomes_it})).unwrap_err().to_string()
    };
    let inside = said(&old, json!([{"each": {"in": "spec.l", "operations": when}}]));
    assert!(
        inside.contains(
            "\"ext\" is a fact of the whole object; a condition inside `each` can only use fields of the item"
        ),
        "{inside}"
    );
    let mut wide = old;
    wide["spec"]["scope"] = json!("Cluster");
    let wide = said(&wide, json!([]));
    assert!(wide.contains("the replaced kind has the scope Cluster, and this kind Namespaced"), "{wide}");
}
