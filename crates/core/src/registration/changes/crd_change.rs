//! The consequences of a change of a CRD or a definition for stored objects and for clients.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::Value;

use super::crd_impact::{CrdChange, Impact, NEW_VERSION, change};
use super::schema_change::{RevisedSchema, flag, shown};
use crate::apimachinery::excerpt;
use crate::definition::Kind;

/// The changes between two revisions of a file with CRDs, worst first. Several CRDs are matched by their names.
#[must_use]
pub fn crd_file_changes(old: &[&Value], new: &[&Value]) -> Vec<CrdChange> {
    if let ([old], [new]) = (old, new) {
        return crd_changes(old, new);
    }
    let name = |crd: &Value| crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut changes = Vec::new();
    for crd in old {
        let found = match new.iter().find(|other| name(other) == name(crd)) {
            Some(newer) => crd_changes(crd, newer),
            None => vec![change("", "", Impact::Breaking, REMOVED, "keep the CRD until no objects exist")],
        };
        changes.extend(found.into_iter().map(|change| {
            let version = format!("{} {}", name(crd), change.version).trim_end().to_owned();
            CrdChange { version, ..change }
        }));
    }
    worst_first(changes)
}

fn crd_changes(old: &Value, new: &Value) -> Vec<CrdChange> {
    let mut changes = Vec::new();
    for (path, name) in [
        ("/spec/group", "group"),
        ("/spec/names/kind", "kind"),
        ("/spec/names/plural", "plural"),
        ("/spec/scope", "scope"),
    ] {
        let (before, after) = (old.pointer(path), new.pointer(path));
        if before != after {
            let what = format!("{name} changed from {} to {}: this is another resource", shown(before), shown(after));
            changes.push(change("", "", Impact::Breaking, what, "create a new CRD: objects do not move by themselves"));
        }
    }
    changed_resource(old, new, &mut changes);
    let (before, after) = (versions(old), versions(new));
    for (name, version) in &before {
        match after.iter().find(|(other, _)| other == name) {
            Some((_, newer)) => changed_version(name, version, newer, &mut changes),
            None if !flag(version, "served") && !flag(version, "storage") && was_stored(old, name) != Some(true) => {
                changes.push(match was_stored(old, name) {
                    Some(_) => {
                        let what = "the version is removed; it was neither served nor stored";
                        change(name, "", Impact::Safe, what, "")
                    }
                    None => {
                        let what = "the version is removed; the file does not show whether objects are stored in it";
                        change(name, "", Impact::Risky, what, "run `pointsman status`, which shows the stored versions")
                    }
                });
            }
            None => changes.push(change(
                name,
                "",
                Impact::Breaking,
                "the version is removed: its clients fail, and objects that are stored in it become unreadable",
                "run `pointsman status`, which shows whether a version can be removed, and `pointsman migrate`",
            )),
        }
    }
    for (name, version) in after.iter().filter(|(name, _)| before.iter().all(|(other, _)| other != name)) {
        let what = "the version is new";
        changes.push(change(name, "", Impact::Safe, what, "describe its differences in a step of the definition"));
        if flag(version, "storage") && !before.is_empty() {
            changes.push(change(name, "", Impact::Risky, STORED, MIGRATE));
        }
    }
    worst_first(changes)
}

