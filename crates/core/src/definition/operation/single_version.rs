//! `add` and `drop`: a field that only one version has.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation};
use super::same::Same;
use crate::definition::place::{Fill, Place};
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// A field that only one version has.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "takes a path, quoted if YAML reads the path as a number or a boolean (n, y), or {field: PATH, value: VALUE}",
    rename = "OneSided"
)]
pub(crate) enum OneSidedSpec {
    /// The path alone.
    Path(String),
    /// The path, and a value for absent fields.
    Filled(FilledSpec),
}

/// A field, with its value for clients if it was never set.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Filled")]
pub(crate) struct FilledSpec {
    /// The field.
    field: String,
    /// The value in a complete object if no kept value exists. With the path alone, the default of the schema.
    value: Option<Value>,
    /// Takes the value from the object itself: `metadata.namespace`.
    value_from: Option<SourceSpec>,
}

/// A field of the object with a value for another field.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename = "ValueSource")]
enum SourceSpec {
    /// The namespace. An object of the whole cluster has none, and then no value.
    #[serde(rename = "metadata.namespace")]
    Namespace,
}

impl OneSidedSpec {
    /// The path of the field.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Path(path) => path,
            Self::Filled(filled) => &filled.field,
        }
    }

    /// The same operation on another field.
    pub(super) fn at(&self, path: String) -> Self {
        match self {
            Self::Path(_) => Self::Path(path),
            Self::Filled(filled) => Self::Filled(filled.at(path)),
        }
    }

    /// The operation `name` on a field that only `side` has.
    pub(super) fn compile(&self, name: &'static str, side: Side, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let (path, filled) = match self {
            Self::Path(path) => (path, None),
            Self::Filled(filled) => (&filled.field, Some(filled)),
        };
        let mut place = compiler.place(side, path)?;
        if let Some(filled) = filled {
            place.fill = Some(filled.fill(name, &place, compiler)?);
        }
        Some(one_sided(name, side, place))
    }
}

impl FilledSpec {
    /// The path of the field.
    pub(super) fn path(&self) -> &str {
        &self.field
    }

    /// The same operation on another field.
    pub(super) fn at(&self, path: String) -> Self {
        Self { field: path, ..self.clone() }
    }

    /// The operation `fill`: a field of both versions that only one version requires.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let mut places = compiler.places(&self.field, &self.field)?;
        for side in [Side::Older, Side::Newer] {
            let place = places.of_mut(side);
            if place.required {
                place.fill = Some(self.fill("fill", place, compiler)?);
            }
        }
        if places.older.required == places.newer.required {
            let path = &places.older.path;
            compiler.problem(format!("fill: both versions agree on whether {path} is required: remove the operation"));
        }
        Some(Operation::between("fill", places, Same))
    }

    /// The value for a place.
    fn fill(&self, name: &str, place: &Place, compiler: &mut Compiler<'_>) -> Option<Fill> {
        match (&self.value, &self.value_from) {
            (Some(value), None) => {
                let value = place.schema.filled(value.clone());
                compiler.takes(name, place, &value);
                Some(Fill::Value(value))
            }
            (None, Some(SourceSpec::Namespace)) => {
                if !place.schema.is("string") {
                    compiler.problem(format!("{name}: {} must be a string for a namespace", place.path));
                }
                Some(Fill::Namespace)
            }
            _ => {
                compiler.problem(format!("{name}: needs either `value`, or `valueFrom: metadata.namespace`"));
                None
            }
        }
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
