//! Schemas for which the API server rejects a CRD, as far as conversion depends on them. If a default does not match
//! its own schema, an object with the default cannot be written back. Values that a later step adds to it would then
//! count as values of the user. If no item has the list keys, a list cannot contain two items.
//!
//! Source: `apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go` and
//! `pkg/apis/apiextensions/validation/validation.go`.

use super::schema::Schema;
use crate::apimachinery::meant_within;
use crate::json::Json;

/// Returns the problems of a schema, each with the field and its consequence.
pub(super) fn wrong(schema: &Schema) -> Vec<String> {
    let (mut refused, mut found) = (Vec::new(), Vec::new());
    check_node("", schema, &mut refused);
    found.extend(refused.into_iter().map(|wrong| format!("{wrong}. The API server refuses such a CRD")));
    unwritable_fields("", schema, &mut found);
    found
}

/// Reports fields that are required and also pruned, so that no object can be written.
fn unwritable_fields(path: &str, schema: &Schema, found: &mut Vec<String>) {
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let is_head = path.is_empty() || schema.embedded;
    let is_kept = |name: &str| {
        schema.member(name).is_some()
            || schema.preserve
            || is_head && matches!(name, "apiVersion" | "kind" | "metadata")
    };
    let pruned = schema.required.iter().filter(|name| schema.is("object") && !is_kept(name));
    found.extend(pruned.map(|name| {
        format!(
            "{} is required but not defined: the API server prunes the field from every object, and then \
                 refuses the object. Define the property, or remove the requirement",
            inside(name)
        )
    }));
    for (name, property) in &schema.properties {
        unwritable_fields(&inside(name), property, found);
    }
    if let Some(each) = &schema.each {
        unwritable_fields(&format!("{path}[*]"), each, found);
    }
}

fn check_node(path: &str, schema: &Schema, found: &mut Vec<String>) {
    if let Some(kind) = schema.kind.as_deref().filter(|kind| !TYPES.contains(kind) && *kind != "int-or-string") {
        let (at, meant) = (if path.is_empty() { "." } else { path }, meant_within(kind, TYPES, kind.len().max(3) / 2));
        let meant = if meant.is_empty() { "." } else { &meant };
        found.push(format!("{at} is of type {kind:?}, which does not exist{meant} Known types: {}", TYPES.join(", ")));
    }
    if let Some(default) = schema.default_value().filter(|default| !schema.takes(default)) {
        let reason = match lacking(schema, &default, "") {
            Some(field) => {
                format!(
                    "{field} is required there: set the field in the default, give the field a `default`, or \
                         remove the requirement"
                )
            }
            None => "the schema refuses this value: change the default or the schema".to_owned(),
        };
        found.push(format!("{path} cannot be {} by `default`: {reason}", default.to_text()));
    } else if let Some((default, field)) =
        schema.default_value().and_then(|default| Some((default.to_text(), unknown(schema, &default, "")?)))
    {
        found.push(format!(
            "{path} cannot be {default} by `default`: {field} is not defined there: remove the field from the \
                 default, or define the property"
        ));
    }
    let is_there = |key: &str| schema.each.as_ref().is_some_and(|item| item.properties.contains_key(key));
    if let Some(key) = schema.list_keys.iter().find(|key| !is_there(key)) {
        found.push(format!(
            "{path} has {key:?} among its `x-kubernetes-list-map-keys`, but its items define no such property: \
                 name properties that identify items"
        ));
    }
    let is_sure = |key: &str| {
        schema.each.as_ref().is_some_and(|item| {
            item.required.contains(key) || item.properties.get(key).is_some_and(|schema| schema.default.is_some())
        })
    };
    if let Some(key) = schema.list_keys.iter().find(|key| is_there(key) && !is_sure(key)) {
        found.push(format!(
            "{path} has {key:?} among its `x-kubernetes-list-map-keys`, but the property is optional: require \
                 the property, or add a `default`"
        ));
    }
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, property) in &schema.properties {
        check_node(&inside(name), property, found);
    }
    if let Some(each) = &schema.each {
        check_node(&format!("{path}[*]"), each, found);
    }
}

/// The types of a structural schema (`pkg/apiserver/schema/validation.go`).
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Returns the first field of a value that the API server would prune.
fn unknown(schema: &Schema, value: &Json<'_>, path: &str) -> Option<String> {
    if value.is_array() {
        let each = schema.each.as_deref()?;
        return value.elements().iter().find_map(|item| unknown(each, item, &format!("{path}[*]")));
    }
    if !value.is_object() || schema.kind.is_none() {
        return None;
    }
    value.members().iter().find_map(|(name, member)| {
        let at = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let is_head = schema.embedded && matches!(&**name, "apiVersion" | "kind" | "metadata");
        match schema.member(name) {
            Some(inner) => unknown(inner, member, &at),
            None => (!schema.preserve && !is_head).then_some(at),
        }
    })
}

/// Returns the first required field that a value lacks.
fn lacking(schema: &Schema, value: &Json<'_>, path: &str) -> Option<String> {
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    if value.is_array() {
        let each = schema.each.as_deref()?;
        return value.elements().iter().find_map(|item| lacking(each, item, &format!("{path}[*]")));
    }
    if !value.is_object() {
        return None;
    }
    let members = value.members();
    let missing = schema.required.iter().find(|name| !members.iter().any(|(member, _)| member == name.as_str()));
    let deeper = || {
        let mut inner = members.iter().filter_map(|(name, member)| Some((name, member, schema.member(name)?)));
        inner.find_map(|(name, member, schema)| lacking(schema, member, &inside(name)))
    };
    missing.map(|name| inside(name)).or_else(deeper)
}
