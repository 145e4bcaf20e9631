//! Field sets in the format of `fieldsV1` (`sigs.k8s.io/structured-merge-diff`, `fieldpath/serialize.go`): `f:` is a
//! field, `k:` the keys of a list item, `v:` the value of a set item, `i:` an index, and `.` the path itself.

use serde_json::{Map, Value, json};

/// The part of a value in a set. Includes keys of list items, which identify them.
pub(super) fn extract(value: &Value, set: &Value) -> Option<Value> {
    let members = members(set);
    if !members.keys().any(|name| name != SELF) {
        return Some(value.clone());
    }
    match value {
        Value::Object(fields) => {
            let owned = members.iter().filter_map(|(name, set)| {
                let name = name.strip_prefix("f:")?;
                Some((name.to_owned(), extract(fields.get(name)?, set)?))
            });
            let owned: Map<String, Value> = owned.collect();
            (!owned.is_empty() || members.contains_key(SELF)).then_some(Value::Object(owned))
        }
        Value::Array(items) => {
            let owned = members.iter().filter_map(|(name, set)| {
                let item = items.iter().enumerate().find(|(at, item)| is_item(name, *at, item));
                let mut owned = extract(item?.1, set)?;
                if let (Some(owned), Some(keys)) = (owned.as_object_mut(), keys(name)) {
                    owned.extend(keys);
                }
                Some(owned)
            });
            let owned: Vec<Value> = owned.collect();
            (!owned.is_empty() || members.contains_key(SELF)).then_some(Value::Array(owned))
        }
        _ => None,
    }
}

/// All fields of a value, in the format for its schema.
pub(super) fn fields_of(value: &Value, schema: Option<&Value>) -> Value {
    let extension = |name: &str| schema.and_then(|schema| schema.get(name)).and_then(Value::as_str);
    let inner = |name: &str| schema.and_then(|schema| schema.get(name));
    match value {
        Value::Object(fields) if extension("x-kubernetes-map-type") != Some("atomic") => {
            let set = fields.iter().map(|(name, value)| {
                let field = inner("properties").and_then(|fields| fields.get(name));
                let schema = field.or_else(|| inner("additionalProperties"));
                (format!("f:{name}"), fields_of(value, schema))
            });
            Value::Object(set.collect())
        }
        Value::Array(items) if extension("x-kubernetes-list-type") == Some("map") => {
            let keys = inner("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys: Vec<&str> = keys.into_iter().flatten().filter_map(Value::as_str).collect();
            let set = items.iter().map(|item| {
                let mut set = fields_of(item, inner("items"));
                put(&mut set, SELF, json!({}));
                (key_of(item, &keys, inner("items")), set)
            });
            Value::Object(set.collect())
        }
        Value::Array(items) if extension("x-kubernetes-list-type") == Some("set") => {
            Value::Object(items.iter().map(|item| (format!("v:{item}"), json!({}))).collect())
        }
        _ => json!({}),
    }
}

/// The fields of a set that exist in a value. `.` of the translated set stays if its path exists.
pub(super) fn existing(set: &Value, value: &Value) -> Option<Value> {
    let members = members(set);
    if members.is_empty() {
        return Some(json!({}));
    }
    let mut there = Map::new();
    for (name, set) in &members {
        let inner = match value {
            _ if name == SELF => Some(&Value::Null),
            Value::Object(fields) => name.strip_prefix("f:").and_then(|name| fields.get(name)),
            Value::Array(items) => {
                items.iter().enumerate().find(|(at, item)| is_item(name, *at, item)).map(|(_, item)| item)
            }
            _ => None,
        };
        if let Some(set) = inner.and_then(|inner| existing(set, inner)) {
            there.insert(name.clone(), set);
        }
    }
    (!there.is_empty()).then_some(Value::Object(there))
}

/// Adds `.` of paths that both sets contain.
pub(super) fn with_paths_of(set: &mut Value, other: &Value) {
    let Some(members) = set.as_object_mut() else { return };
    let is_inner = members.keys().any(|name| name != SELF);
    for (name, other) in self::members(other) {
        if name == SELF {
            if is_inner {
                members.insert(name, json!({}));
            }
        } else if let Some(set) = members.get_mut(&name) {
            with_paths_of(set, &other);
        }
    }
}

/// The union of two sets.
pub(super) fn union(set: &mut Value, other: &Value) {
    let Some(members) = set.as_object_mut() else { return };
    for (name, other) in self::members(other) {
        match members.get_mut(&name) {
            // A path without content is a leaf, and stays one next to its content.
            Some(set) => {
                let is_leaf = self::members(set).is_empty() != self::members(&other).is_empty();
                union(set, &other);
                if is_leaf {
                    put(set, SELF, json!({}));
                }
            }
            None => drop(members.insert(name, other)),
        }
    }
}

/// True if a member refers to this list item.
fn is_item(member: &str, at: usize, item: &Value) -> bool {
    if let Some(keys) = keys(member) {
        return keys.iter().all(|(name, value)| item.get(name).is_none_or(|key| key == value) && item.is_object());
    }
    match member.split_once(':') {
        Some(("v", value)) => serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item),
        Some(("i", index)) => index.parse() == Ok(at),
        _ => false,
    }
}

