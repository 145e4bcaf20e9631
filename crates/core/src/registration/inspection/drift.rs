//! Compares a CRD in a cluster with the CRD of its definition.
//!
//! A definition is checked against the schemas of its own CRD. An additional field in the cluster has no operation: it
//! is copied if both versions have it, and lost otherwise.

use serde_json::{Value, json};

use super::difference::{Difference, differences};
use crate::definition::Kind;
use crate::registration::schema_rules::add_rules;

/// The differences of a CRD from that of the definition: names, scope, versions and schemas. Ignores storage and served
/// versions, the conversion, and descriptions. Admission rules in the schema are optional.
#[must_use]
pub fn drift(kind: &Kind, crd: &Value) -> Vec<String> {
    drifted(kind, crd, |_| true)
}

/// The fields and versions of the definition that a CRD lacks. The API server would drop their values. A part of
/// [`drift`], in the same words.
#[must_use]
pub fn lacking(kind: &Kind, crd: &Value) -> Vec<String> {
    drifted(kind, crd, |difference| difference.found.is_none() && is_field(&difference.path))
}

fn drifted(kind: &Kind, crd: &Value, counts: impl Fn(&Difference<'_>) -> bool) -> Vec<String> {
    let plain = kind.crd().clone();
    let mut ruled = plain.clone();
    add_rules(kind, &mut ruled);
    let found = comparable(crd);
    let [plain, ruled] = [plain, ruled].map(|crd| comparable(&crd));
    let others = differences("spec", &found, &ruled);
    let both =
        differences("spec", &found, &plain).into_iter().filter(|one| others.iter().any(|it| it.path == one.path));
    both.filter(counts).map(|difference| difference_text(&difference)).collect()
}

/// Returns whether a path leads to a version, to a property of a schema, or to `additionalProperties` or `items`.
fn is_field(path: &str) -> bool {
    let cut = if path.ends_with(']') { path.rfind('[') } else { path.rfind('.') };
    let Some((holder, name)) = cut.map(|at| path.split_at(at)) else { return false };
    holder.ends_with(".properties")
        || holder.ends_with(".versions")
        || [".properties", ".items", ".additionalProperties"].contains(&name)
}

fn difference_text(difference: &Difference<'_>) -> String {
    let path = &difference.path;
    match (difference.found, difference.printed) {
        (None, _) => format!("{path} is missing"),
        (_, None) => format!("{path} is not in the definition's CRD"),
        _ => difference.problem().replace(" is printed", " is in the definition's CRD"),
    }
}

/// The part of a CRD that conversion and rules depend on, with versions by name.
fn comparable(crd: &Value) -> Value {
    let part = |path: &str| crd.pointer(path).cloned().unwrap_or_default();
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let schemas = versions.filter_map(|version| {
        let name = version.get("name")?.as_str()?.to_owned();
        let mut schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
        without_descriptions(&mut schema);
        let subresources = version.get("subresources").cloned().unwrap_or_default();
        Some((name, json!({"schema": schema, "subresources": subresources})))
    });
    let schemas: serde_json::Map<String, Value> = schemas.collect();
    json!({
        "group": part("/spec/group"), "kind": part("/spec/names/kind"), "plural": part("/spec/names/plural"),
        "scope": part("/spec/scope"), "versions": schemas,
    })
}

/// Removes descriptions, except a property with the name `description`, whose value is a schema.
fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| name != "description" || !value.is_string());
            members.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Kind {
        Kind::embedded().unwrap().into_iter().find(|kind| kind.versions().count() > 1).unwrap()
    }

    #[test]
    fn printed_crd_has_no_drift() {
        let kind = kind();
        let mut ruled = kind.crd().clone();
        add_rules(&kind, &mut ruled);
        for mut crd in [kind.crd().clone(), ruled] {
            crd["spec"]["conversion"] = json!({"strategy": "None"});
            crd["spec"]["versions"][0]["served"] = json!(false);
            crd["status"] = json!({"storedVersions": ["v0"]});
            assert_eq!(drift(&kind, &crd), [""; 0]);
        }
    }

    #[test]
    fn field_bound_version_changes_are_drift() {
        let kind = kind();
        let version = kind.crd()["spec"]["versions"][0]["name"].as_str().unwrap().to_owned();
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let changed = |change: &dyn Fn(&mut Value)| {
            let mut crd = kind.crd().clone();
            change(&mut crd);
            drift(&kind, &crd).join("; ")
        };
        let more = changed(&|crd| crd.pointer_mut(spec).unwrap()["surplus"] = json!({"type": "string"}));
        assert!(more.contains(&version) && more.contains("surplus is not in the definition's CRD"), "{more}");
        let removed = changed(&|crd| drop(crd["spec"]["versions"].as_array_mut().unwrap().remove(0)));
        assert!(removed.contains(&format!("{version} is missing")), "{removed}");
        let scope = changed(&|crd| crd["spec"]["scope"] = json!("Cluster"));
        assert!(scope.contains("spec.scope is \"Cluster\""), "{scope}");
    }

    /// Other bounds, descriptions and additional fields do not count as missing.
    #[test]
    fn missing_parts_are_reported_alone() {
        let kind = kind();
        let schema = "/spec/versions/0/schema/openAPIV3Schema";
        let lacks = |change: &dyn Fn(&mut Value)| {
            let mut crd = kind.crd().clone();
            change(&mut crd);
            lacking(&kind, &crd).join("; ")
        };
        let at = |crd: &mut Value, path: &str| -> serde_json::Map<String, Value> {
            std::mem::take(crd.pointer_mut(&format!("{schema}{path}")).and_then(Value::as_object_mut).unwrap())
        };
        let field = kind.crd().pointer(&format!("{schema}/properties/spec/properties")).unwrap().as_object().unwrap();
        let field = field.keys().next().unwrap();
        let removed = lacks(&|crd| {
            crd.pointer_mut(&format!("{schema}/properties/spec/properties"))
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(field);
        });
        assert!(removed.ends_with(&format!("spec.properties.{field} is missing")), "{removed}");
        for path in ["/properties/spec/properties", "/properties"] {
            assert!(lacks(&|crd| drop(at(crd, path))).contains("is missing"), "{path}");
        }
        assert!(lacks(&|crd| drop(crd["spec"]["versions"].as_array_mut().unwrap().remove(0))).contains("is missing"));
        for (path, keyword) in [("/properties/spec", "required"), ("", "type")] {
            let change = |crd: &mut Value| {
                let holder = crd.pointer_mut(&format!("{schema}{path}")).and_then(Value::as_object_mut).unwrap();
                holder.remove(keyword);
                holder.insert("maxProperties".to_owned(), json!(1_000));
            };
            assert_eq!(lacks(&change), "", "{path}");
            let mut changed = kind.crd().clone();
            change(&mut changed);
            assert!(!drift(&kind, &changed).is_empty(), "{path}");
        }
        let more = |crd: &mut Value| {
            crd.pointer_mut(&format!("{schema}/properties/spec/properties")).unwrap()["surplus"] =
                json!({"type": "string"});
        };
        assert_eq!(lacks(&more), "");
    }
}
