//! Unknown fields, which the API server prunes from a write (`apiextensions-apiserver
//! pkg/apiserver/schema/pruning/algorithm.go`).

use serde_json::Value as Schema;

use crate::apimachinery::did_you_mean;
use crate::laws::schema::{flag, preserves, properties, property};
use crate::laws::value::Value;

/// The members of a whole object without a schema in the CRD.
pub(super) const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A field without a schema.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownField {
    /// The path: `spec.ports[0].nmae`.
    pub path: String,
    /// A suggestion, if there is one: `, did you mean "name"?`.
    pub meant: String,
}

/// The fields of an object that are pruned before validation. Contents of such a field are not listed separately.
#[must_use]
pub fn unknown_fields(schema: &Schema, object: &Value) -> Vec<UnknownField> {
    let mut found = Vec::new();
    if let Value::Object(members) = object {
        for (name, member) in members.iter().filter(|(name, _)| !HEAD.contains(&name.as_str())) {
            collect_member(schema, name, member, "", &mut found);
        }
    }
    found
}

/// Returns whether an object of this schema keeps a member of this name.
pub(super) fn is_kept(schema: &Schema, name: &str) -> bool {
    preserves(schema) || property(schema, name).is_some() || is_head(schema, name)
}

/// Returns whether a member belongs to the head of an embedded object.
pub(super) fn is_head(schema: &Schema, name: &str) -> bool {
    flag(schema, "x-kubernetes-embedded-resource") && HEAD.contains(&name)
}

fn collect_member(schema: &Schema, name: &str, member: &Value, at: &str, found: &mut Vec<UnknownField>) {
    let path = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    if !is_kept(schema, name) {
        let meant = did_you_mean(name, properties(schema).map(|(name, _)| name.as_str()));
        found.push(UnknownField { path, meant });
    } else if let Some(inner) = property(schema, name).filter(|_| !is_head(schema, name)) {
        inside(inner, member, &path, found);
    }
}

fn inside(schema: &Schema, value: &Value, at: &str, found: &mut Vec<UnknownField>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| collect_member(schema, name, member, at, found));
        }
        Value::List(elements) => {
            let items = match schema.get("items") {
                Some(items) => items,
                None if preserves(schema) => return,
                None => NOTHING,
            };
            for (index, element) in elements.iter().enumerate() {
                inside(items, element, &format!("{at}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// A list without a schema for its items keeps the items without their contents.
const NOTHING: &Schema = &Schema::Null;
