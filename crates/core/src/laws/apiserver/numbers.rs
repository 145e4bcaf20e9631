//! Numbers as the API server stores them: parsed as int64 or float64, and written like Go.
//!
//! `80` and `9007199254740993` stay, `1.0` becomes `1`, `1e21` becomes `1e+21`, `18446744073709551615` becomes
//! `18446744073709552000`, `1E400` cannot be decoded.
//!
//! The spelling is computed by the product's own code, so an error in it is not found here, but in comparisons with a
//! real API server (`tests/cluster/model.rs`).
//!
//! Sources: `sigs.k8s.io/json internal/golang/encoding/json/decode.go`, `convertNumber` with `preserveInts`;
//! `encoding/json encode.go`, `floatEncoder.encode`.

use crate::json::go_number;
use crate::laws::value::{Segment, Value, shown};

/// A number that Go cannot decode as float64. The whole document is rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{path}: the API server cannot decode the number {number}")]
pub struct Undecodable {
    /// The path of the number.
    pub path: String,
    /// The number as written.
    pub number: String,
}

/// Writes all numbers of a document as the API server does.
///
/// # Errors
/// The first number that the API server cannot decode.
pub fn decode(value: &mut Value) -> Result<(), Undecodable> {
    decode_at(value, &go_number, &mut Vec::new())
}

/// Like `decode`, with a fraction for every float64 of Go, including `1.0`: validation distinguishes them from int64.
pub(super) fn hold(value: &mut Value) -> Result<(), Undecodable> {
    let held = |number: &str| {
        let spelled = go_number(number)?;
        let is_float = number.contains(['.', 'e', 'E']) || number.parse::<i64>().is_err();
        let fraction = if is_float && !spelled.contains(['.', 'e']) { ".0" } else { "" };
        Some(spelled + fraction)
    };
    decode_at(value, &held, &mut Vec::new())
}

/// The value of a default or option in a schema as the API server stores it.
pub(super) fn literal(value: &serde_json::Value) -> Value {
    let mut value = Value::literal(value);
    // A CRD with a number that cannot be decoded is rejected.
    decode(&mut value).ok();
    value
}

fn decode_at(
    value: &mut Value,
    respell: &dyn Fn(&str) -> Option<String>,
    way: &mut Vec<Segment>,
) -> Result<(), Undecodable> {
    match value {
        Value::Number(number) => match respell(number) {
            Some(spelled) => *number = spelled,
            None => return Err(Undecodable { path: shown(way), number: number.clone() }),
        },
        Value::List(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                way.push(Segment::Index(index));
                decode_at(element, respell, way)?;
                way.pop();
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                way.push(Segment::Name(name.clone()));
                decode_at(member, respell, way)?;
                way.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Text(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_like_go() {
        for (sent, stored) in [
            ("0", "0"),
            ("-0", "0"), // strconv.ParseInt
            ("-0.0", "-0"),
            ("1", "1"),
            ("1.0", "1"),
            ("1.50", "1.5"),
            ("0.1", "0.1"),
            ("1307867423894321.23363580370999201", "1307867423894321.2"), // half way: seen on 1.36.3
            ("1307867423894321.75", "1307867423894321.8"),
            ("-1307867423894321.25", "-1307867423894321.2"),
            ("123.5", "123.5"),
            ("-0.00001", "-0.00001"),
            ("1e2", "100"),
            ("1E+2", "100"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("1.5e300", "1.5e+300"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.50e-10", "1.5e-10"),
            ("1e-400", "0"), // too small is zero, without an error
            ("9007199254740993", "9007199254740993"),
            ("9007199254740993.0", "9007199254740992"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9223372036854776000"),
            ("18446744073709551615", "18446744073709552000"), // seen on kube-apiserver 1.36.3
            ("12345678901234567890.5", "12345678901234567000"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ] {
            assert_eq!(go_number(sent).as_deref(), Some(stored), "{sent}");
            assert_eq!(go_number(stored).as_deref(), Some(if stored == "-0" { "0" } else { stored }));
        }
    }

    #[test]
    fn undecodable_number_is_named() {
        let many = format!("1{}", "0".repeat(309)); // seen on kube-apiserver 1.36.3: LIST answers 500
        for number in ["1E400", "-1e309", many.as_str()] {
            assert_eq!(go_number(number), None, "{number}");
        }
        let mut value = Value::read(r#"{"spec":{"a":[1,1E400]}}"#).unwrap();
        assert_eq!(decode(&mut value).unwrap_err().path, "spec/a/1");
    }
}
