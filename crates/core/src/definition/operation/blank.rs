//! `blank`: a string of the older version that means "no value" is absent in the newer one.

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::compiler::{Compile, Compiler};
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::{place::Place, schema::Schema, side::Side};
use crate::json::Json;

/// Spellings of "no value".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Blank")]
pub(crate) struct BlankSpec {
    /// The field, at the same place in both versions.
    field: String,
    /// The strings. A UUID stands for all its spellings. Null is always one of them.
    spellings: Vec<String>,
}

impl Compile for BlankSpec {
    fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let places = compiler.places(&self.field, &self.field)?;
        let mapping = Blank { spellings: self.spellings.clone() };
        Some(Operation::between("blank", places, mapping))
    }
}

/// The older string, or nothing where it is one of these.
#[derive(Debug)]
struct Blank {
    spellings: Vec<String>,
}

impl Mapping for Blank {
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        vec![match to {
            Side::Newer => value.filter(|value| !self.is_blank(value)),
            Side::Older => {
                let nullable = places.iter().all(|place| place.schema.nullable);
                let filled = places.iter().any(|place| place.fill.is_some());
                value.filter(|value| nullable || !filled || !value.is_null())
            }
        }]
    }

    /// What may be blank may differ in all but its type and its bounds.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let rest =
            |schema: &Schema| Schema { kind: schema.kind.clone(), bounds: schema.bounds.clone(), ..Schema::default() };
        Unexplained::schemas(rest(&older.schema), rest(&newer.schema))
    }
}

impl Blank {
    /// Whether a value is one of the spellings of "no value". A UUID among them stands for all its spellings.
    fn is_blank(&self, value: &Json<'_>) -> bool {
        let Some(text) = value.as_str() else {
            return value.is_null();
        };
        self.spellings.iter().any(|spelling| {
            *spelling == text
                || matches!((Uuid::try_parse(spelling), Uuid::try_parse(&text)), (Ok(blank), Ok(value)) if blank == value)
        })
    }
}
