//! Entries of `metadata.managedFields`, and their translation to another version.

use serde_json::{Value, json};

use super::field_set::{existing, extract, fields_of, union, with_paths_of};
use super::object_conversion::ObjectConversion;
use crate::crd_state::CrdState;

/// True if a field manager owns a field of an object.
pub(crate) fn is_managed(object: &Value) -> bool {
    entries(object).next().is_some()
}

/// The versions of a group in managedFields entries, without duplicates.
pub(crate) fn entry_versions<'o>(object: &'o Value, group: &str) -> Vec<&'o str> {
    let version = |entry: &'o Value| entry.get("apiVersion")?.as_str()?.strip_prefix(group)?.strip_prefix('/');
    let mut versions: Vec<&str> = entries(object).filter_map(version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

/// The entries of an object, translated to the storage version, in which the object is given. Each entry keeps its
/// ownership under the names of that version: its part of the object is converted as a partial object, as in
/// server-side apply. Without a conversion, names common to both versions are kept.
pub(crate) fn translated(object: &Value, crd: &CrdState, conversion: Option<&ObjectConversion>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for entry in entries(object) {
        let Some(entry) = translated_entry(entry, object, crd, conversion) else { continue };
        // Entries of one manager in two versions become one.
        match all.iter_mut().find(|other| identity(other) == identity(&entry)) {
            Some(other) => {
                if let (Some(set), Some(more)) = (other.get_mut(FIELDS), entry.get(FIELDS)) {
                    union(set, more);
                }
            }
            None => all.push(entry),
        }
    }
    all
}

fn translated_entry(
    entry: &Value,
    object: &Value,
    crd: &CrdState,
    conversion: Option<&ObjectConversion>,
) -> Option<Value> {
    let to = format!("{}/{}", crd.group(), crd.storage());
    let named = entry.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let from = named.strip_prefix(crd.group()).and_then(|rest| rest.strip_prefix('/'));
    let (Some(from), true) = (from, named != to) else { return Some(entry.clone()) };
    let set = entry.get(FIELDS)?;
    let converted = conversion.and_then(|conversion| converted_set(set, object, from, crd, conversion));
    let set = existing(&converted.unwrap_or_else(|| set.clone()), object)?;
    let mut entry = entry.clone();
    let members = entry.as_object_mut()?;
    members.insert("apiVersion".to_owned(), to.into());
    members.insert(FIELDS.to_owned(), set);
    Some(entry)
}

/// The fields of a set, translated to the storage version.
fn converted_set(
    set: &Value,
    object: &Value,
    from: &str,
    crd: &CrdState,
    conversion: &ObjectConversion,
) -> Option<Value> {
    let before = conversion.convert(object, from)?;
    let mut part = extract(&before, set).unwrap_or_else(|| json!({}));
    let members = part.as_object_mut()?;
    members.retain(|name, _| name != "metadata");
    for name in ["apiVersion", "kind"] {
        members.insert(name.to_owned(), before.get(name)?.clone());
    }
    let name = before.pointer("/metadata/name")?;
    members.insert("metadata".to_owned(), json!({"name": name}));
    let mut after = conversion.convert_part(&part, crd.storage())?;
    after.as_object_mut()?.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    let mut fields = fields_of(&after, crd.schema(crd.storage()));
    with_paths_of(&mut fields, set);
    // Metadata are the same in every version.
    if let (Some(fields), Some(metadata)) = (fields.as_object_mut(), set.get(METADATA)) {
        fields.insert(METADATA.to_owned(), metadata.clone());
    }
    Some(fields)
}

/// The identity of an entry. Server-side apply has one entry for all versions.
fn identity(entry: &Value) -> [Option<&Value>; 4] {
    let is_apply = entry.get("operation").is_some_and(|operation| operation == "Apply");
    let version = entry.get("apiVersion").filter(|_| !is_apply);
    [entry.get("manager"), entry.get("operation"), entry.get("subresource"), version]
}

fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten()
}

const FIELDS: &str = "fieldsV1";
const METADATA: &str = "f:metadata";

#[cfg(test)]
mod tests {
    use pointsman_core::definition::Kind;
    use pointsman_core::webhook::{Metadata, Webhook};

    use super::*;

    fn crd() -> CrdState {
        let version = |name: &str| json!({"name": name, "served": true, "storage": name == "v2"});
        CrdState::new(json!({
            "metadata": {"name": "ws.e.com"},
            "spec": {"group": "e.com", "names": {"plural": "ws"}, "versions": [version("v1"), version("v2")]},
        }))
        .unwrap()
    }