/// The keys of an item in a member.
fn keys(member: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(member.strip_prefix("k:")?).ok()
}

/// The `k:` member of an item, with keys sorted as in the API server. A missing key has its default.
fn key_of(item: &Value, keys: &[&str], schema: Option<&Value>) -> String {
    let default = |name: &str| schema?.get("properties")?.get(name)?.get("default");
    let mut keys: Vec<&str> = keys.to_vec();
    keys.sort_unstable();
    let named = keys.iter().filter_map(|name| {
        let value = item.get(*name).or_else(|| default(name))?;
        Some(format!("{}:{value}", Value::from(*name)))
    });
    format!("k:{{{}}}", named.collect::<Vec<_>>().join(","))
}

fn members(set: &Value) -> Map<String, Value> {
    set.as_object().cloned().unwrap_or_default()
}

fn put(set: &mut Value, name: &str, value: Value) {
    if let Some(members) = set.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// The path itself.
const SELF: &str = ".";

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: &str) -> Value {
        json!({
            "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": ["name", "at"],
            "items": {"properties": {"at": {"default": 1}}},
        })
    }

    #[test]
    fn fields_follow_the_schema() {
        let schema = json!({"properties": {
            "ports": list("map"), "tags": list("set"), "args": {}, "ref": {"x-kubernetes-map-type": "atomic"},
        }});
        let value = json!({
            "ports": [{"name": "a", "port": 1}], "tags": ["x"], "args": [1], "ref": {"a": 1}, "free": {"a": {}},
        });
        assert_eq!(
            fields_of(&value, Some(&schema)),
            json!({
                "f:ports": {"k:{\"at\":1,\"name\":\"a\"}": {".": {}, "f:name": {}, "f:port": {}}},
                "f:tags": {"v:\"x\"": {}}, "f:args": {}, "f:ref": {}, "f:free": {"f:a": {}},
            })
        );
    }

    #[test]
    fn extract_keeps_owned_fields() {
        let value = json!({"ports": [{"name": "a", "port": 1, "more": 2}, {"name": "b"}], "tags": ["x", "y"], "z": 1});
        let set = json!({
            "f:ports": {"k:{\"name\":\"a\"}": {"f:port": {}}}, "f:tags": {"v:\"y\"": {}}, "f:gone": {},
        });
        let owned = json!({"ports": [{"name": "a", "port": 1}], "tags": ["y"]});
        assert_eq!(extract(&value, &set), Some(owned));
        assert_eq!(extract(&json!({"z": 1}), &set), None);
    }

    #[test]
    fn absent_fields_are_dropped() {
        let set = json!({"f:spec": {"f:port": {}, "f:ports": {".": {}, "k:{\"name\":\"b\"}": {".": {}}}}});
        let value = json!({"spec": {"ports": [{"name": "b"}]}});
        let there = json!({"f:spec": {"f:ports": {".": {}, "k:{\"name\":\"b\"}": {".": {}}}}});
        assert_eq!(existing(&set, &value), Some(there));
        assert_eq!(existing(&set, &json!({"spec": {}})), None);
    }

    #[test]
    fn union_names_both() {
        let mut set = json!({"f:a": {}, "f:b": {"f:c": {}}});
        union(&mut set, &json!({"f:a": {"f:x": {}}, "f:b": {"f:d": {}}, "f:e": {}}));
        let both = json!({"f:a": {".": {}, "f:x": {}}, "f:b": {"f:c": {}, "f:d": {}}, "f:e": {}});
        assert_eq!(set, both);
        with_paths_of(&mut set, &json!({"f:b": {".": {}, "f:c": {}}, "f:e": {".": {}}}));
        assert_eq!(set["f:b"], json!({".": {}, "f:c": {}, "f:d": {}}));
    }
}
