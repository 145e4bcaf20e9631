//! A field that only one version lets be null: there a null is a value, and to the other version it is nothing.

use smallvec::smallvec;

use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::place::Place;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// The operation between two fields that differ in `nullable`, which is accepted. Nobody writes it.
pub(in crate::definition) fn nulls(places: Sides<Place>) -> Operation {
    Operation::between("required", places, Nulls)
}

#[derive(Debug)]
struct Nulls;

impl Mapping for Nulls {
    fn map<'a>(&self, _: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let nullable = places.iter().all(|place| place.schema.nullable);
        smallvec![from.first().cloned().flatten().filter(|value| nullable || !value.is_null())]
    }

    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        Unexplained { keeps_null: true, ..Unexplained::schemas(older.schema.clone(), newer.schema.clone()) }
    }
}
