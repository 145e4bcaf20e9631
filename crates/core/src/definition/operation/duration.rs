//! `type` with `as`: a duration is a string such as `5m0s` in one version, and a whole number of units in the other.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::apimachinery::{go_duration, go_nanoseconds};
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::{Json, go_number};

/// A duration as a string in one version, and as a number in the other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "DurationType")]
pub(crate) struct DurationSpec {
    /// The field, at the same place in both versions.
    field: Option<String>,
    /// The field in the older version, if the paths differ.
    from: Option<String>,
    /// The field in the newer version, if the paths differ.
    to: Option<String>,
    /// The unit of the number.
    r#as: Unit,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "DurationUnit")]
enum Unit {
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
}

impl Unit {
    fn nanoseconds(self) -> i64 {
        match self {
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
            Self::Minutes => 60 * 1_000_000_000,
            Self::Hours => 3600 * 1_000_000_000,
        }
    }
}

impl DurationSpec {
    /// The path, if both versions have the same path.
    pub(super) fn path(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The same operation on another field.
    pub(super) fn at(&self, path: String) -> Self {
        Self { field: Some(path), ..self.clone() }
    }

    /// Compiles the operation.
    pub(super) fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation> {
        let places = compiler.one_or_two("type", ("field", &self.field), &self.from, &self.to)?;
        Some(Operation::between("type", places, Duration(self.r#as)))
    }
}

#[derive(Debug)]
struct Duration(Unit);

impl Mapping for Duration {
    fn map<'a>(&self, _: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        smallvec![value.zip(places.first()).and_then(|(value, place)| self.converted(value, place))]
    }

    /// One field must be a string and the other an integer. Bounds and options of the two are not comparable: a value
    /// outside of them is kept. Patterns and similar keywords need an `accept` entry.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        let is_pair = older.is("string") && newer.is("integer") || older.is("integer") && newer.is("string");
        let problem = || format!("type: with `as`, {at} must be a string in one version and an integer in the other");
        let rest = |schema: &Schema, default: Option<Value>| Schema {
            nullable: schema.nullable,
            rules: schema.rules.clone(),
            bounds: schema.unchecked_bounds(),
            options: schema.options.clone(),
            default,
            ..Schema::default()
        };
        let newer_place = Place::new(Path::default(), newer.clone());
        let there = |value: &Value| {
            let converted = self.converted(Json::owned(value.to_string()), &newer_place);
            converted.and_then(|value| serde_json::from_str(&value.to_text()).ok()).unwrap_or_else(|| value.clone())
        };
        let both = older.default.is_some() && newer.default.is_some();
        let default = older.default.as_ref().filter(|_| both).map(there);
        let (older, newer) = (rest(older, default), rest(newer, newer.default.clone().filter(|_| both)));
        Unexplained { problem: (!is_pair).then(problem), ..Unexplained::schemas(older, newer) }
    }

    /// A string may be no duration, and a number may be longer than Go's longest duration.
    fn may_lack(&self, to: Side, at: usize, places: &Sides<Vec<Place>>) -> Option<String> {
        let (from, to) = (places.of(to.other()).first()?, places.of(to).get(at)?);
        let fits = from.schema.is("integer")
            && from.schema.format.as_deref() == Some("int32")
            && !matches!(self.0, Unit::Hours | Unit::Minutes)
            && to.schema.options.is_none()
            && (to.schema.nullable || !from.schema.nullable);
        (!fits).then(|| format!("some values of {} are no duration of the other version", from.path))
    }

    /// The longest duration is `-2562047h47m16.854775808s`.
    fn adds(&self, _: Side) -> u64 {
        LONGEST
    }
}

/// The maximum length of a duration, with quotes.
const LONGEST: u64 = 28;

impl Duration {
    /// A value in the form of a place. Fractions of a unit are cut off, as Go's conversion to an integer does. `None`
    /// if the value is no duration, or if the place does not allow the result.
    fn converted<'a>(&self, value: Json<'a>, place: &Place) -> Option<Json<'a>> {
        if value.is_null() {
            return place.schema.nullable.then_some(value);
        }
        let unit = self.0.nanoseconds();
        let converted = match value.as_str() {
            Some(text) => Json::owned((go_nanoseconds(&text)? / unit).to_string()),
            None => Json::string(&go_duration(go_number(value.scalar()?)?.parse::<i64>().ok()?.checked_mul(unit)?)),
        };
        place.schema.admits(&converted).then_some(converted)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn converted(unit: Unit, value: &str, schema: &Value) -> Option<String> {
        let place = Place::new(Path::default(), Schema::read(schema));
        Some(Duration(unit).converted(Json::borrowed(value), &place)?.to_text())
    }

    #[test]
    fn text_is_a_number_of_units() {
        let integer = json!({"type": "integer", "format": "int32", "minimum": 0});
        for (unit, text, number) in [
            (Unit::Seconds, "\"5m0s\"", Some("300")),
            (Unit::Seconds, "\"1.9s\"", Some("1")),
            (Unit::Milliseconds, "\"1.5s\"", Some("1500")),
            (Unit::Minutes, "\"1h\"", Some("60")),
            (Unit::Hours, "\"90m\"", Some("1")),
            (Unit::Seconds, "\"-5s\"", None),
            (Unit::Seconds, "\"soon\"", None),
            (Unit::Milliseconds, "\"2562047h\"", None),
            (Unit::Seconds, "null", None),
        ] {
            assert_eq!(converted(unit, text, &integer).as_deref(), number, "{text}");
        }
    }

    #[test]
    fn number_is_a_text_as_go_writes_it() {
        let string = json!({"type": "string", "maxLength": 8});
        for (unit, number, text) in [
            (Unit::Seconds, "300", Some("\"5m0s\"")),
            (Unit::Seconds, "0", Some("\"0s\"")),
            (Unit::Milliseconds, "1500", Some("\"1.5s\"")),
            (Unit::Hours, "2", Some("\"2h0m0s\"")),
            (Unit::Hours, "1000000", None),
            (Unit::Hours, "9223372036854775807", None),
        ] {
            assert_eq!(converted(unit, number, &string).as_deref(), text, "{number}");
        }
    }
}
