//! A field that is nullable in one version only. In that version null is a value. In the other version it is absent.

use smallvec::smallvec;

use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::definition::place::Place;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// The implied operation between two fields whose difference in `nullable` is accepted.
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
