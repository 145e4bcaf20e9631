//! `moveIntoMap`: a field of the older version becomes an entry of a map that both versions have.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::compiler::{Compile, Compiler};
use super::mapping::{Fragment, Mapping, Operation};
use crate::definition::side::{Side, Sides};
use crate::definition::{path::Path, place::Place};
use crate::json::Json;

/// A field that becomes an entry of a map.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MoveIntoMap")]
pub(crate) struct MoveIntoMapSpec {
    /// The field of the older version.
    field: String,
    /// The map, in both versions.
    map: String,
    /// The key of the entry. An entry that is already there wins.
    key: String,
    /// Values of the field that count as not set. Null is always one of them.
    #[serde(default = "empty_string")]
    unset: Vec<Value>,
}

fn empty_string() -> Vec<Value> {
    vec![Value::String(String::new())]
}

impl Compile for MoveIntoMapSpec {
    fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let field = compiler.place(Side::Older, &self.field);
        let entry = match Path::parse(&self.map) {
            Ok(map) => map.join(&self.key).to_string(),
            Err(error) => {
                compiler.problem(error);
                return None;
            }
        };
        let entries = compiler.places(&entry, &entry);
        let (field, entries) = (field?, entries?);
        if compiler.newer.at(&field.path).is_some() {
            compiler.problem(format!("moveIntoMap: the newer version has {} too", field.path));
        }
        let unset = self.unset.iter().map(|value| Json::owned(value.to_string())).collect();
        let places = Sides { older: vec![field, entries.older], newer: vec![entries.newer] };
        Some(Operation::new("moveIntoMap", places, MoveIntoMap { unset }))
    }
}

/// The older field becomes the entry, unless there is one.
#[derive(Debug)]
struct MoveIntoMap {
    unset: Vec<Json<'static>>,
}

impl Mapping for MoveIntoMap {
    fn map<'a>(&self, to: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        match to {
            Side::Newer => {
                let is_unset = |value: &Json<'_>| self.unset.iter().any(|unset| unset.same(value));
                let set = value.filter(|value| !value.is_null() && !is_unset(value));
                vec![from.get(1).cloned().flatten().or(set)]
            }
            Side::Older => vec![None, value],
        }
    }

    /// The older field, but not the entry beside it.
    fn described<'p>(&self, places: &'p [Place]) -> &'p [Place] {
        places.get(..1).unwrap_or(places)
    }

    fn drops(&self) -> bool {
        true
    }
}
