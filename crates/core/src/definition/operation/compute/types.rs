//! The types of expressions, from the schemas of the fields.

use std::collections::BTreeMap;
use std::fmt;

use crate::definition::schema::Schema;

/// The type of a value. Each value may also be null.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// Known only when the expression runs.
    Any,
    Null,
    Bool,
    Int,
    Double,
    Text,
    List(Box<Self>),
    /// A map with values of one type.
    Map(Box<Self>),
    /// An object with these members.
    Object(BTreeMap<String, Self>),
}

impl Type {
    /// The type of the values of a schema.
    pub(super) fn of(schema: &Schema) -> Self {
        let each = || schema.each.as_deref().map_or(Self::Any, Self::of);
        match schema.kind.as_deref() {
            Some("string") => Self::Text,
            Some("integer") => Self::Int,
            Some("number") => Self::Double,
            Some("boolean") => Self::Bool,
            Some("array") => Self::List(Box::new(each())),
            Some("object") if schema.each.is_some() => Self::Map(Box::new(each())),
            Some("object") if !schema.properties.is_empty() && !schema.preserve => {
                Self::Object(schema.properties.iter().map(|(name, schema)| (name.clone(), Self::of(schema))).collect())
            }
            _ => Self::Any,
        }
    }

    /// The type of the items of a list.
    pub(super) fn item(&self) -> &Self {
        match self {
            Self::List(item) => item,
            _ => &Self::Any,
        }
    }

    /// The type of a member. `None` if the object has no such member.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(value) => Some(value),
            Self::Object(members) => members.get(name),
            _ => Some(&Self::Any),
        }
    }

    /// The type of a value that has one of two types.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Null, other) | (other, Self::Null) => other,
            (Self::List(one), Self::List(two)) => Self::List(Box::new(one.or(*two))),
            _ => Self::Any,
        }
    }

    /// Returns whether values of both types can be equal, or take the same place.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Null, _) | (_, Self::Any | Self::Null) => true,
            (Self::List(one), Self::List(two)) | (Self::Map(one), Self::Map(two)) => one.meets(two),
            (Self::Map(_), Self::Object(_)) | (Self::Object(_), Self::Map(_)) => true,
            (Self::Object(one), Self::Object(two)) => {
                one.iter().all(|(name, one)| two.get(name).is_none_or(|two| one.meets(two)))
            }
            (one, two) => one == two,
        }
    }

    /// Returns why a field of this type cannot have a value of another type, or `None`.
    pub(super) fn refuses(&self, value: &Self) -> Option<String> {
        match (self, value) {
            (Self::Double, Self::Int) => None,
            (Self::Object(members), Self::Object(values)) => values.iter().find_map(|(name, value)| {
                let Some(member) = members.get(name) else { return Some(format!("the field has no {name:?}")) };
                member.refuses(value).map(|why| format!("{name}: {why}"))
            }),
            (Self::List(item), Self::List(value)) | (Self::Map(item), Self::Map(value)) => item.refuses(value),
            (one, two) if one.meets(two) => None,
            (one, two) => Some(format!("the field needs {one}, and the expression returns {two}")),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any value"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("a bool"),
            Self::Int => f.write_str("an int"),
            Self::Double => f.write_str("a double"),
            Self::Text => f.write_str("a string"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) | Self::Object(_) => f.write_str("a map"),
        }
    }
}
