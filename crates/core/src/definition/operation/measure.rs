//! `type` with `as`: a duration such as `5m0s` or a quantity such as `512Mi` is text in one version, and a whole number
//! of units in the other.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smallvec::smallvec;

use super::compiler::Compiler;
use super::mapping::{Fragment, Mapping, Operation, Unexplained};
use crate::apimachinery::{QUANTITY, binary_quantity, go_duration, go_nanoseconds, milli_quantity, units_of_quantity};
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::{Json, go_number};

/// A duration or a quantity as text in one version, and as a number in the other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MeasureType")]
pub(crate) struct MeasureSpec {
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
#[serde(rename_all = "camelCase", rename = "MeasureUnit")]
enum Unit {
    /// Thousandths of a second. The text is a duration of Go.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
    /// Bytes. The text is a quantity of Kubernetes, such as `1536Mi`.
    Bytes,
    /// 2^20 bytes.
    Mebibytes,
    /// 2^30 bytes.
    Gibibytes,
    /// Thousandths of a processor. The text is a quantity of Kubernetes, such as `500m`.
    Millicores,
}

/// What the text of a unit is.
enum Measure {
    /// A duration, with the nanoseconds of the unit.
    Time(i64),
    /// A quantity with binary suffixes, with the bytes of the unit.
    Memory(i64),
    /// A quantity with decimal suffixes, in thousandths.
    Thousandths,
}

impl Unit {
    fn measure(self) -> Measure {
        match self {
            Self::Milliseconds => Measure::Time(1_000_000),
            Self::Seconds => Measure::Time(1_000_000_000),
            Self::Minutes => Measure::Time(60 * 1_000_000_000),
            Self::Hours => Measure::Time(3600 * 1_000_000_000),
            Self::Bytes => Measure::Memory(1),
            Self::Mebibytes => Measure::Memory(1 << 20),
            Self::Gibibytes => Measure::Memory(1 << 30),
            Self::Millicores => Measure::Thousandths,
        }
    }

    /// The number of units of a text. Fractions of a unit are cut off for durations, and rounded up for quantities, as
    /// Go's conversion to an integer and `Quantity.Value` do. `None` if the text has no such number.
    fn number(self, text: &str) -> Option<i64> {
        match self.measure() {
            Measure::Time(nanoseconds) => Some(go_nanoseconds(text)? / nanoseconds),
            Measure::Memory(bytes) => units_of_quantity(text, (bytes, 1)),
            Measure::Thousandths => units_of_quantity(text, (1, 1000)),
        }
    }

    /// The text of a number, as Go and Kubernetes write it. `None` if it is too large for them.
    fn text(self, number: i64) -> Option<String> {
        Some(match self.measure() {
            Measure::Time(nanoseconds) => go_duration(number.checked_mul(nanoseconds)?),
            Measure::Memory(bytes) => binary_quantity(number.checked_mul(bytes)?),
            Measure::Thousandths => milli_quantity(number),
        })
    }

    /// Returns whether each number of a format has a text. Without a format, an API server takes integers above 64
    /// bits.
    fn has_text_of_all(self, format: Option<&str>) -> bool {
        format == Some("int32") && !matches!(self, Self::Minutes | Self::Hours)
    }

