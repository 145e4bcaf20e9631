//! `blank`: a value of the older version that means "no value" is absent in the newer version.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smallvec::smallvec;
use uuid::Uuid;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// Spellings of "no value".
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Blank")]
pub(crate) struct BlankSpec {
    /// The field, at the same place in both versions.
    field: String,
    /// Strings, numbers or booleans. A UUID matches all its spellings. Null is always included.
    spellings: Vec<Value>,
}

impl BlankSpec {
    /// The path of the field.
    pub(super) fn path(&self) -> &str {
        &self.field
    }

    /// The same operation on another field.
    pub(super) fn at(&self, path: String) -> Self {
        Self { field: path, ..self.clone() }
    }

    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let places = compiler.places(&self.field, &self.field)?;
        let mut spellings = Spellings::default();
        for spelling in &self.spellings {
            match spelling {
                Value::String(text) => spellings.texts.push(text.clone()),
                other => spellings.others.push(Json::owned(other.to_string())),
            }
            let kind = places.older.schema.kind.as_deref();
            let is_of_kind = match spelling {
                Value::String(_) => kind == Some("string"),
                Value::Number(_) => matches!(kind, Some("integer" | "number")),
                Value::Bool(_) => kind == Some("boolean"),
                _ => false,
            };
            if kind.is_some() && !is_of_kind {
                let quote = if kind == Some("string") { ": quote it" } else { "" };
                compiler.problem(format!("blank: {} can never be {spelling}{quote}", places.older.path));
            }
        }
        let mapping = Blank { spellings };
        Some(Operation::between("blank", places, mapping))
    }
}

/// Maps these older values to absence.
#[derive(Debug)]
struct Blank {
    spellings: Spellings,
}

/// The values that mean "no value".
#[derive(Debug, Default)]
struct Spellings {
    texts: Vec<String>,
    others: Vec<Json<'static>>,
}

impl Mapping for Blank {
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        smallvec![match to {
            Side::Newer => value.filter(|value| !self.is_blank(value)),
            Side::Older => {
                let nullable = places.iter().all(|place| place.schema.nullable);
                let filled = places.iter().any(|place| place.fill.is_some());
                value.filter(|value| nullable || !filled || !value.is_null())
            }
        }]
    }

    /// The older version alone may allow the blank spellings. All other values must be valid in both versions.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        let blank = |value: &Value| self.is_blank(&Json::owned(value.to_string()));
        let set = |options: &Option<Vec<Value>>| {
            let set = |options: &Vec<Value>| options.iter().filter(|option| !blank(option)).cloned().collect();
            options.as_ref().map(set)
        };
        let empty = |key: &String| *key == "minLength" && self.spellings.texts.iter().any(String::is_empty);
        let mut bounds = older.bounds.clone();
        bounds
            .extend(newer.bounds.iter().filter(|(key, _)| empty(key)).map(|(key, bound)| (key.clone(), bound.clone())));
        let problem = format!("blank: {at} must be a string, a number or a boolean");
        // The API server replaces a null by the default if there is one.
        let nullable = older.nullable || older.default.is_some();
        let rest = Schema {
            options: set(&older.options),
            default: older.default.clone().filter(|default| !blank(default)),
            bounds,
            nullable: newer.nullable && nullable,
            ..older.clone()
        };
        Unexplained {
            problem: matches!(older.kind.as_deref(), Some("object" | "array")).then_some(problem),
            ..Unexplained::schemas(rest, Schema { options: set(&newer.options), ..newer.clone() })
        }
    }

    fn may_lack(&self, to: Side, _: usize, _: &Sides<Vec<Place>>) -> Option<String> {
        (to == Side::Newer)
            .then(|| "the field is absent in the newer version for a value that means \"unset\"".to_owned())
    }
}

impl Blank {
    /// Returns whether a value is a spelling of "no value". A UUID matches all its spellings.
    fn is_blank(&self, value: &Json<'_>) -> bool {
        let Some(text) = value.as_str() else {
            return value.is_null() || self.spellings.others.iter().any(|other| other.same(value));
        };
        self.spellings.texts.iter().any(|spelling| {
            *spelling == text
                || matches!((Uuid::try_parse(spelling), Uuid::try_parse(&text)), (Ok(blank), Ok(value)) if blank == value)
        })
    }
}
