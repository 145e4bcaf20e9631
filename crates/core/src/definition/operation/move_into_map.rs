//! `moveIntoMap`: a field of the older version is an entry of a map in both versions.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::side::{Side, Sides};
use crate::definition::{place::Place, schema::Schema};
use crate::json::Json;

/// A field that becomes an entry of a map.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MoveIntoMap")]
pub(crate) struct MoveIntoMapSpec {
    /// The field of the older version.
    field: String,
    /// The map, in both versions.
    map: String,
    /// The key of the entry. An existing entry takes precedence.
    key: String,
    /// Values of the field that count as not set. Null is always included.
    #[serde(default = "empty_string")]
    unset: Vec<Value>,
}

fn empty_string() -> Vec<Value> {
    vec![Value::String(String::new())]
}

impl MoveIntoMapSpec {
    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let field = compiler.place(Side::Older, &self.field);
        let map = compiler.path(&self.map)?.join(&self.key);
        let entries = Sides { older: compiler.at(Side::Older, &map), newer: compiler.at(Side::Newer, &map) };
        let (field, entries) = (field?, Sides { older: entries.older?, newer: entries.newer? });
        let unset = self.unset.iter().map(|value| Json::owned(value.to_string())).collect();
        let places = Sides { older: vec![field, entries.older], newer: vec![entries.newer] };
        Some(Operation::new("moveIntoMap", places, MoveIntoMap { unset }))
    }
}

/// Maps the older field to the entry, unless the entry exists.
#[derive(Debug)]
struct MoveIntoMap {
    unset: Vec<Json<'static>>,
}

impl Mapping for MoveIntoMap {
    fn map<'a>(&self, to: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        match to {
            Side::Newer => {
                let is_unset = |value: &Json<'_>| {
                    // Compares strings in place, because a string may be long.
                    let text = value.as_str();
                    self.unset.iter().any(|unset| match (unset.as_str(), &text) {
                        (Some(unset), Some(text)) => unset == *text,
                        _ => unset.same(value),
                    })
                };
                let set = value.filter(|value| !value.is_null() && !is_unset(value));
                smallvec![from.get(1).cloned().flatten().or(set)]
            }
            Side::Older => smallvec![None, value],
        }
    }

    /// Each value of the field must be valid for the entry. The other direction has no constraint, because an entry of
    /// the newer version is the same entry in the older version.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let (field, entry) = (&older.schema, &newer.schema);
        let set = |option: &Value| {
            let option = Json::owned(option.to_string());
            !self.unset.iter().any(|unset| unset.same(&option))
        };
        let options = field.options.iter().flatten().filter(|option| set(option)).cloned().collect();
        let bounds = field.bounds.iter().filter(|(key, _)| entry.bounds.contains_key(*key));
        let field = Schema {
            nullable: entry.nullable,
            default: entry.default.clone(),
            rules: field.rules.intersection(&entry.rules).cloned().collect(),
            options: entry.options.as_ref().map(|_| options),
            format: entry.format.as_ref().and_then(|_| field.format.clone()),
            bounds: bounds.map(|(key, bound)| (key.clone(), bound.clone())).collect(),
            ..field.clone()
        };
        Unexplained::schemas(field, entry.clone())
    }

    fn may_lack(&self, to: Side, at: usize, _: &Sides<Vec<Place>>) -> Option<String> {
        match (to, at) {
            (Side::Newer, _) => Some("an unset field adds no entry".to_owned()),
            (Side::Older, 0) => Some("an entry of the newer version stays an entry".to_owned()),
            (Side::Older, _) => None,
        }
    }

    /// Only the older field, without the existing entry.
    fn described<'p>(&self, places: &'p [Place]) -> &'p [Place] {
        places.get(..1).unwrap_or(places)
    }

    fn drops(&self) -> bool {
        true
    }
}
