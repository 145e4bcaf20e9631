//! A value with its line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A value with its line in a YAML text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a value and its place")]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The line from 1. 0 for a value of another source, such as JSON.
    pub line: u64,
}

/// The name by which a node recognizes that its line is read as well.
pub(super) const SPANNED: &str = "$pointsman::Spanned";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SPANNED, SpannedVisitor(PhantomData))
    }
}

struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// A value without a line.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Spanned<T>, D::Error> {
        T::deserialize(deserializer).map(|value| Spanned { value, line: 0 })
    }

    /// A line and its value, from a node.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Spanned<T>, A::Error> {
        let line = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let value = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        Ok(Spanned { value, line })
    }
}

/// The schema of the value.
impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
