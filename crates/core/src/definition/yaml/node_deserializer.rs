//! Types from nodes, by serde. Errors have the line of the innermost node.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::YamlError;
use super::node::{Content, Node, Number};
use super::span::{SPANNED, Spanned};

type Member = (Spanned<String>, Node);

/// The text of a scalar, if it may be a string.
fn text(node: &Node) -> Result<&str, YamlError> {
    match &node.content {
        Content::Bool(_, text) | Content::Number(_, text) | Content::Text(text) => Ok(text),
        Content::Null => Err(YamlError::new("expected a string, found no value")),
        Content::List(_) | Content::Map(_) => Err(YamlError::new(NO_SCALAR)),
    }
}

/// The number of a scalar, which may be in quotes. `expected` is the message for another value.
fn number(node: &Node, expected: &str) -> Result<Number, YamlError> {
    let read = match &node.content {
        Content::Number(number, _) => Some(*number),
        Content::Text(text) => parsed(text),
        Content::Null | Content::Bool(..) => None,
        Content::List(_) | Content::Map(_) => return Err(YamlError::new(NO_SCALAR)),
    };
    read.ok_or_else(|| YamlError::new(expected))
}

/// The number that a text in quotes is.
fn parsed(text: &str) -> Option<Number> {
    let unsigned = text.parse().ok().map(Number::Unsigned);
    unsigned.or_else(|| text.parse().ok().map(Number::Signed)).or_else(|| text.parse().ok().map(Number::Float))
}

fn integer<'de, V: Visitor<'de>>(node: &Node, visitor: V) -> Result<V::Value, YamlError> {
    let expected = "expected an integer";
    let read = match number(node, expected)? {
        Number::Unsigned(number) => visitor.visit_u64(number),
        Number::Signed(number) => visitor.visit_i64(number),
        Number::Float(_) => return Err(YamlError::new(expected)),
    };
    // A number that the type does not hold.
    read.map_err(|_: YamlError| YamlError::new(expected))
}

#[expect(clippy::cast_precision_loss, reason = "a float is wanted")]
fn float<'de, V: Visitor<'de>>(node: &Node, visitor: V) -> Result<V::Value, YamlError> {
    visitor.visit_f64(match number(node, "expected a number")? {
        Number::Unsigned(number) => number as f64,
        Number::Signed(number) => number as f64,
        Number::Float(number) => number,
    })
}

fn string<'de, V: Visitor<'de>>(node: &'de Node, visitor: V) -> Result<V::Value, YamlError> {
    visitor.visit_borrowed_str(text(node)?)
}

/// Methods that read a scalar by one function.
macro_rules! read_by {
    ($read:ident: $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
            $read(self, visitor)
        })*
    };
}

const NO_SCALAR: &str = "expected a single value, found a list or a map";
const NO_OPERATION: &str = "expected an operation as a map with one key: `- move: {…}`";