/// The changes between two revisions of a definition and its CRD, worst first. Each revision is the kind and the
/// document of its definition.
#[must_use]
pub fn definition_changes((old, was): (&Kind, &Value), (new, is): (&Kind, &Value)) -> Vec<CrdChange> {
    let mut changes = crd_changes(old.crd(), new.crd());
    let mut compared = vec!["crd", "steps"];
    if old.hash_recipe() != new.hash_recipe() {
        compared.push("rolloutHash");
        let what = "`rolloutHash` changed: the next write of each object can change its hash, which starts a rollout";
        let advice = "restore the hashed fields; to detect such a change earlier, set `rolloutHash.recipe`";
        changes.push(change("", "", Impact::Breaking, what, advice));
    }
    changed_steps(was, is, &mut changes);
    let label = |definition: &Value| definition.pointer("/admission/versionLabel").cloned();
    if label(was) != label(is) {
        let what =
            "`admission.versionLabel` changed: no object has the new label, so another controller manages all objects";
        changes.push(change("", "", Impact::Breaking, what, "set the new label on all objects first"));
    }
    let keys = |definition: &Value| -> BTreeSet<String> {
        definition.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    for key in keys(was).union(&keys(is)).filter(|key| !compared.contains(&key.as_str())) {
        if was.get(key) != is.get(key) {
            let what = format!("`{key}` of the definition changed");
            changes.push(change("", "", Impact::Risky, what, "run `pointsman validate` or `plan` on your objects"));
        }
    }
    worst_first(changes)
}

/// Changes of the steps between versions.
fn changed_steps(old: &Value, new: &Value, changes: &mut Vec<CrdChange>) {
    let (before, after) = (operations(old), operations(new));
    let missing = |from: &[Operation], other: &[Operation]| -> Vec<Operation> {
        from.iter().filter(|one| !other.contains(one)).cloned().collect()
    };
    for (found, verb) in [(missing(&before, &after), "removed"), (missing(&after, &before), "new")] {
        for (version, operation) in found {
            let operation = excerpt(&operation.to_string());
            let what = format!("the operation `{operation}` is {verb}: readers of older versions see other values");
            changes.push(change(&version, "", Impact::Risky, what, PLAN));
        }
    }
    let others = |definition: &Value| {
        let mut steps = list(definition, "steps");
        steps.iter_mut().filter_map(Value::as_object_mut).for_each(|step| drop(step.remove("operations")));
        steps
    };
    if others(old) != others(new) {
        let what = "`accept`, or another key of a step, changed";
        changes.push(change("", "", Impact::Risky, what, PLAN));
    }
    if before != after && missing(&before, &after).is_empty() && missing(&after, &before).is_empty() {
        changes.push(change("", "", Impact::Risky, "the order or the number of operations changed", PLAN));
    }
}

/// An operation with the newer version of its step.
type Operation = (String, Value);

fn operations(definition: &Value) -> Vec<Operation> {
    let steps = list(definition, "steps").into_iter();
    let all = steps.flat_map(|step| {
        let to = step.get("to").and_then(Value::as_str).unwrap_or_default().to_owned();
        list(&step, "operations").into_iter().map(move |operation| (to.clone(), operation))
    });
    all.collect()
}

fn list(value: &Value, key: &str) -> Vec<Value> {
    value.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Changes of the resource apart from its versions.
fn changed_resource(old: &Value, new: &Value, changes: &mut Vec<CrdChange>) {
    let at = |crd: &Value, path: &str| crd.pointer(path).cloned().unwrap_or_default();
    let strategy = |crd: &Value| at(crd, "/spec/conversion/strategy").as_str().unwrap_or("None").to_owned();
    let is_converted = versions(old).len() > 1;
    match (strategy(old).as_str(), strategy(new).as_str()) {
        ("Webhook", "Webhook") if webhook(old, new) == webhook(new, old) => {}
        ("Webhook", "Webhook") => {
            let what = "the address, the bundle or the review versions of the conversion webhook changed";
            changes.push(change("", "", Impact::Risky, what, "run `pointsman doctor` after the change"));
        }
        ("Webhook", _) if is_converted && new.pointer("/spec/conversion").is_none() => {
            let what = "the new CRD has no conversion: without one, an API server changes only `apiVersion`, and prunes \
                        other fields";
            changes.push(change("", "", Impact::Breaking, what, "apply the output of `pointsman crd` instead"));
        }
        ("Webhook", _) if is_converted => {
            let what = "the conversion is removed: an API server changes only `apiVersion`, and prunes other fields";
            changes.push(change("", "", Impact::Breaking, what, "run `pointsman disable`, which checks this first"));
        }
        (before, after) if before != after => {
            let what = format!("the conversion changed from {before} to {after}");
            changes.push(change("", "", Impact::Risky, what, "run `pointsman enable`, which checks the server first"));
        }
        _ => {}
    }
    let keeps = |crd: &Value| at(crd, "/spec/preserveUnknownFields") == Value::Bool(true);
    if keeps(old) && !keeps(new) {
        changes.push(change("", "", Impact::Breaking, "unknown fields are pruned: values are lost", NEW_VERSION));
    }
    for name in ["listKind", "singular", "shortNames", "categories"] {
        if names(old, name) != names(new, name) {
            let what = format!("{name} changed: clients and scripts that use it fail");
            changes.push(change("", "", Impact::Risky, what, "first update these clients and scripts"));
        }
    }
}

/// A member of `spec.names`, with the default of the API server (`apiextensions-apiserver
/// pkg/apis/apiextensions/v1/defaults.go`): a CRD of a cluster has each default, and a file rarely has one.
fn names(crd: &Value, name: &str) -> Option<Value> {
    let names = crd.pointer("/spec/names")?;
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default();
    names.get(name).cloned().or_else(|| match name {
        "listKind" => Some(Value::String(format!("{kind}List"))),
        "singular" => Some(Value::String(kind.to_lowercase())),
        _ => None,
    })
}

/// The conversion webhook, with the default port. Without the bundle if the other revision has none: a certificate
/// manager adds it to the CRD of a cluster, and an apply of a file without a bundle keeps it.
fn webhook(crd: &Value, other: &Value) -> Option<Value> {
    let mut webhook = crd.pointer(WEBHOOK)?.clone();
    let client = webhook.get_mut("clientConfig").and_then(Value::as_object_mut);
    if let Some(client) = client {
        if other.pointer(WEBHOOK).and_then(|other| other.pointer("/clientConfig/caBundle")).is_none() {
            client.remove("caBundle");
        }
        if let Some(service) = client.get_mut("service").and_then(Value::as_object_mut)
            && !service.contains_key("port")
        {
            service.insert("port".to_owned(), 443.into());
        }
    }
    Some(webhook)
}

/// Returns whether objects may be stored in a version. `None` if the CRD is a file without a status.
fn was_stored(crd: &Value, name: &str) -> Option<bool> {
    let stored = crd.pointer("/status/storedVersions").and_then(Value::as_array)?;
    Some(stored.iter().any(|version| version == name))
}

fn worst_first(mut changes: Vec<CrdChange>) -> Vec<CrdChange> {
    changes.sort_by_key(|change| Reverse(change.impact));
    changes
}

fn versions(crd: &Value) -> Vec<(&str, &Value)> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    versions.filter_map(|version| Some((version.get("name")?.as_str()?, version))).collect()
}

fn changed_version(name: &str, old: &Value, new: &Value, changes: &mut Vec<CrdChange>) {
    let is = |version: &Value, key: &str| version.get(key) == Some(&Value::Bool(true));
    if is(old, "served") && !is(new, "served") {
        let what = "the version is no longer served: its clients fail";
        changes.push(change(name, "", Impact::Breaking, what, MOVE));
    }
    if !is(old, "storage") && is(new, "storage") {
        changes.push(change(name, "", Impact::Risky, STORED, MIGRATE));
    }
    if !is(old, "deprecated") && is(new, "deprecated") {
        changes.push(change(name, "", Impact::Risky, "the version is deprecated: clients get a warning", MOVE));
    }
    let fields = |version: &Value| -> BTreeSet<String> {
        let fields = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
        fields.filter_map(|field| Some(field.get("jsonPath")?.as_str()?.to_owned())).collect()
    };
    for gone in fields(old).difference(&fields(new)) {
        let what = format!("the field selector {gone} is removed: requests with it fail");
        changes.push(change(name, "", Impact::Breaking, what, "keep the selector until no client uses it"));
    }
    for name_of_subresource in ["status", "scale"] {
        let path = format!("/subresources/{name_of_subresource}");
        let what =
            |verb: &str| format!("the subresource {name_of_subresource} is {verb}: clients write to another path");
        match (old.pointer(&path), new.pointer(&path)) {
            (Some(_), None) => {
                changes.push(change(name, "", Impact::Breaking, what("removed"), "keep the subresource"))
            }
            (None, Some(_)) if name_of_subresource == "status" => {
                changes.push(change(name, "", Impact::Breaking, what("new"), "first update the controller"));
            }
            (Some(before), Some(after)) if before != after => {
                let what = format!("the paths of the subresource {name_of_subresource} changed: autoscalers fail");
                changes.push(change(name, "", Impact::Breaking, what, "keep the paths, or add a version with others"));
            }
            _ => {}
        }
    }
    let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
    let mut comparison = RevisedSchema { version: name, changes, place: Vec::new() };
    comparison.compare(&schema(old), &schema(new));
}

const WEBHOOK: &str = "/spec/conversion/webhook";
const MOVE: &str = "first move all clients to another version";
const PLAN: &str = "run `pointsman plan` on your objects";
const REMOVED: &str = "the CRD is removed: its deletion in a cluster deletes all of its objects";
const STORED: &str = "the version is stored from now on; existing objects stay in the old version until a write";
const MIGRATE: &str = "run `pointsman migrate` after the change";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(spec: Value) -> Value {
        json!({"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Boat", "plural": "boats"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec}}}}]}})
    }

    fn impacts(old: Value, new: Value) -> Vec<(String, Impact)> {
        crd_changes(&crd(old), &crd(new)).into_iter().map(|change| (change.path, change.impact)).collect()
    }

    /// An object with one field of a schema.
    fn with(schema: Value) -> Value {
        json!({"type": "object", "properties": {"a": schema}})
    }

    #[test]
    fn each_change_of_a_field_has_an_impact() {
        use Impact::{Breaking, Risky, Safe};
        let text = json!({"type": "string"});
        for (old, new, impact) in [
            (text.clone(), json!({"type": "integer"}), Breaking),
            (json!({"type": "integer"}), json!({"type": "number"}), Risky),
            (text.clone(), json!({"x-kubernetes-int-or-string": true}), Risky),
            (text.clone(), json!({"type": "string", "enum": ["a"]}), Breaking),
            (json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "string", "enum": ["a"]}), Breaking),
            (json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a", "b"]}), Risky),
            (text.clone(), json!({"type": "string", "maxLength": 3}), Breaking),
            (json!({"type": "string", "maxLength": 3}), json!({"type": "string", "maxLength": 9}), Safe),
            (json!({"type": "string", "minLength": 3}), json!({"type": "string", "minLength": 9}), Breaking),
            (json!({"type": "string", "pattern": "a"}), text.clone(), Safe),
            (text.clone(), json!({"type": "string", "pattern": "a"}), Breaking),
            (text.clone(), json!({"type": "string", "default": "x"}), Risky),
            (json!({"type": "string", "nullable": true}), text.clone(), Breaking),
            (text.clone(), json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}), Breaking),
            (
                json!({"type": "object", "additionalProperties": text}),
                json!({"type": "object", "properties": {}}),
                Breaking,
            ),
        ] {
            assert_eq!(impacts(with(old.clone()), with(new.clone())), [("spec.a".to_owned(), impact)], "{old} {new}");
        }
        assert_eq!(impacts(with(text.clone()), with(text.clone())), []);
        let described = json!({"type": "string", "description": "x"});
        assert_eq!(impacts(with(text), with(described)), []);
    }

    #[test]
    fn fields_come_and_go_at_any_depth() {
        let list = |item: Value| with(json!({"type": "array", "items": item}));
        let (one, two) = (with(json!({"type": "string"})), json!({"type": "object", "properties": {}}));
        let gone = impacts(list(one.clone()), list(two.clone()));
        assert_eq!(gone, [("spec.a[*].a".to_owned(), Impact::Breaking)]);
        assert_eq!(impacts(list(two), list(one.clone())), [("spec.a[*].a".to_owned(), Impact::Safe)]);
        let mut required = one.clone();
        required["required"] = json!(["a"]);
        assert_eq!(impacts(one.clone(), required.clone()), [("spec.a".to_owned(), Impact::Breaking)]);
        assert_eq!(impacts(required.clone(), one.clone()), [("spec.a".to_owned(), Impact::Risky)]);
        required["properties"]["a"]["default"] = json!("x");
        let filled = impacts(one, required);
        assert_eq!(filled.iter().map(|(_, impact)| *impact).max(), Some(Impact::Risky), "the default is visible");
    }

    fn between(old: &(Kind, Value), new: &(Kind, Value)) -> Vec<CrdChange> {
        definition_changes((&old.0, &old.1), (&new.0, &new.1))
    }

    /// No difference is passed over.
    #[test]
    fn keywords_without_rules_are_compared() {
        use Impact::{Breaking, Risky, Safe};
        let (map, open) = (json!({"type": "object"}), json!({"type": "object", "additionalProperties": true}));
        let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let kept = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let list = |list_type: &str| json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": list_type});
        let number = |more: Value| {
            let mut schema = json!({"type": "integer"});
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            schema
        };
        for (old, new, impact) in [
            (open.clone(), map.clone(), Some(Breaking)),
            (open, texts.clone(), Some(Breaking)),
            (kept.clone(), texts.clone(), Some(Breaking)),
            (texts.clone(), kept, Some(Risky)),
            (json!({"type": "object", "properties": {"x": {"type": "integer"}}}), texts, Some(Breaking)),
            (map.clone(), json!({"type": "object", "x-kubernetes-embedded-resource": true}), Some(Breaking)),
            (map.clone(), json!({"type": "object", "x-new": 1}), Some(Risky)),
            (list("atomic"), list("set"), Some(Breaking)),
            (list("set"), list("atomic"), Some(Risky)),
            (list("atomic"), json!({"type": "array", "items": {"type": "string"}}), None),
            (map, json!({"type": "object", "x-kubernetes-map-type": "granular"}), None),
            (number(json!({"format": "int32"})), number(json!({"format": "int64"})), Some(Safe)),
            (number(json!({"multipleOf": 4})), number(json!({"multipleOf": 2})), Some(Safe)),
            (number(json!({})), number(json!({"exclusiveMaximum": false})), None),
            (json!({"type": "string"}), json!({"type": "string", "minLength": 0}), None),
        ] {
            let found = impacts(with(old.clone()), with(new.clone())).into_iter().map(|(_, impact)| impact).max();
            assert_eq!(found, impact, "{old} {new}");
        }
    }

    #[test]
    fn required_field_without_default_is_breaking() {
        let object = |field: Value| json!({"type": "object", "required": ["b"], "properties": {"b": field}});
        let old = object(json!({"type": "string", "default": "x"}));
        let found = impacts(with(old), with(object(json!({"type": "string"}))));
        assert_eq!(found[0], ("spec.a.b".to_owned(), Impact::Breaking));
    }

    #[test]
    fn conversion_and_names_are_compared() {
        let mut old = crd(json!({"type": "object"}));
        old["spec"]["versions"] =
            json!([{"name": "v1", "served": true}, {"name": "v2", "storage": true, "served": true}]);
        let with = |path: &str, value: Value| {
            let mut new = old.clone();
            let (parent, key) = path.rsplit_once('/').unwrap();
            new.pointer_mut(parent).unwrap()[key] = value;
            new
        };
        let webhook =
            with("/spec/conversion", json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "a"}}}));
        let moved = with("/spec/conversion", json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "b"}}}));
        let worst = |old: &Value, new: &Value| crd_changes(old, new).first().map(|change| change.impact);
        assert_eq!(worst(&webhook, &old), Some(Impact::Breaking));
        assert_eq!(worst(&old, &webhook), Some(Impact::Risky));
        assert_eq!(worst(&webhook, &moved), Some(Impact::Risky));
        assert_eq!(worst(&old, &with("/spec/names/shortNames", json!(["b"]))), Some(Impact::Risky));
        assert_eq!(worst(&with("/spec/preserveUnknownFields", json!(true)), &old), Some(Impact::Breaking));
        let selects = with("/spec/versions/0/selectableFields", json!([{"jsonPath": ".spec.a"}]));
        assert_eq!(worst(&selects, &old), Some(Impact::Breaking));
        let scale = |path: &str| with("/spec/versions/0/subresources", json!({"scale": {"specReplicasPath": path}}));
        assert_eq!(worst(&scale(".spec.a"), &scale(".spec.b")), Some(Impact::Breaking));
        let more = with("/spec/versions", json!([{"name": "v2", "served": true}, {"name": "v3", "storage": true}]));
        assert_eq!(worst(&with("/spec/versions/0/served", json!(false)), &more), Some(Impact::Risky));
    }

    #[test]
    fn operations_and_the_recipe_are_compared() {
        let schema = |name: &str| {
            let fields = json!({"type": "object", "properties": {name: {"type": "string"}, "c": {"type": "string"}}});
            json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": fields}}})
        };
        let mut crd = crd(json!({}));
        crd["metadata"] = json!({"name": "boats.example.com"});
        (crd["apiVersion"], crd["kind"]) = (json!("apiextensions.k8s.io/v1"), json!("CustomResourceDefinition"));
        crd["spec"]["versions"] = json!([
            {"name": "v1", "served": true, "storage": false, "schema": schema("a")},
            {"name": "v2", "served": true, "storage": true, "schema": schema("b")},
        ]);
        let kind = |operations: Value, except: Value| {
            let definition = json!({
                "apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "boats.yaml",
                "steps": [{"from": "v1", "to": "v2", "operations": operations}],
                "rolloutHash": {"of": "spec", "at": "v2", "except": except, "force": "example.com/force"},
            });
            (Kind::from_crd(&definition.to_string(), &crd.to_string()).unwrap(), definition)
        };
        let rename = || json!([{"rename": {"from": "spec.a", "to": "spec.b"}}]);
        let renamed = kind(rename(), json!([]));
        assert_eq!(between(&renamed, &renamed), []);
        let apart = kind(json!([{"drop": "spec.a"}, {"add": "spec.b"}]), json!([]));
        let found: Vec<Impact> = between(&renamed, &apart).iter().map(|change| change.impact).collect();
        assert_eq!(found, [Impact::Risky; 3]);
        let changes = between(&renamed, &kind(rename(), json!(["spec.c"])));
        assert!(changes.len() == 1 && changes[0].what.contains("`rolloutHash` changed"), "{changes:?}");
        assert_eq!(changes[0].impact, Impact::Breaking);
    }

    /// A message shows a part of a long operation, and the comparison reads all of it.
    #[test]
    fn each_key_of_a_definition_is_compared() {
        let kind = Kind::embedded().unwrap().remove(0);
        let long = |end: &str| json!({"values": {"field": "spec.a", "map": {"x".repeat(500): end}}});
        let [drop, add] = [json!({"drop": "spec.a"}), json!({"add": "spec.b"})];
        let steps = |operations: Value| json!({"steps": [{"from": "v1", "to": "v2", "operations": operations}]});
        let accepted = json!({"steps": [{"from": "v1", "to": "v2", "operations": [drop], "accept": ["spec.c"]}]});
        let hash = |force: &str| json!({"rolloutHash": {"force": force}});
        for (old, new, part) in [
            (steps(json!([long("y")])), steps(json!([long("z")])), "is removed"),
            (steps(json!([drop, add])), steps(json!([add, drop])), "order"),
            (steps(json!([drop])), accepted, "`accept`"),
            (hash("a/b"), hash("a/c"), "`rolloutHash`"),
            (json!({"name": "a"}), json!({"name": "b"}), "`name`"),
            (json!({"admission": {"versionLabel": "a"}}), json!({"admission": {}}), "`admission.versionLabel`"),
        ] {
            let changes = definition_changes((&kind, &old), (&kind, &new));
            assert!(changes.iter().any(|change| change.what.contains(part)), "{part}: {changes:?}");
            assert_eq!(definition_changes((&kind, &new), (&kind, &new)), []);
        }
    }

    #[test]
    fn crds_of_a_file_are_matched_by_name() {
        let named = |name: &str, spec: Value| {
            let mut crd = crd(spec);
            crd["metadata"] = json!({"name": name});
            crd
        };
        let (one, two) = (named("a.example.com", json!({})), named("b.example.com", with(json!({"type": "string"}))));
        let changed = named("b.example.com", with(json!({"type": "integer"})));
        let versions = |old: &[&Value], new: &[&Value]| -> Vec<(String, Impact)> {
            crd_file_changes(old, new).into_iter().map(|change| (change.version, change.impact)).collect()
        };
        assert_eq!(versions(&[&one, &two], &[&changed, &one]), [("b.example.com v1".to_owned(), Impact::Breaking)]);
        assert_eq!(versions(&[&one, &two], &[&two]), [("a.example.com".to_owned(), Impact::Breaking)]);
    }

    #[test]
    fn versions_and_names_are_compared() {
        let old = crd(with(json!({"type": "string"})));
        let mut new = old.clone();
        new["spec"]["versions"][0]["name"] = json!("v2");
        let changes = crd_changes(&old, &new);
        let found: Vec<(&str, Impact)> =
            changes.iter().map(|change| (change.version.as_str(), change.impact)).collect();
        assert_eq!(found, [("v1", Impact::Breaking), ("v2", Impact::Risky), ("v2", Impact::Safe)]);
        let mut other = old.clone();
        other["spec"]["scope"] = json!("Cluster");
        other["spec"]["versions"][0]["served"] = json!(false);
        other["spec"]["versions"][0]["subresources"] = json!({"status": {}});
        assert_eq!(crd_changes(&old, &other).len(), 3);
    }
}
