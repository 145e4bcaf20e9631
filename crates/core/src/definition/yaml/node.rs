//! A YAML document as a tree of nodes (yaml.org/spec/1.2.2, section 3.2.1), without tags and aliases.

use std::fmt;

use serde::de::DeserializeOwned;

use super::error::YamlError;
use super::span::Spanned;

/// A value of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The line in the text, from 1. The line of the alias for a value behind an alias.
    pub line: u64,
    /// The value.
    pub content: Content,
}

/// What a node holds.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the kinds of values that JSON has")]
pub enum Content {
    /// No value, `~` or `null`.
    #[default]
    Null,
    /// A boolean, and its text in the source.
    Bool(bool, String),
    /// A number, and its text in the source.
    Number(Number, String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the source. The keys are unique.
    Map(Vec<(Spanned<String>, Node)>),
}

/// The value of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the types of numbers that serde has for JSON")]
pub enum Number {
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// Any other number.
    Float(f64),
}

impl fmt::Display for Number {
    /// Floats without a fraction are written as integers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => number.fmt(f),
            Self::Signed(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

impl Node {
    /// Reads a type from this node.
    ///
    /// # Errors
    /// The node has another type, or a key is missing or unknown.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, YamlError> {
        T::deserialize(self).map_err(|error| error.at(self.line))
    }
}
