//! The consequences of a change of a CRD for stored objects and for clients.
//!
//! Within a version, an API server prunes fields that the schema lacks, fills in defaults on each read, and validates
//! on writes only, without unchanged values (`apiextensions-apiserver pkg/apiserver/validation/ratcheting.go`). So a
//! removed field loses values, and a tighter bound refuses writes.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::apimachinery::excerpt;
use crate::definition::Kind;

/// What a change does to objects and clients. Later is worse.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Impact {
    /// Existing objects and clients notice nothing.
    Safe,
    /// Nothing is refused or lost, but a reader sees other values, or a later step is necessary.
    Risky,
    /// Values are lost, writes are refused, or clients fail.
    Breaking,
}

impl Impact {
    /// The name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Risky => "risky",
            Self::Breaking => "breaking",
        }
    }
}

/// A change between two revisions of a CRD or of a definition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CrdChange {
    /// The version of the CRD. Empty for the whole resource.
    pub version: String,
    /// The field, such as `spec.ports[*].name`. Empty for the whole version.
    pub path: String,
    /// The consequence.
    pub impact: Impact,
    /// The change and its consequence.
    pub what: String,
    /// What to do instead, or afterwards. Empty if nothing is necessary.
    pub advice: String,
}

/// The changes between two revisions of a CRD, worst first.
#[must_use]
pub fn crd_changes(old: &Value, new: &Value) -> Vec<CrdChange> {
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
    let (before, after) = (versions(old), versions(new));
    for (name, version) in &before {
        match after.iter().find(|(other, _)| other == name) {
            Some((_, newer)) => changed_version(name, version, newer, &mut changes),
            None => changes.push(change(
                name,
                "",
                Impact::Breaking,
                "the version is removed: its clients fail, and objects that are stored in it become unreadable",
                "run `pointsman status`, which shows whether a version can be removed, and `pointsman migrate`",
            )),
        }
    }
    for (name, _) in after.iter().filter(|(name, _)| before.iter().all(|(other, _)| other != name)) {
        let what = "the version is new";
        changes.push(change(name, "", Impact::Safe, what, "describe its differences in a step of the definition"));
    }
    worst_first(changes)
}

/// The changes between two revisions of a definition and its CRD, worst first.
#[must_use]
pub fn definition_changes(old: &Kind, new: &Kind) -> Vec<CrdChange> {
    let mut changes = crd_changes(old.crd(), new.crd());
    if let (Some(before), Some(after)) = (old.hash_recipe(), new.hash_recipe())
        && before != after
    {
        let what = "the recipe of the rollout hash changed: the next write of each object starts a rollout";
        let advice = "restore the hashed fields; `rolloutHash.recipe` in the definition refuses another recipe";
        changes.push(change("", "", Impact::Breaking, what, advice));
    }
    let operations = |kind: &Kind| -> BTreeSet<(String, String)> {
        let steps = kind.steps().into_iter();
        steps.flat_map(|step| step.operations.into_iter().map(move |operation| (step.to.clone(), operation))).collect()
    };
    let (before, after) = (operations(old), operations(new));
    for (version, operation) in before.difference(&after) {
        let what = format!("the operation `{operation}` is removed: readers of the other version see other values");
        changes.push(change(version, "", Impact::Risky, what, "run `pointsman plan` on your objects"));
    }
    for (version, operation) in after.difference(&before) {
        let what = format!("the operation `{operation}` is new: readers of the other version see other values");
        changes.push(change(version, "", Impact::Risky, what, "run `pointsman plan` on your objects"));
    }
    worst_first(changes)
}

fn worst_first(mut changes: Vec<CrdChange>) -> Vec<CrdChange> {
    changes.sort_by_key(|change| Reverse(change.impact));
    changes
}

fn change(version: &str, path: &str, impact: Impact, what: impl Into<String>, advice: &str) -> CrdChange {
    let [version, path, advice] = [version, path, advice].map(str::to_owned);
    CrdChange { version, path, impact, what: what.into(), advice }
}

