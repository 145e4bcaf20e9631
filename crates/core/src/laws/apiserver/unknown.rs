//! Fields that the API server takes away from what is written, since no schema knows them
//! (`apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go`).

use serde_json::Value as Schema;

use crate::apimachinery::did_you_mean;
use crate::laws::schema::{flag, preserves, properties, property};
use crate::laws::value::Value;

/// The members of a whole object that no schema of a CRD rules.
pub(super) const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A field that no schema knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownField {
    /// Where it stands: `spec.ports[0].nmae`.
    pub path: String,
    /// The name that was meant, where that can be told: `, did you mean "name"?`.
    pub meant: String,
}

/// What is taken away from an object before anybody judges it. What is inside of such a field is not named once more.
#[must_use]
pub fn unknown_fields(schema: &Schema, object: &Value) -> Vec<UnknownField> {
    let mut found = Vec::new();
    if let Value::Object(members) = object {
        for (name, member) in members.iter().filter(|(name, _)| !HEAD.contains(&name.as_str())) {
            look(schema, name, member, "", &mut found);
        }
    }
    found
}

/// Whether an object of this schema keeps a member of this name.
pub(super) fn is_kept(schema: &Schema, name: &str) -> bool {
    preserves(schema) || property(schema, name).is_some() || is_head(schema, name)
}

/// Whether it belongs to the head of an object that stands in another one.
pub(super) fn is_head(schema: &Schema, name: &str) -> bool {
    flag(schema, "x-kubernetes-embedded-resource") && HEAD.contains(&name)
}

fn look(schema: &Schema, name: &str, member: &Value, at: &str, found: &mut Vec<UnknownField>) {
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
            members.iter().for_each(|(name, member)| look(schema, name, member, at, found));
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

/// A list without a schema of its items loses what its items have, and not the items.
const NOTHING: &Schema = &Schema::Null;
