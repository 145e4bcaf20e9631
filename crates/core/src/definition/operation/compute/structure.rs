//! A structure as text: JSON and YAML in a string.
//!
//! Both readers build values directly and count each with the meter, so that a short text cannot expand. Numbers become
//! numbers of expressions, and another spelling of a value in the text is kept as for all results.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};

use super::meter::{Meter, NoValue, VALUE};
use super::value::Value;

/// Reads JSON (RFC 8259).
pub(super) fn from_json(text: &str, meter: &mut Meter) -> Result<Value, NoValue> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Reader { meter, depth: 0 }.deserialize(&mut reader).map_err(|_| NoValue::Error)?;
    reader.end().map(|()| value).map_err(|_| NoValue::Error)
}

/// Reads one YAML document (yaml.org/spec/1.2.2). An alias is an error: a short text could expand to a large one.
pub(super) fn from_yaml(text: &str, meter: &mut Meter) -> Result<Value, NoValue> {
    let options = serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 0 },
        with_snippet: false,
    };
    meter.allocate(text.len())?;
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        Reader { meter, depth: 0 }.deserialize(reader)
    })
    .map_err(|_| NoValue::Error)
}

/// Writes JSON without spaces. The members of objects are sorted.
pub(super) fn to_json(value: &Value, meter: &mut Meter) -> Result<Value, NoValue> {
    let mut text = Output { text: String::new(), meter };
    serde_json::to_writer(&mut text, value).map_err(|_| NoValue::Error)?;
    Ok(Value::Text(text.text.into()))
}

/// Writes YAML in block style. The members of objects are sorted.
pub(super) fn to_yaml(value: &Value, meter: &mut Meter) -> Result<Value, NoValue> {
    let mut text = Output { text: String::new(), meter };
    serde_saphyr::to_fmt_writer(&mut text, value).map_err(|_| NoValue::Error)?;
    Ok(Value::Text(text.text.into()))
}

/// The maximum nesting. Requests may have 128 levels (`json::grammar`), and half of them remain for the object around
/// the text.
const DEPTH: usize = 64;

/// A text under construction, which counts its memory. A growing text has up to three times its size: the earlier
/// buffer, the new one, and the result.
struct Output<'m> {
    text: String,
    meter: &'m mut Meter,
}

impl fmt::Write for Output<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.meter.spend(part.len()).map_err(|_| fmt::Error)?;
        self.meter.allocate(part.len().saturating_mul(3)).map_err(|_| fmt::Error)?;
        self.text.push_str(part);
        Ok(())
    }
}

impl std::io::Write for Output<'_> {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        let text = std::str::from_utf8(part).map_err(std::io::Error::other)?;
        fmt::Write::write_str(self, text).map_err(std::io::Error::other)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Serialize for Value {
    /// A null member of an object is absent, as in results.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Int(number) => to.serialize_i64(*number),
            Self::Double(number) if number.is_finite() => to.serialize_f64(*number),
            Self::Double(_) => Err(S::Error::custom("not a number")),
            Self::Text(text) => to.serialize_str(text),
            Self::List(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Map(members) => {
                let present = || members.iter().filter(|(_, value)| *value != Self::Null);
                let mut map = to.serialize_map(Some(present().count()))?;
                present().try_for_each(|(name, value)| map.serialize_entry(&**name, value))?;
                map.end()
            }
        }
    }
}

/// Reads one value, and counts its memory before it is built.
struct Reader<'m> {
    meter: &'m mut Meter,
    depth: usize,
}

impl Reader<'_> {
    fn inner(&mut self) -> Reader<'_> {
        Reader { meter: self.meter, depth: self.depth + 1 }
    }

    /// Counts a value with a text. Lists and maps are copied once when they are complete.
    fn count<E: serde::de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        let counted = self.meter.spend(bytes).and_then(|()| self.meter.allocate(2 * VALUE + bytes));
        counted.map_err(|_| E::custom("a limit is exceeded"))
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        if self.depth > DEPTH {
            return Err(D::Error::custom("nested too deep"));
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        i64::try_from(number).map(Value::Int).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        number.is_finite().then_some(Value::Double(number)).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: serde::de::Error>(mut self, text: &str) -> Result<Value, E> {
        self.count(text.len())?;
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner())? {
            self.count(0)?;
            list.push(item);
        }
        Ok(Value::List(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        let mut map: Vec<(Arc<str>, Value)> = Vec::new();
        while let Some(name) = members.next_key::<std::borrow::Cow<'_, str>>()? {
            self.count(name.len())?;
            map.push((Arc::from(&*name), members.next_value_seed(self.inner())?));
        }
        Value::map(map).ok_or_else(|| A::Error::custom("two members have one name"))
    }
}