fn versions(crd: &Value) -> Vec<(&str, &Value)> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    versions.filter_map(|version| Some((version.get("name")?.as_str()?, version))).collect()
}

fn changed_version(name: &str, old: &Value, new: &Value, changes: &mut Vec<CrdChange>) {
    let is = |version: &Value, key: &str| version.get(key) == Some(&Value::Bool(true));
    if is(old, "served") && !is(new, "served") {
        let what = "the version is no longer served: its clients fail";
        changes.push(change(name, "", Impact::Breaking, what, "move all clients to another version first"));
    }
    if !is(old, "storage") && is(new, "storage") {
        let what = "the version is stored from now on; existing objects stay in the old version until a write";
        changes.push(change(name, "", Impact::Risky, what, "run `pointsman migrate` after the change"));
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
                changes.push(change(name, "", Impact::Breaking, what("new"), "release the controller first"));
            }
            _ => {}
        }
    }
    let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
    let mut comparison = RevisedSchema { version: name, changes };
    comparison.compare("", &schema(old), &schema(new));
}

/// The comparison of two revisions of the schema of one version.
struct RevisedSchema<'c> {
    version: &'c str,
    changes: &'c mut Vec<CrdChange>,
}

impl RevisedSchema<'_> {
    fn note(&mut self, path: &str, impact: Impact, what: impl Into<String>, advice: &str) {
        self.changes.push(change(self.version, path, impact, what, advice));
    }

    fn compare(&mut self, path: &str, old: &Value, new: &Value) {
        let (before, after) = (kind(old), kind(new));
        if before != after {
            let what = format!("the type changed from {before} to {after}");
            return match is_wider(before, after) {
                true => self.note(path, Impact::Risky, format!("{what}: readers see new types"), READERS),
                false => self.note(
                    path,
                    Impact::Breaking,
                    format!("{what}: clients fail, and writes of the old type are refused"),
                    "add a version with the new type, and convert with `type` or `compute`",
                ),
            };
        }
        self.values(path, old, new);
        self.bounds(path, old, new);
        self.rules(path, old, new);
        self.members(path, old, new);
        for (key, inside) in [("items", "[*]"), ("additionalProperties", "[*]")] {
            match (old.get(key).filter(|schema| schema.is_object()), new.get(key).filter(|schema| schema.is_object())) {
                (Some(before), Some(after)) => self.compare(&format!("{path}{inside}"), before, after),
                (Some(_), None) if flag(new, "x-kubernetes-preserve-unknown-fields") => {
                    self.note(path, Impact::Risky, "the values have no schema anymore", READERS);
                }
                (Some(_), None) => {
                    self.note(path, Impact::Breaking, "other keys are pruned: values are lost", NEW_VERSION);
                }
                _ => {}
            }
        }
    }

    /// Enums, defaults and null.
    fn values(&mut self, path: &str, old: &Value, new: &Value) {
        let options = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
        match (options(old), options(new)) {
            (Some(before), Some(after)) => {
                for gone in before.iter().filter(|option| !after.contains(option)) {
                    let what = format!("the enum lost {gone}: writes of it are refused");
                    self.note(path, Impact::Breaking, what, "add a version without it, and convert with `values`");
                }
                for added in after.iter().filter(|option| !before.contains(option)) {
                    self.note(path, Impact::Risky, format!("the enum has a new value {added}"), READERS);
                }
            }
            (None, Some(_)) => {
                self.note(
                    path,
                    Impact::Breaking,
                    "the field has an enum: writes of other values are refused",
                    NEW_VERSION,
                );
            }
            (Some(_), None) => self.note(path, Impact::Risky, "the field has no enum anymore", READERS),
            (None, None) => {}
        }
        match (old.get("default"), new.get("default")) {
            (before, after) if before == after => {}
            (None, Some(default)) => {
                let what = format!(
                    "the default {} is new: objects without the field show it on each read",
                    excerpt_of(default)
                );
                self.note(path, Impact::Risky, what, "check that controllers treat it as the absent field");
            }
            (Some(default), None) => {
                let what =
                    format!("the default {} is removed: objects without the field show none", excerpt_of(default));
                self.note(path, Impact::Risky, what, "check that controllers accept an absent field");
            }
            (before, after) => {
                let what = format!("the default changed from {} to {}", shown(before), shown(after));
                self.note(
                    path,
                    Impact::Risky,
                    what,
                    "stored objects keep their value; only new objects get the new one",
                );
            }
        }
        match (flag(old, "nullable"), flag(new, "nullable")) {
            (true, false) => {
                self.note(path, Impact::Breaking, "null is no longer allowed: a null is dropped", NEW_VERSION)
            }
            (false, true) => self.note(path, Impact::Risky, "null is allowed", READERS),
            _ => {}
        }
    }

    fn bounds(&mut self, path: &str, old: &Value, new: &Value) {
        for (keys, is_upper) in [(UPPER, true), (LOWER, false)] {
            for key in keys {
                let number = |schema: &Value| schema.get(key).and_then(Value::as_f64);
                let is_tighter = match (number(old), number(new)) {
                    (Some(before), Some(after)) if before == after => continue,
                    (Some(before), Some(after)) => (after < before) == is_upper,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    (None, None) => continue,
                };
                self.bound(path, key, is_tighter);
            }
        }
        for key in OTHERS {
            match (old.get(key), new.get(key)) {
                (before, after) if before == after => {}
                (_, Some(_)) => self.bound(path, key, true),
                (_, None) => self.bound(path, key, false),
            }
        }
    }

    fn bound(&mut self, path: &str, key: &str, is_tighter: bool) {
        match is_tighter {
            true => {
                let what = format!("{key} is stricter: writes of other values are refused, apart from unchanged ones");
                self.note(path, Impact::Breaking, what, NEW_VERSION);
            }
            false => self.note(path, Impact::Safe, format!("{key} is less strict"), ""),
        }
    }

    /// Rules in CEL, and the merge of lists.
    fn rules(&mut self, path: &str, old: &Value, new: &Value) {
        let rules = |schema: &Value| -> Vec<String> {
            let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
            rules.filter_map(|rule| Some(rule.get("rule")?.as_str()?.to_owned())).collect()
        };
        let (before, after) = (rules(old), rules(new));
        for rule in after.iter().filter(|rule| !before.contains(rule)) {
            let what = format!("a rule is new: {}", excerpt(rule));
            self.note(path, Impact::Risky, what, "run the rule on your objects: writes that break it are refused");
        }
        for rule in before.iter().filter(|rule| !after.contains(rule)) {
            self.note(path, Impact::Safe, format!("a rule is removed: {}", excerpt(rule)), "");
        }
        for key in ["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"] {
            if old.get(key) != new.get(key) {
                let what = format!("{key} changed: server-side apply merges the field in another way");
                self.note(path, Impact::Risky, what, "apply again with each field manager");
            }
        }
    }

    fn members(&mut self, path: &str, old: &Value, new: &Value) {
        let properties =
            |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let (before, after) = (properties(old), properties(new));
        let keeps_unknown = |schema: &Value| {
            flag(schema, "x-kubernetes-preserve-unknown-fields") || schema.get("additionalProperties").is_some()
        };
        if keeps_unknown(old) && !keeps_unknown(new) && old.get("additionalProperties").is_none() {
            self.note(path, Impact::Breaking, "unknown fields are pruned: values are lost", NEW_VERSION);
        }
        let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for (name, schema) in &before {
            match after.get(name) {
                Some(newer) => self.compare(&inside(name), schema, newer),
                None if keeps_unknown(new) => {
                    self.note(&inside(name), Impact::Risky, "the field has no schema anymore", READERS);
                }
                None => self.note(
                    &inside(name),
                    Impact::Breaking,
                    "the field is removed: stored values are lost at the next write, and reads do not show them",
                    "keep the field, and add a version without it, with `drop`, `rename` or `move`",
                ),
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            let impact = if keeps_unknown(old) { Impact::Risky } else { Impact::Safe };
            let what = if keeps_unknown(old) {
                "the field has a schema now: other values are refused"
            } else {
                "the field is new"
            };
            self.note(&inside(name), impact, what, "");
        }
        let required = |schema: &Value| -> BTreeSet<String> {
            let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
        };
        let (was, is) = (required(old), required(new));
        for name in is.difference(&was) {
            match after.get(name).is_some_and(|schema| schema.get("default").is_some()) {
                true => self.note(&inside(name), Impact::Safe, "the field is required, and has a default", ""),
                false => self.note(
                    &inside(name),
                    Impact::Breaking,
                    "the field is required: writes without it are refused",
                    "give the field a default, or add a version that requires it, with `fill`",
                ),
            }
        }
        for name in was.difference(&is).filter(|name| after.contains_key(*name)) {
            self.note(
                &inside(name),
                Impact::Risky,
                "the field is optional: readers may see objects without it",
                READERS,
            );
        }
    }
}