impl<'de> Deserializer<'de> for &'de Node {
    type Error = YamlError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match &self.content {
            Content::Null => visitor.visit_unit(),
            Content::Bool(value, _) => visitor.visit_bool(*value),
            Content::Number(Number::Unsigned(number), _) => visitor.visit_u64(*number),
            Content::Number(Number::Signed(number), _) => visitor.visit_i64(*number),
            Content::Number(Number::Float(number), _) => visitor.visit_f64(*number),
            Content::Text(text) => visitor.visit_borrowed_str(text),
            Content::List(items) => visitor.visit_seq(Items(items)),
            Content::Map(members) => visitor.visit_map(Members { rest: members, value: None }),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match &self.content {
            Content::Bool(value, _) => visitor.visit_bool(*value),
            Content::Text(text) if text == "true" || text == "false" => visitor.visit_bool(text == "true"),
            Content::List(_) | Content::Map(_) => Err(YamlError::new(NO_SCALAR)),
            Content::Null | Content::Number(..) | Content::Text(_) => Err(YamlError::new("expected true or false")),
        }
    }

    read_by! { integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 }
    read_by! { integer: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 }
    read_by! { float: deserialize_f32 deserialize_f64 }
    read_by! { string: deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.content {
            Content::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        match name {
            SPANNED => visitor.visit_seq(LineAndValue { line: Some(self.line), value: self }),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match &self.content {
            Content::Null => visitor.visit_seq(Items(&[])),
            Content::List(items) => visitor.visit_seq(Items(items)),
            _ => Err(YamlError::new("expected a list: begin each entry with `- `")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match &self.content {
            Content::Null => visitor.visit_map(Members { rest: &[], value: None }),
            Content::Map(members) => {
                // A missing key belongs behind the last one.
                let last = members.last().map_or(self.line, |(key, _)| key.line);
                visitor.visit_map(Members { rest: members, value: None }).map_err(|error| error.at(last))
            }
            _ => Err(YamlError::new("expected a map: `key: value`")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        match &self.content {
            Content::Map(members) => {
                let ((name, value), others) = members.split_first().ok_or_else(|| YamlError::new(NO_OPERATION))?;
                visitor.visit_enum(Variant { name: &name.value, line: name.line, value: Some(value), others })
            }
            Content::List(_) | Content::Null => Err(YamlError::new(NO_OPERATION)),
            _ => visitor.visit_enum(Variant { name: text(self)?, line: self.line, value: None, others: &[] }),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { char bytes byte_buf unit unit_struct tuple tuple_struct }
}

/// The items of a list.
struct Items<'n>(&'n [Node]);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = YamlError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, YamlError> {
        let Some((item, rest)) = self.0.split_first() else { return Ok(None) };
        self.0 = rest;
        seed.deserialize(item).map(Some).map_err(|error| error.at(item.line))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The members of a map. `value` belongs to the last key.
struct Members<'n> {
    rest: &'n [Member],
    value: Option<&'n Node>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = YamlError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, YamlError> {
        let Some(((key, value), rest)) = self.rest.split_first() else { return Ok(None) };
        (self.rest, self.value) = (rest, Some(value));
        seed.deserialize(BorrowedStrDeserializer::<YamlError>::new(&key.value))
            .map(Some)
            .map_err(|error| error.at(key.line))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, YamlError> {
        let value = self.value.take().ok_or_else(|| YamlError::new("a value without a key"))?;
        seed.deserialize(value).map_err(|error| error.at(value.line))
    }
}

/// The two elements of `Spanned`.
struct LineAndValue<'n> {
    line: Option<u64>,
    value: &'n Node,
}

impl<'de> SeqAccess<'de> for LineAndValue<'de> {
    type Error = YamlError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, YamlError> {
        match self.line.take() {
            Some(line) => seed.deserialize(line.into_deserializer()),
            None => seed.deserialize(self.value),
        }
        .map(Some)
    }
}

/// The variant of an enum: a name, or a map with one key.
struct Variant<'n> {
    name: &'n str,
    line: u64,
    value: Option<&'n Node>,
    others: &'n [Member],
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = YamlError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), YamlError> {
        let name = BorrowedStrDeserializer::<YamlError>::new(self.name);
        let variant = seed.deserialize(name).map_err(|error| error.at(self.line))?;
        Ok((variant, self))
    }
}

impl<'de> Variant<'de> {
    /// The value, which must be that of the only key. `None` for a name without a value.
    fn only_value(&self) -> Result<Option<&'de Node>, YamlError> {
        match self.others.first() {
            Some((second, _)) => {
                Err(YamlError::new("two operations in one entry: begin each with `- `").at(second.line))
            }
            None => Ok(self.value),
        }
    }

    fn value(&self) -> Result<&'de Node, YamlError> {
        self.only_value()?.ok_or_else(|| YamlError::new(NO_OPERATION))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = YamlError;

    fn unit_variant(self) -> Result<(), YamlError> {
        match self.only_value()? {
            Some(value) if value.content != Content::Null => {
                Err(YamlError::new("expected a name without a value").at(value.line))
            }
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, YamlError> {
        let value = self.value()?;
        seed.deserialize(value).map_err(|error| error.at(value.line))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, YamlError> {
        let value = self.value()?;
        value.deserialize_seq(visitor).map_err(|error| error.at(value.line))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        let value = self.value()?;
        value.deserialize_map(visitor).map_err(|error| error.at(value.line))
    }
}
