//! `add` and `drop`: a field that one version has and the other has not.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation};
use crate::definition::place::Place;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// A field that one version has and the other has not.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes a path, or {field: PATH, value: WHAT TO FILL IN}", rename = "OneSided")]
pub(crate) enum OneSidedSpec {
    /// Just its path.
    Path(String),
    /// Its path, and what to fill in.
    Filled(FilledSpec),
}

/// A field of one version with the value that readers of that version expect when nobody set one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Filled")]
pub(crate) struct FilledSpec {
    /// The field.
    field: String,
    /// What a complete object gets when there is nothing to give back. Defaults to the schema's default.
    value: Value,
}

impl OneSidedSpec {
    /// The operation `name` on a field that only `side` has.
    pub(super) fn compile(&self, name: &'static str, side: Side, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let (path, value) = match self {
            Self::Path(path) => (path, None),
            Self::Filled(filled) => (&filled.field, Some(&filled.value)),
        };
        let mut place = compiler.place(side, path)?;
        let (other, schema) = match side {
            Side::Newer => ("older", compiler.older),
            Side::Older => ("newer", compiler.newer),
        };
        if schema.at(&place.path).is_some() {
            compiler.problem(format!("{name}: the {other} version has {} too", place.path));
        }
        if let Some(value) = value {
            let value = place.schema.filled(value.clone());
            if !place.schema.admits(&value) {
                let value = value.to_text();
                compiler.problem(format!("{name}: {} cannot be {value}", place.path));
            }
            place.fill = Some(value);
        }
        Some(one_sided(name, side, place))
    }
}

/// An operation on a field that only `side` has.
pub(super) fn one_sided(name: &'static str, side: Side, place: Place) -> Operation {
    let mut places = Sides::default();
    *places.of_mut(side) = vec![place];
    Operation::new(name, places, OneSided)
}

#[derive(Debug)]
struct OneSided;

impl Mapping for OneSided {
    fn map<'a>(&self, _: Side, places: &[Place], _: &[Option<Json<'a>>]) -> Fragment<'a> {
        places.iter().map(|_| None).collect()
    }

    fn drops(&self) -> bool {
        true
    }
}