/// The type of a schema.
fn kind(schema: &Value) -> &str {
    match flag(schema, "x-kubernetes-int-or-string") {
        true => "int-or-string",
        false => schema.get("type").and_then(Value::as_str).unwrap_or("any"),
    }
}

/// Returns whether the values of a type are a part of those of another type.
fn is_wider(old: &str, new: &str) -> bool {
    matches!((old, new), ("integer", "number") | ("integer" | "string", "int-or-string") | (_, "any"))
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), excerpt_of)
}

fn excerpt_of(value: &Value) -> String {
    excerpt(&value.to_string())
}

const READERS: &str = "release the controllers and clients that read it first";
const NEW_VERSION: &str = "add a version with the change, and describe the difference in a step of the definition";

const UPPER: &[&str] = &["maximum", "maxLength", "maxItems", "maxProperties"];
const LOWER: &[&str] = &["minimum", "minLength", "minItems", "minProperties"];
const OTHERS: &[&str] = &[
    "allOf",
    "anyOf",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "uniqueItems",
];

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
            (text.clone(), json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}), Risky),
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
            Kind::from_crd(&definition.to_string(), &crd.to_string()).unwrap()
        };
        let rename = || json!([{"rename": {"from": "spec.a", "to": "spec.b"}}]);
        let renamed = kind(rename(), json!([]));
        assert_eq!(definition_changes(&renamed, &renamed), []);
        let apart = kind(json!([{"drop": "spec.a"}, {"add": "spec.b"}]), json!([]));
        let found: Vec<Impact> = definition_changes(&renamed, &apart).iter().map(|change| change.impact).collect();
        assert_eq!(found, [Impact::Risky; 3]);
        let changes = definition_changes(&renamed, &kind(rename(), json!(["spec.c"])));
        assert!(changes.len() == 1 && changes[0].what.contains("recipe of the rollout hash"), "{changes:?}");
        assert_eq!(changes[0].impact, Impact::Breaking);
    }

    #[test]
    fn versions_and_names_are_compared() {
        let old = crd(with(json!({"type": "string"})));
        let mut new = old.clone();
        new["spec"]["versions"][0]["name"] = json!("v2");
        let changes = crd_changes(&old, &new);
        let found: Vec<(&str, Impact)> =
            changes.iter().map(|change| (change.version.as_str(), change.impact)).collect();
        assert_eq!(found, [("v1", Impact::Breaking), ("v2", Impact::Safe)]);
        let mut other = old.clone();
        other["spec"]["scope"] = json!("Cluster");
        other["spec"]["versions"][0]["served"] = json!(false);
        other["spec"]["versions"][0]["subresources"] = json!({"status": {}});
        assert_eq!(crd_changes(&old, &other).len(), 3);
    }
}