    fn is_quantity(self) -> bool {
        !matches!(self.measure(), Measure::Time(_))
    }
}

impl MeasureSpec {
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
        Some(Operation::between("type", places, Measured(self.r#as)))
    }
}

#[derive(Debug)]
struct Measured(Unit);

impl Mapping for Measured {
    fn map<'a>(&self, _: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        let value = from.first().cloned().flatten();
        smallvec![value.zip(places.first()).and_then(|(value, place)| self.converted(value, place))]
    }

    /// One field must be text and the other an integer. Bounds and options of the two are not comparable: a value
    /// outside of them is kept. Patterns and similar keywords need an `accept` entry, apart from the pattern that
    /// Kubernetes generates for quantities, which all results match.
    fn unexplained(&self, at: &str, older: &Place, newer: &Place) -> Unexplained {
        let (older, newer) = (&older.schema, &newer.schema);
        let is_text = |schema: &Schema| schema.is("string") || self.0.is_quantity() && schema.is("int-or-string");
        let is_pair = is_text(older) && newer.is("integer") || older.is("integer") && is_text(newer);
        let problem = || format!("type: with `as`, {at} must be a string in one version and an integer in the other");
        let rest = |schema: &Schema, default: Option<Value>| {
            let mut bounds = schema.unchecked_bounds();
            bounds.retain(|_, bound| bound.as_str() != Some(QUANTITY) || !self.0.is_quantity());
            let (rules, options) = (schema.rules.clone(), schema.options.clone());
            Schema { nullable: schema.nullable, rules, bounds, options, default, ..Schema::default() }
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

    /// A text may be no duration or quantity, and a number may be too large for one.
    fn may_lack(&self, to: Side, at: usize, places: &Sides<Vec<Place>>) -> Option<String> {
        let (from, to) = (places.of(to.other()).first()?, places.of(to).get(at)?);
        let fits = from.schema.is("integer")
            && self.0.has_text_of_all(from.schema.format.as_deref())
            && to.schema.options.is_none()
            && (to.schema.nullable || !from.schema.nullable);
        let measure = if self.0.is_quantity() { "quantity" } else { "duration" };
        (!fits).then(|| format!("some values of {} are no {measure} of the other version", from.path))
    }

    /// The longest duration is `-2562047h47m16.854775808s`, the longest quantity `-9223372036854775808m`.
    fn adds(&self, _: Side) -> u64 {
        LONGEST
    }
}

/// The maximum length of a duration, with quotes.
const LONGEST: u64 = 28;

impl Measured {
    /// A value in the form of a place. `None` if the value has no such form, or if the place does not allow it.
    fn converted<'a>(&self, value: Json<'a>, place: &Place) -> Option<Json<'a>> {
        if value.is_null() {
            return place.schema.nullable.then_some(value);
        }
        let converted = match place.schema.is("integer") {
            true => {
                let text = value.as_str().or_else(|| value.scalar().map(Into::into))?;
                Json::owned(self.0.number(&text)?.to_string())
            }
            false => Json::string(&self.0.text(go_number(value.scalar()?)?.parse().ok()?)?),
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
        Some(Measured(unit).converted(Json::borrowed(value), &place)?.to_text())
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
            (Unit::Bytes, "\"1.5Gi\"", Some("1610612736")),
            (Unit::Bytes, "1024", Some("1024")),
            (Unit::Mebibytes, "\"1Gi\"", Some("1024")),
            (Unit::Gibibytes, "\"1500Mi\"", Some("2")),
            (Unit::Millicores, "\"0.5\"", Some("500")),
            (Unit::Millicores, "2", Some("2000")),
            (Unit::Millicores, "\"few\"", None),
        ] {
            assert_eq!(converted(unit, text, &integer).as_deref(), number, "{text}");
        }
    }

    /// An API server takes integers above 64 bits, unless the schema has a format.
    #[test]
    fn only_formatted_numbers_always_have_a_text() {
        for (unit, format, lacks) in [
            (Unit::Bytes, Some("int32"), false),
            (Unit::Bytes, None, true),
            (Unit::Millicores, Some("int64"), true),
            (Unit::Gibibytes, Some("int32"), false),
            (Unit::Hours, Some("int32"), true),
        ] {
            let place = |schema: Value| vec![Place::new(Path::default(), Schema::read(&schema))];
            let mut integer = json!({"type": "integer"});
            if let Some(format) = format {
                integer["format"] = json!(format);
            }
            let places = Sides { older: place(integer), newer: place(json!({"type": "string"})) };
            assert_eq!(Measured(unit).may_lack(Side::Newer, 0, &places).is_some(), lacks, "{unit:?} {format:?}");
        }
    }

    #[test]
    fn number_is_text_as_go_writes_it() {
        let string = json!({"type": "string", "maxLength": 8});
        for (unit, number, text) in [
            (Unit::Seconds, "300", Some("\"5m0s\"")),
            (Unit::Seconds, "0", Some("\"0s\"")),
            (Unit::Milliseconds, "1500", Some("\"1.5s\"")),
            (Unit::Hours, "2", Some("\"2h0m0s\"")),
            (Unit::Hours, "1000000", None),
            (Unit::Hours, "9223372036854775807", None),
            (Unit::Bytes, "1610612736", Some("\"1536Mi\"")),
            (Unit::Mebibytes, "1024", Some("\"1Gi\"")),
            (Unit::Gibibytes, "9223372036854775807", None),
            (Unit::Millicores, "500", Some("\"500m\"")),
            (Unit::Millicores, "2000", Some("\"2\"")),
        ] {
            assert_eq!(converted(unit, number, &string).as_deref(), text, "{number}");
        }
    }
}
