//! `type`: a scalar has another type: string on one side, number or boolean on the other.

use std::borrow::Cow;

use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use super::place_spec::PlaceSpec;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::{Json, go_number};

/// The implied operation for a field whose difference in type is accepted.
pub(in crate::definition) fn retyped_by_itself(places: Sides<Place>) -> Operation {
    Operation::between("required", places, Retype)
}

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
        smallvec![value.zip(places.first()).and_then(|(value, place)| retype(value, place))]
    }

    /// Both fields must be scalars with the same `nullable`, because null has no other type. Bounds of strings and
    /// numbers are not comparable. A value outside of the bounds is kept. Patterns are not checked here and need an
    /// `accept` entry, because a number may map to a text that the pattern rejects.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        let scalar = |schema: &Schema| !matches!(schema.kind.as_deref(), Some("object" | "array") | None);
        let problem = || format!("type: {at} must be a string, a number or a boolean in both versions");
        let both = scalar(older) && scalar(newer);
        let numbers = |schema: &Schema| matches!(schema.kind.as_deref(), Some("integer" | "number"));
        let alike = older.kind == newer.kind || numbers(older) && numbers(newer);
        let rest = |schema: &Schema, options: Option<Vec<Value>>, default: Option<Value>| Schema {
            nullable: schema.nullable,
            rules: schema.rules.clone(),
            bounds: match &schema.options {
                _ if alike => schema.bounds.clone(),
                Some(_) => Default::default(),
                None => schema.unchecked_bounds(),
            },
            format: schema.format.clone().filter(|_| older.kind == newer.kind),
            options,
            default,
            ..Schema::default()
        };
        // Options and defaults are compared in the newer type.
        let there = |value: &Value| retyped_value(value, newer).unwrap_or_else(|| value.clone());
        let closed = |schema: &Schema, other: &Schema| match (&schema.options, &other.options) {
            (None, Some(_)) if schema.is("boolean") => Some(BOOLEANS.map(Value::Bool).to_vec()),
            (options, _) => options.clone(),
        };
        let options = closed(older, newer).map(|options| options.iter().map(there).collect());
        let default = older.default.as_ref().map(there).filter(|_| newer.default.is_some());
        let (one, two) = (older.default.is_some(), newer.default.clone());
        let (older, newer) = (rest(older, options, default), rest(newer, closed(newer, older), two.filter(|_| one)));
        Unexplained { problem: (!both).then(problem), ..Unexplained::schemas(older, newer) }
    }

    fn may_lack(&self, to: Side, at: usize, places: &Sides<Vec<Place>>) -> Option<String> {
        let (from, to) = (places.of(to.other()).first()?, places.of(to).get(at)?);
        (!represents_all(&from.schema, &to.schema))
            .then(|| format!("some values of {} have no representation in the other version", from.path))
    }

    /// `1e20` is written with all its digits.
    fn adds(&self, _: Side) -> u64 {
        DIGITS
    }
}

/// The maximum length of a number as the API server writes it.
pub(super) const DIGITS: u64 = 26;

/// Both values of a boolean.
const BOOLEANS: [bool; 2] = [false, true];

/// Returns whether the type, options and bounds of one scalar can represent each value of another.
fn represents_all(from: &Schema, to: &Schema) -> bool {
    if from.nullable && !to.nullable && from.options.as_ref().is_none_or(|options| options.contains(&Value::Null)) {
        return false;
    }
    let booleans = || from.is("boolean").then(|| BOOLEANS.map(Value::Bool).to_vec());
    if let Some(options) = from.options.clone().or_else(booleans) {
        return options.iter().all(|option| retyped_value(option, to).is_some());
    }
    let kind = match (from.kind.as_deref(), to.kind.as_deref()) {
        (_, None | Some("string")) | (Some("integer"), Some("number" | "int-or-string")) => true,
        (Some("string"), Some("int-or-string")) => true,
        (one, two) => one == two,
    };
    // The API server checks patterns and similar keywords. They do not affect the representation.
    let narrower = |(key, bound): (&String, &Value)| bound.is_number() && from.bounds.get(key) != Some(bound);
    let bounded = to.bounds.iter().any(narrower);
    kind && to.options.is_none() && !bounded && (to.format.is_none() || to.format == from.format)
}

/// A value in the type of another schema, if that can represent it.
fn retyped_value(value: &Value, schema: &Schema) -> Option<Value> {
    let place = Place::new(Path::default(), schema.clone());
    serde_json::from_str(&retype(Json::owned(value.to_string()), &place)?.to_text()).ok()
}

/// A scalar in the type of a place. `None` if the type cannot represent it.
pub(super) fn retype<'a>(value: Json<'a>, place: &Place) -> Option<Json<'a>> {
    if value.is_null() {
        return place.schema.nullable.then_some(value);
    }
    if place.schema.admits(&value) {
        return Some(value);
    }
    let converted = match (place.schema.kind.as_deref(), value.as_str()) {
        (Some("string"), None) => Json::string(&spelled(&value)?),
        (Some("integer" | "int-or-string"), Some(text)) => Json::owned(integer(&text)?),
        (Some("number"), Some(text)) => Json::owned(number(&text)?),
        (Some("boolean"), Some(text)) => Json::owned(matches!(&*text, "true" | "false").then(|| text.into_owned())?),
        _ => return None,
    };
    place.schema.admits(&converted).then_some(converted)
}

/// The text of a boolean or a number. A number has the spelling of the API server: after storage as a number, the
/// conversion back returns that text, and another spelling would change for the client that applied it.
fn spelled<'v>(value: &'v Json<'_>) -> Option<Cow<'v, str>> {
    let scalar = value.scalar()?;
    match value.type_name() {
        "number" => Some(Cow::Owned(go_number(&go_number(scalar)?)?)),
        _ => Some(Cow::Borrowed(scalar)),
    }
}

/// Decimal digits with an optional sign, as the API server writes them.
fn integer(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    go_number(text).filter(|_| whole)
}

/// A JSON number as the API server writes it. It writes -0.0 as -0, and reads that as 0.
fn number(text: &str) -> Option<String> {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let value = Json::parse(text).ok().filter(|value| starts && value.type_name() == "number")?;
    go_number(&go_number(value.scalar()?)?)
}
