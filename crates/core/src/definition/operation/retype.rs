//! `type`: a scalar has another type, string on one side and number or boolean on the other.

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use super::place_spec::PlaceSpec;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::{Json, go_number};

/// The operation `type`.
pub(super) fn retyped(place: &PlaceSpec, compiler: &mut Compiler<'_>) -> Option<Operation> {
    let (from, to) = place.paths();
    compiler.between("type", from, to, Retype)
}

#[derive(Debug)]
struct Retype;

impl Mapping for Retype {
    fn map<'a>(&self, _: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        vec![value.zip(places.first()).and_then(|(value, place)| retype(value, place))]
    }

    /// Both must be scalars, and both nullable or none: a null has no other type.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let scalar = |schema: &Schema| !matches!(schema.kind.as_deref(), Some("object" | "array") | None);
        let problem = || format!("type: {at} must be a string, a number or a boolean in both versions");
        let both = scalar(&older.schema) && scalar(&newer.schema);
        let nullable = |place: &Place| Schema { nullable: place.schema.nullable, ..Schema::default() };
        Unexplained {
            problem: (!both).then(problem),
            schemas: Some(Sides { older: nullable(older), newer: nullable(newer) }),
        }
    }
}

/// The same scalar in the type of a place. `None` where the type cannot say it.
pub(super) fn retype<'a>(value: Json<'a>, place: &Place) -> Option<Json<'a>> {
    if value.is_null() {
        return place.schema.nullable.then_some(value);
    }
    if place.schema.admits(&value) {
        return Some(value);
    }
    let converted = match (place.schema.kind.as_deref(), value.as_str()) {
        (Some("string"), None) => Json::string(value.scalar()?),
        (Some("integer" | "int-or-string"), Some(text)) => Json::owned(integer(&text)?),
        (Some("number"), Some(text)) => Json::owned(number(&text)?),
        (Some("boolean"), Some(text)) => Json::owned(matches!(&*text, "true" | "false").then(|| text.into_owned())?),
        _ => return None,
    };
    place.schema.admits(&converted).then_some(converted)
}

/// Decimal digits, perhaps with a sign, as the API server leaves them.
fn integer(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    go_number(text).filter(|_| whole)
}

/// A number as JSON writes them, as the API server leaves it.
fn number(text: &str) -> Option<String> {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let value = Json::parse(text).ok().filter(|value| starts && value.type_name() == "number")?;
    go_number(value.scalar()?)
}
