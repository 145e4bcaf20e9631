//! `wrap`: a single value of the older version is a list with one element in the newer one.

use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use super::{compiler::Compiler, place_spec::PlaceSpec};
use crate::definition::{place::Place, schema::Schema, side::Side};
use crate::json::Json;

/// The operation `wrap`.
pub(super) fn wrapped(place: &PlaceSpec, compiler: &mut Compiler<'_>) -> Option<Operation> {
    let (from, to) = place.paths();
    compiler.between("wrap", from, to, Wrap)
}

/// The older value is the only element of the newer list.
#[derive(Debug)]
struct Wrap;

impl Mapping for Wrap {
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let nullable = places.iter().all(|place| place.schema.nullable);
        vec![from.first().cloned().flatten().and_then(|mut value| match to {
            Side::Newer if value.is_null() => nullable.then_some(value),
            Side::Newer => Some(Json::Array(vec![value])),
            Side::Older => match value.open_array() {
                Some(elements) if elements.is_empty() => None,
                Some(elements) => Some(elements.swap_remove(0)),
                None => (!value.is_null() || nullable).then_some(value),
            },
        })]
    }

    /// The older value must be what the newer list holds.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        match &newer.schema.each {
            Some(item) if newer.schema.is("array") => {
                Unexplained::schemas(Schema { nullable: item.nullable, ..older.schema.clone() }, Schema::clone(item))
            }
            _ => Unexplained { problem: Some(format!("wrap: {} must be a list", newer.path)), schemas: None },
        }
    }
}
