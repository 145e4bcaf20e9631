//! `wrap`: a single value of the older version is a list with one element in the newer version.

use smallvec::smallvec;

use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use super::{compiler::Compiler, place_spec::PlaceSpec};
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// The operation `wrap`.
pub(super) fn wrapped(place: &PlaceSpec, compiler: &mut Compiler<'_>) -> Option<Operation> {
    let (from, to) = place.paths();
    compiler.between("wrap", from, to, Wrap)
}

/// Maps the older value to the only element of the newer list.
#[derive(Debug)]
struct Wrap;

impl Mapping for Wrap {
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let nullable = places.iter().all(|place| place.schema.nullable);
        smallvec![from.first().cloned().flatten().and_then(|mut value| match to {
            Side::Newer if value.is_null() => nullable.then_some(value),
            Side::Newer => Some(Json::Array(vec![value])),
            Side::Older => match value.open_array() {
                Some(elements) if elements.is_empty() => None,
                Some(elements) => Some(elements.swap_remove(0)),
                None => (!value.is_null() || nullable).then_some(value),
            },
        })]
    }

    /// The older value must be a valid item of the newer list.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        match &newer.schema.each {
            Some(item) if newer.schema.is("array") => {
                let older = &older.schema;
                let older = Schema { nullable: item.nullable, default: item.default.clone(), ..older.clone() };
                Unexplained {
                    problem: no_room(newer),
                    is_newer_item: true,
                    ..Unexplained::schemas(older, Schema::clone(item))
                }
            }
            _ => {
                Unexplained { problem: Some(format!("wrap: {} must be a list", newer.path)), ..Unexplained::default() }
            }
        }
    }

    /// An empty list maps to an absent value.
    fn shows_objects(&self, to: Side) -> bool {
        to == Side::Newer
    }

    fn may_lack(&self, to: Side, _: usize, places: &Sides<Vec<Place>>) -> Option<String> {
        let list = places.newer.first()?;
        let filled = size(list, "minItems").is_some_and(|least| least > 0);
        let why = || format!("an empty {} has no first element (set `minItems: 1`)", list.path);
        (to == Side::Older && !filled).then(why)
    }

    fn adds(&self, _: Side) -> u64 {
        2
    }
}

/// Returns why a list cannot have one element.
fn no_room(list: &Place) -> Option<String> {
    let path = &list.path;
    let at_least = size(list, "minItems").filter(|least| *least > 1);
    let at_most = size(list, "maxItems").filter(|most| *most < 1);
    let bound = at_least.map(|least| format!("minItems: {least}"));
    let bound = bound.or_else(|| at_most.map(|most| format!("maxItems: {most}")))?;
    Some(format!("wrap: {path} has {bound}, so the API server refuses a list with one element: remove the bound"))
}

fn size(list: &Place, bound: &str) -> Option<u64> {
    list.schema.bounds.get(bound)?.as_u64()
}