    /// `hostPort` of v1 is `host` and `port` of v2.
    fn conversion() -> ObjectConversion {
        ObjectConversion::new(|object, to| {
            let mut object = object.clone();
            object["apiVersion"] = json!(format!("e.com/{to}"));
            let spec = object.get_mut("spec")?.as_object_mut()?;
            match to {
                "v1" => {
                    let text = format!("{}:{}", spec.remove("host")?.as_str()?, spec.remove("port")?);
                    spec.insert("hostPort".to_owned(), json!(text));
                }
                _ => {
                    if let Some(both) = spec.remove("hostPort") {
                        let (host, port) = both.as_str()?.split_once(':')?;
                        spec.insert("host".to_owned(), json!(host));
                        spec.insert("port".to_owned(), json!(port));
                    }
                }
            }
            Some(object)
        })
    }

    fn object(entries: &Value) -> Value {
        json!({
            "apiVersion": "e.com/v2", "kind": "W", "metadata": {"name": "a", "managedFields": entries},
            "spec": {"host": "h", "port": 1, "replicas": 2},
        })
    }

    #[test]
    fn renamed_field_keeps_its_owner() {
        let set = json!({"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {".": {}, "f:hostPort": {}}});
        let entry =
            |version: &str| json!({"manager": "m", "operation": "Apply", "apiVersion": version, "fieldsV1": set});
        let mut object = object(&json!([entry("e.com/v1")]));
        object["metadata"]["labels"] = json!({"x": "y"});
        let all = translated(&object, &crd(), Some(&conversion()));
        assert_eq!(all.len(), 1);
        assert_eq!(all[0]["apiVersion"], "e.com/v2");
        let renamed = json!({
            "f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {".": {}, "f:host": {}, "f:port": {}},
        });
        assert_eq!(all[0]["fieldsV1"], renamed);
        // Without a definition, common names are kept.
        let plain = translated(&object, &crd(), None);
        assert_eq!(plain[0]["fieldsV1"]["f:spec"], json!({".": {}}));
    }

    #[test]
    fn entries_of_one_manager_merge() {
        let entry = |manager: &str, version: &str, field: &str| {
            let set = json!({"f:spec": {format!("f:{field}"): {}}});
            json!({"manager": manager, "operation": "Update", "apiVersion": version, "fieldsV1": set})
        };
        let entries = json!([
            entry("m", "e.com/v2", "replicas"),
            entry("m", "e.com/v1", "hostPort"),
            entry("n", "e.com/v1", "replicas"),
            entry("o", "e.com/v1", "gone"),
        ]);
        let object = object(&entries);
        assert_eq!(entry_versions(&object, "e.com"), ["v1", "v2"]);
        let all = translated(&object, &crd(), Some(&conversion()));
        let managers: Vec<&str> = all.iter().filter_map(|entry| entry["manager"].as_str()).collect();
        assert_eq!(managers, ["m", "n"]);
        assert_eq!(all[0]["fieldsV1"], json!({"f:spec": {"f:host": {}, "f:port": {}, "f:replicas": {}}}));
    }

    /// The newer version adds a defaulted field, which no manager of the older version wrote.
    #[test]
    fn filled_value_gets_no_owner() {
        let version = |name: &str, fields: Value| {
            let spec = json!({"type": "object", "properties": fields});
            let schema = json!({"type": "object", "properties": {"spec": spec}});
            json!({
                "name": name, "served": true, "storage": name == "v2", "schema": {"openAPIV3Schema": schema},
            })
        };
        let text = json!({"type": "string"});
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ws.e.com"},
            "spec": {
                "group": "e.com", "scope": "Namespaced", "names": {"kind": "W", "plural": "ws"},
                "versions": [version("v1", json!({"a": text})), version("v2", json!({"a": text, "mode": text}))],
            },
        });
        let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: x\nsteps:\n- from: v1\n  to: v2\n  \
                          operations:\n  - add: {field: spec.mode, value: auto}\n";
        let kind = Kind::from_crd(definition, &crd.to_string()).unwrap();
        let webhook = Webhook::new(vec![kind], Metadata::Full).unwrap();
        let conversion = ObjectConversion::new(move |object, to| {
            serde_json::from_str(&webhook.convert(&object.to_string(), to).ok()?.text).ok()
        });
        let set = json!({"f:spec": {"f:a": {}}});
        let entry = json!({"manager": "m", "operation": "Apply", "apiVersion": "e.com/v1", "fieldsV1": set});
        let object = json!({
            "apiVersion": "e.com/v2", "kind": "W", "metadata": {"name": "a", "uid": "u", "managedFields": [entry]},
            "spec": {"a": "x", "mode": "auto"},
        });
        let all = translated(&object, &CrdState::new(crd).unwrap(), Some(&conversion));
        assert_eq!(all[0]["fieldsV1"], set, "{all:?}");
    }
}
