//! `values`: values have other names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::compiler::{Compile, Compiler};
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::side::{Side, Sides};
use crate::definition::{place::Place, schema::Schema};
use crate::json::Json;

/// Values with other names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Values")]
pub(crate) struct ValuesSpec {
    /// The field, at the same place in both versions.
    field: Option<String>,
    /// The field in the older version, where the place differs.
    from: Option<String>,
    /// The field in the newer version, where the place differs.
    to: Option<String>,
    /// The older version's value and the newer version's. Values in neither column are carried as they are.
    map: BTreeMap<String, Value>,
}

impl Compile for ValuesSpec {
    fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let places = compiler.one_or_two("values", ("field", &self.field), &self.from, &self.to)?;
        let is_text = places.older.schema.is("string") || places.older.schema.kind.is_none();
        let mut pairs = Vec::new();
        for (older, newer) in &self.map {
            let older = if is_text { Value::String(older.clone()) } else { scalar(older) };
            let pair = Sides { older, newer: newer.clone() }.map(|value| Json::owned(value.to_string()));
            for side in [Side::Older, Side::Newer] {
                let (Place { path, schema, .. }, value) = (places.of(side), pair.of(side));
                if !schema.admits(value) {
                    compiler.problem(format!("values: {path} cannot be {}", value.to_text()));
                }
            }
            pairs.push(pair);
        }
        Some(Operation::between("values", places, Values { pairs }))
    }
}

/// A value written as the key of a YAML mapping, for a field that is no string.
fn scalar(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Older value, newer value.
#[derive(Debug)]
struct Values {
    pairs: Vec<Sides<Json<'static>>>,
}

impl Mapping for Values {
    fn map<'a>(&self, to: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        vec![from.first().cloned().flatten().map(|value| {
            let pair = self.pairs.iter().find(|pair| pair.of(to.other()).same(&value));
            pair.map_or(value, |pair| pair.of(to).clone())
        })]
    }

    /// The values that are not named must be the same on both sides.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        Unexplained::schemas(
            Schema { options: self.unnamed(Side::Older, older), ..older.clone() },
            Schema {
                options: self.unnamed(Side::Newer, newer),
                kind: older.kind.clone(),
                format: older.format.clone(),
                ..newer.clone()
            },
        )
    }
}

impl Values {
    /// What is left of a closed set of values; a boolean is one too.
    fn unnamed(&self, side: Side, schema: &Schema) -> Option<Vec<Value>> {
        let boolean = || schema.is("boolean").then(|| vec![Value::from(false), Value::from(true)]);
        let named = |option: &Value| {
            let option = option.to_string();
            self.pairs.iter().any(|pair| pair.of(side).to_text() == option)
        };
        let all = schema.options.clone().or_else(boolean)?;
        Some(all.into_iter().filter(|option| !named(option)).collect())
    }
}
